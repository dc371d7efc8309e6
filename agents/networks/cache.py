"""Looks that are kept: PPO looks at each position of a rollout once as it is played, and again in each pass.

A position and its legal moves are found again by a 64-bit number made of both. Two of a million positions
are mistaken for each other once in tens of millions of rollouts.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import jit_allocating
from solitaire_env.move_features.reader import Array, MoveFeatures

ROOM: Final = 2**16
"""Moves that there is room for at first; it doubles when it is full."""


class Memory:
    """Looks at positions, each once.

    Parameters
    ----------
    look
        Looks at positions that are new.
    sizes
        How many numbers it reads of a move, and of a position.
    positions
        So many are kept; with one more, all are forgotten first.
    """

    def __init__(
        self, look: Callable[[Array, Array], MoveFeatures], sizes: tuple[int, int], positions: int
    ) -> None:
        self.look_afresh = look
        self.room = positions
        # Open addressing; a quarter full at most, so that few places are tried.
        self.table = np.zeros(1 << (4 * positions).bit_length(), dtype=np.int64)
        self.keys = np.empty(positions, dtype=np.uint64)
        self.ends = np.zeros(positions + 1, dtype=np.int64)
        """Where the moves of each position end; the first entry is 0."""
        self.actions = np.empty(ROOM, dtype=np.int64)
        self.seen = np.empty((ROOM, sizes[0]), dtype=np.float32)
        self.positions = np.empty((positions, sizes[1]), dtype=np.float32)
        self.size = 0

    def forget(self) -> None:
        """Keep nothing any more."""
        self.table[:] = 0
        self.size = 0

    def look(self, observations: Array, masks: Array) -> MoveFeatures:
        """What :meth:`solitaire_env.move_features.reader.MoveReader.read` gives."""
        observations = np.ascontiguousarray(observations)
        masks = np.ascontiguousarray(masks).view(np.int8)
        n = len(masks)
        if n > self.room:
            return self.look_afresh(observations, masks)
        keys = np.empty(n, dtype=np.uint64)
        places = np.empty(n, dtype=np.int64)
        _keys(observations, masks, keys)
        _find(keys, self.table, self.keys, places)
        new = np.flatnonzero(places < 0)
        if self.size + len(new) > self.room:
            self.forget()
            places[:] = -1
            new = np.arange(n)
        if len(new):
            self._keep(self.look_afresh(observations[new], masks[new]), keys[new])
            places[new] = self.size - len(new) + np.arange(len(new))
        return self._recall(places)

    def _keep(self, seen: MoveFeatures, keys: npt.NDArray[np.uint64]) -> None:
        first = self.size
        self.size += len(keys)
        counts = np.bincount(seen.games, minlength=len(keys))
        start = self.ends[first]
        self.ends[first + 1 : self.size + 1] = start + np.cumsum(counts)
        end = self.ends[self.size]
        while end > len(self.actions):
            self.actions = np.concatenate((self.actions, np.empty_like(self.actions)))
            self.seen = np.concatenate((self.seen, np.empty_like(self.seen)))
        self.actions[start:end] = seen.actions
        self.seen[start:end] = seen.moves
        self.positions[first : self.size] = seen.positions
        self.keys[first : self.size] = keys
        _enter(keys, first, self.table)

    def _recall(self, places: npt.NDArray[np.int64]) -> MoveFeatures:
        starts = self.ends[places]
        counts = self.ends[places + 1] - starts
        games = np.repeat(np.arange(len(places)), counts)
        rows = np.arange(len(games)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return MoveFeatures(games, self.actions[rows], self.seen[rows], self.positions[places])


@jit_allocating
def _mix(key, code):  # type: ignore[no-untyped-def]
    """A number made of a key and a code: a step of FNV-1a, its high bits brought down."""
    key = (key ^ np.uint64(np.uint8(code))) * np.uint64(0xBF58476D1CE4E5B9)
    return key ^ (key >> np.uint64(29))


@jit_allocating
def _keys(observations, masks, keys):  # type: ignore[no-untyped-def]
    """The number of each position."""
    for n in range(keys.shape[0]):
        key = np.uint64(0x9E3779B97F4A7C15)
        for code in observations[n]:
            key = _mix(key, code)
        for code in masks[n]:
            key = _mix(key, code)
        keys[n] = key


@jit_allocating
def _find(keys, table, kept, places):  # type: ignore[no-untyped-def]
    """Where each is kept, -1 where it is not."""
    last = np.uint64(table.shape[0] - 1)
    for n in range(keys.shape[0]):
        slot = keys[n] & last
        places[n] = -1
        while table[slot] != 0:
            if kept[table[slot] - 1] == keys[n]:
                places[n] = table[slot] - 1
                break
            slot = (slot + np.uint64(1)) & last


@jit_allocating
def _enter(keys, first, table):  # type: ignore[no-untyped-def]
    """Write where they are kept, from place ``first`` on. The same number twice takes two places."""
    last = np.uint64(table.shape[0] - 1)
    for n in range(keys.shape[0]):
        slot = keys[n] & last
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & last
        table[slot] = first + n + 1
