"""Rollout lookahead: follow the linear policy from a position until it would draw.

The features of the position right after a move say little about the move. The lookahead continues while
everything is known: it follows the linear policy, with safe autoplay in between, until the policy would turn
up the next card of the stock, and reads the features of that position. A draw has the lookahead of the
position before it.

Moves of a position often lead to the same end. A lookahead that meets a position of an earlier one stops
there, and the features of the end are read once.
"""

from typing import Annotated, Final, NamedTuple

from solitaire_env.core import Rules
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import Int64, inner
from solitaire_env.core.position_sums import make_sum_weights, position_sum
from solitaire_env.core.rules.step import step
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.move_features.autoplay import autoplay_safe_move
from solitaire_env.move_features.moves import best_move

MOST_PASSED: Final = 64
"""Maximum number of positions stored for the lookaheads from the moves of a game."""


NOT_KNOWN: Final = 2**32
"""More moves than any lookahead makes."""


class Passed(NamedTuple):
    """Positions on the lookaheads from one position, and their ends; scratch arrays."""

    number: Annotated[Int64, "one"]
    """int64 ``[1]``: number of positions."""
    sums: Annotated[Int64, "passed"]
    """int64 ``[MOST_PASSED]``: sum of the position, see :mod:`solitaire_env.core.position_sums`."""
    ends: Annotated[Int64, "passed"]
    """int64 ``[MOST_PASSED]``: the move whose lookahead first reached the same end."""
    left: Annotated[Int64, "passed"]
    """int64 ``[MOST_PASSED]``: number of moves from there to the end."""
    weights: Annotated[Int64, "rules.row_stock"]
    """int64 ``[row_stock]``: weights of the sums."""


def make_passed(rules: Rules) -> Passed:
    """Scratch arrays for the lookaheads of one game at a time."""
    passed = make_arrays(Passed, rules, one=1, passed=MOST_PASSED)
    return passed._replace(weights=make_sum_weights(rules))


@inner
def _find(passed, position, most):
    """Index of a stored position that reaches its end within ``most`` moves; -1 if there is none."""
    for place in range(passed.number[0]):
        if passed.sums[place] == position and passed.left[place] <= most:
            return place
    return -1


@inner
def _store(passed, position, made):
    """Store a position while there is room; its ``left`` marks that its end is not known yet."""
    place = passed.number[0]
    if place < MOST_PASSED:
        passed.sums[place] = position
        passed.left[place] = NOT_KNOWN + made
        passed.number[0] += 1


@inner
def _finish(passed, first, end, made, cut):
    """Finish the lookahead whose positions begin at ``first``.

    If it was cut off at the limit it is removed: from its positions, other lookaheads would get further.
    """
    if cut:
        passed.number[0] = first
    for place in range(first, passed.number[0]):
        passed.ends[place] = end
        passed.left[place] = NOT_KNOWN + made - passed.left[place]


@inner
def look_ahead(rules, state, events, b, move, weights, limit, scratch, passed):
    """Follow the linear policy in a game, for at most ``limit`` moves, without those of safe autoplay.

    Parameters
    ----------
    move
        The number of the move before the position.
    weights
        The linear policy's, float64 ``[NUM_MOVE]``.
    passed
        Positions of the earlier lookaheads; those of this one are added.

    Returns
    -------
    The move whose lookahead reached the same end before, or ``move``; and the number of moves to the end. If
    it is ``move``, the game is at the end.
    """
    first = passed.number[0]
    made = 0
    end = move
    cut = False
    while state.status[b] == PLAYING:
        action = autoplay_safe_move(rules, state, b)
        if action < 0:
            position = position_sum(state.rows[b], passed.weights)
            known = _find(passed, position, limit - made)
            if known >= 0:
                made += passed.left[known]
                end = passed.ends[known]
                break
            cut = made == limit
            if cut:
                break
            _store(passed, position, made)
            action = best_move(rules, state, b, weights, scratch)
            if action < rules.home_actions:  # a draw
                break
            made += 1
        step(rules, state, events, b, action)
    _finish(passed, first, end, made, cut)
    return end, made
