"""Find weights for the linear policy: ``python -m agents fit-linear busy-aces``.

Uses the cross-entropy method (Rubinstein, 1999): draw many sets of weights from a normal distribution, fit
the distribution to the best of them, and repeat.
"""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tyro

from solitaire_env import Variant, env_id, get_variant
from solitaire_env.core import Batch, GameSpec
from solitaire_env.core.deals import RESERVED_DEALS
from solitaire_env.move_features.columns import MOVE_NAMES
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.policies.linear import WEIGHTS
from solitaire_env.registration import import_module_of, resolve_variant, step_limit
from solitaire_env.search.rollouts import play_to_end
from solitaire_env.util.arguments import check_count
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.files import read_json, write_json
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]

START: Final = {
    "home": 3.0, "pile to pile": 1.0, "waste to pile": 1.0, "cell to pile": 1.0,
    "pile to space": -1.0, "waste to space": -1.0, "cell to space": -1.0,
    "pile to cell": -1.0, "waste to cell": -1.0,
    "source: becomes a space": 1.0, "source: a sequence is broken": -3.0,
    "source: the card under it goes home now": 1.0, "source: a next foundation card lies near the top": 0.5,
    "target: a next foundation card lies near the top": -1.0,
}  # fmt: skip
"""Initial means: home first, then onto piles, and nothing that breaks a sequence. All others are 0."""

POPULATION: Final = 64
"""Sets of weights in a generation."""
ELITE: Final = 10
"""Sets that the distribution is fitted to."""
DEALS: Final = 96
"""Deals that each set plays; every generation has other deals."""
NOISE: Final = 0.3
"""Added to the standard deviations; falls linearly to zero within four fifths of the generations."""
STALL_LIMIT: Final = 60
"""A game is truncated after this many moves without a card going home or leaving the stock."""


@dataclass
class Arguments:
    """Find weights for the linear policy by the cross-entropy method."""

    env: tyro.conf.Positional[str]
    """Gymnasium id, or name of a variant; a one-card game is played with supermoves."""
    generations: int = 60
    """Number of times that the distribution is fitted."""
    seed: int = 0
    """Seed of weights and deals."""
    out: Path | None = None
    """JSON file for the weights; those of other games in it are kept. By default the package's own,
    solitaire_env/policies/weights/linear.json."""
    quiet: bool = False
    """Hide the progress line."""


def play_sets(variant: Variant, weights: Array, deals: Sequence[int]) -> Array:
    """Play deals with each of several sets of weights: cards home, int64 ``[sets, deals]``."""
    batch = Batch(GameSpec(variant), len(deals))
    rows = np.arange(len(deals))
    batch.deal(rows, deals)
    starts = batch.state.rows.copy()
    line = np.zeros(step_limit(variant), dtype=np.int64)
    scratch = make_move_scratch(batch.rules)
    home = np.empty((len(weights), len(deals)), dtype=np.int64)
    for one, of_set in zip(weights, home, strict=True):
        batch.state.rows[:] = starts
        batch.derive(rows)
        play_to_end(batch.rules, batch.state, batch.events, rows, one, STALL_LIMIT, False, line, scratch)
        of_set[:] = batch.state.home
    return home


def fit(variant: Variant, a: Arguments) -> dict[str, Any]:
    """Find weights; return them with a record of the search, in the format of the file."""
    random = np.random.default_rng(a.seed)
    mean = np.array([START.get(name, 0.0) for name in MOVE_NAMES])
    spread = np.ones(len(mean))
    line = ProgressLine(a.quiet)
    start = time.monotonic()
    curve = []
    for generation in range(a.generations):
        weights = mean + spread * random.standard_normal((POPULATION, len(mean)))
        deals = random.integers(RESERVED_DEALS, 2**62, size=DEALS).tolist()
        home = play_sets(variant, weights, deals)
        won = home == variant.cards
        best = np.argsort(-home.mean(1) / variant.cards - won.mean(1))[:ELITE]
        mean = weights[best].mean(0)
        spread = weights[best].std(0) + NOISE * max(0.0, 1 - generation / (0.8 * a.generations))
        curve.append([round(float(won.mean()), 4), round(float(home.mean()), 2)])
        line.count(generation, a.generations, f"fitting: generation {generation + 1}, won {curve[-1][0]:.1%}")
    line.close()
    return {
        "moves": None if variant == get_variant(variant.name) else variant.moves,
        "game_hash": GameSpec(variant).hash,
        "weights": {name: round(float(w), 4) for name, w in zip(MOVE_NAMES, mean, strict=True)},
        "tuned": {
            "generations": a.generations, "population": POPULATION, "elite": ELITE, "deals": DEALS,
            "noise": NOISE, "stall_limit": STALL_LIMIT, "seed": a.seed,
            "seconds": round(time.monotonic() - start), "won_and_home": curve,
        },
    }  # fmt: skip


def run(a: Arguments) -> int:
    """Find weights, and write them; the exit status."""
    check_count("generations", a.generations, 1)
    import_module_of(a.env)
    variant = resolve_variant(a.env)
    if variant.moves == "one card":
        variant = variant.with_rules(moves="supermove")
    out = a.out or WEIGHTS
    entries = read_json(out) if out.exists() else {}
    entries[variant.name] = fit(variant, a)
    write_json(out, dict(sorted(entries.items())))
    print(f"weights for {env_id(variant)} in {out}")
    print(f"next: python -m agents.evaluate --policy linear --env {shlex.quote(a.env)}")
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents fit-linear")
    return run_command(lambda: run(a), "Interrupted. Nothing was written.")
