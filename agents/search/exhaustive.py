"""Exhaustive depth-first search."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.positions import WON, find, follow, keys_after
from solitaire_env.core import jit_allocating, jit_inline
from solitaire_env.core.engine import copy, place, step, write_row
from solitaire_env.move_features.autoplay import autoplay_safe
from solitaire_env.move_features.moves import score_moves

Array = npt.NDArray[Any]

# Return values of :func:`explore`.
MORE, FOUND, EXHAUSTED, FULL = range(4)


class Store(NamedTuple):
    """The positions found by an exhaustive search."""

    rows: Array
    """int8 ``[positions, row_size]``."""
    parents: Array
    """int32 ``[positions]``: index of the position before each."""
    actions: Array
    """int16 ``[positions]``: the action between them."""
    waiting: Array
    """int32 ``[positions]``: stack of the positions that are not expanded yet."""
    table: Array
    """uint64 ``[slots, 2]``: the keys of each position."""
    counts: Array
    """int64 ``[3]``: number of positions, of positions on the stack, of moves played."""


def make_store(rules: Any, megabytes: float, most: int = 2**31 - 1) -> Store:
    """A store for as many positions as fit into some megabytes, at most ``most``."""
    each = rules.row_size + 4 + 2 + 4
    positions = min(most, max(16, int(megabytes * 1e6 / (each + 3 * 16))))
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


def path_to_last(store: Store) -> tuple[int, ...]:
    """The actions to the last position of a store."""
    actions = []
    at = int(store.counts[0]) - 1
    while store.parents[at] >= 0:
        actions.append(int(store.actions[at]))
        at = int(store.parents[at])
    return tuple(actions[::-1])


@jit_inline
def enter(rules, state, b, keys, parent, action, store):  # type: ignore[no-untyped-def]
    """Add a position that is not in the store yet; whether there was room."""
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
def begin(rules, state, events, autoplay, trail, store):  # type: ignore[no-untyped-def]
    """Add the game in row 0 as the first position; whether there was room."""
    if autoplay:
        autoplay_safe(rules, state, events, 0)
    follow(rules, state, 0, trail)
    return enter(rules, state, 0, keys_after(rules, state, 0, 0, trail), -1, -1, store)


@jit_allocating
def explore(rules, state, events, weights, autoplay, budget, trail, store, room):  # type: ignore[no-untyped-def]
    """Expand positions, depth first, the best move first, until one is won.

    Parameters
    ----------
    autoplay
        Whether safe autoplay follows each move.
    budget
        Maximum number of moves to play in this call; the next call continues.

    Returns
    -------
    MORE if the budget is spent; FOUND if the last position of the store is won; EXHAUSTED if no position is
    left, so that no reachable position is won; FULL if there is no room left.
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
            if autoplay:
                store.counts[2] += autoplay_safe(rules, state, events, 1)
            before = store.counts[0]
            keys = keys_after(rules, state, 0, 1, trail)
            if not enter(rules, state, 1, keys, at, room.actions[k], store):
                return FULL
            if int(state.status[1]) == WON and store.counts[0] > before:
                return FOUND
    return EXHAUSTED
