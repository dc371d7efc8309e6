"""Values of a network for beam search (:mod:`solitaire_env.search.beam`)."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.policies.policy import Policy

Array = npt.NDArray[Any]

BATCH_SIZE: Final = 4096
"""Batch size of the network; larger batches do not fit into a processor's cache."""


class PositionValues:
    """The value of positions: the share of cards home plus the network's value.

    Parameters
    ----------
    variant
        The game.
    network
        A policy with :meth:`~solitaire_env.policies.policy.Policy.values`.
    """

    def __init__(self, variant: Variant, network: Policy) -> None:
        batch = Batch(GameSpec(variant), 1)
        if network.moves not in (None, variant.moves):
            raise ValueError(
                f"the network plays {network.moves!r} moves, allowed for beam search: {variant.moves!r}"
            )
        if network.values(batch.observations()[:0]) is None:
            raise ValueError(
                "the network has no value head, which beam search needs, allowed: another network, or none"
            )
        self.network = network
        self.seen = batch.observations().shape[1]
        self.tableau = batch.rules.row_cells
        first = batch.rules.row_foundations
        self.foundations = slice(first, first + 4 * variant.decks)
        self.cards = variant.cards

    def __call__(self, rows: Array) -> Array:
        """The values of position rows, int8 ``[n, row_size]``: float ``[n]``."""
        seen = np.ascontiguousarray(rows[:, : self.seen])
        tableau = seen[:, : self.tableau]
        tableau[tableau >= DOWN] = FACE_DOWN
        values: list[Any] = [
            self.network.values(seen[start : start + BATCH_SIZE]) for start in range(0, len(seen), BATCH_SIZE)
        ]
        home = rows[:, self.foundations].sum(1, dtype=np.int64)
        expected: Array = home / self.cards + np.concatenate(values)
        return expected
