"""Exhaustive search: all positions that can be reached, found with the engine.

In every position that is found, every legal action is played. Two positions are the same if they differ only
in the order of piles and cells, since these are alike. The positions with the most cards home are visited
first, the newest of them before the others, so that a win is found early if there is one; the order does not
change what is found.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from solitaire_env.core.layout import Rules, make_rules
from solitaire_env.core.perft import Rows, successors
from solitaire_env.notation import Position, position_to_row

TOGETHER = 256
"""Number of positions that are visited together."""


class Found(NamedTuple):
    """The result of a search."""

    positions: dict[bytes, bytes]
    """For the ordered row of every position that one action or more lead to, the row of a position before
    it. If a win ended the search there are more."""
    line: list[bytes] | None
    """The ordered rows from the start to a win, without the start; None if no position is won."""
    ended: bool
    """Whether the search was complete, and was not stopped by its limit."""


def ordered(rules: Rules, rows: Rows) -> Rows:
    """Position rows (int8 ``[n, row_size]``) with piles and cells in a fixed order: equal if two positions
    are alike.
    """
    rows = rows.copy()
    # Piles are padded with zeros and no card is 0, so they can be compared as bytes.
    piles = rows[:, : rules.row_cells].reshape(-1, rules.piles, rules.pile_capacity)
    names = np.sort(piles.view(f"S{rules.pile_capacity}")[..., 0], axis=1)
    rows[:, : rules.row_cells] = names[..., None].view(np.int8).reshape(len(rows), rules.row_cells)
    rows[:, rules.row_cells : rules.row_waste].sort(axis=1)
    return rows


def search(start: Position, past_wins: bool = False, limit: int = 500_000) -> Found:
    """Find a win; if there is none, or with ``past_wins``, find all reachable positions. The search stops
    when it has found more positions than the limit, as may happen under wrong rules.
    """
    rules = make_rules(start.variant)
    first = ordered(rules, position_to_row(start)[None]).tobytes()
    # The start is not among them unless play returns to it.
    positions: dict[bytes, bytes] = {}
    waiting = defaultdict(list, {0: [first]})
    line = None
    while waiting and (past_wins or line is None) and len(positions) <= limit:
        most = max(waiting)
        before = waiting[most][-TOGETHER:]
        del waiting[most][-TOGETHER:]
        if not waiting[most]:
            del waiting[most]
        rows = np.frombuffer(b"".join(before), dtype=np.int8).reshape(-1, rules.row_size)
        for parents, _, after in successors(rules, rows):
            after = ordered(rules, after)
            home = after[:, rules.row_foundations : rules.row_stock_count].sum(axis=1, dtype=np.int64)
            keys = after.view(f"V{rules.row_size}").ravel().tolist()
            for parent, key, cards in zip(parents.tolist(), keys, home.tolist(), strict=True):
                if key not in positions:
                    positions[key] = before[parent]
                    waiting[cards].append(key)
                    if cards == rules.cards and line is None:
                        line = _line(positions, first, key)
    return Found(positions, line, len(positions) <= limit)


def _line(positions: dict[bytes, bytes], first: bytes, last: bytes) -> list[bytes]:
    """The positions from the first to the last, without the first."""
    line = [last]
    while positions[line[-1]] != first:
        line.append(positions[line[-1]])
    return line[::-1]
