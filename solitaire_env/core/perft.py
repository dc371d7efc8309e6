"""Perft: count the lines of legal actions from a position, to check that the rules are right.

*Nodes* at a depth are the sequences of exactly that many legal actions, *unique* is the number of different
positions at their ends. To count both, each action is played in each different position of the depth before.
Two positions are equal if their position texts are, including the stock's order: the same piles in another
order are another position. A finished game has no legal action. The stock is known: a draw is one action, and
leads to one position.

If two programs disagree, :func:`divided` finds the action of the position where they differ.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.core.layout import PLAY, PLAYING, Rules, action_layout, make_rules
from solitaire_env.core.position import Position, position_to_row
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.state import State, make_events, make_state
from solitaire_env.core.rules.step import step_rows
from solitaire_env.core.shuffle import make_deals
from solitaire_env.util.arguments import check_count, check_kind

Rows = npt.NDArray[np.int8]
"""Position rows ``[n, row_size]``, see :mod:`solitaire_env.core.layout`."""

MAX_DEPTH: Final = 1000
"""Maximum depth, far beyond what can be counted."""
_CHUNK = 2**12
"""Positions that are processed together; the arrays of their successors are dozens of times larger."""

# ----------------------------------------------------------------------------------------- perft


def count(
    position: Position, depth: int, progress: Callable[[int, int], object] | None = None
) -> Iterator[tuple[int, int]]:
    """Nodes and unique positions after exactly 1, 2, .. ``depth`` legal actions from a position.

    Parameters
    ----------
    progress
        Called while the positions of a depth are set up, with their number up to now and in total.

    Raises
    ------
    ValueError
        If cards are hidden, or the depth is not a whole number from 0.
    """
    rules, rows = _read_start(position)
    yield from _count(rules, rows, check_count("depth", depth, 0, MAX_DEPTH), progress)


def _read_start(position: Position) -> tuple[Rules, Rows]:
    rules = make_rules(check_kind("position", position, Position).variant)
    if FACE_DOWN in (*position.stock, *chain(*position.tableau)):
        raise ValueError("cards of the position are hidden, allowed: a position whose cards are known")
    return rules, position_to_row(position)[None]


def _count(
    rules: Rules, rows: Rows, depth: int, progress: Callable[[int, int], object] | None = None
) -> Iterator[tuple[int, int]]:
    ways = [1] * len(rows)
    for _ in range(depth):
        found: dict[bytes, int] = {}
        for number, (parents, _, after) in enumerate(successors(rules, rows), 1):
            keys = np.ascontiguousarray(after).view(f"V{rules.row_size}").ravel().tolist()
            for parent, key in zip(parents.tolist(), keys, strict=True):
                found[key] = found.get(key, 0) + ways[parent]
            if progress is not None:
                progress(min(number * _CHUNK, len(rows)), len(rows))
        ways = list(found.values())
        yield sum(ways), len(found)
        rows = np.frombuffer(b"".join(found), dtype=np.int8).reshape(-1, rules.row_size)


def divided(position: Position, depth: int) -> Iterator[tuple[str, int]]:
    """For each legal action, by its text, the number of nodes at ``depth`` (at least 1) that begin with it.

    Raises
    ------
    ValueError
        As :func:`count`, and for depth 0.
    """
    check_count("depth", depth, 1, MAX_DEPTH)
    rules, rows = _read_start(position)
    _, actions, after = next(successors(rules, rows))
    for action, row in zip(actions.tolist(), after, strict=True):
        nodes = [1, *(nodes for nodes, _ in _count(rules, row[None], depth - 1))]
        yield action_layout(position.variant).text(action), nodes[-1]


# ------------------------------------------------------------------------ reachable positions


def successors(
    rules: Rules, rows: Rows
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Rows]]:
    """Play every legal action in each of some positions, in order, in parts of limited size.

    Yields the numbers of the positions and the actions, int64 ``[n]``, and the rows after them, int8
    ``[n, row_size]``.
    """
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        parents, actions = _legal(_set_up(rules, chunk))
        after = _set_up(rules, chunk[parents])
        if len(actions):
            no_deals = make_deals(rules, [0] * rules.piles, 1)
            everyone = np.full(len(actions), PLAY, dtype=np.int8)
            step_rows(rules, no_deals, after, make_events(len(actions)), actions, everyone)
        yield parents + start, actions, after.rows


def _set_up(rules: Rules, rows: Rows) -> State:
    state = make_state(rules, len(rows))
    state.rows[:] = rows
    derive_rows(rules, state, np.arange(len(rows)))
    return state


def _legal(state: State) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Every legal action of every game: numbers of the games and the actions, int64 ``[n]``."""
    # Contiguous, as kernels need them: np.nonzero returns columns of one array.
    legal = np.flatnonzero(state.mask & (state.status == PLAYING)[:, None])
    games, actions = np.divmod(legal, state.mask.shape[1])
    return games, actions
