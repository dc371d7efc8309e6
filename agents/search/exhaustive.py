"""The search that leaves nothing out."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.positions import WON, find, follow, keys_after
from solitaire_env.core import jit_allocating, jit_inline
from solitaire_env.core.engine import copy, place, step, write_row
from solitaire_env.move_features.autoplay import autoplay_safe
from solitaire_env.move_features.moves import score_moves

Array = npt.NDArray[Any]

# What :func:`explore` ends with.
MORE, FOUND, EXHAUSTED, FULL = range(4)


class Store(NamedTuple):
    """The positions that an exhaustive search has come to."""

    rows: Array
    """int8 ``[positions, row_size]``."""
    parents: Array
    """int32 ``[positions]``: from which of them each was reached."""
    actions: Array
    """int16 ``[positions]``: and by which action."""
    waiting: Array
    """int32 ``[positions]``: those that were not looked at yet, the next one last."""
    table: Array
    """uint64 ``[slots, 2]``: the keys of each position."""
    counts: Array
    """int64 ``[3]``: positions, those that wait, moves played."""


def make_store(rules: Any, megabytes: float) -> Store:
    """Room for as many positions as fit into so many megabytes."""
    each = rules.row_size + 4 + 2 + 4
    positions = max(16, int(megabytes * 1e6 / (each + 3 * 16)))
    slots = 1 << (2 * positions - 1).bit_length()
    while slots * 16 + positions * each > megabytes * 1e6 and slots > 32:
        slots //= 2
        positions = min(positions, slots * 3 // 4)
    return Store(
        np.empty((positions, rules.row_size), dtype=np.int8),
        np.empty(positions, dtype=np.int32),
        np.empty(positions, dtype=np.int16),
        np.empty(positions, dtype=np.int32),
        np.zeros((slots, 2), dtype=np.uint64),
        np.zeros(3, dtype=np.int64),
    )


@jit_inline
def enter(rules, state, b, keys, parent, action, store):  # type: ignore[no-untyped-def]
    """Keep a position that was not met before, to be looked at next; whether there was room."""
    slot, met = find(store.table, keys)
    if met:
        return True
    n = store.counts[0]
    if n == store.rows.shape[0]:
        return False
    store.table[slot, 0], store.table[slot, 1] = keys
    write_row(state.rows[b], store.rows[n])
    store.parents[n] = parent
    store.actions[n] = action
    store.waiting[store.counts[1]] = n
    store.counts[0] += 1
    store.counts[1] += 1
    return True


@jit_allocating
def begin(rules, state, events, forced, trail, store):  # type: ignore[no-untyped-def]
    """Keep the game in row 0, to be looked at first; whether there was room."""
    if forced:
        autoplay_safe(rules, state, events, 0)
    follow(rules, state, 0, trail)
    return enter(rules, state, 0, keys_after(rules, state, 0, 0, trail), -1, -1, store)


@jit_allocating
def explore(rules, state, events, weights, forced, budget, trail, store, room):  # type: ignore[no-untyped-def]
    """Look at waiting positions, depth first, the best move first, until one is won.

    Parameters
    ----------
    forced
        Whether what is sure to go home goes home after each move.
    budget
        So many moves are played, then there is a pause; the next call goes on.

    Returns
    -------
    MORE after a pause; FOUND, the won position being the last of the store; EXHAUSTED if there is nothing
    left to look at: no position that can be reached is won; FULL if there is no room left.
    """
    end = store.counts[2] + budget
    while store.counts[1] > 0:
        if store.counts[2] >= end:
            return MORE
        store.counts[1] -= 1
        at = store.waiting[store.counts[1]]
        place(rules, state, 0, store.rows[at])
        if int(state.status[0]) == WON:
            return FOUND
        if int(state.status[0]) != 0:
            continue
        n = score_moves(rules, state, 0, weights, room)
        follow(rules, state, 0, trail)
        order = np.argsort(room.scores[:n])
        for k in order:
            copy(rules, state, 0, 1)
            step(rules, state, events, 1, room.actions[k])
            store.counts[2] += 1
            if forced:
                store.counts[2] += autoplay_safe(rules, state, events, 1)
            before = store.counts[0]
            keys = keys_after(rules, state, 0, 1, trail)
            if not enter(rules, state, 1, keys, at, room.actions[k], store):
                return FULL
            if int(state.status[1]) == WON and store.counts[0] > before:
                return FOUND
    return EXHAUSTED
