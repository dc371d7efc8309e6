"""Shorter wins: a breadth-first search among the positions near a winning line.

The shortest path through the positions on the line and those a few moves away from it replaces the line,
until it is no shorter (Nakhost and Müller, "Action Elimination and Plan Neighborhood Graph Search", ICAPS
2010). Lines of the exhaustive search need it most: up to 60,000 moves long in FreeCell, they become shorter
than 200.
"""

import time
from math import inf
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import WON
from solitaire_env.core.native import kernel
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.state import copy
from solitaire_env.core.rules.step import step_legal
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.search.exhaustive import Store, begin, enter, make_store, path_to_last
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
    games = batch.rules, batch.state, batch.events
    trail = make_trail(batch.rules)
    row = np.zeros(1, dtype=np.int64)

    def expand(near: Store, store: Store) -> int:
        """Expand all positions of a store; as :func:`spread`, at least 0 if time is over."""
        at = 0
        while at >= 0 and time.perf_counter() < until:
            at = spread(*games, near, trail, store, at, at + SLICE)
        return at

    while True:
        near, store = (make_store(batch.rules, megabytes / 2, NEAR * (len(line) + 1)) for _ in range(2))
        batch.set_row(0, cards)
        for action in line:
            begin(*games, False, trail, near)
            batch.play(row, np.array([action]))
        begin(*games, False, trail, near)
        if expand(store, near) >= 0:  # the store is empty: all positions are allowed
            return line
        batch.set_row(0, cards)
        begin(*games, False, trail, store)
        if expand(near, store) != FOUND or len(path := path_to_last(store)) >= len(line):
            return line
        line = path
