"""Features of hidden cards: what lies face down under a move, and what the stock that has been seen gives.

They are listed in :class:`~solitaire_env.move_features.columns.HiddenColumns` and come after all others, so
networks that were trained without them read the same numbers. They read the observation alone. With
``information="memory"`` it has the stock that the player has seen; until then, and with ``"player"``, cards
of the stock are face down and count as unknown.

A pass of the stock turns up the same cards in the same order each time: those of the waste from its bottom,
then those of the stock. A draw of several cards makes only the last of them playable. So a card is reached in
this pass, in the next one if no card leaves the stock before, or in neither.
"""

from typing import NamedTuple

from solitaire_env.core.cards import SUITS
from solitaire_env.core.layout import ANY_GROUP, SPACES_RANK
from solitaire_env.core.native import inner, lowest_bit
from solitaire_env.core.rules.building import (
    cards_below,
    is_in,
    playable,
    sequence_length,
    space_fillers,
)
from solitaire_env.core.rules.foundations import last_home, place_home, worrying_foundation
from solitaire_env.core.rules.moves import decode
from solitaire_env.move_features.columns import HIDDEN
from solitaire_env.move_features.family import lies_face_down, pile_tops_take
from solitaire_env.move_features.positions import number_of


class Reached(NamedTuple):
    """The cards of stock and waste by when they are reached; sets of known cards are bits."""

    now: int
    """The playable card of the waste, and cards of this pass."""
    later: int
    """Cards of the next pass only."""
    neither: int
    """Number of cards that are reached in neither."""
    draws: int
    """Number of draws to the first useful card of this pass, 0 if there is none; the waste's own needs none
    and does not count."""


@inner
def _reach(rules, state, b, drawn, useful):
    """When the cards of stock and waste are reached; ``useful`` are those that draws are counted to."""
    waste = state.waste[b] + drawn
    cards = state.waste[b] + state.stock[b]
    redeal = rules.passes == 0 or (rules.passes > 1 and state.rows[b, rules.row_redeals] > 0)
    now = later = neither = draws = 0
    for k in range(cards):
        card = state.rows[b, rules.row_waste + k]
        if k >= state.waste[b]:
            card = state.rows[b, rules.row_stock + cards - 1 - k]
        ahead = k + 1 - waste
        last = k == cards - 1
        if ahead >= 0 and (last or ahead % rules.draw == 0):
            now |= 1 << card
            if ahead and not draws and is_in(card, useful):
                draws = (ahead + rules.draw - 1) // rules.draw
        elif redeal and (last or (k + 1) % rules.draw == 0):
            later |= 1 << card
        else:
            neither += 1
    now &= ~15
    return Reached(now, later & ~15 & ~now, neither, draws)


@inner
def _cards_below_any(rules, cards):
    """The cards, as bits, that fit by the rules onto one of a set."""
    below = 0
    while cards:
        below |= cards_below(rules, lowest_bit(cards), rules.build)
        cards &= cards - 1
    return below


@inner
def _face_down(rules, state, b, pile):
    """Number of face-down cards of a pile, and the place of the card over the last of them."""
    down = over = 0
    for place in range(state.heights[b, pile]):
        if lies_face_down(rules, state, b, pile, place):
            down += 1
            over = place + 1
    return down, over


@inner
def _leader(rules, state, b, pile):
    """The first face-up card over face-down ones, if all cards on it move with it; else EMPTY."""
    _, over = _face_down(rules, state, b, pile)
    up = state.heights[b, pile] - over
    if over == 0 or (rules.moves != ANY_GROUP and sequence_length(rules, state, b, pile, up) < up):
        return 0
    return state.rows[b, pile * rules.pile_capacity + over]


