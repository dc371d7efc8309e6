"""Stocks that might be: every order of the cards that were not seen is as likely as any other."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def unseen(rules: Any, observation: Array) -> Array:
    """The cards that were not seen, which are the stock; int8, in order of their codes.

    Parameters
    ----------
    observation
        ``cards``, int8 ``[size]``.
    """
    left = np.zeros(64, dtype=np.int64)
    left[4 : 4 + 4 * rules.ranks] = rules.decks
    np.subtract.at(left, observation[: rules.row_foundations], 1)
    tops = observation[rules.row_foundations : rules.row_foundations + 4 * rules.decks].astype(np.int64)
    for place, top in enumerate(tops):
        left[4 + place // rules.decks : 4 * top + 4 : 4] -= 1
    left[0] = 0
    return np.repeat(np.arange(64, dtype=np.int8), left)


def draw_stocks(rules: Any, observation: Array, n: int, random: np.random.Generator) -> Array:
    """``n`` orders of these, int8 ``[n, cards]``."""
    return random.permuted(unseen(rules, observation)[None].repeat(n, 0), axis=1)
