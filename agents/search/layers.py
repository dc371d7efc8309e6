"""The inner loop of a beam (:mod:`agents.search.beam`)."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.positions import WON, find, follow, keys_after
from solitaire_env.core import jit_allocating, jit_inline
from solitaire_env.core.engine import copy, place, step, write_row
from solitaire_env.move_features.autoplay import autoplay_safe

Array = npt.NDArray[Any]


class Layer(NamedTuple):
    """The positions that a beam can go on to."""

    rows: Array
    """int8 ``[candidates, row_size]``."""
    froms: Array
    """int32 ``[candidates]``: from which place of the beam each is reached."""
    actions: Array
    """int16 ``[candidates]``: and by which action, before what is sure to go home went home."""
    home: Array
    """int16 ``[candidates]``: cards home."""
    over: Array
    """bool ``[candidates]``: whether nothing can be done any more."""
    table: Array
    """uint64 ``[slots, 2]``: the keys of each position that was met."""
    counts: Array
    """int64 ``[2]``: positions met, moves played."""


def make_layer(rules: Any, candidates: int, slots: int) -> Layer:
    """Room for so many positions, and to know so many slots' worth of them again; a power of 2 of slots."""
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
    """Whether a position is met for the first time; it is kept while a quarter of the slots is free."""
    slot, met = find(layer.table, keys)
    if not met and 4 * layer.counts[0] < 3 * layer.table.shape[0]:
        layer.table[slot, 0], layer.table[slot, 1] = keys
        layer.counts[0] += 1
    return not met


@jit_allocating
def widen(rules, state, events, rows, forced, trail, layer):  # type: ignore[no-untyped-def]
    """All positions, not met before, that one move leads to from each of ``rows``, int8 ``[n, row_size]``.

    With ``forced``, what is sure to go home then goes home. A won position is the last.

    Returns
    -------
    How many positions there are, and whether there was room for all.
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
            if forced:
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
