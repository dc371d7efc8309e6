"""The inner loop of beam search (:mod:`agents.search.beam`)."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.positions import WON, find, follow, keys_after
from solitaire_env.core import jit_allocating, jit_inline
from solitaire_env.core.engine import copy, place, step, write_row
from solitaire_env.move_features.autoplay import autoplay_safe

Array = npt.NDArray[Any]


class Layer(NamedTuple):
    """The positions after one more move from the positions of a beam."""

    rows: Array
    """int8 ``[candidates, row_size]``."""
    froms: Array
    """int32 ``[candidates]``: index in the beam of the position before each."""
    actions: Array
    """int16 ``[candidates]``: the action between them, before safe autoplay."""
    home: Array
    """int16 ``[candidates]``: cards home."""
    over: Array
    """bool ``[candidates]``: whether the game has ended."""
    table: Array
    """uint64 ``[slots, 2]``: the keys of all positions found."""
    counts: Array
    """int64 ``[2]``: number of positions found, of moves played."""


def make_layer(rules: Any, candidates: int, slots: int) -> Layer:
    """An empty layer; the number of slots must be a power of 2."""
    return Layer(
        np.zeros((candidates, rules.row_size), dtype=np.int8),
        np.zeros(candidates, dtype=np.int32),
        np.zeros(candidates, dtype=np.int16),
        np.zeros(candidates, dtype=np.int16),
        np.zeros(candidates, dtype=np.bool_),
        np.zeros((slots, 2), dtype=np.uint64),
        np.zeros(2, dtype=np.int64),
    )


@jit_inline
def _meet(keys, layer):  # type: ignore[no-untyped-def]
    """Whether a position is new; it is stored while at least a quarter of the slots is free."""
    slot, met = find(layer.table, keys)
    if not met and 4 * layer.counts[0] < 3 * layer.table.shape[0]:
        layer.table[slot, 0], layer.table[slot, 1] = keys
        layer.counts[0] += 1
    return not met


@jit_allocating
def widen(rules, state, events, rows, autoplay, trail, layer):  # type: ignore[no-untyped-def]
    """Write all new positions that are one move away from ``rows``, int8 ``[n, row_size]``, to ``layer``.

    With ``autoplay``, safe autoplay follows each move. The search ends at a won position, which is the last.

    Returns
    -------
    The number of positions, and whether there was room for all.
    """
    n = 0
    for at in range(len(rows)):
        place(rules, state, 0, rows[at])
        follow(rules, state, 0, trail)
        for action in range(rules.actions):
            if int(state.mask[0, action]) == 0:
                continue
            copy(rules, state, 0, 1)
            step(rules, state, events, 1, action)
            layer.counts[1] += 1
            if autoplay:
                layer.counts[1] += autoplay_safe(rules, state, events, 1)
            if not _meet(keys_after(rules, state, 0, 1, trail), layer):
                continue
            if n == len(layer.rows):
                return n, False
            write_row(state.rows[1], layer.rows[n])
            layer.froms[n] = at
            layer.actions[n] = action
            layer.home[n] = state.home[1]
            layer.over[n] = int(state.status[1]) != 0
            n += 1
            if int(state.status[1]) == WON:
                return n, True
    return n, True
