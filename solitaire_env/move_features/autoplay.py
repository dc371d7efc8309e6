"""Safe autoplay: moves home that cannot be wrong in games that build in suit.

A card goes home safely if the next lower cards of its suit, of all decks, are home: no card is left that
could be placed on it in the tableau, and its foundation waits for it or for its copy. Some further rules make
such a move unsafe: see :func:`_is_safe`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core import State, jit, jit_inline, jit_kernel, make_state, typed_once
from solitaire_env.core.engine import place_home, step
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.move_features.observed import GAME, place_cards

Array = npt.NDArray[Any]


def has_safe_moves(variant: Variant) -> bool:
    """Whether a game has safe autoplay: it builds in suit, on the tableau and on the foundations."""
    return variant.build == variant.foundation_build == "same suit"


@jit
def _lowest_of_suit(rules, state, b, suit):  # type: ignore[no-untyped-def]
    """Number of cards on the lowest foundation of a suit; foundations of a suit are ordered fullest first."""
    return int(state.rows[b, rules.row_foundations + suit * rules.decks + rules.decks - 1])


@jit
def _is_safe(rules, state, b, source):  # type: ignore[no-untyped-def]
    """Whether the playable card of a source is safe to go home, if a foundation takes it."""
    card = int(state.tops[b, source])
    place = place_home(rules, state, b, card)
    if _lowest_of_suit(rules, state, b, card & 3) < place:
        return False
    if not rules.varied:
        return True
    # Unsafe: a card that takes the last of its suit; a space that is filled; draws of several cards.
    return not (
        (rules.wraps and place == 0)
        or (rules.fill and source < rules.piles and int(state.heights[b, source]) == 1)
        or (rules.draw > 1 and rules.passes != 1 and rules.piles <= source < rules.first_cell)
    )


@jit_inline
def autoplay_safe_move(rules, state, b):  # type: ignore[no-untyped-def]
    """The first safe move home of a game in play, -1 if there is none."""
    for source in range(rules.sources):
        if int(state.mask[b, rules.home_actions + source]) != 0 and _is_safe(rules, state, b, source):
            return rules.home_actions + source
    return -1


@jit_inline
def autoplay_safe(rules, state, events, b):  # type: ignore[no-untyped-def]
    """Play all safe moves home of a game; return the number of cards."""
    gone = 0
    while int(state.status[b]) == PLAYING:
        action = autoplay_safe_move(rules, state, b)
        if action < 0:
            break
        step(rules, state, events, b, action)
        gone += 1
    return gone


@jit_kernel
def _autoplay_safe_moves(rules, state, chosen):  # type: ignore[no-untyped-def]
    for b in range(chosen.shape[0]):
        if int(state.status[b]) == PLAYING:
            chosen[b] = autoplay_safe_move(rules, state, b)


def autoplay_safe_moves(rules: Any, state: State) -> Array:
    """The first safe move home of each game of a batch, int64 ``[batch]``, -1 if there is none."""
    chosen = np.full(len(state.status), -1, dtype=np.int64)
    _autoplay_safe_moves(rules, state, chosen)
    return chosen


def keep_safe_moves(masks: Array, safe: Array) -> Array:
    """Copies of masks ``[n, actions]``, with only the safe move of each game that has one.

    ``safe``, int64 ``[n]``, is the result of :func:`autoplay_safe_moves`.
    """
    masks = masks.copy()
    [rows] = np.nonzero(safe >= 0)
    masks[rows] = 0
    masks[rows, safe[rows]] = 1
    return masks


@jit_kernel
def _autoplay_seen(rules, state, observations, masks, chosen):  # type: ignore[no-untyped-def]
    for game in range(observations.shape[0]):
        place_cards(rules, state, int(GAME), observations[game])
        for source in range(rules.sources):
            if (
                masks[game, rules.home_actions + source] != 0
                and int(state.tops[GAME, source]) != 0
                and _is_safe(rules, state, int(GAME), source)
            ):
                chosen[game] = rules.home_actions + source
                break


_autoplay_all_seen = typed_once(_autoplay_seen)


class SafeAutoplay:
    """Safe moves home for callers that only have observations.

    Parameters
    ----------
    spec
        The game, with ``observation="cards"``.
    """

    def __init__(self, spec: GameSpec) -> None:
        self.rules = spec.rules

    def moves(self, observations: Array, masks: Array) -> Array:
        """The first safe move home of each game, int64 ``[n]``, -1 if there is none.

        Parameters
        ----------
        observations
            int8 ``[n, size]``.
        masks
            int8 or bool ``[n, actions]``; of finished games no action is safe.
        """
        chosen = np.full(len(masks), -1, dtype=np.int64)
        observations = np.ascontiguousarray(observations, dtype=np.int8)
        masks = np.ascontiguousarray(masks).view(np.int8)
        _autoplay_all_seen(self.rules, make_state(self.rules, 1), observations, masks, chosen)
        return chosen

    def keep(self, observations: Array, masks: Array) -> Array:
        """Copies of the masks, with only the safe move of each game that has one."""
        return keep_safe_moves(masks, self.moves(observations, masks))
