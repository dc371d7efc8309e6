"""Repeated positions of a game.

The sum of each position is stored (:mod:`solitaire_env.core.position_sums`). Tried: a hash table for each
game. It took 60 ns more a decision with a thousand games of 2,000 positions, whose tables do not fit into the
cache.
"""

from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Rules
from solitaire_env.core.native import Bool, Int8, Int64, kernel
from solitaire_env.core.position_sums import make_sum_weights, position_sum

FIRST_CAPACITY: Final = 250
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
        self._sums = np.zeros((rows, FIRST_CAPACITY), dtype=np.int64)
        self._lengths = np.zeros(rows, dtype=np.int64)

    def clear(self, rows: npt.NDArray[np.int64]) -> None:
        """Start new games in some rows (int64 ``[n]``)."""
        self._lengths[rows] = 0

    def add(
        self, cards: npt.NDArray[np.int8], rows: npt.NDArray[np.int64], search: bool = True
    ) -> npt.NDArray[np.bool_]:
        """Store the positions of some games (int64 ``[n]``); with ``search``, whether each is a repetition.

        ``cards`` are the position rows of all games, int8 ``[rows, row_size]``.
        """
        if self._lengths.max() == self._sums.shape[1]:
            self._sums = np.concatenate((self._sums, np.zeros_like(self._sums)), axis=1)
        found = np.zeros(len(rows), dtype=np.bool_)
        _add(cards, rows, self._weights, self._sums, self._lengths, int(search), found)
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
    search: int,
    found: Annotated[Bool, "n"],
) -> None:
    """Append the sums of positions of some games; write whether each occurred before."""
    for k in range(rows.shape[0]):
        b = rows[k]
        total = position_sum(cards[b], weights)
        times = 0
        if search != 0:
            # Compare with all: that takes a few vector instructions per hundred.
            for n in range(lengths[b]):
                times += sums[b, n] == total
        found[k] = times > 0
        sums[b, lengths[b]] = total
        lengths[b] += 1
