"""Stored results: ``python -m agents leaderboard add|replay|write|check``.

``add`` plays deals with a policy and stores the games in a table of ``results/``
(:mod:`agents.reports.stored`). ``replay`` plays stored games again and compares them. ``write`` writes the
tables in the README, in ``docs/explanation/search-and-solver.md`` and in the model cards, and its picture,
from the stored results; ``check`` reports whether a table differs from them.
"""

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import tyro
import yaml
from pydantic import ValidationError

from agents.commands.options import INTERRUPTED, run_command
from agents.config import TrainConfig, make_config
from agents.reports import family, stored
from agents.reports.compare import play_policy
from agents.reports.model_card import training_of
from agents.reports.pages import entry_of, stored_pages
from agents.reports.stored import About, Training
from agents.reports.strength import draw_strength
from agents.reports.tables import summary_table
from agents.runs.config_files import dump_config, load_config
from agents.search.budget import Budget
from solitaire_env import VARIANTS, Variant
from solitaire_env.core import set_num_threads
from solitaire_env.core.variant import Moves
from solitaire_env.evaluation import Evaluation, summarize
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.evaluation.speed import processor
from solitaire_env.policies import linear, shipped
from solitaire_env.policies.model_files import read_card
from solitaire_env.policies.network import KIND
from solitaire_env.registration import env_variant
from solitaire_env.util.files import model_folder, read_json, write_text
from solitaire_env.util.messages import shown
from solitaire_env.util.progress import ProgressLine

AUTHOR: Final = "solitaire-env"
MADE: Final = {
    "random": "a random legal move, uniformly",
    "greedy": "the best move in a fixed order, written by hand",
    "linear": "the highest weighted sum of 28 features of a move; weights found by `agents fit-linear`",
    "search": "the shipped network, moves simulated on sampled stock orders; the solver if nothing is hidden",
    "shipped": "a network, trained with `agents.train`: `solitaire_env/policies/weights/GAME/README.md`",
}
"""Descriptions of the policies that have a name."""
DEALS: Final = {"leaderboard": "0:1000", "search": "0:200", "ablations": "20000:20500", "family": "0:100"}
"""Deals of each table by default."""
SEARCHES_TOGETHER: Final = 16
"""Number of games that the policy search plays together; Ctrl-C loses them."""


@dataclass
class Add:
    """Play deals with a policy, time it, and store the games in a table of results.

    leaderboard: a policy in a game. search: the policy search with a budget. ablations: a training that
    differs in one setting from the first of the ablation. family: a policy in every game, a row for each.
    """

    table: tyro.conf.Positional[Literal["leaderboard", "search", "ablations", "family"]]
    policy: tyro.conf.Positional[str]
    """Policy, as in agents.evaluate; for ablations a run folder."""
    env: str | None = None
    """Gymnasium id, or name of a variant, for leaderboard and search."""
    name: str | None = None
    """Name of the policy, by default its own, or of the ablation."""
    deals: str | None = None
    """Deals: N, FIRST:END, or several with commas. By default those of the other entries. On the leaderboard
    the standard ones (0:1000), or with the final test (0:1000,100000:101000)."""
    moves: Literal["one card", "supermove"] | None = None
    """Action set of a policy that leaves it open."""
    author: str | None = None
    """Author."""
    made: str | None = None
    """How it was made, in a sentence; for ablations, how it differs from the first."""
    steps: int | None = None
    """Steps that training took."""
    minutes: float | None = None
    """Minutes that training took."""
    machine: str | None = None
    """Machine of the training."""
    search: Annotated[Budget, tyro.conf.arg(name="search")] = field(default_factory=Budget)
    """Search budget of a move."""
    force: bool = False
    """Play stored games again."""
    trust_model: bool = False
    """Open an SB3 zip, which can run code."""
    quiet: bool = False
    """Hide the progress line."""


@dataclass
class Replay:
    """Play stored games of the leaderboard again; the exit status is 1 if one of them differs."""

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


@dataclass
class Write:
    """Write the tables and the picture of the README, the docs and the model cards."""


@dataclass
class Check:
    """Report tables that differ from the stored results; the exit status is 1 if there are any."""


# ------------------------------------------------------------------------------------------ add


