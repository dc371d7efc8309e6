"""Sums that identify positions, to detect repeated ones without storing their cards.

The sum of a position is the 64-bit sum of its visible cards, each times a random weight of its place. Two
different positions of a game have the same sum with a probability of about 2**-64.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core.layout import Rules
from solitaire_env.core.native import inner


def make_sum_weights(rules: Rules) -> npt.NDArray[np.int64]:
    """The weights of the visible places of a position row, int64 ``[row_stock]``; they are constant."""
    generator = np.random.Generator(np.random.PCG64(0))
    return generator.integers(2**63, size=rules.row_stock, dtype=np.int64)


@inner(wraps=True)  # type: ignore[untyped-decorator]
def position_sum(row: Any, weights: Any) -> Any:
    """The sum of a position row (int8 ``[row_size]``), an int64."""
    total = np.int64(0)
    for place in range(weights.shape[0]):
        total += np.int64(row[place]) * weights[place]
    return total
