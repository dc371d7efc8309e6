"""Feature cache: each position is read once when it is played, and reused in every pass of an update."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.networks.kernels import Packed, pack, unpack
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.reader import LegalMoves

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]

ROOM: Final = 2**12
"""Initial capacity for positions, moves and numbers; it doubles when it is full."""


class ObservationCache:
    """Unchanged observations and masks, for networks that read nothing else; with the methods of
    :class:`FeatureCache`.
    """

    def __init__(self) -> None:
        self.observations: list[Array] = []
        self.masks: list[Array] = []
        self.size = 0
        self._joined: tuple[Array, Array] | None = None

    def add(self, observations: Array, masks: Array) -> Rows:
        """Add observations ``[n, size]`` and masks ``[n, actions]``; return their numbers, int64 ``[n]``."""
        self.observations.append(observations.copy())
        self.masks.append(np.array(masks, dtype=np.int8))
        self._joined = None
        self.size += len(masks)
        return np.arange(self.size - len(masks), self.size)

    def clear(self) -> None:
        """Remove all positions."""
        self.__init__()  # type: ignore[misc]

    def of(self, rows: Rows) -> tuple[Array, Array]:
        """The observations and masks of some positions."""
        if self._joined is None:
            self._joined = np.concatenate(self.observations), np.concatenate(self.masks)
        observations, masks = self._joined
        return observations[rows], masks[rows]

    def choose(self, actions: Rows) -> "ObservationCache":
        """The same positions with one legal move each, int64 ``[size]``."""
        rows = np.arange(self.size)
        observations, masks = self.of(rows)
        chosen = ObservationCache()
        masks[:] = 0
        masks[rows, actions] = 1
        chosen.add(observations, masks)
        return chosen


class FeatureCache:
    """The features of positions and of their legal moves; positions are numbered in the order of :meth:`add`.

    Parameters
    ----------
    read_features
        Reads them from observations and masks.
    sizes
        Number of features of a move, and of a position.
    """

    def __init__(self, read_features: Callable[[Array, Array], LegalMoves], sizes: tuple[int, int]) -> None:
        self.read_features = read_features
        self.sizes = sizes
        self.packed = Packed(
            np.zeros(ROOM + 1, dtype=np.int64),
            np.zeros(ROOM + 1, dtype=np.int64),
            np.empty(ROOM, dtype=np.uint16),
            np.empty(ROOM, dtype=np.float32),
            np.empty((ROOM, sizes[1]), dtype=np.float32),
        )
        self.actions = np.empty(ROOM, dtype=np.int64)
        """int64 ``[moves]``."""
        self.size = 0

    def clear(self) -> None:
        """Remove all positions."""
        self.size = 0

    def add(self, observations: Array, masks: Array) -> Rows:
        """Add observations ``[n, size]`` and masks ``[n, actions]``; return their numbers, int64 ``[n]``."""
        return self.add_features(self.read_features(observations, masks))

    def add_features(self, features: LegalMoves) -> Rows:
        """Add features that were read before."""
        old, n = self.packed, len(features.positions)
        first_move = old.move_ends[self.size]
        last_move = first_move + len(features.games)
        # The kernel writes a number before it knows whether it is 0.
        numbers = old.entry_ends[first_move] + features.moves.size + 1
        packed = Packed(
            _with_room(old.move_ends, self.size + n + 1),
            _with_room(old.entry_ends, last_move + 1),
            _with_room(old.columns, numbers),
            _with_room(old.values, numbers),
            _with_room(old.positions, self.size + n),
        )
        self.packed = packed
        self.actions = _with_room(self.actions, last_move)
        counts = np.bincount(features.games, minlength=n)
        packed.move_ends[self.size + 1 : self.size + n + 1] = first_move + np.cumsum(counts)
        packed.positions[self.size : self.size + n] = features.positions
        self.actions[first_move:last_move] = features.actions
        pack(
            features.moves, features.positions, features.games, NUM_MOVE,
            packed.entry_ends[first_move : last_move + 1], packed.columns, packed.values,
        )  # fmt: skip
        rows = np.arange(self.size, self.size + n)
        self.size += n
        return rows

    def unpack(self, rows: Rows) -> LegalMoves:
        """The features of some positions as they were added, except for rounding."""
        ends = self.ends(rows)
        moves = np.empty((ends[-1], self.sizes[0]), dtype=np.float32)
        unpack(rows, ends, self.packed, moves, NUM_MOVE)
        games = np.repeat(np.arange(len(rows)), np.diff(ends))
        return LegalMoves(games, self.actions[self.moves(rows, ends)], moves, self.packed.positions[rows])

    def choose(self, actions: Rows) -> "FeatureCache":
        """The same positions with one legal move each, int64 ``[size]``; their features are shared."""
        packed, n = self.packed, self.size
        games = np.repeat(np.arange(n), np.diff(packed.move_ends[: n + 1]))
        moves = np.flatnonzero(self.actions[: len(games)] == actions[games])
        starts, ends = packed.entry_ends[moves], packed.entry_ends[moves + 1]
        entry_ends = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(ends - starts, out=entry_ends[1:])
        entries = np.arange(entry_ends[-1]) + np.repeat(starts - entry_ends[:-1], ends - starts)
        chosen = FeatureCache(self.read_features, self.sizes)
        chosen.packed = Packed(
            np.arange(n + 1), entry_ends, packed.columns[entries], packed.values[entries], packed.positions
        )
        chosen.actions, chosen.size = actions, n
        return chosen

    def ends(self, rows: Rows) -> Rows:
        """Where the moves of each of some positions end, if they are consecutive: int64 ``[n + 1]``, the
        first entry 0.
        """
        ends = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(self.packed.move_ends[rows + 1] - self.packed.move_ends[rows], out=ends[1:])
        return ends

    def moves(self, rows: Rows, ends: Rows) -> Rows:
        """The indices of the moves of some positions in ``actions``, int64 ``[moves]``; ``ends`` as from
        :meth:`ends`.
        """
        shift = self.packed.move_ends[rows] - ends[:-1]
        return np.arange(ends[-1]) + np.repeat(shift, np.diff(ends))


def _with_room(array: Array, needed: int) -> Array:
    """The array, or a larger copy that begins with it."""
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
