"""Positions that come back in a game: a table of those that each game of a batch has had, and counts."""

from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Rules, jit, jit_kernel, typed_once
from solitaire_env.core.position_sums import make_sum_weights, position_sum

FIRST_SIZE: Final = 256
"""Places in a game's table at first; a power of two, as all sizes are."""
FREE: Final = 0
"""Marks a free place of a table; a position whose sum is this counts as one whose sum is one more."""


class Repeats:
    """The positions of the games in some rows, by their sums (:mod:`solitaire_env.core.position_sums`).

    A hash table a game, with open addressing and linear probing; all grow when one is three quarters full.

    Parameters
    ----------
    rules
        Of the games.
    rows
        How many.
    """

    def __init__(self, rules: Rules, rows: int) -> None:
        self.counts = np.zeros(rows, dtype=np.int64)
        """Positions of each game that had been there before, int64 ``[rows]``."""
        self._weights = make_sum_weights(rules)
        self._tables = np.full((rows, FIRST_SIZE), FREE, dtype=np.int64)
        self._used = np.zeros(rows, dtype=np.int64)

    def forget(self, rows: npt.NDArray[np.int64]) -> None:
        """New games begin in some rows (int64 ``[n]``)."""
        self.counts[rows] = 0
        self._tables[rows] = FREE
        self._used[rows] = 0

    def add(self, cards: npt.NDArray[np.int8], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Note where some games (int64 ``[n]``) stand; whether each stood there before, bool ``[n]``.

        ``cards`` are the position rows of all games, int8 ``[rows, row_size]``.
        """
        came_back = np.zeros(len(rows), dtype=np.bool_)
        first = 0
        while True:
            first = _add(
                cards, rows, first, self._weights, self._tables, self._used, self.counts, came_back
            )  # fmt: skip
            if first == len(rows):
                return came_back
            self._grow()

    def _grow(self) -> None:
        """Make all tables twice as large."""
        smaller = self._tables
        rows, size = smaller.shape
        self._tables = np.full((rows, 2 * size), FREE, dtype=np.int64)
        _move(smaller, self._tables)


@jit
def _place_of(table, position):  # type: ignore[no-untyped-def]
    """Where a position stands in a table, or would."""
    last = table.shape[0] - 1
    place = position & last
    while table[place] != FREE and table[place] != position:
        place = (place + 1) & last
    return place


@jit_kernel
def _add_positions(  # type: ignore[no-untyped-def]
    cards, rows, first, weights, tables, used, counts, came_back
):  # fmt: skip
    """Note the games from the ``first`` place in ``rows`` on; where it stops: at the end, or at a game whose
    table must grow before.
    """
    most = tables.shape[1] * 3 // 4
    for k in range(first, rows.shape[0]):
        b = rows[k]
        if used[b] >= most:
            return k
        position = position_sum(cards[b], weights)
        if position == FREE:
            position += 1
        place = _place_of(tables[b], position)
        if tables[b, place] == FREE:
            tables[b, place] = position
            used[b] += 1
        else:
            came_back[k] = True
            counts[b] += 1
    return rows.shape[0]


@jit_kernel
def _move_positions(smaller, larger):  # type: ignore[no-untyped-def]
    """Enter the positions of tables in larger ones."""
    for b in range(smaller.shape[0]):
        for k in range(smaller.shape[1]):
            position = smaller[b, k]
            if position != FREE:
                larger[b, _place_of(larger[b], position)] = position


_add = typed_once(_add_positions)
_move = typed_once(_move_positions)
