"""The search budget, and simulations in parts."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.variant import Variant
from solitaire_env.search.collapsed import collapses
from solitaire_env.util.arguments import check_amount, check_count

Array = npt.NDArray[Any]

SIMULATIONS: Final = 512
"""Simulations of a move by default. In most games more bring little."""
TREE_SIMULATIONS: Final = 4000
"""The same in games like Klondike, about two seconds a game."""
HIDDEN_SIMULATIONS: Final = 32
"""The same in other games with face-down cards, where each simulation is a search."""
PART: Final = 512
"""Number of simulations in one call of a kernel: a fraction of a second, after which Ctrl-C is served."""


def parts(n: int, candidates: int = 1) -> Iterator[slice]:
    """Slices of ``n`` simulations of each of some candidates, for one call of a kernel each."""
    size = max(1, PART // candidates)
    return (slice(first, first + size) for first in range(0, n, size))


def better_half(left: Array, scores: Array) -> Array:
    """The half of some candidates with the higher scores, rounded up, in the order given."""
    return left[np.sort(np.argsort(-scores, kind="stable")[: (len(left) + 1) // 2])]


@dataclass(frozen=True)
class Budget:
    """Search budget of a move."""

    simulations: int | None = None
    """Total number of simulations, where there is more than one move to choose from. (default: 4000 in games
    like Klondike, 32 in others with face-down cards, 512 in the rest)"""
    candidates: int = 6
    """Maximum number of candidate moves, the likeliest."""
    min_prob: float = 0.003
    """Minimum prior probability of a candidate move."""
    prior_weight: float = 0.001
    """Weight of the logarithm of the prior probability. A win is worth 1, and so are all cards home."""
    milliseconds: float | None = None
    """Time of a move, used instead of the number of simulations. Results then depend on the machine."""
    nodes: int = 1_000_000
    """Where nothing is hidden: maximum number of moves that the solver plays for a game; 0: no solver."""

    def __post_init__(self) -> None:
        for name, least in (("simulations", 2), ("candidates", 1), ("nodes", 0)):
            if (number := getattr(self, name)) is not None:
                check_count(name, number, least)
        if not 0 <= self.prior_weight < float("inf"):
            raise ValueError(f"prior_weight is {self.prior_weight}, allowed: 0 and above")
        if not 0 <= self.min_prob <= 1:
            raise ValueError(f"min_prob is {self.min_prob}, allowed: 0 to 1")
        if self.milliseconds is not None:
            check_amount("milliseconds", self.milliseconds)

    def of_game(self, variant: Variant) -> "Budget":
        """The budget with the number of simulations of a game, if it has none."""
        if self.simulations is not None:
            return self
        simulations = SIMULATIONS
        # With a limit of time it is the number between two looks at the clock.
        if collapses(variant) and self.milliseconds is None:
            simulations = TREE_SIMULATIONS
        elif variant.hides_cards and not collapses(variant):
            simulations = HIDDEN_SIMULATIONS
        return replace(self, simulations=simulations)

    def rounds(self, candidates: int) -> Iterator[Iterator[int]]:
        """Batches of simulations in rounds; after each round, half of the candidates remain."""
        assert self.simulations is not None
        rounds = (candidates - 1).bit_length()
        if self.milliseconds is None:
            for _ in range(rounds):
                yield iter((self.simulations // rounds,))
            return
        start = time.perf_counter()
        for k in range(rounds):
            yield self._until(start + self.milliseconds / 1000 * (k + 1) / rounds, self.simulations)

    @staticmethod
    def _until(end: float, simulations: int) -> Iterator[int]:
        yield simulations
        while time.perf_counter() < end:
            yield simulations
