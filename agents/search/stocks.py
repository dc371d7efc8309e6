"""Hidden cards that might be: every order of the cards that are not seen is as likely as any other.

They are the stock and, in some games, the cards that lie face down.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.engine import make_state
from solitaire_env.move_features.positions import read_unseen

Array = npt.NDArray[Any]


def unseen(rules: Any, observation: Array) -> Array:
    """The cards that are not seen, int8, in order of their codes: those of the stock and the face-down ones.

    Parameters
    ----------
    observation
        ``cards``, int8 ``[size]``.
    """
    left = np.zeros(64, dtype=np.int64)
    read_unseen(rules, make_state(rules, 1), observation, left)
    left[:4] = 0
    left[4 + 4 * rules.ranks :] = 0
    return np.repeat(np.arange(64, dtype=np.int8), left)


def draw_stocks(rules: Any, observation: Array, n: int, random: np.random.Generator) -> Array:
    """``n`` orders of these, int8 ``[n, cards]``."""
    return random.permuted(unseen(rules, observation)[None].repeat(n, 0), axis=1)


def write_games(rules: Any, rows: Array, observations: Array, orders: Array) -> None:
    """Write the position rows of games that look like observations.

    Parameters
    ----------
    rows
        int8 ``[n, row_size]``.
    observations
        int8 ``[n, size]``, or one for all ``[size]``.
    orders
        int8 ``[n, at least the hidden cards]``: the cards that lie face down, pile by pile, then those of the
        stock, the next one last; then EMPTY.
    """
    rows[:] = 0
    rows[:, : rules.row_stock] = observations
    stocks = orders[:, : rules.stock_capacity]
    if rules.hides:
        hidden = rows[:, : rules.row_cells] == FACE_DOWN
        counts = np.count_nonzero(hidden, axis=1)
        stocks = np.zeros((len(rows), rules.stock_capacity), dtype=np.int8)
        for row, order, places, count, stock in zip(rows, orders, hidden, counts, stocks, strict=True):
            row[: rules.row_cells][places] = order[:count] | DOWN
            rest = order[count : count + rules.stock_capacity]
            stock[: len(rest)] = rest
    rows[:, rules.row_stock : rules.row_stock + stocks.shape[1]] = stocks
