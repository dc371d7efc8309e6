"""Random choices that depend only on the given numbers."""

from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.native import Float64, Int8, Int64, kernel

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


def draw_legal(masks: npt.NDArray[np.int8], uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The same with equal weights for all legal actions; ``masks`` are int8 or bool ``[n, actions]``."""
    actions = np.empty(len(masks), dtype=np.int64)
    _draw_legal(np.ascontiguousarray(masks).view(np.int8), np.ascontiguousarray(uniforms), actions)
    return actions


@kernel
def _draw_legal(
    masks: Annotated[Int8, "n rules.actions"],
    uniforms: Annotated[Float64, "n"],
    actions: Annotated[Int64, "n"],
) -> None:
    """Write for each game the first action with more legal ones up to it than the number asks for."""
    for n in range(masks.shape[0]):
        mask = masks[n]
        ones = 0
        for action in range(mask.shape[0]):
            ones += mask[action] != 0
        left = min(uniforms[n], NEARLY_ONE) * ones
        action = 0
        while left >= mask[action] and action < mask.shape[0] - 1:
            left -= mask[action]
            action += 1
        actions[n] = action
