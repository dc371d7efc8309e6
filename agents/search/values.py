"""Values of a network for beam search (:mod:`agents.search.beam`); the only part of the solver with torch."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch as th

from agents.networks.player import NetworkPlayer
from solitaire_env import Variant
from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.spec import GameSpec

Array = npt.NDArray[Any]

BATCH_SIZE: Final = 4096
"""Batch size of the network; larger batches do not fit into a processor's cache."""


class PositionValues:
    """The value of positions: the share of cards home plus the network's value. The network is changed to
    compute in float32.
    """

    def __init__(self, variant: Variant, player: NetworkPlayer) -> None:
        if player.value is None:
            raise ValueError(
                "the network has no value head, which beam search needs, allowed: another network, or none"
            )
        if player.moves not in (None, variant.moves):
            raise ValueError(
                f"the network plays {player.moves!r} moves, allowed for beam search: {variant.moves!r}"
            )
        self.value = player.in_32_bits().value
        self.network = player.network
        batch = Batch(GameSpec(variant), 1)
        self.seen = batch.observations().shape[1]
        self.tableau = batch.rules.row_cells
        first = batch.rules.row_foundations
        self.foundations = slice(first, first + 4 * variant.decks)
        self.cards = variant.cards

    @th.inference_mode()
    def __call__(self, rows: Array) -> Array:
        """The values of position rows, int8 ``[n, row_size]``: float ``[n]``."""
        assert self.value is not None
        seen = np.ascontiguousarray(rows[:, : self.seen])
        tableau = seen[:, : self.tableau]
        tableau[tableau >= DOWN] = FACE_DOWN
        values = [
            self.value(self.network.value(th.from_numpy(seen[start : start + BATCH_SIZE])))[:, 0].numpy()
            for start in range(0, len(seen), BATCH_SIZE)
        ]
        home = rows[:, self.foundations].sum(1, dtype=np.int64)
        expected: Array = home / self.cards + np.concatenate(values)
        return expected
