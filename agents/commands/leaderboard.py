"""Leaderboard: ``python -m agents leaderboard write|add|replay``.

``write`` writes ``docs/reference/leaderboard.md``, the model cards of the shipped policies and the README's
table from the stored results (:mod:`agents.reports.stored`) and plays no game. ``add --policy greedy --env
busy-aces`` plays and stores the results. ``replay`` plays stored games again and compares them.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from agents.commands.options import INTERRUPTED, Subcommand, run_subcommand
from agents.config import make_config
from agents.reports import stored
from agents.reports.compare import play_policy
from agents.reports.leaderboard import pages, range_text
from agents.reports.model_card import training_of
from agents.reports.stored import About, Speed, Training
from agents.reports.tables import summary_table
from solitaire_env.core import set_num_threads
from solitaire_env.evaluation import Evaluation, read_games, summarize
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.evaluation.speed import processor
from solitaire_env.policies import linear as linear_policy
from solitaire_env.policies import shipped as shipped_policy
from solitaire_env.registration import env_variant
from solitaire_env.util.files import read_json, write_text
from solitaire_env.util.messages import shown
from solitaire_env.util.progress import ProgressLine

AUTHOR: Final = "solitaire-env"
DESCRIPTIONS: Final = {
    "random": "a random legal move, uniformly",
    "greedy": "the best move in a fixed order, written by hand",
    "linear": "the highest weighted sum of 28 features of a move; weights found by `agents fit-linear`",
    "search": "the shipped network, moves simulated on sampled stock orders; the solver if nothing is hidden",
    "shipped": "a network, trained with `agents.train`: `solitaire_env/policies/weights/GAME/README.md`",
}
"""Descriptions of the policies that have a name."""


@dataclass
class Write:
    """Write docs/reference/leaderboard.md, the model cards and the README's table from the stored results."""

    check: bool = False
    """Write nothing; the exit status is 1 if something would change."""


@dataclass
class Add:
    """Play the deals of the leaderboard with a policy, time it, and store the results."""

    policy: str
    """Policy, as in agents.evaluate."""
    env: str
    """Gymnasium id, or name of a variant."""
    name: str | None = None
    """Name on the leaderboard; the policy's own name by default."""
    deals: str = "0:1000"
    """Deals: the standard ones, the final test (100000:101000), or both with a comma."""
    moves: Literal["one card", "supermove"] | None = None
    """Action set of a policy that leaves it open."""
    author: str | None = None
    """Author."""
    made: str | None = None
    """How it was made, in a sentence."""
    steps: int | None = None
    """Steps that training took."""
    minutes: float | None = None
    """Minutes that training took."""
    machine: str | None = None
    """Machine of the training."""
    force: bool = False
    """Replace stored games."""
    trust_model: bool = False
    """Open an SB3 zip, which can run code."""
    quiet: bool = False
    """Hide the progress line."""


@dataclass
class Replay:
    """Play stored games again; the exit status is 1 if one of them differs."""

    policy: str
    """Policy, as in agents.evaluate."""
    env: str
    """Gymnasium id, or name of a variant."""
    name: str | None = None
    """Name on the leaderboard; the policy's own name by default."""
    deals: str = "0:1000"
    """Deals: N, FIRST:END, or several with commas."""
    num_envs: int = stored.TIMED_ENVS
    """Number of games that are played together."""
    trust_model: bool = False
    """Open an SB3 zip, which can run code."""
    quiet: bool = False
    """Hide the progress line."""


