"""Rates, intervals and paired tests of games on named deals."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from solitaire_env.core.deals import Deal
from solitaire_env.evaluation.result_files import Game, check_distinct
from solitaire_env.util.arguments import check_count
from solitaire_env.util.messages import shown

RESAMPLES: Final = 2000
"""Number of resamples of a bootstrap interval."""


@dataclass(frozen=True)
class Summary:
    """Summary of the games of an evaluation. Intervals are of 95 %."""

    games: int
    wins: int
    win_rate: float
    win_interval: tuple[float, float]
    """Wilson's score interval."""
    cards_home: float
    cards_interval: tuple[float, float]
    """Bootstrap interval of the mean."""
    steps: float
    truncated: float
    """Share of games that were truncated at the step limit."""
    repeated: float
    """Share of games with a repeated position."""

    def __str__(self) -> str:
        """``won 33.0 % [27.9, 38.5] of 300 games, 63.4 cards home``."""
        low, high = self.win_interval
        return (
            f"won {100 * self.win_rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {self.games} games, "
            f"{self.cards_home:.1f} cards home"
        )


def wilson_interval(wins: int, games: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a win rate (Wilson, JASA 22, 1927)."""
    games = check_count("games", games)
    wins = check_count("wins", wins, 0, games)
    if games == 0:
        return (0.0, 1.0)
    z2 = 1.959963984540054**2
    center = (wins + z2 / 2) / (games + z2)
    half = math.sqrt(z2 * (wins * (games - wins) / games + z2 / 4)) / (games + z2)
    return (max(0.0, center - half), min(1.0, center + half))


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % percentile bootstrap interval of a mean, from a fixed seed."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not np.isfinite(data).all():
        raise ValueError(f"values are {shown(values)}, allowed: one row of finite numbers")
    if len(data) == 0:
        return (math.nan, math.nan)
    random = np.random.Generator(np.random.PCG64(0))
    means = [data[random.integers(len(data), size=len(data))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, (0.025, 0.975))
    return (float(low), float(high))


def _won_by_deal(games: Iterable[Game]) -> dict[Deal, bool]:
    rows = list(games)
    won = {game.deal: game.won for game in rows}
    if len(won) != len(rows):
        raise ValueError(f"{len(rows)} games are of {len(won)} deals, allowed: one game of each deal")
    return won


def mcnemar(first: Iterable[Game], second: Iterable[Game]) -> tuple[int, int, float]:
    """Two policies on the same deals: deals that only the first won, only the second won, and the exact
    two-sided p.

    Raises
    ------
    ValueError
        If the deals are not the same, or a policy has two games of a deal.
    """
    a, b = _won_by_deal(first), _won_by_deal(second)
    if a.keys() != b.keys():
        raise ValueError(
            f"different deals were played: {len(a)} and {len(b)}, {len(a.keys() & b.keys())} in common"
        )
    only_a = sum(a[deal] and not b[deal] for deal in a)
    only_b = sum(b[deal] and not a[deal] for deal in a)
    n = only_a + only_b
    tail = sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1))
    return only_a, only_b, min(1.0, 2 * tail / 2**n)


def summarize(games: Sequence[Game]) -> Summary:
    """Rates and intervals of some games.

    Raises
    ------
    ValueError
        If a game occurs twice.
    """
    check_distinct(games)
    wins = sum(game.won for game in games)

    def mean(values: Iterable[float]) -> float:
        return sum(values) / max(len(games), 1)

    return Summary(
        games=len(games),
        wins=wins,
        win_rate=wins / max(len(games), 1),
        win_interval=wilson_interval(wins, len(games)),
        cards_home=mean(game.cards_home for game in games),
        cards_interval=bootstrap_interval([game.cards_home for game in games]),
        steps=mean(game.steps for game in games),
        truncated=mean(game.truncated for game in games),
        repeated=mean(game.repeated > 0 for game in games),
    )
