"""Repeated positions of a game.

The sum of each position is stored (:mod:`solitaire_env.core.position_sums`), in the order of the game;
repetitions are counted at its end. Tried: a hash table for each game. It took 60 ns more a decision with a
thousand games of 2,000 positions, whose tables do not fit into the cache.
"""

from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Rules
from solitaire_env.core.native import Bool, Int8, Int64, kernel
from solitaire_env.core.position_sums import make_sum_weights, position_sum

FIRST_ROOM: Final = 250
"""Initial capacity for positions. With a power of two, all games would share a few places of the
cache."""


class Repeats:
    """The past positions of the games in some rows.

    Parameters
    ----------
    rules
        Rules of the games.
    rows
        Number of rows.
    """

    def __init__(self, rules: Rules, rows: int) -> None:
        self._weights = make_sum_weights(rules)
        self._sums = np.zeros((rows, FIRST_ROOM), dtype=np.int64)
        self._lengths = np.zeros(rows, dtype=np.int64)

    def clear(self, rows: npt.NDArray[np.int64]) -> None:
        """Start new games in some rows (int64 ``[n]``)."""
        self._lengths[rows] = 0

    def add(self, cards: npt.NDArray[np.int8], rows: npt.NDArray[np.int64]) -> None:
        """Store the current positions of some games (int64 ``[n]``).

        ``cards`` are the position rows of all games, int8 ``[rows, row_size]``.
        """
        if self._lengths.max() == self._sums.shape[1]:
            self._sums = np.concatenate((self._sums, np.zeros_like(self._sums)), axis=1)
        _add(cards, rows, self._weights, self._sums, self._lengths)

    def is_repetition(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether the last stored position of some games (int64 ``[n]``) is a repetition, bool ``[n]``."""
        found = np.zeros(len(rows), dtype=np.bool_)
        _find_repetition(rows, self._sums, self._lengths, found)
        return found

    def count(self, row: int) -> int:
        """Number of a game's positions that are repetitions."""
        sums = np.sort(self._sums[row, : self._lengths[row]])
        return int(np.count_nonzero(sums[1:] == sums[:-1]))


@kernel
def _add(
    cards: Annotated[Int8, "rows rules.row_size"],
    rows: Annotated[Int64, "n"],
    weights: Annotated[Int64, "rules.row_stock"],
    sums: Annotated[Int64, "rows capacity"],
    lengths: Annotated[Int64, "rows"],
) -> None:
    """Append the sums of positions of some games."""
    for k in range(rows.shape[0]):
        b = rows[k]
        sums[b, lengths[b]] = position_sum(cards[b], weights)
        lengths[b] += 1


@kernel
def _find_repetition(
    rows: Annotated[Int64, "n"],
    sums: Annotated[Int64, "rows capacity"],
    lengths: Annotated[Int64, "rows"],
    found: Annotated[Bool, "n"],
) -> None:
    """Write whether the last position of some games occurred before."""
    for k in range(rows.shape[0]):
        b = rows[k]
        last = lengths[b] - 1
        times = 0
        # Compare with all: that takes a few vector instructions per hundred.
        for n in range(last):
            times += sums[b, n] == sums[b, last]
        found[k] = times > 0
