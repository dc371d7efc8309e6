"""The features of the moves of games in play, as a table with a row per action."""

from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Batch, Rules
from solitaire_env.core.family import FamilyBatch
from solitaire_env.core.layout import ANY_GROUP
from solitaire_env.move_features.columns import MOVE, NUM_MOVE
from solitaire_env.move_features.reader import MoveReader

Array = npt.NDArray[Any]


def value_range(rules: Rules) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The lowest and the highest value of each feature of a move, float32 ``[NUM_MOVE]`` each."""
    lowest, highest = np.zeros(NUM_MOVE, dtype=np.float32), np.ones(NUM_MOVE, dtype=np.float32)
    lowest[MOVE.home] = -rules.worrying_back
    for column, most in (
        (MOVE.cards, (rules.pile_capacity - 1) / 13 if rules.moves == ANY_GROUP else 1.0),
        (MOVE.source_stay, rules.pile_capacity / 13),
        (MOVE.target_cards, rules.pile_capacity / 13),
        (MOVE.spaces_left, rules.piles / 4),
        (MOVE.cells_left, rules.cells / 4),
        (MOVE.draw_spaces, rules.piles / 4),
    ):
        highest[column] = max(1.0, most)
    return lowest, highest


class MoveTable:
    """The features of the legal moves of games, of one variant or of several.

    Parameters
    ----------
    batch
        The games.
    """

    def __init__(self, batch: Batch | FamilyBatch) -> None:
        self.batch = batch
        specs = batch.specs if isinstance(batch, FamilyBatch) else (batch.spec,)
        self._readers = [MoveReader(spec) for spec in specs]

    def read(self) -> Array:
        """The current features, float32 ``[size, actions, NUM_MOVE]``. The rows of illegal actions are 0,
        those of finished games too.
        """
        return self.read_at(self.batch.observations(), self.batch.state.mask)

    def read_at(self, observations: Array, masks: Array | None = None) -> Array:
        """The features at some observations ``[n, entries]``, float32 ``[n, actions, NUM_MOVE]``."""
        batch = self.batch
        if not isinstance(batch, FamilyBatch):
            return self._readers[0].read_table(observations, masks)
        layout = batch.layout
        table = np.zeros((len(observations), batch.num_actions, NUM_MOVE), dtype=np.float32)
        games = (observations[:, None, layout.slices["rules"]] == layout.rules).all(-1).argmax(1)
        for game in np.unique(games).tolist():
            rows = np.flatnonzero(games == game)
            own = observations[rows][:, layout.places[game]]
            own_masks = None if masks is None else masks[rows][:, layout.actions[game]]
            table[rows[:, None], layout.actions[game]] = self._readers[game].read_table(own, own_masks)
        return table
