"""Finishing: where all cards are known, the move after which the policy ``greedy`` wins.

Such a move exists long before the end of most games that can be won. It cannot be wrong, and a network that
need not play the rest loses no game there.
"""

from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State, make_events, make_state, run_parts, split_evenly
from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import Int8, Int64, inner, kernel
from solitaire_env.core.position_sums import make_sum_weights, position_sum
from solitaire_env.core.rules.state import copy
from solitaire_env.core.rules.step import step_legal
from solitaire_env.move_features.greedy_moves import greedy_move
from solitaire_env.move_features.observed import GAME, place_seen
from solitaire_env.move_features.reader import SMALLEST_PART

Array = npt.NDArray[Any]

TRY: Final = 1
"""The row in which moves are tried."""
MOST_MET: Final = 1024
"""Maximum number of positions that are met in a game before the others count as not won."""


class FinishScratch(NamedTuple):
    """Scratch arrays for one game at a time."""

    state: State
    """The rows ``GAME`` and ``TRY``."""
    events: Events
    weights: Annotated[Int64, "rules.row_stock"]
    """int64 ``[row_stock]``: weights of the sums."""
    met: Annotated[Int64, "_"]
    """int64 ``[MOST_MET]``: sums (:mod:`solitaire_env.core.position_sums`) of the positions met."""


def make_finish_scratch(rules: Rules) -> FinishScratch:
    """Scratch arrays for one game at a time."""
    met = np.zeros(MOST_MET, dtype=np.int64)
    return FinishScratch(make_state(rules, 2), make_events(2), make_sum_weights(rules), met)


def finishing_moves(rules: Rules, observations: Array, masks: Array) -> npt.NDArray[np.int64]:
    """The move that finishes each game, int64 ``[n]``: that of ``greedy`` if it wins, else the first legal
    move after which it wins; -1 if there is none, and while a card is hidden.

    Parameters
    ----------
    observations
        int8 ``[n, size]``: ``cards`` observations.
    masks
        int8 or bool ``[n, actions]``: the legal moves; in finished games no move is.
    """
    chosen = np.empty(len(masks), dtype=np.int64)
    observations = np.ascontiguousarray(observations, dtype=np.int8)
    masks = np.ascontiguousarray(masks).view(np.int8)

    def find(part: slice) -> None:
        scratch = make_finish_scratch(rules)
        find_finishing_moves(rules, scratch, observations[part], masks[part], chosen[part])

    run_parts(find, list(split_evenly(len(masks), SMALLEST_PART)))
    return chosen


@inner
def _hides_cards(rules, state, b):
    """Whether there is a card that the player does not know."""
    for place in range(rules.row_size):
        counts = rules.row_foundations <= place < rules.row_stock
        if state.rows[b, place] == FACE_DOWN and not counts:
            return True
    return False


@inner
def _greedy_wins(rules, scratch, action, number):
    """Whether ``greedy`` wins the game in row ``GAME`` after an action, and the number of positions met.

    It does not if a position repeats one that was met before, or if there is no room for more.
    """
    state, met = scratch.state, scratch.met
    copy(rules, state, GAME, TRY)
    step_legal(rules, state, scratch.events, TRY, action)
    while state.status[TRY] == PLAYING:
        position = position_sum(state.rows[TRY], scratch.weights)
        for k in range(number):
            if met[k] == position:
                return False, number
        if number == met.shape[0]:
            return False, number
        met[number] = position
        number += 1
        action = greedy_move(rules, state, TRY, state.mask[TRY])
        step_legal(rules, state, scratch.events, TRY, action)
    return state.home[TRY] == rules.cards, number


@kernel
def find_finishing_moves(
    rules: Rules,
    scratch: FinishScratch,
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n rules.actions"],
    chosen: Annotated[Int64, "n"],
) -> None:
    """Write the result of :func:`finishing_moves`."""
    state = scratch.state
    for game in range(observations.shape[0]):
        chosen[game] = -1
        place_seen(rules, state, GAME, observations[game])
        if state.status[GAME] != PLAYING or _hides_cards(rules, state, GAME):
            continue
        best = greedy_move(rules, state, GAME, state.mask[GAME])
        scratch.met[0] = position_sum(state.rows[GAME], scratch.weights)
        number = 1
        for k in range(-1, masks.shape[1]):
            action = best if k < 0 else k
            if k < 0 or (masks[game, k] != 0 and state.mask[GAME, k] != 0):
                wins, number = _greedy_wins(rules, scratch, action, number)
                if wins:
                    chosen[game] = action
                    break
