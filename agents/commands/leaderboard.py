"""Stored results: ``python -m agents leaderboard add|replay|write|check``.

``add`` plays deals with a policy and stores the games in a table of ``results/``
(:mod:`agents.results.stored`). ``replay`` plays stored games again and compares them. ``write`` writes the
tables in the README, in pages of ``docs/explanation`` and in the model cards from the stored results;
``check`` reports whether a table differs from them, and checks the submissions of others
(:mod:`agents.results.submissions`).
"""

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import tyro
import yaml
from pydantic import ValidationError

from agents.commands.options import INTERRUPTED
from agents.config import TrainConfig, make_config
from agents.playing.games import play_games, play_policy
from agents.results import by_game, stored
from agents.results.model_card import training_of
from agents.results.pages import stored_pages
from agents.results.stored import About, Training
from agents.results.submissions import read_submissions
from agents.results.tables import summary_table
from agents.runs.config_files import dump_config, load_config
from solitaire_env import VARIANTS, Variant
from solitaire_env.core import set_num_threads
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Moves
from solitaire_env.evaluation import Evaluation, summarize
from solitaire_env.policies import linear, shipped
from solitaire_env.policies.model_files import read_card
from solitaire_env.policies.network import KIND
from solitaire_env.registration import env_variant
from solitaire_env.search.budget import Budget
from solitaire_env.splits import parse_deals
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.cores import processor
from solitaire_env.util.files import model_folder, read_json, write_text
from solitaire_env.util.messages import shown
from solitaire_env.util.progress import ProgressLine

MADE: Final = {
    "random": "a random legal move, uniformly",
    "greedy": "the best move in a fixed order, written by hand",
    "linear": "the highest weighted sum of 28 features of a move; weights found by `agents fit-linear`",
    "search": "moves simulated on sampled hidden cards; the solver if nothing is hidden",
    "shipped": "a network, trained with `agents.train`: `solitaire_env/policies/weights/GAME/README.md`",
}
"""Descriptions of the policies that have a name."""
DEALS: Final = {"leaderboard": "0:1000", "search": "0:200", "ablations": "20000:20500", "family": "0:100"}
"""Deals of each table by default."""
SEARCHES_TOGETHER: Final = 16
"""Number of games that the policy search plays together; Ctrl-C loses them."""


@dataclass
class Add:
    """Play deals with a policy, time it, and store the games in a table of results."""

    table: tyro.conf.Positional[Literal["leaderboard", "search", "ablations", "family"]]
    """Table of results."""
    entry: tyro.conf.Positional[str]
    """Entry of the table: GAME/NAME on the leaderboard; GAME/BUDGET of a search; ABLATION/NUMBER of a
    training, whose number 1 is the baseline; NAME of a policy that plays every game, for family."""
    policy: str | None = None
    """Policy, as in agents.evaluate; a run folder for ablations. By default the entry's name."""
    deals: str | None = None
    """Deals: N, FIRST:END, or several with commas. By default those of the other entries. On the leaderboard
    the standard ones (0:1000), or with the final test (0:1000,100000:101000)."""
    moves: Literal["one card", "supermove"] | None = None
    """Action set of a policy that leaves it open."""
    made: str | None = None
    """How it was made, in a sentence; for ablations, how it differs from the baseline."""
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
    """Play stored games again; the exit status is 1 if one of them differs."""

    entry: tyro.conf.Positional[str]
    """Entry of the table, such as busy-aces/shipped."""
    table: Literal["leaderboard", "search"] = "leaderboard"
    """Table of results."""
    policy: str | None = None
    """Policy, as in agents.evaluate. (default: the entry's name; in the table search, search)"""
    deals: str | None = None
    """Deals: N, FIRST:END, or several with commas. (default: the stored ones)"""
    num_envs: int = stored.TIMED_ENVS
    """Number of games that are played together."""
    trust_model: bool = False
    """Open an SB3 zip, which can run code."""
    quiet: bool = False
    """Hide the progress line."""


@dataclass
class Write:
    """Write the tables of the README, the docs and the model cards."""


@dataclass
class Check:
    """Check the submissions, and report tables that differ from the stored results: exit status 2 or 1."""


# ------------------------------------------------------------------------------------------ add


def add(a: Add) -> int:
    """Play, store and print the result."""
    group, name = stored.check_entry(a.table, a.entry)
    policy = a.policy or name
    if a.table == "family":
        return add_family(a, policy)
    if a.table == "ablations":
        config = load_config(Path(policy) / "config.yaml")
    else:
        config = make_config({"env": group, "moves": a.moves}, "command line")
        if env_variant(group).name != group:
            raise ValueError(
                f"entry is {shown(a.entry)}, allowed: one that begins with {config.variant.name}/"
            )
    config = replace(config, eval_deals=a.deals or DEALS[a.table])
    about = described(a, policy, config)
    before = stored.read_abouts(a.table).get(a.entry)
    if not a.force and before is not None and before.weights != about.weights:
        raise ValueError(f"{a.entry}: another network played these games; --force plays them again")
    label = name if a.table == "leaderboard" else Path(policy).name
    options: dict[str, Any] = {
        "label": label,
        "trust_model": a.trust_model,
        "budget": a.search,
        "num_envs": SEARCHES_TOGETHER if policy == "search" else stored.TIMED_ENVS,
    }
    one_thread()
    # Play once before timing: kernels are loaded, or built after an edit.
    play_policy(policy, replace(config, eval_deals="0"), None, ProgressLine(a.quiet), **options)
    path = stored.unfinished(a.table, a.entry, fresh=a.force)
    done = play_policy(policy, config, path, ProgressLine(a.quiet), **options)
    stored.finish(a.table, a.entry, timed(about, before, done))
    print(summary_table([(a.entry, done.games[0].moves, summarize(done.games))]))
    print("\nnext: python -m agents leaderboard write")
    return 0


