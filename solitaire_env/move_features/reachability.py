"""Relaxed reachability: how far the foundations would come if all unseen cards could be played at any time.

All cards that can go home do so, from piles, waste and cells first, then from the unseen cards, until no more
can. The cards that are left lie under others that wait for them. To measure how deep they lie, the playable
card of each pile and of the waste is taken in hand as well, and the same is repeated.

It is a relaxation: the stock comes in an order, and there is no room for cards in hand. But which cards block
each other decides most of the games that are not won (docs/training.md).
"""

from solitaire_env.core import jit, jit_called, lowest_bit
from solitaire_env.core.engine import copy_cards, playable, put_home, take, taken_home, write_row
from solitaire_env.move_features.dig_outs import send_all_home


@jit
def _play_hand(rules, state, b, hand):  # type: ignore[no-untyped-def]
    """Lay a card in hand on each foundation that takes one; whether any did."""
    any_did = False
    if rules.varied:
        for place in range(4 * rules.decks):
            cards = taken_home(rules, state, b, place)
            while cards:
                card = lowest_bit(cards)
                cards &= cards - 1
                if hand[card] > 0:
                    hand[card] -= 1
                    put_home(rules, state, b, card)
                    any_did = True
                    break
        return any_did
    for place in range(4 * rules.decks):
        rank = int(state.rows[b, rules.row_foundations + place]) + 1
        card = 4 * rank + place // rules.decks
        if rank <= rules.ranks and hand[card]:
            hand[card] -= 1
            put_home(rules, state, b, card)
            any_did = True
    return any_did


@jit_called
def write_reachability(rules, state, start, b, unseen, hand, out):  # type: ignore[no-untyped-def]
    """Write the share of all cards that come home into ``out``, float32: with the unseen cards in hand; then
    with one more card of each pile and of the waste, and so on.

    Parameters
    ----------
    start
        The row of the cards.
    b
        A row in which cards are moved.
    unseen
        int64 ``[64]``: how many of each card the player has not seen.
    hand
        int64 ``[64]``, room for the cards in hand.
    """
    copy_cards(rules, state, start, b)
    write_row(unseen, hand)
    for taken in range(out.shape[0]):
        if taken:
            for source in range(rules.first_cell):
                card = playable(rules, state, b, source)
                if card:
                    take(rules, state, b, source)
                    hand[card] += 1
        more = True
        while more:
            send_all_home(rules, state, b)
            more = _play_hand(rules, state, b, hand)
        out[taken] = int(state.home[b]) / rules.cards
