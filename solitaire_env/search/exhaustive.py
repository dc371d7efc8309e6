"""Exhaustive depth-first search in bounded memory, the best move first."""

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import WON
from solitaire_env.core.native import Float64, Int8, Int16, Int32, Int64, UInt64, inner, kernel
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.state import copy, write_row
from solitaire_env.core.rules.step import step_legal
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.move_features.autoplay import autoplay_safe, has_safe_moves
from solitaire_env.move_features.moves import MoveScratch, make_move_scratch, score_moves, sort_by_score
from solitaire_env.search.positions import Trail, find, follow, keys_after, make_trail

Array = npt.NDArray[Any]

# Return values of :func:`explore`.
MORE, FOUND, EXHAUSTED, FULL = range(4)


class Store(NamedTuple):
    """The positions found by an exhaustive search."""

    rows: Annotated[Int8, "positions rules.row_size"]
    """int8 ``[positions, row_size]``."""
    parents: Annotated[Int32, "positions"]
    """int32 ``[positions]``: index of the position before each."""
    actions: Annotated[Int16, "positions"]
    """int16 ``[positions]``: the action between them."""
    waiting: Annotated[Int32, "positions"]
    """int32 ``[positions]``: stack of the positions that are not expanded yet."""
    table: Annotated[UInt64, "slots 2"]
    """uint64 ``[slots, 2]``: the keys of each position."""
    counts: Annotated[Int64, "3"]
    """int64 ``[3]``: number of positions, of positions on the stack, of moves played."""


def store_lengths(rules: Any, megabytes: float, most: int = 2**31 - 1) -> dict[str, int]:
    """The lengths of the axes of a store for the positions that fit into some megabytes, at most ``most``."""
    each = rules.row_size + 4 + 2 + 4
    positions = min(most, max(16, int(megabytes * 1e6 / (each + 3 * 16))))
    slots = 1 << (2 * positions - 1).bit_length()
    while slots * 16 + positions * each > megabytes * 1e6 and slots > 32:
        slots //= 2
        positions = min(positions, slots * 3 // 4)
    return {"positions": positions, "slots": slots}


def make_store(rules: Any, megabytes: float, most: int = 2**31 - 1) -> Store:
    """A store for as many positions as fit into some megabytes, at most ``most``."""
    return make_arrays(Store, rules, **store_lengths(rules, megabytes, most))


@inner
def depth_of_last(store):
    """The number of actions to the last position of a store."""
    depth = 0
    at = store.parents[store.counts[0] - 1]
    while at >= 0:
        at = store.parents[at]
        depth += 1
    return depth


@kernel
def trace(store: Store, line: Annotated[Int64, "longest"]) -> int:
    """Write the actions to the last position of a store; their number, or -1 if the line has no room."""
    length = depth_of_last(store)
    if length > line.shape[0]:
        return -1
    at = store.counts[0] - 1
    for k in range(length - 1, -1, -1):
        line[k] = store.actions[at]
        at = store.parents[at]
    return length


@inner
def enter(rules, state, b, keys, parent, action, store):
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


@kernel
def begin(rules: Rules, state: State, events: Events, autoplay: int, trail: Trail, store: Store) -> int:
    """Add the game in row 0 as the first position; whether there was room."""
    if autoplay:
        autoplay_safe(rules, state, events, 0)
    follow(rules, state, 0, trail)
    return int(enter(rules, state, 0, keys_after(rules, state, 0, 0, trail), -1, -1, store))


@kernel
def explore(
    rules: Rules,
    state: State,
    events: Events,
    weights: Annotated[Float64, "own_features"],
    autoplay: int,
    budget: int,
    trail: Trail,
    store: Store,
    scratch: MoveScratch,
) -> int:
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
        if state.status[0] == WON:
            return FOUND
        if state.status[0] != 0:
            continue
        n = score_moves(rules, state, 0, weights, scratch)
        follow(rules, state, 0, trail)
        sort_by_score(n, scratch)
        for next_best in range(n):
            k = scratch.order[next_best]
            copy(rules, state, 0, 1)
            step_legal(rules, state, events, 1, scratch.actions[k])
            store.counts[2] += 1
            if autoplay:
                store.counts[2] += autoplay_safe(rules, state, events, 1)
            before = store.counts[0]
            keys = keys_after(rules, state, 0, 1, trail)
            if not enter(rules, state, 1, keys, at, scratch.actions[k], store):
                return FULL
            if state.status[1] == WON and store.counts[0] > before:
                return FOUND
    return EXHAUSTED


class Exhaustive:
    """The search of games of one variant.

    Parameters
    ----------
    weights
        Weights of the linear policy, which orders the moves.
    megabytes, most
        Memory for positions, and their maximum number.
    """

    def __init__(self, variant: Variant, weights: Array, megabytes: float, most: int = 2**31 - 1) -> None:
        self.batch = Batch(GameSpec(variant), 2)
        self.weights = weights
        self.autoplay = has_safe_moves(variant)
        """Whether safe autoplay follows each move."""
        self.store = make_store(self.batch.rules, megabytes, most)
        self.trail = make_trail(self.batch.rules)
        self.scratch = make_move_scratch(self.batch.rules)

    def begin(self, row: Array, weights: Array | None = None) -> None:
        """Begin with a position row, int8 ``[row_size]``, whose stock is known, and perhaps other weights."""
        batch = self.batch
        self.weights = self.weights if weights is None else weights
        # A new array is faster to clear than a large one that was used.
        self.store = self.store._replace(table=np.zeros(self.store.table.shape, dtype=np.uint64))
        self.store.counts[:] = 0
        batch.set_row(0, row)
        begin(batch.rules, batch.state, batch.events, self.autoplay, self.trail, self.store)

    def explore(self, budget: int) -> tuple[int, int]:
        """Play ``budget`` moves: the result of :func:`explore`, and their number."""
        batch, store = self.batch, self.store
        before = int(store.counts[2])
        end = explore(
            batch.rules, batch.state, batch.events, self.weights, self.autoplay, budget, self.trail, store,
            self.scratch,
        )  # fmt: skip
        return end, int(store.counts[2]) - before

    def line(self) -> tuple[int, ...]:
        """The actions to a win that was found, without safe autoplay."""
        line = np.zeros(int(self.store.counts[0]), dtype=np.int64)
        return tuple(line[: trace(self.store, line)].tolist())