def described(a: Add, policy: str, config: TrainConfig) -> About:
    """The description of what plays, without its time."""
    made = a.made or MADE.get(policy)
    if made is None:
        raise ValueError(f"{a.entry} needs --made: it is required for all policies but {', '.join(MADE)}")
    standard, final_test = map(stored.deals_text, (stored.STANDARD, stored.FINAL_TEST))
    if a.table == "leaderboard" and config.eval_deals not in (standard, f"{standard},{final_test}"):
        allowed = f"allowed: {standard}, or {standard},{final_test}"
        raise ValueError(f"deals are {shown(config.eval_deals)}, {allowed}")
    if a.table == "search" and (policy != "search" or a.search.milliseconds is not None):
        raise ValueError("the table search is for --policy search, without --search.milliseconds")
    folder = shipped.network_folder(policy, GameSpec(config.variant))
    try:
        return About(
            made=made,
            training=cost_of(policy, folder, config.variant),
            weights=stored.weights_hash(folder),
            budget=vars(a.search.of_game(config.variant)) if policy == "search" else None,
            config=yaml.safe_load(dump_config(config)) if a.table == "ablations" else None,
        )
    except ValidationError as error:
        raise ValueError(stored.sentence(error)) from None


def cost_of(policy: str, folder: Path, variant: Variant) -> Training | None:
    """Cost of the training, from a run folder or the linear policy's weights."""
    if policy == "linear":
        entry = read_json(linear.WEIGHTS).get(variant.name)  # None: it plays with those of a similar game
        return entry and Training(minutes=round(entry["tuned"]["seconds"] / 60, 2))
    return training_of(folder) if (folder / "curve.csv").is_file() else None


def one_thread() -> None:
    """Let kernels and torch use one thread."""
    import torch

    set_num_threads(1)
    torch.set_num_threads(1)


def timed(about: About, before: About | None, done: Evaluation) -> About:
    """A description with the time of the games that were played; without any, with that from before."""
    if done.answers:
        ms = round(1000 * done.answer_seconds / done.answers, 5)
        seconds = round(done.answer_seconds / len(done.games), 3) if about.budget else None
        return replace(about, ms_per_move=ms, seconds_per_game=seconds, machine=processor())
    return before or about


def add_family(a: Add, policy: str) -> int:
    """Play every game with a policy, or with ``shipped`` those that have their own network."""
    deals = a.deals or DEALS["family"]
    parse_deals(deals)
    own = shipped.shipped_games()
    games: list[tuple[Variant, Moves | None]] = [
        (variant, "supermove" if variant.moves == "one card" and variant.takes_supermoves else None)
        for variant in VARIANTS
        if policy != by_game.SPECIALISTS or variant.name in own
    ]
    about = network_about(Path(policy)) if a.entry == by_game.NETWORK else None
    path = stored.unfinished("family", a.entry, fresh=a.force)
    rows = play_games(policy, games, deals, path, ProgressLine(a.quiet), name=a.entry)
    stored.finish("family", a.entry, about)
    print(by_game.means_table({a.entry: rows}, list(rows)))
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
    group, name = stored.check_entry(a.table, a.entry)
    name = "search" if a.table == "search" else name
    rows = {row.deal: row for row in stored.games_of(a.table, a.entry)}
    if not rows:
        raise ValueError(f"the table {a.table} has no entry {a.entry}")
    deals = a.deals or stored.deals_text(list(rows))
    for deal in parse_deals(deals):
        if deal not in rows:
            raise ValueError(f"{a.entry} has no stored game of deal {shown(deal)}")
    moves = next(iter(rows.values())).moves
    config = make_config(
        {"env": group, "moves": None if moves == env_variant(group).moves else moves, "eval_deals": deals},
        "command line",
    )
    budget = stored.read_abouts(a.table)[a.entry].budget
    one_thread()
    done = play_policy(
        a.policy or name, config, None, ProgressLine(a.quiet),
        label=name, trust_model=a.trust_model, num_envs=a.num_envs,
        budget=Budget(**budget) if budget else None,
    )  # fmt: skip
    others = [row.deal for row in done.games if row != rows[row.deal]]
    print(f"{len(done.games) - len(others)} of {len(done.games)} games equal the stored ones")
    if others:
        print(f"different: deals {shown(others)}", file=sys.stderr)
    return 1 if others else 0


def write(a: Write | Check) -> int:
    """Write the pages with tables; or check the submissions, and list the pages that would change."""
    if isinstance(a, Check):
        read_submissions()
    changed = {
        path: text
        for path, text in stored_pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    for path, text in changed.items():
        if isinstance(a, Check):
            why = "differs from the stored results; run: python -m agents leaderboard write"
            print(f"{os.path.relpath(path)}: {why}", file=sys.stderr)
        else:
            write_text(path, text)
            print(f"written: {os.path.relpath(path)}")
    return 1 if isinstance(a, Check) and changed else 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a: Add | Replay | Write | Check = parse(
        Add | Replay | Write | Check, args, "python -m agents leaderboard"
    )
    commands: dict[type, Any] = {Add: add, Replay: replay, Write: write, Check: write}
    return run_command(lambda: int(commands[type(a)](a)), INTERRUPTED)