def add(a: Add) -> int:
    """Play, store and print the result."""
    if a.table == "family":
        return add_family(a)
    entry, config, about = described(a)
    before = stored.read_abouts(a.table).get(entry)
    if not a.force and before is not None and before.weights != about.weights:
        raise ValueError(f"{entry}: another network played these games; --force plays them again")
    # Play once before timing: kernels are loaded, or built after an edit.
    play(a, replace(config, eval_deals="0"), None)
    done = play(a, config, stored.unfinished(a.table, entry, fresh=a.force))
    if done.answers:
        about = timed(about, done)
    elif before is not None:
        about = replace(
            about,
            ms_per_move=before.ms_per_move,
            seconds_per_game=before.seconds_per_game,
            machine=before.machine,
        )
    stored.finish(a.table, entry, about)
    print(summary_table([(entry, done.games[0].moves, summarize(done.games))]))
    print("\nnext: python -m agents leaderboard write")
    return 0


def described(a: Add) -> tuple[str, TrainConfig, About]:
    """The entry, the game with the deals to play, and the description of what plays."""
    deals = a.deals or DEALS[a.table]
    author, made = a.author or (AUTHOR if a.policy in MADE else None), a.made or MADE.get(a.policy)
    try:
        if a.table == "ablations":
            if a.name is None or a.made is None:
                raise ValueError("ablations need --name, that of the ablation, and --made")
            config = load_config(Path(a.policy) / "config.yaml")
            about = About(
                made=a.made,
                training=training_of(Path(a.policy)),
                config=yaml.safe_load(dump_config(config)),
            )
            return ablation_entry(stored.check_name(a.name), about), replace(config, eval_deals=deals), about
        if a.env is None:
            raise ValueError(f"{a.table} needs --env, the game")
        variant = env_variant(a.env)
        config = make_config({"env": a.env, "moves": a.moves, "eval_deals": deals}, "command line")
        if a.table == "search":
            if a.policy != "search" or a.search.milliseconds is not None:
                raise ValueError("the table search is for the policy search, without --search.milliseconds")
            nodes = 0 if variant.stock else a.search.nodes
            about = About(made=MADE["search"], author=AUTHOR, budget=replace(a.search, nodes=nodes))
            return f"{variant.name}/{budget_name(variant, a.search)}", config, about
        if author is None or made is None:
            raise ValueError(
                f"policy is {shown(a.policy)}: --author and --made are required for all policies but "
                f"{', '.join(MADE)}"
            )
        check_parts(deals)
        folder = shipped.network_folder(a.policy, variant.name)
        about = About(
            made=made,
            author=author,
            training=cost_of(a, folder, variant),
            weights=stored.weights_hash(folder),
        )
        return f"{variant.name}/{stored.check_name(a.name or a.policy)}", config, about
    except ValidationError as error:
        raise ValueError(stored.sentence(error)) from None


def check_parts(deals: str) -> None:
    """Raise an error if deals are not those of the leaderboard."""
    standard, held_out = map(stored.deals_text, (stored.STANDARD, stored.HELD_OUT))
    if deals not in (standard, f"{standard},{held_out}"):
        raise ValueError(f"deals are {shown(deals)}, allowed: {standard}, or {standard},{held_out}")


def ablation_entry(name: str, about: About) -> str:
    """The entry of a training in an ablation: its number if it was begun before, else the next one."""
    numbers = {key: of for key, of in stored.read_abouts("ablations").items() if key.startswith(f"{name}/")}
    same = [key for key, of in numbers.items() if (of.made, of.training) == (about.made, about.training)]
    return same[0] if same else f"{name}/{len(numbers) + 1}"


def budget_name(variant: Variant, budget: Budget) -> str:
    """The name of a search budget."""
    solver = "-solver" if budget.nodes and not variant.stock else ""
    playouts = "-playouts" if budget.playouts else ""
    return f"{budget.simulations}x{budget.depth}{playouts}{solver}"


def cost_of(a: Add, folder: Path, variant: Variant) -> Training | None:
    """Cost of the training, from the options, a run folder or the linear policy's weights."""
    if (a.steps, a.minutes, a.machine) != (None, None, None):
        return Training(steps=a.steps, minutes=a.minutes, machine=a.machine)
    if a.policy == "linear":
        entry = read_json(linear.WEIGHTS).get(variant.name)  # None: it plays with those of a similar game
        return entry and Training(minutes=round(entry["tuned"]["seconds"] / 60, 2))
    return training_of(folder) if (folder / "curve.csv").is_file() else None


