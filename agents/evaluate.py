"""Evaluate a policy:
``python -m agents.evaluate --policy greedy --env Solitaire/BusyAces-v0 --deals 0:1000``.

Stdout is the same each time; progress and times go to stderr.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from agents.cluster import connect
from agents.commands.options import RayAddress
from agents.config import make_config
from agents.playing.games import play_policy
from agents.results.stored import deals_text
from agents.results.tables import summary_table
from solitaire_env import env_id
from solitaire_env.benchmark import Track, result, score, split_deals, track_of
from solitaire_env.core.variant import Build, Moves, Spaces
from solitaire_env.evaluation.runner import NUM_ENVS
from solitaire_env.loading import SEARCH
from solitaire_env.registration import import_module_of
from solitaire_env.search.budget import Budget
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.files import write_json
from solitaire_env.util.progress import ProgressLine


@dataclass
class Arguments:
    """Evaluate a policy on numbered deals."""

    policy: str
    """random, greedy, linear, shipped, search, a run folder, a model folder, an SB3 zip, or module:Class."""
    env: str
    """Gymnasium id, or name of a variant."""
    deals: str = "0:1000"
    """Deals: N, FIRST:END, ms:N, pysol:N, or several with commas."""
    split: str | None = None
    """Split of the benchmark instead of deals: dev, test, winnable, llm-100, train-1k, train-100k or
    train-winnable."""
    moves: Moves | None = None
    """Action set of policies that leave it open; one-card games play a supermove card by card."""
    build: Build | None = None
    """House rule: suits that build on the tableau."""
    spaces: Spaces | None = None
    """House rule: cards that may fill a space."""
    json: Path | None = None
    """Write the summary to this file."""
    games: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write every game to this JSON-lines file; games already in it are not played again."""
    transcripts: Path | None = None
    """Write every game as text to this folder, as it ends."""
    num_envs: int = NUM_ENVS
    """Games in parallel; results do not depend on it. With a slow policy, fewer games end sooner."""
    prior: str = "shipped"
    """Network that guides the policy search: shipped, a run or model folder."""
    search: Annotated[Budget, tyro.conf.arg(name="search")] = field(default_factory=Budget)
    """Search budget of a move."""
    trust_model: bool = False
    """Open an SB3 zip, which can run code; import the module of a custom network."""
    ray: RayAddress = None
    """Play on a Ray cluster: HOST:PORT, auto (the one that runs here), or local (a new one on this machine).
    Without ADDRESS: the one of RAY_ADDRESS or that runs here, else a new one. The results are the same."""
    quiet: bool = False
    """Hide the progress line."""


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents.evaluate")
    kept = f" The games that ended are in {a.games}." if a.games else ""
    return run_command(lambda: run(a), f"Interrupted.{kept}")


def run(a: Arguments) -> int:
    """Evaluate and print."""
    import_module_of(a.env)
    if a.split is not None and (a.build, a.spaces) != (None, None):
        raise ValueError("--split is for the published rules, allowed: without --build and --spaces")
    named = a.deals if a.split is None else deals_text(split_deals(a.split, a.env))
    config = make_config(
        {"env": a.env, "moves": a.moves, "build": a.build, "spaces": a.spaces, "eval_deals": named},
        "command line",
    )
    with connect(a.ray, quiet=a.quiet) as cluster:
        done = play_policy(
            a.policy, config, a.games, ProgressLine(a.quiet),
            transcripts=a.transcripts or False, trust_model=a.trust_model, num_envs=a.num_envs,
            prior=a.prior, budget=a.search, cluster=cluster,
        )  # fmt: skip
    name, moves = done.games[0].policy, done.games[0].moves
    of = f"deals {a.deals}" if a.split is None else f"split {a.split}"
    print(f"{env_id(config.variant)}, {of}, intervals of 95 %\n")
    print(summary_table([(name, moves, done.summary)]))
    track: Track = "search" if a.policy == SEARCH else track_of(done.information)
    row = score(done.games, a.split, track)
    if row.score is not None:
        print(f"\nscore {row.score:.1f} (0: random, 100: the best stored result)")
    if a.json is not None:
        write_json(a.json, {"deals": named, **result(row)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
