"""Shorter wins: a breadth-first search among the positions near a winning line.

The shortest path through the positions on the line and those a few moves away from it replaces the line,
until it is no shorter (Nakhost and Müller, "Action Elimination and Plan Neighborhood Graph Search", ICAPS
2010). Lines of the exhaustive search need it most: up to 60,000 moves long in FreeCell, they become shorter
than 200.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.batch import Batch
from solitaire_env.core.native import kernel
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.state import copy
from solitaire_env.core.rules.step import step
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.search.exhaustive import Store, begin, enter, make_store, path_to_last
from solitaire_env.search.positions import WON, Trail, find, follow, keys_after, make_trail

Array = npt.NDArray[Any]

NEAR: Final = 8
"""Positions of the search, per position on the line. In FreeCell twice as many cost twice the time and make
lines 4 % shorter."""


@kernel
def spread(rules: Rules, state: State, events: Events, near: Store, trail: Trail, store: Store) -> int:
    """Expand the positions of a store, the oldest first, until one is won.

    Parameters
    ----------
    near
        A store of the only positions that may be added; empty: no limit.

    Returns
    -------
    Whether the last position of the store is won. Otherwise no position is left, or there is no room.
    """
    at = 0
    while at < store.counts[0]:
        place(rules, state, 0, store.rows[at])
        follow(rules, state, 0, trail)
        for action in range(rules.actions):
            if state.mask[0, action] == 0:
                continue
            copy(rules, state, 0, 1)
            step(rules, state, events, 1, action)
            keys = keys_after(rules, state, 0, 1, trail)
            if near.counts[0] > 0 and not find(near.table, keys)[1]:
                continue
            before = store.counts[0]
            if not enter(rules, state, 1, keys, at, action, store):
                return 0
            if state.status[1] == WON and store.counts[0] > before:
                return 1
        at += 1
    return 0


def shorten(variant: Variant, cards: Array, line: tuple[int, ...], megabytes: float) -> tuple[int, ...]:
    """A line to a win that is at most as long as the given one.

    Parameters
    ----------
    cards
        The position row at the start of the line.
    megabytes
        Memory for the positions.
    """
    batch = Batch(GameSpec(variant), 2)
    games = batch.rules, batch.state, batch.events
    trail = make_trail(batch.rules)
    row = np.zeros(1, dtype=np.int64)
    while True:
        near, store = (make_store(batch.rules, megabytes / 2, NEAR * (len(line) + 1)) for _ in range(2))
        batch.set_row(0, cards)
        for action in line:
            begin(*games, False, trail, near)
            batch.play(row, np.array([action]))
        begin(*games, False, trail, near)
        spread(*games, store, trail, near)  # the store is empty: all positions are allowed
        batch.set_row(0, cards)
        begin(*games, False, trail, store)
        found = spread(*games, near, trail, store)
        if not found or len(path := path_to_last(store)) >= len(line):
            return line
        line = path
