"""Find weights for the linear policy: ``python -m agents fit-linear busy-aces``.

Uses the cross-entropy method (Rubinstein, 1999): draw many sets of weights from a normal distribution, fit
the distribution to the best of them, and repeat.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tyro

from agents.commands.options import run_command
from solitaire_env import Variant, env_id, get_variant
from solitaire_env.core import GameSpec, Settings
from solitaire_env.evaluation import Runner
from solitaire_env.move_features.columns import MOVE_NAMES
from solitaire_env.policies.linear import WEIGHTS, Linear
from solitaire_env.registration import env_variant, step_limit
from solitaire_env.util.files import read_json, write_json
from solitaire_env.util.progress import ProgressLine, clock

Array = npt.NDArray[Any]

START: Final = {
    "home": 3.0, "pile to pile": 1.0, "waste to pile": 1.0, "cell to pile": 1.0,
    "pile to space": -1.0, "waste to space": -1.0, "cell to space": -1.0,
    "pile to cell": -1.0, "waste to cell": -1.0,
    "source: becomes a space": 1.0, "source: a sequence is broken": -3.0,
    "source: the card under it goes home now": 1.0, "source: a wanted card lies near the top": 0.5,
    "target: a wanted card lies near the top": -1.0,
}  # fmt: skip
"""Initial means: home first, then onto piles, and nothing that breaks a sequence. All others are 0."""

FIRST_DEAL: Final = 2**20
"""Deals below it are reserved for evaluation."""


@dataclass
class Arguments:
    """Find weights for the linear policy by the cross-entropy method."""

    env: tyro.conf.Positional[str]
    """Gymnasium id, or name of a variant; a one-card game is played with supermoves."""
    generations: int = 60
    """Number of times that the distribution is fitted."""
    population: int = 64
    """Sets of weights in a generation."""
    elite: int = 10
    """Sets that the distribution is fitted to."""
    deals: int = 96
    """Deals that each set plays; every generation has other deals."""
    noise: float = 0.3
    """Added to the standard deviations; falls linearly to zero within four fifths of the generations."""
    stall_limit: int = 60
    """A game is truncated after this many moves without a card going home or leaving the stock."""
    seed: int = 0
    """Seed of weights and deals."""
    out: Path = WEIGHTS
    """JSON file for the weights; those of other games in it are kept."""
    quiet: bool = False
    """Hide the progress line."""


class LinearSets(Linear):
    """The linear policy with different weights per game: the first ``per_set`` games use the first set."""

    stateful = True

    def __init__(self, spec: GameSpec, weights: Array, per_set: int) -> None:
        super().__init__(spec, weights)
        self.per_set = per_set
        self._begun = 0
        self._sets: dict[int, int] = {}

    def begun(self, games: Sequence[int], starts: Sequence[Any]) -> None:
        """Assign the sets of weights to games in the order in which they begin."""
        for game in games:
            self._sets[game] = self._begun // self.per_set
            self._begun += 1

    def ended(self, games: Sequence[int]) -> None:
        """Delete the data of games that have ended."""
        for game in games:
            del self._sets[game]

    def __call__(
        self,
        observations: Array,
        masks: npt.NDArray[np.int8],
        *,
        uniforms: npt.NDArray[np.float64] | None = None,
        games: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        """Actions int64 ``[n]``, each game by its own weights."""
        assert games is not None  # the runner passes it to stateful policies
        sets = np.array([self._sets[game] for game in games.tolist()], dtype=np.int64)
        return self.best(observations, masks, sets)


def play_sets(
    variant: Variant, weights: Array, deals: Sequence[int], stall_limit: int | None = None
) -> tuple[Array, Array]:
    """Play deals with each of several sets of weights: cards home and whether won, ``[sets, deals]`` each."""
    spec = GameSpec(variant, Settings(stall_limit=stall_limit, max_episode_steps=step_limit(variant)))
    starts = list(deals) * len(weights)
    runner = Runner(LinearSets(spec, weights, len(deals)), spec, num_envs=len(starts))
    runner.begin(starts)
    places = {number: place for place, number in enumerate(runner.numbers.tolist())}
    home = np.zeros(len(starts), dtype=np.int64)
    while runner.active.any():
        for end in runner.step():
            home[places[end.number]] = end.cards_home
    of_sets = home.reshape(len(weights), len(deals))
    return of_sets, of_sets == variant.cards


def tune(variant: Variant, a: Arguments, line: ProgressLine) -> dict[str, Any]:
    """Find weights; return them with a record of the search, in the format of the file."""
    random = np.random.Generator(np.random.PCG64(a.seed))
    mean = np.array([START.get(name, 0.0) for name in MOVE_NAMES])
    spread = np.ones(len(mean))
    start = time.monotonic()
    curve = []
    for generation in range(a.generations):
        weights = mean + spread * random.standard_normal((a.population, len(mean)))
        deals = random.integers(FIRST_DEAL, 2**62, size=a.deals).tolist()
        home, won = play_sets(variant, weights, deals, a.stall_limit)
        scores = home.mean(1) / variant.cards + won.mean(1)
        best = np.argsort(-scores)[: a.elite]
        mean = weights[best].mean(0)
        spread = weights[best].std(0) + a.noise * max(0.0, 1 - generation / (0.8 * a.generations))
        curve.append([round(float(won.mean()), 4), round(float(home.mean()), 2)])
        seconds = time.monotonic() - start
        line.show(partial(_text, generation + 1, a.generations, seconds, won, home))
    line.close()
    return {
        "moves": None if variant == get_variant(variant.name) else variant.moves,
        "layout_hash": GameSpec(variant).hash,
        "weights": {name: round(float(w), 4) for name, w in zip(MOVE_NAMES, mean, strict=True)},
        "tuned": {
            "generations": a.generations, "population": a.population, "elite": a.elite, "deals": a.deals,
            "noise": a.noise, "stall_limit": a.stall_limit, "seed": a.seed,
            "seconds": round(time.monotonic() - start), "won_and_home": curve,
        },
    }  # fmt: skip


def _text(done: int, generations: int, seconds: float, won: Array, home: Array) -> str:
    left = seconds / done * (generations - done)
    return (
        f"tuning: generation {done} of {generations}, all sets won {100 * won.mean():.1f} %, "
        f"cards home {home.mean():.1f}, {clock(left)} left"
    )


def run(a: Arguments) -> int:
    """Find weights, and write them; the exit status."""
    for name, least in (("generations", 1), ("population", 2), ("elite", 1), ("deals", 1)):
        if getattr(a, name) < least:
            raise ValueError(f"{name} is {getattr(a, name)}, allowed: at least {least}")
    if a.elite > a.population:
        raise ValueError(f"elite is {a.elite}, allowed: at most the population, {a.population}")
    variant = env_variant(a.env)
    if variant.moves == "one card":
        variant = variant.with_rules(moves="supermove")
    entries = read_json(a.out) if a.out.exists() else {}
    entries[variant.name] = tune(variant, a, ProgressLine(a.quiet))
    write_json(a.out, dict(sorted(entries.items())))
    print(f"weights for {env_id(variant)} in {a.out}")
    print(f"next: python -m agents.evaluate --policy linear --env {env_id(variant)}")
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = tyro.cli(
        Arguments,
        args=args,
        prog="python -m agents fit-linear",
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    return run_command(lambda: run(a), "Interrupted. Nothing was written.")


if __name__ == "__main__":
    sys.exit(main())
