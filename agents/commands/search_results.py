"""Store and draw search results: ``python -m agents search-results play forty-thieves``.

``python -m agents leaderboard write`` writes the table of
``docs/explanation/search-and-solver.md`` from the stored games;
``python -m agents search-results draw`` draws its picture.
"""

import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import tyro
from pydantic import TypeAdapter

from agents.commands.options import INTERRUPTED, Subcommand, run_subcommand
from agents.config import make_config
from agents.reports import search_results, stored
from agents.reports.compare import play_policy
from agents.reports.plots import STYLE
from agents.reports.search_results import Cost, draw, name_of
from agents.reports.stored import ROOT, read_stored
from agents.reports.tables import summary_table
from agents.search.budget import Budget
from solitaire_env.evaluation import read_games, summarize
from solitaire_env.evaluation.speed import processor
from solitaire_env.registration import env_variant
from solitaire_env.util.files import write_json, write_whole
from solitaire_env.util.progress import ProgressLine

PICTURE: Final = ROOT / "docs" / "images" / "strength.png"
GAMES_PER_BATCH: Final = 16
"""Number of games that are played together; Ctrl-C loses them."""


@dataclass
class Play:
    """Play standard deals with search, and store the games and their cost."""

    env: tyro.conf.Positional[str]
    """Gymnasium id, or name of a variant."""
    deals: str = "0:200"
    """Some of the standard deals, 0-999."""
    prior: str = "shipped"
    """Network that proposes moves: shipped, or a run or model folder."""
    search: Annotated[Budget, tyro.conf.arg(name="search")] = field(default_factory=Budget)
    """Search budget of a move."""
    quiet: bool = False
    """Hide the progress line."""


@dataclass
class Draw:
    """Draw results against time, from the stored games."""

    out: Path = PICTURE
    """File of the picture."""


def play(a: Play) -> int:
    """Play, store and print the result."""
    variant = env_variant(a.env)
    path = search_results.SEARCH / variant.name / f"{name_of(variant, a.search)}.jsonl"
    beside = path.with_suffix(".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    before = len(read_games(path)) if path.is_file() else 0
    cost = read_stored(beside, Cost) if beside.is_file() else None
    b = a.search
    if b.milliseconds is not None:
        raise ValueError(
            f"search.milliseconds is {b.milliseconds}, allowed: null, since stored games must not depend on "
            "the machine; use --search.simulations"
        )
    nodes = 0 if variant.stock else b.nodes
    now = Cost(
        a.prior, b.simulations, b.depth, b.candidates, b.min_prob, b.playouts, b.prior_weight, nodes,
        b.verify, cost.seconds if cost else None, cost.machine if cost else processor(),
    )  # fmt: skip
    if before and cost is not None and now != cost:
        raise ValueError(f"{path} holds games with other settings: {cost}; use those, or remove the file")
    config = make_config({"env": a.env, "eval_deals": a.deals}, "command line")
    # Games kept after an interruption need their settings.
    _write_cost(beside, now)
    done = play_policy(
        "search", config, path, ProgressLine(a.quiet),
        num_envs=GAMES_PER_BATCH, prior=a.prior, budget=a.search,
    )  # fmt: skip
    after = read_games(path)
    timed = 0 if now.seconds is None else before
    if played := len(after) - before:
        spent = done.answer_seconds + timed * (now.seconds or 0.0)
        seconds = round(spent / (timed + played), 3)
        _write_cost(beside, replace(now, seconds=seconds, machine=processor()))
        print(f"{seconds:.2f} s of one core a game\n")
    print(summary_table([("search", done.games[0].moves, summarize(after))]))
    return 0


def _write_cost(path: Path, cost: Cost) -> None:
    write_json(path, TypeAdapter(Cost).dump_python(cost))


def draw_picture(a: Draw) -> int:
    """Draw, and print the path."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = draw(stored.read_store(stored.STORE))
        write_whole(a.out, partial(figure.savefig, format="png"))
    print(a.out)
    return 0


COMMANDS: Final = {"play": Subcommand(Play, play), "draw": Subcommand(Draw, draw_picture)}


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    return run_subcommand("python -m agents search-results", COMMANDS, args, INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