@inner(inline=False)
def write_hidden_cards(rules, state, b, drawn, out):
    """Write the features of a position; clear those of a move.

    Parameters
    ----------
    drawn
        For the position after a draw: the number of cards drawn; they are still in the stock.
    out
        float32 ``[NUM_HIDDEN]``.
    """
    out[:] = 0.0
    home, takes = state.next_home[b], pile_tops_take(rules, state, b)
    fillers = space_fillers(rules, state, b)
    if state.spaces[b]:
        takes |= fillers
    reached = _reach(rules, state, b, drawn, home | takes)
    based_now = _cards_below_any(rules, reached.now & takes)
    based_later = _cards_below_any(rules, reached.later & takes)
    ready = now = later = kings = 0
    for pile in range(rules.piles):
        leader = _leader(rules, state, b, pile)
        alone = leader != 0 and leader == playable(rules, state, b, pile)
        if is_in(leader, takes) or (alone and is_in(leader, home)):
            ready += 1
        else:
            now += is_in(leader, based_now)
            later += is_in(leader, based_later & ~based_now)
        if rules.spaces == SPACES_RANK:
            for place in range(1, state.heights[b, pile]):
                kings += is_in(state.rows[b, pile * rules.pile_capacity + place], fillers)
    out[HIDDEN.ready] = ready / 8
    out[HIDDEN.based_now] = now / 8
    out[HIDDEN.based_later] = later / 8
    out[HIDDEN.kings] = kings / 8
    if rules.has_stock:
        cards = state.waste[b] + state.stock[b]
        if rules.spaces == SPACES_RANK:
            kings = number_of((reached.now | reached.later) & fillers)
            out[HIDDEN.stock_kings] = kings / 8
        known = state.stock[b] == 0 or state.rows[b, rules.row_stock] >= SUITS
        out[HIDDEN.stock_known] = known
        out[HIDDEN.stock_cards] = cards / rules.stock_capacity
        out[HIDDEN.neither] = reached.neither / rules.stock_capacity
        out[HIDDEN.draws] = reached.draws * rules.draw / rules.stock_capacity
        out[HIDDEN.home_now] = number_of(reached.now & home) / 4
        out[HIDDEN.home_later] = number_of(reached.later & home) / 4
        out[HIDDEN.fit_now] = number_of(reached.now & takes & ~home) / 8
        out[HIDDEN.fit_later] = number_of(reached.later & takes & ~home) / 8


@inner
def _not_home(rules, state, b, cards):
    """Number of copies of some cards that are neither home nor next foundation cards."""
    number = 0
    cards &= ~state.next_home[b]
    while cards:
        card = lowest_bit(cards)
        cards &= cards - 1
        first = rules.row_foundations + (card & 3) * rules.decks
        for foundation in range(first, first + rules.decks):
            number += state.rows[b, foundation] <= place_home(rules, state, b, card)
    return number


@inner(inline=False)
def write_hidden_move(rules, state, b, action, out):
    """Write the features of a legal action of the game in row ``b``, before it is played."""
    if action < rules.home_actions:
        return
    source, target, count = decode(rules, state, b, action)
    if source >= rules.sources:
        foundation = worrying_foundation(rules, state, b, source - rules.sources, target)
        card = last_home(rules, state, b, foundation)
    else:
        card = playable(rules, state, b, source)
    if source < rules.piles:
        down, over = _face_down(rules, state, b, source)
        out[HIDDEN.under] = down / 8
        if state.heights[b, source] - count == over:
            out[HIDDEN.turned] = down / 8
    if target >= rules.first_cell:
        return
    below = cards_below(rules, card, rules.build)
    leaders = playables = 0
    for other in range(rules.sources):
        if other in (source, target):
            continue
        if other < rules.piles:
            leaders += is_in(_leader(rules, state, b, other), below)
        playables += is_in(playable(rules, state, b, other), below)
    out[HIDDEN.leaders] = leaders / 4
    if target < 0:
        out[HIDDEN.needed_now] = playables / 4
        out[HIDDEN.needed] = _not_home(rules, state, b, below) / 8
