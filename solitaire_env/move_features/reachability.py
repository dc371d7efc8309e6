"""Relaxed reachability: foundation progress if all unseen cards could be played at any time.

All possible cards go home, from piles, waste and cells first, then from the unseen cards, until no more can.
The remaining cards are blocked. To measure how deep, the playable card of each pile and of the waste also
becomes available, and this is repeated.

It is a relaxation: the stock has an order, and available cards would need room. But which cards block each
other decides most of the games that are not won (docs/explanation/learning.md).
"""

from solitaire_env.core.cards import SUITS
from solitaire_env.core.native import inner, lowest_bit
from solitaire_env.core.rules.building import playable
from solitaire_env.core.rules.foundations import CARDS_OF_SUIT, taken_home
from solitaire_env.core.rules.moves import put_home, take
from solitaire_env.core.rules.state import copy_cards, write_row
from solitaire_env.move_features.dig_outs import send_all_home


@inner
def _play_hand(rules, state, b, hand, held):
    """Place an available card on each foundation that takes one; the set of those that are still available.

    ``held`` is that set before, as bits.
    """
    wanted = held & state.next_home[b]
    for suit in range(SUITS):
        if not rules.alternate_home and not wanted & (CARDS_OF_SUIT << suit):
            continue
        for number in range(rules.decks):
            cards = taken_home(rules, state, b, suit, number) & held
            if cards:
                card = lowest_bit(cards)
                hand[card] -= 1
                if hand[card] == 0:
                    held &= ~(1 << card)
                put_home(rules, state, b, card)
    return held


@inner(inline=False)
def write_reachability(rules, state, start, b, unseen, hand, out):
    """Write the share of all cards that go home to ``out``, float32: with the unseen cards available; then
    with one more card of each pile and of the waste, and so on.

    Parameters
    ----------
    start
        The row of the cards.
    b
        A scratch row.
    unseen
        int64 ``[64]``: number of unseen copies of each card.
    hand
        int64 ``[64]``, scratch for the available cards.
    """
    copy_cards(rules, state, start, b)
    write_row(unseen, hand)
    held = 0
    for card in range(SUITS, SUITS + SUITS * rules.ranks):
        held |= (hand[card] > 0) << card
    for taken in range(out.shape[0]):
        if taken:
            for source in range(rules.first_cell):
                card = playable(rules, state, b, source)
                if card:
                    take(rules, state, b, source)
                    hand[card] += 1
                    held |= (hand[card] > 0) << card
        in_sight = send_all_home(rules, state, b)
        while held & state.next_home[b]:
            held = _play_hand(rules, state, b, hand, held)
            if in_sight & state.next_home[b]:
                in_sight = send_all_home(rules, state, b)
        out[taken] = state.home[b] / rules.cards
