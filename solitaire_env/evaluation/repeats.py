"""Positions that come back in a game.

Of each position its sum is kept (:mod:`solitaire_env.core.position_sums`), in the order of the game, and they
are counted when it is over. Tried: a hash table for each game. It took 60 ns more a decision where a thousand
games of 2,000 positions are played, as their tables do not fit into the cache.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Rules, jit_kernel, typed_once
from solitaire_env.core.position_sums import make_sum_weights, position_sum

FIRST_ROOM: Final = 250
"""Positions that there is room for at first. With a power of two, all games would share a few places of the
cache."""


class Repeats:
    """The positions that the games in some rows have had.

    Parameters
    ----------
    rules
        Of the games.
    rows
        How many.
    """

    def __init__(self, rules: Rules, rows: int) -> None:
        self._weights = make_sum_weights(rules)
        self._sums = np.zeros((rows, FIRST_ROOM), dtype=np.int64)
        self._lengths = np.zeros(rows, dtype=np.int64)

    def forget(self, rows: npt.NDArray[np.int64]) -> None:
        """New games begin in some rows (int64 ``[n]``)."""
        self._lengths[rows] = 0

    def add(self, cards: npt.NDArray[np.int8], rows: npt.NDArray[np.int64]) -> None:
        """Note where some games (int64 ``[n]``) stand.

        ``cards`` are the position rows of all games, int8 ``[rows, row_size]``.
        """
        if self._lengths.max() == self._sums.shape[1]:
            self._sums = np.concatenate((self._sums, np.zeros_like(self._sums)), axis=1)
        _add(cards, rows, self._weights, self._sums, self._lengths)

    def came_back(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether some games (int64 ``[n]``) have been before where they were noted last, bool ``[n]``."""
        found = np.zeros(len(rows), dtype=np.bool_)
        _look_back(rows, self._sums, self._lengths, found)
        return found

    def count(self, row: int) -> int:
        """How many of a game's positions it had been in before."""
        sums = np.sort(self._sums[row, : self._lengths[row]])
        return int(np.count_nonzero(sums[1:] == sums[:-1]))


@jit_kernel
def _add_sums(cards, rows, weights, sums, lengths):  # type: ignore[no-untyped-def]
    """Note the positions of some games after those that they have had."""
    for k in range(rows.shape[0]):
        b = rows[k]
        sums[b, lengths[b]] = position_sum(cards[b], weights)
        lengths[b] += 1


@jit_kernel
def _find_last(rows, sums, lengths, found):  # type: ignore[no-untyped-def]
    """Write whether the last position of some games is among those before it."""
    for k in range(rows.shape[0]):
        b = rows[k]
        last = lengths[b] - 1
        times = 0
        # All are compared: that is a few vector instructions for each hundred.
        for n in range(last):
            times += sums[b, n] == sums[b, last]
        found[k] = times > 0


_add = typed_once(_add_sums)
_look_back = typed_once(_find_last)
