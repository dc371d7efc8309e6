"""Random choices that depend only on the given numbers."""

from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.native import Float64, Int8, Int64, inner, kernel

NEARLY_ONE: Final = 1 - 2.0**-32
"""Upper limit of uniform numbers: nearer to 1, rounding would lead beyond the last action."""
PART: Final = 32
"""Number of mask entries that are counted at a time."""


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
    masks = np.ascontiguousarray(masks).view(np.int8)
    counts = np.empty(masks.shape[1] // PART + 1, dtype=np.int64)
    _draw_legal(masks, np.ascontiguousarray(uniforms, dtype=np.float64), counts, actions)
    return actions


@inner
def _count_ones(mask, counts):  # type: ignore[no-untyped-def]
    """Count the ones of each part of a mask; return their total.

    As bytes, in loops whose length is known at compile time: one instruction adds 32.
    """
    total = 0
    last = counts.shape[0] - 1
    for part in range(last):
        ones = np.int8(0)
        for k in range(PART):
            ones = np.int8(ones + mask[PART * part + k])
        counts[part] = ones
        total += counts[part]
    counts[last] = 0
    for k in range(PART * last, mask.shape[0]):
        counts[last] += mask[k]
    return total + counts[last]


@kernel
def _draw_legal(
    masks: Annotated[Int8, "n rules.actions"],
    uniforms: Annotated[Float64, "n"],
    counts: Annotated[Int64, "parts"],
    actions: Annotated[Int64, "n"],
) -> None:
    """Write for each game the first action with more legal ones up to it than the number asks for."""
    for n in range(masks.shape[0]):
        mask = masks[n]
        passed = min(uniforms[n], NEARLY_ONE) * _count_ones(mask, counts)
        part = ones = 0
        while ones + counts[part] <= passed and part < counts.shape[0] - 1:
            ones += counts[part]
            part += 1
        action = min(PART * part, mask.shape[0] - 1)
        ones += mask[action]
        while ones <= passed and action < mask.shape[0] - 1:
            action += 1
            ones += mask[action]
        actions[n] = action
