"""Observations as games of the engine, in which features are read and moves are played."""

from typing import Final

from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.layout import MAX_STOCK_COUNT
from solitaire_env.core.native import inner
from solitaire_env.core.rules.derive import derive, derive_cards

GAME: Final = 0
"""The row of the state for an observation."""


@inner
def _stock_left(rules, observation):
    """Number of cards in a hidden stock: all cards that are not seen."""
    left = observation[rules.row_stock_count] if rules.has_stock else 0
    if left == MAX_STOCK_COUNT:  # or more: the count stops there
        left = rules.cards
        for place in range(rules.row_foundations):
            left -= observation[place] != 0
        for place in range(rules.row_foundations, rules.row_stock_count):
            left -= observation[place]
    return left


@inner
def write_seen(rules, state, b, observation):
    """Write the position row of a ``cards`` observation; a hidden stock is filled with
    FACE_DOWN, which fits nowhere and goes to no foundation.

    Face-down cards are hidden even if the observation shows them: features mean the same for all.
    """
    seen = min(len(observation), rules.row_size)
    for place in range(seen):
        state.rows[b, place] = observation[place]
    if rules.hides:
        for place in range(rules.row_cells):
            if observation[place] >= DOWN:
                state.rows[b, place] = FACE_DOWN
    if seen < rules.row_size:
        left = _stock_left(rules, observation)
        for place in range(rules.stock_capacity):
            state.rows[b, rules.row_stock + place] = FACE_DOWN if place < left else 0


@inner(inline=False)
def place_seen(rules, state, b, observation):
    """Set a game to the position of a ``cards`` observation (int8 ``[size]``)."""
    write_seen(rules, state, b, observation)
    derive(rules, state, b)


@inner
def place_cards(rules, state, b, observation):
    """The same without mask and status."""
    write_seen(rules, state, b, observation)
    derive_cards(rules, state, b)
