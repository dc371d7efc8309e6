"""Random choices that depend only on the given numbers."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

NEARLY_ONE: Final = 1 - 2.0**-32
"""Upper limit of uniform numbers: nearer to 1, rounding would lead beyond the last action."""


def draw(weights: npt.NDArray[Any], uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Actions int64 ``[n]`` drawn by their weights.

    Parameters
    ----------
    weights
        ``[n, actions]``, at least one of each game above 0; an action with weight 0 is never drawn.
    uniforms
        float64 ``[n]`` in [0, 1): random numbers that choose the actions.
    """
    sums = np.cumsum(weights, axis=1, dtype=np.float64)
    uniforms = np.minimum(uniforms, NEARLY_ONE)
    actions: npt.NDArray[np.int64] = (sums > uniforms[:, None] * sums[:, -1:]).argmax(1)
    return actions
