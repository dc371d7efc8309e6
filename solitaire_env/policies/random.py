"""A policy that plays a random legal move."""

import numpy as np

from solitaire_env.core.spec import GameSpec
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.policy import Array, Policy


class Random(Policy):
    """Every legal action has the same probability.

    Parameters
    ----------
    spec
        The game, with the policy's action set.
    seed
        Seed of the random numbers if the caller passes none.
    """

    name = "random"
    stochastic = True

    def __init__(self, spec: GameSpec, seed: int = 0) -> None:
        self.moves = spec.variant.moves
        self._random = np.random.Generator(np.random.PCG64(seed))

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Actions int64 ``[n]``."""
        return draw(masks, self._random.random(len(masks)) if uniforms is None else uniforms)