def write(a: Write) -> int:
    """Write the pages, or list those that would change."""
    changed = {
        path: text
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    for path, text in changed.items():
        if a.check:
            why = "differs from the stored results; run: python -m agents leaderboard write"
            print(f"{os.path.relpath(path)}: {why}", file=sys.stderr)
        else:
            write_text(path, text)
            print(f"written: {os.path.relpath(path)}")
    return 1 if a.check and changed else 0


def add(a: Add) -> int:
    """Play, store and print the result."""
    name, game = stored.check_name(a.name or a.policy), env_variant(a.env).name
    path = stored.STORE / game / f"{name}.jsonl"
    about = _about(a, game, name)
    parts = _parts(a.deals, path)
    before = _before(path, about, force=a.force)
    path.parent.mkdir(parents=True, exist_ok=True)
    _one_thread()
    line = ProgressLine(a.quiet)
    # Play once before timing: kernels are loaded, or built after an edit.
    warm = _play(a, game, name, a.moves, "0", None, line)
    done = _play(a, game, name, a.moves, ",".join(map(stored.deals_text, parts)), path, line)
    measured = done if done.answers else warm
    ms = round(1000 * measured.answer_seconds / max(1, measured.answers), 5)
    speed = replace(about.speed, ms_per_move=ms)
    if before is not None and not done.answers:
        speed = before.speed
    stored.write_about(path.with_suffix(".json"), replace(about, speed=speed))
    entry = stored.read_entry(stored.STORE, game, name)
    rows = [
        (range_text(part), games) for part, games in zip(stored.parts(), entry.games, strict=True) if games
    ]
    print(summary_table([(f"{name}, {deals}", entry.moves, summarize(games)) for deals, games in rows]))
    print(f"\n{speed.ms_per_move:.3g} ms a move; in {os.path.relpath(path)}")
    print("next: python -m agents leaderboard write")
    return 0


def _about(a: Add, game: str, name: str) -> About:
    """The stored description of a policy, without its speed. Raises an error if it cannot be stored."""
    author, made = (
        a.author or (AUTHOR if a.policy in DESCRIPTIONS else None),
        a.made or DESCRIPTIONS.get(a.policy),
    )
    if author is None or made is None:
        raise ValueError(
            f"policy is {shown(a.policy)}: --author and --made are required for all policies but "
            f"{', '.join(DESCRIPTIONS)}"
        )
    try:
        return About(
            policy=name,
            author=author,
            made=made,
            training=_training(a, game),
            speed=Speed(ms_per_move=0.0, num_envs=stored.TIMED_ENVS, machine=processor()),
            weights=stored.weights_hash(shipped_policy.network_folder(a.policy, game)),
        )
    except ValidationError as error:
        raise ValueError(stored.sentence(error)) from None


def _before(path: Path, about: About, *, force: bool) -> About | None:
    """The stored data of a policy; with ``force`` it is removed."""
    if force:
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
    if not path.with_suffix(".json").exists():
        return None
    before = stored.read_about(path.with_suffix(".json"))
    if before.weights != about.weights:
        raise ValueError(f"{path}: another network played these games; --force plays them again")
    return before


def _training(a: Add, game: str) -> Training | None:
    """Cost of the training, from the options, a run folder or the linear policy's weights."""
    if (a.steps, a.minutes, a.machine) != (None, None, None):
        return Training(steps=a.steps, minutes=a.minutes, machine=a.machine)
    if a.policy == "linear":
        entry = read_json(linear_policy.WEIGHTS).get(game)  # None: it plays with those of a similar game
        return entry and Training(minutes=round(entry["tuned"]["seconds"] / 60, 2))
    folder = shipped_policy.network_folder(a.policy, game)
    return training_of(folder) if (folder / "curve.csv").is_file() else None


def _parts(deals: str, path: Path) -> list[range]:
    """The sets of deals that a file will have: those requested, and those of which it has some."""
    requested = set(parse_deals(deals))
    present = {game.deal for game in read_games(path)} if path.exists() else set()
    if requested != {deal for part in stored.parts() if requested & set(part) for deal in part}:
        names = " or ".join(map(stored.deals_text, stored.parts()))
        raise ValueError(f"deals are {shown(deals)}, allowed: {names}, or both with a comma")
    return [part for part in stored.parts() if part == stored.STANDARD or (requested | present) & set(part)]


def _one_thread() -> None:
    import torch

    set_num_threads(1)
    torch.set_num_threads(1)


def _play(
    a: Add | Replay, game: str, name: str, moves: str | None, deals: str, path: Path | None,
    line: ProgressLine,
) -> Evaluation:  # fmt: skip
    config = make_config({"env": game, "moves": moves, "eval_deals": deals}, "command line")
    side = a.num_envs if isinstance(a, Replay) else stored.TIMED_ENVS
    return play_policy(a.policy, config, path, line, label=name, trust_model=a.trust_model, num_envs=side)


def replay(a: Replay) -> int:
    """Play stored games again, and print whether they are equal."""
    name, game = stored.check_name(a.name or a.policy), env_variant(a.env).name
    entry = stored.read_entry(stored.STORE, game, name)
    rows = {row.deal: row for games in entry.games for row in games}
    for deal in parse_deals(a.deals):
        if deal not in rows:
            raise ValueError(f"{name!r} has no stored game of deal {shown(deal)}")
    moves = None if entry.moves == entry.variant.moves else entry.moves
    done = _play(a, game, name, moves, a.deals, None, ProgressLine(a.quiet))
    others = [row.deal for row in done.games if row != rows[row.deal]]
    print(f"{len(done.games) - len(others)} of {len(done.games)} games equal the stored ones")
    if others:
        print(f"different: deals {shown(others)}", file=sys.stderr)
    return 1 if others else 0


COMMANDS: Final = {
    "write": Subcommand(Write, write),
    "add": Subcommand(Add, add),
    "replay": Subcommand(Replay, replay),
}


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status. ``leaderboard --check`` means ``leaderboard write --check``."""
    rest = list(sys.argv[1:] if args is None else args)
    if rest == ["--check"]:
        rest = ["write", "--check"]
    return run_subcommand("python -m agents leaderboard", COMMANDS, rest, INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
