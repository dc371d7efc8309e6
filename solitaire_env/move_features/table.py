"""The features of the moves of games in play, as a table with a row per action."""

from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Batch, Rules, State, run_parts, split_evenly
from solitaire_env.core.layout import ANY_GROUP, PLAYING
from solitaire_env.core.native import Bound, Float32, Float64, Int8, kernel
from solitaire_env.move_features.columns import MOVE, NUM_MOVE
from solitaire_env.move_features.moves import measure, next_action, survey
from solitaire_env.move_features.reader import NO_WEIGHTS, MoveReader
from solitaire_env.util.lazy import cached_property

Array = npt.NDArray[Any]

SMALLEST_PART: Final = 256
"""Minimum number of games of a thread."""


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
    """The features of the legal moves of a batch of games.

    They equal those that :meth:`~solitaire_env.move_features.reader.MoveReader.read_table` reads from
    observations, but are read from the state of the games, which is faster.

    Parameters
    ----------
    batch
        The games.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        rules = batch.rules
        self._table = np.zeros((batch.size, rules.actions, NUM_MOVE), dtype=np.float32)
        self._written = np.zeros((batch.size, rules.actions), dtype=np.int8)
        self._near = np.zeros((batch.size, rules.piles), dtype=np.float64)

    def read(self) -> Array:
        """The current features, float32 ``[size, actions, NUM_MOVE]``: a view that the next call
        overwrites. The rows of illegal actions are 0, those of finished games too.
        """
        run_parts(Bound.__call__, self._writers)
        return self._table

    @cached_property
    def _writers(self) -> list[Bound]:
        """The kernel, bound to each part of the games."""
        arrays = self._near, NO_WEIGHTS, self._written, self._table
        return [
            _write.bind(self.batch.rules, self.batch.state, *arrays, part.start, part.stop)
            for part in split_evenly(self.batch.size, SMALLEST_PART)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """A copy binds the kernel to its own arrays."""
        return {name: value for name, value in self.__dict__.items() if name != "_writers"}

    def read_ended(self, observations: Array, games: npt.NDArray[np.int64]) -> Array:
        """The features at some observations ``[n, entries]`` of games that have ended since, float32
        ``[n, actions, NUM_MOVE]``. All are of the same variant, and ``games`` is not read.
        """
        return self._reader.read_table(observations)

    @cached_property
    def _reader(self) -> MoveReader:
        return MoveReader(self.batch.spec)


class FamilyMoveTable:
    """The features of the legal moves of games of several variants; see :class:`MoveTable`.

    They are read from observations, game by game.

    Parameters
    ----------
    batch
        The games.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self._readers: dict[int, MoveReader] = {}

    def read(self) -> Array:
        """The current features, float32 ``[size, actions, NUM_MOVE]``."""
        return self.read_ended(self.batch.observations(), self.batch.played)

    def read_ended(self, observations: Array, games: npt.NDArray[np.int64]) -> Array:
        """The features at some observations ``[n, entries]``, float32 ``[n, actions, NUM_MOVE]``.

        ``games`` (int64 ``[n]``) are the indices of their variants.
        """
        layout = self.batch.layout
        assert layout is not None
        table = np.zeros((len(observations), len(layout.texts), NUM_MOVE), dtype=np.float32)
        for game in np.unique(games).tolist():
            if game not in self._readers:
                self._readers[game] = MoveReader(self.batch.groups[game].spec)
            rows = np.flatnonzero(games == game)
            own = observations[rows][:, layout.places[game]]
            table[rows[:, None], layout.actions[game]] = self._readers[game].read_table(own)
        return table


@kernel
def _write(
    rules: Rules,
    state: State,
    near: Annotated[Float64, "batch rules.piles"],
    weights: Annotated[Float64, "own_features"],
    written: Annotated[Int8, "batch rules.actions"],
    table: Annotated[Float32, "batch rules.actions own_features"],
    first: int,
    last: int,
) -> None:
    """Write the games from row ``first`` up to ``last``; only clear rows that were written before."""
    for b in range(first, last):
        mask, before = state.mask[b], written[b]
        action = next_action(before, 0)
        while action < rules.actions:
            out = table[b, action]
            out[:] = 0.0
            before[action] = 0
            action = next_action(before, action + 1)
        if state.status[b] != PLAYING:
            continue
        view = survey(rules, state, b, near[b])
        action = next_action(mask, 0)
        while action < rules.actions:
            measure(rules, state, b, action, view, near[b], weights, table[b, action])
            before[action] = 1
            action = next_action(mask, action + 1)
