"""Foundations: which cards go home, onto which foundation, and which come back."""

from typing import Annotated, Final

from solitaire_env.core.cards import SUITS
from solitaire_env.core.layout import Rules
from solitaire_env.core.native import Int64, inner, kernel
from solitaire_env.core.rules.building import base_rank, color, fits, is_in, playable, wrapped
from solitaire_env.core.rules.state import State

CARDS_OF_SUIT: Final = 0x11111111111111
"""The cards of the first suit, as bits."""


@inner
def place_home(rules, state, b, card):
    """Number of cards under a card on its foundation."""
    place = (card >> 2) - 1
    if rules.wraps:
        place = wrapped(rules, place + 2 - base_rank(rules, state, b)) - 1
    return place


@inner
def home_suits(rules, count, suit):
    """The suits, as bits, of the next card of a foundation with ``count`` cards, the first of ``suit``."""
    if rules.alternate_home and count > 0:
        return color(suit) if count & 1 == 0 else 15 ^ color(suit)
    return 1 << suit


@inner
def taken_home(rules, state, b, suit, number):
    """The cards, as bits, that a foundation takes: the one with a number, from 0, of those of a suit."""
    count = state.rows[b, rules.row_foundations + suit * rules.decks + number]
    if count >= rules.ranks:
        return 0
    rank = wrapped(rules, base_rank(rules, state, b) + count)
    return home_suits(rules, count, suit) << (4 * rank)


@kernel
def read_foundations(
    rules: Rules,
    state: State,
    row: int,
    tops: Annotated[Int64, "foundations"],
    takes: Annotated[Int64, "foundations"],
) -> None:
    """Write the possible last cards of each foundation and the cards that it takes, as bits.

    With alternating colors a foundation has two possible last cards of a color: only their number is stored.
    """
    base = base_rank(rules, state, row)
    for foundation in range(tops.shape[0]):
        suit, number = foundation // rules.decks, foundation % rules.decks
        below = state.rows[row, rules.row_foundations + foundation] - 1
        takes[foundation] = taken_home(rules, state, row, suit, number)
        tops[foundation] = 0
        if below >= 0:
            suits = home_suits(rules, below, suit)
            tops[foundation] = suits << (4 * wrapped(rules, base + below))


@inner
def cards_home_after(rules, state, b, more):
    """The cards, as bits, that the foundations take after ``more`` further cards on each."""
    cards = 0
    for suit in range(SUITS):
        cards |= _suit_home_after(rules, state, b, suit, more)
    return cards


@inner
def _suit_home_after(rules, state, b, suit, more):
    """The same, that the foundations of one suit take."""
    base = base_rank(rules, state, b)
    first = rules.row_foundations + suit * rules.decks
    cards = 0
    for foundation in range(first, first + rules.decks):
        count = state.rows[b, foundation] + more
        if count < rules.ranks:
            cards |= home_suits(rules, count, suit) << (4 * wrapped(rules, base + count))
    return cards


@inner
def update_next_home(rules, state, b):
    """Update the cards that go home now."""
    state.next_home[b] = cards_home_after(rules, state, b, 0)


@inner
def update_next_of_suit(rules, state, b, suit):
    """The same, after a change of the foundations of one suit only."""
    if rules.alternate_home:  # the foundations of other suits take these cards too
        update_next_home(rules, state, b)
    else:
        others = state.next_home[b] & ~(CARDS_OF_SUIT << suit)
        state.next_home[b] = others | _suit_home_after(rules, state, b, suit, 0)


@inner
def goes_home(state, b, card):
    """Whether a foundation takes the card; none takes EMPTY."""
    return is_in(card, state.next_home[b])


@inner
def foundation_for(rules, state, b, card):
    """The index in the row of the foundation that takes the card, which must be a card that goes home.

    Foundations of a suit are ordered fullest first, so the first match is the fullest.
    """
    count = place_home(rules, state, b, card)
    foundation = 0
    if not rules.alternate_home:
        foundation = rules.row_foundations + (card & 3) * rules.decks
        while state.rows[b, foundation] != count:
            foundation += 1
        return foundation
    while (
        state.rows[b, rules.row_foundations + foundation] != count
        or (home_suits(rules, count, foundation // rules.decks) >> (card & 3)) & 1 == 0
    ):
        foundation += 1
    return rules.row_foundations + foundation


@inner
def last_home(rules, state, b, foundation):
    """The last card of a foundation, counted from 0, EMPTY if there is none; only for building in suit."""
    count = state.rows[b, rules.row_foundations + foundation]
    if count == 0:
        return 0
    rank = wrapped(rules, base_rank(rules, state, b) + count - 1)
    return 4 * rank + (foundation if rules.decks == 1 else foundation // rules.decks)


@inner
def worrying_foundation(rules, state, b, suit, target):
    """The foundation of a suit whose last card worries back, counted from 0."""
    # Foundations of a suit are ordered fullest first, so of equal ones the last gives.
    foundation = (suit + 1) * rules.decks - 1
    while not fits(rules, last_home(rules, state, b, foundation), playable(rules, state, b, target)):
        foundation -= 1
    return foundation
