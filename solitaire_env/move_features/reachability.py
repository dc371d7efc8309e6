"""Relaxed reachability: how far the foundations would come if all unseen cards could be played at any time.

All cards that go home go home from piles, waste and cells, and from the unseen cards where these have nothing to give,
until nothing more goes. What is left lies under cards that wait for it. How deep it lies is found by taking the playable
card of each pile and of the waste in hand too, and going on, and again.

It is a relaxation: the stock comes in an order, and there is no room for cards in hand. But which cards keep each other
from going home is most of what decides a game that is not won (docs/training.md).
"""

from solitaire_env.core import jit
from solitaire_env.core.engine import playable, put_home, take
from solitaire_env.move_features.dig_outs import send_all_home


@jit
def _play_hand(rules, state, b, hand):  # type: ignore[no-untyped-def]
    """Lay a card in hand on each foundation that takes one; whether any did."""
    any_did = False
    for place in range(4 * rules.decks):
        rank = int(state.rows[b, rules.row_foundations + place]) + 1
        card = 4 * rank + place // rules.decks
        if rank <= rules.ranks and hand[card]:
            hand[card] -= 1
            put_home(rules, state, b, card)
            any_did = True
    return any_did


@jit
def write_reachability(rules, state, b, hand, out):  # type: ignore[no-untyped-def]
    """Write the share of all cards that come home into ``out``, float32: with the cards in ``hand``, int64 ``[64]``,
    how many of each; then with one more card of each pile and of the waste, and so on.

    Cards and ``hand`` are written over.
    """
    for taken in range(out.shape[0]):
        if taken:
            for source in range(rules.first_cell):
                if playable(rules, state, b, source):
                    hand[int(take(rules, state, b, source))] += 1
        more = True
        while more:
            send_all_home(rules, state, b)
            more = _play_hand(rules, state, b, hand)
        out[taken] = int(state.home[b]) / rules.cards
