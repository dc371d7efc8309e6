"""Shorter wins: a breadth-first search among the positions near a winning line.

The shortest path through the positions on the line and those a few moves away from it replaces the line,
until it is no shorter (Nakhost and Müller, "Action Elimination and Plan Neighborhood Graph Search", ICAPS
2010). Lines of the exhaustive search need it most: up to 60,000 moves long in FreeCell, they become shorter
than 200.
"""

import time
from math import inf
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import WON
from solitaire_env.core.native import Int8, Int64, inner, kernel
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.state import copy
from solitaire_env.core.rules.step import step_legal
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.search.exhaustive import Store, begin, depth_of_last, enter, make_store, trace
from solitaire_env.search.positions import Trail, find, follow, keys_after, make_trail

Array = npt.NDArray[Any]

NEAR: Final = 8
"""Positions of the search, per position on the line. In FreeCell twice as many cost twice the time and make
lines 4 % shorter."""
SLICE: Final = 4000
"""Positions expanded between two checks of the time."""
DONE: Final = -1
FOUND: Final = -2


@kernel
def spread(
    rules: Rules, state: State, events: Events, near: Store, trail: Trail, store: Store, first: int, end: int
) -> int:  # fmt: skip
    """Expand positions of a store, the oldest first, until one is won.

    Parameters
    ----------
    near
        A store of the only positions that may be added; empty: no limit.
    first, end
        Expand positions ``first`` to ``end - 1``.

    Returns
    -------
    The next position; ``DONE`` if none is left or there is no room; ``FOUND`` if the last position of the
    store is won.
    """
    for at in range(first, end):
        if at == store.counts[0]:
            return DONE
        place(rules, state, 0, store.rows[at])
        follow(rules, state, 0, trail)
        for action in range(rules.actions):
            if state.mask[0, action] == 0:
                continue
            copy(rules, state, 0, 1)
            step_legal(rules, state, events, 1, action)
            keys = keys_after(rules, state, 0, 1, trail)
            if near.counts[0] > 0 and not find(near.table, keys)[1]:
                continue
            before = store.counts[0]
            if not enter(rules, state, 1, keys, at, action, store):
                return DONE
            if state.status[1] == WON and store.counts[0] > before:
                return FOUND
    return end


# What a search for a shorter line does next (``progress[STAGE]``).
BEGIN, FIND_NEAR, FIND_PATH = range(3)
LENGTH, STAGE, NEXT = range(3)


@inner
def _first_positions(store, n):
    """A store with room for ``n`` positions, at most its own."""
    return Store(
        store.rows[:n], store.parents[:n], store.actions[:n], store.waiting[:n], store.table, store.counts
    )


@inner
def _clear(store):
    store.table[:] = 0
    store.counts[:] = 0


@inner
def _visit(rules, state, events, line, trail, near):
    """Add the positions of a line, which is played in row 0, to a store."""
    for action in line:
        begin(rules, state, events, 0, trail, near)
        step_legal(rules, state, events, 0, action)
    begin(rules, state, events, 0, trail, near)


@kernel
def shorten_some(
    rules: Rules,
    state: State,
    events: Events,
    row: Annotated[Int8, "rules.row_size"],
    trail: Trail,
    near: Store,
    store: Store,
    line: Annotated[Int64, "longest"],
    progress: Annotated[Int64, "3"],
    budget: int,
) -> int:
    """Continue a search for shorter lines.

    Parameters
    ----------
    row
        The position at the start of the line.
    near
        The positions near the line. At most :data:`NEAR` for each of its positions.
    line
        The shortest line up to now.
    progress
        The length of ``line``, what the search does next, and the next position to expand; the last two are
        0 at first.
    budget
        Maximum number of positions to expand in this call.

    Returns
    -------
    0 if the line gets no shorter, else 1: the next call continues.
    """
    n = NEAR * (progress[LENGTH] + 1)
    around, found = _first_positions(near, n), _first_positions(store, n)
    if progress[STAGE] == BEGIN:
        _clear(near)
        _clear(store)
        place(rules, state, 0, row)
        _visit(rules, state, events, line[: progress[LENGTH]], trail, around)
        progress[STAGE], progress[NEXT] = FIND_NEAR, 0
        return 1
    # While nothing is found, all positions are allowed.
    stores = (found, around) if progress[STAGE] == FIND_NEAR else (around, found)
    first = progress[NEXT]
    progress[NEXT] = spread(rules, state, events, stores[0], trail, stores[1], first, first + budget)
    if progress[NEXT] >= 0:
        return 1
    if progress[STAGE] == FIND_NEAR:
        place(rules, state, 0, row)
        begin(rules, state, events, 0, trail, found)
        progress[STAGE], progress[NEXT] = FIND_PATH, 0
        return 1
    if progress[NEXT] == DONE or depth_of_last(store) >= progress[LENGTH]:
        return 0
    progress[LENGTH], progress[STAGE] = trace(store, line), BEGIN
    return 1


def shorten(
    variant: Variant, cards: Array, line: tuple[int, ...], megabytes: float, until: float = inf
) -> tuple[int, ...]:
    """A line to a win that is at most as long as the given one.

    Parameters
    ----------
    cards
        The position row at the start of the line.
    megabytes
        Memory for the positions.
    until
        When to end, in seconds of :func:`time.perf_counter`.
    """
    batch = Batch(GameSpec(variant), 2)
    near, store = (make_store(batch.rules, megabytes / 2, NEAR * (len(line) + 1)) for _ in range(2))
    best = np.array(line, dtype=np.int64)
    progress = np.array([len(line), BEGIN, 0], dtype=np.int64)
    games = batch.rules, batch.state, batch.events
    search = cards, make_trail(batch.rules), near, store, best, progress
    while time.perf_counter() < until and shorten_some(*games, *search, SLICE):
        pass
    return tuple(best[: progress[LENGTH]].tolist())
