"""Sampled hidden cards: every order of the unseen cards has the same probability.

Unseen are the stock and, in some games, the face-down cards. NumPy draws them, not
:mod:`solitaire_env.core.worlds`: policies get observations only, and stored games repeat these numbers.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.rules.state import make_state
from solitaire_env.move_features.positions import read_unseen

Array = npt.NDArray[Any]


def unseen(rules: Any, observation: Array) -> Array:
    """The unseen cards, int8, in order of their codes: the stock and the face-down cards.

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


def draw_stocks(
    rules: Any, observation: Array, n: int, random: np.random.Generator, order: Array | None = None
) -> Array:
    """``n`` random orders of the unseen cards, int8 ``[n, cards]``, see :func:`write_games`.

    If the order of the stock is remembered, only the face-down cards differ.
    """
    cards = unseen(rules, observation)
    if order is None:
        return random.permuted(cards[None].repeat(n, 0), axis=1)
    face_down = _count_face_down(rules, observation)
    stock = order[: len(cards) - face_down]
    # Foundations that do not show the suits of their cards may leave the wrong one of two cards unseen.
    counts = np.bincount(cards, minlength=64) - np.bincount(stock, minlength=64)
    rest = np.repeat(np.arange(64, dtype=np.int8), counts.clip(min=0))
    hidden = random.permuted(rest[None].repeat(n, 0), axis=1)[:, :face_down]
    return np.hstack((hidden, stock[None].repeat(n, 0)), dtype=np.int8)


def with_stock(rules: Any, observation: Array, order: Array | None) -> Array:
    """The observation with ``information="memory"``, int8 ``[row_size]``.

    ``order`` is that of the stock, None if the player has not seen it.
    """
    left = len(unseen(rules, observation)) - _count_face_down(rules, observation)
    stock = np.zeros(rules.row_size - rules.row_stock, dtype=np.int8)
    stock[:left] = FACE_DOWN if order is None else order[:left]
    return np.concatenate((observation, stock))


def _count_face_down(rules: Any, observation: Array) -> int:
    """Number of face-down cards in the tableau."""
    return int(np.count_nonzero(observation[: rules.row_cells] == FACE_DOWN)) if rules.hides else 0


def write_games(rules: Any, rows: Array, observations: Array, orders: Array) -> None:
    """Write the position rows that match observations, with given hidden cards.

    Parameters
    ----------
    rows
        int8 ``[n, row_size]``.
    observations
        int8 ``[n, size]``, or one for all ``[size]``.
    orders
        int8 ``[n, at least the hidden cards]``: the face-down cards, pile by pile, then the stock, the next
        card last; then EMPTY.
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
