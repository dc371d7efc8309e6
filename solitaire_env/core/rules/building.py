"""Which cards fit where: on another card, into a space, together in a sequence.

Sets of cards are integers in which bit ``card`` is set for each card. Cards that fit on the same cards are of
one *kind*, named by the first of them: with alternating colors, the twos of Clubs and Spades are of the kind
2C.
"""

from typing import Final

from solitaire_env.core.cards import DOWN, FACE_DOWN, SUITS
from solitaire_env.core.layout import (
    ALTERNATE_COLOR,
    ANY_GROUP,
    ANY_SUIT,
    ONE_CARD,
    OTHER_SUIT,
    SAME_COLOR,
    SEQUENCE,
    SPACES_ANY,
    SPACES_NONE,
    SPACES_RANK,
    SUPERMOVE,
)
from solitaire_env.core.native import inner

_BLACK: Final = 0b1001
_RED: Final = 0b0110


@inner
def is_in(card, cards):
    """Whether a card is in a set (bits); EMPTY is in none."""
    return (cards >> card) & 1


@inner
def color(card):
    """The suits of a card's color, as bits."""
    return _RED if ((card + 1) & 2) else _BLACK


@inner
def cards_below(rules, card, build):
    """The cards, as bits, that may be placed on a card if building follows ``build``; none on EMPTY."""
    rank = (card >> 2) - 1
    if rank == 0 and rules.wraps:
        rank = rules.ranks
    if rank <= 0:
        return 0
    suits = 1 << (card & 3)
    if build == ALTERNATE_COLOR:
        suits = 15 ^ color(card)
    elif build == ANY_SUIT:
        suits = 15
    elif build == OTHER_SUIT:
        suits ^= 15
    elif build == SAME_COLOR:
        suits = color(card)
    return suits << (4 * rank)


@inner
def next_lower(rules, cards):
    """The next lower cards of the same suits, both as bits; a King below an Ace if ranks wrap."""
    lower = (cards >> 4) & ~15
    return lower | ((cards >> 4) & 15) << (4 * rules.ranks) if rules.wraps else lower


@inner
def next_higher(rules, cards):
    """The next higher cards of the same suits, both as bits; an Ace above a King if ranks wrap."""
    higher = (cards << 4) & ((1 << 4 * (rules.ranks + 1)) - 1)
    return higher | (cards >> 4 * rules.ranks & 15) << 4 if rules.wraps else higher


@inner
def follows(rules, card, onto):
    """Whether a card is the next lower one of another's suit; neither may be face down or EMPTY."""
    if card + 4 == onto:
        return card >= SUITS
    return rules.wraps != 0 and SUITS <= onto < 2 * SUITS and card == onto + 4 * (rules.ranks - 1)


@inner
def fits(rules, card, onto):
    """Whether a card may be placed on another; neither may be EMPTY."""
    return is_in(card, cards_below(rules, onto, rules.build)) != 0


@inner
def wrapped(rules, rank):
    """A rank that is out of range by at most one round, wrapped. Faster than a division."""
    if rank > rules.ranks:
        return rank - rules.ranks
    return rank if rank > 0 else rank + rules.ranks


@inner
def base_rank(rules, state, b):
    """The rank of the first card of each foundation."""
    return rules.base if rules.base else state.rows[b, rules.row_base]


@inner
def last_rank(rules, state, b):
    """The rank of the last card of each foundation: the one below the base."""
    if not rules.wraps:
        return rules.ranks
    return wrapped(rules, base_rank(rules, state, b) - 1)


@inner
def space_rank(rules, state, b):
    """The only rank that fills a space, if not every rank does."""
    return rules.space_rank if rules.space_rank else last_rank(rules, state, b)


@inner
def space_fillers(rules, state, b):
    """The cards, as bits, that may move to a space, with any cards on them."""
    if rules.spaces == SPACES_NONE:
        return 0
    return 15 << (4 * space_rank(rules, state, b)) if rules.spaces == SPACES_RANK else ~15


@inner
def fills_space(rules, state, b, card):
    """Whether a card, or the sequence that it leads, may move to a space; EMPTY may not."""
    return is_in(card, space_fillers(rules, state, b)) != 0


@inner
def playable(rules, state, b, source):
    """The playable card of a source, read from the position row; EMPTY if there is none."""
    if source < rules.piles:
        height = state.heights[b, source]
        return state.rows[b, source * rules.pile_capacity + height - 1] if height else 0
    if source < rules.first_cell:
        waste = state.waste[b]
        return state.rows[b, rules.row_waste + waste - 1] if waste else 0
    return state.rows[b, rules.row_cells + source - rules.first_cell]


@inner
def sequence_length(rules, state, b, pile, most):
    """Number of the cards at the end of a pile that may move together, at most ``most``.

    ``most`` is at most the pile's height. Face-down cards never move.
    """
    if most <= 1:
        return most
    last = pile * rules.pile_capacity + state.heights[b, pile] - 1
    card = state.rows[b, last]
    length = 1
    while length < most:
        deeper = state.rows[b, last - length]
        together = rules.moves == ANY_GROUP or is_in(card, cards_below(rules, deeper, rules.run_build)) != 0
        if deeper >= DOWN or deeper == FACE_DOWN or not together:
            break
        card = deeper
        length += 1
    return length


@inner
def carry_limit(rules, state, b, to_space):
    """Maximum number of cards that may move together.

    A supermove does what single moves could: each empty cell holds a card meanwhile, and if any card fills a
    space, each space except the target doubles the number. Kings-only spaces hold no such cards.
    """
    if rules.moves == ONE_CARD:
        return 1
    if rules.moves == SUPERMOVE:
        cards = state.empty_cells[b] + 1
        if rules.spaces == SPACES_ANY:
            between = state.spaces[b] - to_space
            # No sequence is longer than its suit: 2**5 is enough.
            cards <<= max(0, min(between, 5))
        return cards
    return rules.ranks if rules.moves == SEQUENCE else rules.pile_capacity


@inner(inline=False)
def is_crowded(rules, state, b):
    """Whether a pile might ever get full.

    A pile grows by sequences alone. So it has enough room if fewer cards are below the sequence at its end
    than were dealt to the fullest pile. Where groups move out of order, a pile has room for all cards. A
    face-down card ends the sequence, whatever it is: legal moves do not depend on hidden cards.
    """
    for pile in range(rules.piles):
        below = state.heights[b, pile] - 1
        first = pile * rules.pile_capacity
        while (
            below > 0
            and state.rows[b, first + below - 1] < DOWN
            and fits(rules, state.rows[b, first + below], state.rows[b, first + below - 1])
        ):
            below -= 1
        if below >= rules.most_dealt and rules.moves != ANY_GROUP:
            return True
    return False