def play(a: Add | Replay, config: TrainConfig, path: Path | None) -> Evaluation:
    """Play the deals of a configuration, in one thread."""
    import torch

    set_num_threads(1)
    torch.set_num_threads(1)
    together = SEARCHES_TOGETHER if a.policy == "search" else stored.TIMED_ENVS
    options: dict[str, Any] = {"num_envs": a.num_envs} if isinstance(a, Replay) else {"budget": a.search}
    label = "search" if isinstance(a, Add) and a.table == "search" else a.name or Path(a.policy).name
    return play_policy(
        a.policy, config, path, ProgressLine(a.quiet), label=label, trust_model=a.trust_model,
        **{"num_envs": together, **options},
    )  # fmt: skip


def timed(about: About, done: Evaluation) -> About:
    """A description with the time of the games that were played."""
    if about.budget is not None:
        games = len(done.games)
        return replace(about, seconds_per_game=round(done.answer_seconds / games, 3), machine=processor())
    ms = round(1000 * done.answer_seconds / done.answers, 5)
    return replace(about, ms_per_move=ms, machine=processor())


def add_family(a: Add) -> int:
    """Play every game with a policy, or with ``shipped`` those that have their own network."""
    deals = a.deals or DEALS["family"]
    parse_deals(deals)
    network = a.policy not in (*family.POLICIES, family.SPECIALISTS)
    name, about = a.policy, None
    if network:
        name, about = family.NETWORK, network_about(Path(a.policy))
    own = shipped.shipped_games()
    games: list[tuple[Variant, Moves | None]] = [
        (variant, "supermove" if variant.moves == "one card" and variant.takes_supermoves else None)
        for variant in VARIANTS
        if name != family.SPECIALISTS or variant.name in own
    ]
    path = stored.unfinished("family", name, fresh=a.force)
    rows = family.play_games(a.policy, games, deals, path, ProgressLine(a.quiet), name=name)
    stored.finish("family", name, about)
    print(family.means_table({name: rows}, list(rows)))
    return 0


def network_about(model: Path) -> About:
    """The description of a network that was trained on many games."""
    card = read_card(model_folder(model), (KIND,))
    if card["games"] is None:
        raise ValueError(f"{model}: trained on a single game, allowed: a network trained on many")
    recorded = (model / "versions.json").is_file()  # not in a model folder
    return About(
        made="one network for many games",
        training=training_of(model) if recorded else Training(steps=card["steps"]),
        weights=stored.weights_hash(model),
        games=tuple(card["games"]),
    )


# --------------------------------------------------------------------------- replay, write, check


def replay(a: Replay) -> int:
    """Play stored games again, and print whether they are equal."""
    name, variant = stored.check_name(a.name or a.policy), env_variant(a.env)
    entry = entry_of(stored.read_leaderboard(), variant.name, name)
    rows = {} if entry is None else {game.deal: game for game in entry.games}
    for deal in parse_deals(a.deals):
        if deal not in rows:
            raise ValueError(f"{name!r} has no stored game of deal {shown(deal)} of {variant.name}")
    moves = next(iter(rows.values())).moves
    config = make_config(
        {"env": a.env, "moves": None if moves == variant.moves else moves, "eval_deals": a.deals},
        "command line",
    )
    done = play(replace(a, name=name), config, None)
    others = [row.deal for row in done.games if row != rows[row.deal]]
    print(f"{len(done.games) - len(others)} of {len(done.games)} games equal the stored ones")
    if others:
        print(f"different: deals {shown(others)}", file=sys.stderr)
    return 1 if others else 0


def changed_pages() -> dict[Path, str]:
    """The pages with tables that differ from the stored results."""
    return {path: text for path, text in stored_pages().items() if text != read(path)}


def read(path: Path) -> str | None:
    """The text of a file, if it exists."""
    return path.read_text(encoding="utf-8") if path.is_file() else None


def write(a: Write) -> int:
    """Write the pages and the picture."""
    for path, text in changed_pages().items():
        write_text(path, text)
        print(f"written: {os.path.relpath(path)}")
    print(f"drawn: {os.path.relpath(draw_strength())}")
    return 0


def check(a: Check) -> int:
    """List pages that would change."""
    changed = changed_pages()
    for path in changed:
        why = "differs from the stored results; run: python -m agents leaderboard write"
        print(f"{os.path.relpath(path)}: {why}", file=sys.stderr)
    return 1 if changed else 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a: Add | Replay | Write | Check = tyro.cli(
        Add | Replay | Write | Check,
        args=args,
        prog="python -m agents leaderboard",
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    commands: dict[type, Any] = {Add: add, Replay: replay, Write: write, Check: check}
    return run_command(lambda: int(commands[type(a)](a)), INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
