"""A policy that plays a random legal move."""

from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.evaluation import draw

Array = npt.NDArray[Any]


class Random:
    """A legal action, all alike; from a seed where it is not told what chance says."""

    name = "random"
    by_chance = True

    def __init__(self, layout: dict[str, Any], seed: int = 0) -> None:
        self.random = np.random.Generator(np.random.PCG64(seed))

    def __call__(self, observations: Array, masks: Array, chances: Array | None = None) -> Array:
        """Actions ``[n]``."""
        return draw(masks, self.random.random(len(masks)) if chances is None else chances)
