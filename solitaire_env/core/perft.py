"""Perft: count the lines of legal actions from a position, to check that the rules are right.

*Nodes* at a depth are the sequences of exactly that many legal actions, counted by playing them all. *Unique*
is the number of different positions at their ends, counted by setting up each position of the previous depth.
Two positions are equal if their position texts are, including the stock's order: the same piles in another
order are another position. A finished game has no legal action. The stock is known: a draw is one action, and
leads to one position.

If two programs disagree, :func:`divided` finds the action of the position where they differ.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.core.layout import PLAY, PLAYING, Rules, action_layout, make_rules
from solitaire_env.core.native import Int64, kernel
from solitaire_env.core.position import Position, position_to_row
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.state import Events, State, copy, make_events, make_state
from solitaire_env.core.rules.step import step, step_rows
from solitaire_env.core.shuffle import make_deals
from solitaire_env.util.arguments import check_count, check_kind

Rows = npt.NDArray[np.int8]
"""Position rows ``[n, row_size]``, see :mod:`solitaire_env.core.layout`."""

MAX_DEPTH: Final = 1000
"""Maximum depth, far beyond what can be counted."""
_CHUNK = 2**12
"""Positions that are processed together; the arrays of their successors are dozens of times larger."""

# ----------------------------------------------------------------------------------------- perft


def count_nodes(position: Position, depth: int) -> int:
    """Number of sequences of exactly ``depth`` legal actions from a position.

    Raises
    ------
    ValueError
        If the stock is hidden, or the depth is not a whole number from 0.
    """
    rules = make_rules(check_kind("position", position, Position).variant)
    return _play_out(rules, _set_up(rules, np.tile(_row(position), (_checked(depth) + 1, 1))))


def divided(position: Position, depth: int) -> Iterator[tuple[str, int]]:
    """For each legal action, by its text, the number of nodes at ``depth`` (at least 1) that begin with it.

    Raises
    ------
    ValueError
        As :func:`count_nodes`, and for depth 0.
    """
    if _checked(depth) == 0:
        raise ValueError("depth is 0, allowed for dividing: a whole number from 1")
    rules = make_rules(check_kind("position", position, Position).variant)
    rows = np.tile(_row(position), (depth, 1))
    _, actions, after = next(successors(rules, rows[:1]))
    for action, row in zip(actions.tolist(), after, strict=True):
        rows[0] = row
        yield action_layout(position.variant).text(action), _play_out(rules, _set_up(rules, rows))


def count_unique(
    position: Position, depth: int, progress: Callable[[int, int], object] | None = None
) -> Iterator[int]:
    """Number of different positions after exactly 1, 2, .. ``depth`` legal actions from a position.

    Parameters
    ----------
    progress
        Called while the positions of a depth are set up, with their number up to now and in total.

    Raises
    ------
    ValueError
        As :func:`count_nodes`.
    """
    rules = make_rules(check_kind("position", position, Position).variant)
    rows = _row(position)[None]

    def after_all() -> Iterator[Rows]:
        for number, (_, _, after) in enumerate(successors(rules, rows), 1):
            yield after
            if progress is not None:
                progress(min(number * _CHUNK, len(rows)), len(rows))

    for _ in range(_checked(depth)):
        rows = unique_rows(rules, after_all())
        yield len(rows)


def _play_out(rules: Rules, state: State) -> int:
    """Nodes from the game in row 0, to the depth of the remaining rows."""
    depth = len(state.status) - 1
    if depth == 0:
        return 1
    events, played = make_events(depth), np.zeros(depth, dtype=np.int64)
    return int(count_paths(rules, state, events, depth, played))


def _row(position: Position) -> Rows:
    if FACE_DOWN in position.stock:
        raise ValueError("the stock of the position is hidden, allowed: a position with a known stock")
    return position_to_row(position)


def _checked(depth: int) -> int:
    return check_count("depth", depth, 0, MAX_DEPTH)


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


def unique_rows(rules: Rules, parts: Iterable[Rows]) -> Rows:
    """The unique rows of an array, int8 ``[n, row_size]``, in the order of their first occurrence."""
    seen: dict[bytes, None] = {}
    for rows in parts:
        seen.update(dict.fromkeys(np.ascontiguousarray(rows).view(f"V{rules.row_size}").ravel().tolist()))
    return np.frombuffer(b"".join(seen), dtype=np.int8).reshape(-1, rules.row_size)


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


@kernel
def count_paths(
    rules: Rules, state: State, events: Events, depth: int, played: Annotated[Int64, "depth"]
) -> int:
    """Number of sequences of ``depth`` (at least 1) legal actions from the game in row 0.

    Row ``n`` of the state is scratch for the game after ``n`` actions; there are ``depth`` rows.

    Parameters
    ----------
    played
        int64 ``[depth]``, scratch for the action that is tried at each depth.
    """
    paths = 0
    at = 0
    played[0] = -1
    while at >= 0:
        if state.status[at] != PLAYING:
            at -= 1
        elif at == depth - 1:
            # Each legal action here ends a path: it need not be played.
            for action in range(rules.actions):
                paths += state.mask[at, action]
            at -= 1
        else:
            played[at] += 1
            if played[at] == rules.actions:
                at -= 1
            elif state.mask[at, played[at]] != 0:
                copy(rules, state, at, at + 1)
                step(rules, state, events, at + 1, played[at])
                at += 1
                played[at] = -1
    return paths
