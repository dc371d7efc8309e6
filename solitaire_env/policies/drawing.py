"""Random choices that depend on nothing but the numbers given."""

from typing import Any

import numpy as np
import numpy.typing as npt


def draw(weights: npt.NDArray[Any], uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Actions int64 ``[n]`` drawn by their weights.

    Parameters
    ----------
    weights
        ``[n, actions]``, at least one of each game above 0; where it is 0, the action is never drawn.
    uniforms
        float64 ``[n]`` in [0, 1): which action it is.
    """
    sums = np.cumsum(weights, axis=1, dtype=np.float64)
    # Not so near to 1 that rounding would lead beyond the last.
    uniforms = np.minimum(uniforms, 1 - 2.0**-32)
    actions: npt.NDArray[np.int64] = (sums > uniforms[:, None] * sums[:, -1:]).argmax(1)
    return actions
