"""Safe autoplay: moves home that cannot be wrong in games that build in suit.

A card goes home safely if the next lower cards of its suit, of all decks, are home: no card is left that
could be placed on it in the tableau, and its foundation waits for it or for its copy. Some further rules make
such a move unsafe: see :func:`_is_safe`.
"""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State, make_state
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import Int8, Int64, inner, kernel
from solitaire_env.core.rules.foundations import place_home
from solitaire_env.core.rules.step import step
from solitaire_env.core.variant import Variant
from solitaire_env.move_features.observed import GAME, place_cards

Array = npt.NDArray[Any]


def has_safe_moves(variant: Variant) -> bool:
    """Whether a game has safe autoplay: it builds in suit, on the tableau and on the foundations."""
    return variant.build == variant.foundation_build == "same suit"


@inner
def lowest_of_suit(rules, state, b, suit):
    """Number of cards on the lowest foundation of a suit; foundations of a suit are ordered fullest first."""
    return state.rows[b, rules.row_foundations + suit * rules.decks + rules.decks - 1]


@inner
def _is_safe(rules, state, b, source):
    """Whether the playable card of a source is safe to go home, if a foundation takes it."""
    card = state.tops[b, source]
    place = place_home(rules, state, b, card)
    if lowest_of_suit(rules, state, b, card & 3) < place:
        return False
    # Unsafe: a card that takes the last of its suit; a space that is filled; draws of several cards.
    return not (
        (rules.wraps and place == 0)
        or (rules.fill and source < rules.piles and state.heights[b, source] == 1)
        or (rules.draw > 1 and rules.passes != 1 and rules.piles <= source < rules.first_cell)
    )


@kernel
def autoplay_safe_move(rules: Rules, state: State, b: int) -> int:
    """The first safe move home of a game in play, -1 if there is none."""
    for source in range(rules.sources):
        if state.mask[b, rules.home_actions + source] != 0 and _is_safe(rules, state, b, source):
            return rules.home_actions + source
    return -1


@kernel
def autoplay_safe(rules: Rules, state: State, events: Events, b: int) -> int:
    """Play all safe moves home of a game; return the number of cards."""
    gone = 0
    while state.status[b] == PLAYING:
        action = autoplay_safe_move(rules, state, b)
        if action < 0:
            break
        step(rules, state, events, b, action)
        gone += 1
    return gone


@kernel
def find_safe_moves(
    rules: Rules,
    state: State,
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n rules.actions"],
    chosen: Annotated[Int64, "n"],
) -> None:
    """Write the first safe move home of each game to ``chosen``, -1 if there is none."""
    for game in range(observations.shape[0]):
        place_cards(rules, state, GAME, observations[game])
        chosen[game] = -1
        for source in range(rules.sources):
            if (
                masks[game, rules.home_actions + source] != 0
                and state.tops[GAME, source] != 0
                and _is_safe(rules, state, GAME, source)
            ):
                chosen[game] = rules.home_actions + source
                break


@kernel
def find_safe_moves_in_play(rules: Rules, state: State, chosen: Annotated[Int64, "batch"]) -> None:
    """Write the first safe move home of each game of a state to ``chosen``, -1 if there is none."""
    for b in range(chosen.shape[0]):
        chosen[b] = autoplay_safe_move(rules, state, b) if state.status[b] == PLAYING else -1


def safe_moves_in_play(rules: Rules, state: State) -> Array:
    """The first safe move home of each game of a state, int64 ``[batch]``, -1 if there is none."""
    chosen = np.empty(len(state.status), dtype=np.int64)
    find_safe_moves_in_play(rules, state, chosen)
    return chosen


def autoplay_safe_moves(rules: Rules, observations: Array, masks: Array) -> Array:
    """The first safe move home of each game, int64 ``[n]``, -1 if there is none.

    Parameters
    ----------
    observations
        int8 ``[n, size]``: ``cards`` observations, or position rows.
    masks
        int8 or bool ``[n, actions]``; of finished games no action is safe.
    """
    chosen = np.empty(len(masks), dtype=np.int64)
    observations = np.ascontiguousarray(observations, dtype=np.int8)
    masks = np.ascontiguousarray(masks).view(np.int8)
    find_safe_moves(rules, make_state(rules, 1), observations, masks, chosen)
    return chosen


def keep_chosen(masks: Array, chosen: Array) -> Array:
    """Copies of masks ``[n, actions]``, with only the move that is chosen for a game, int64 ``[n]``, where it
    is not -1.
    """
    masks = masks.copy()
    [rows] = np.nonzero(chosen >= 0)
    masks[rows] = 0
    masks[rows, chosen[rows]] = 1
    return masks
