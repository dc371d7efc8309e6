"""Worlds: the hidden cards of a game dealt again, so that a planner knows no more than the player.

Hidden are the face-down cards and, until the player has seen it, the stock. The player has seen it as soon as
it is empty: all its cards have been face up by then, and a redeal only turns the waste over.

The hidden cards are sorted, then shuffled as a pack is (:mod:`~solitaire_env.core.shuffle`): the new order
follows from the seed and from what the player has seen, never from the order before.
"""

from typing import Annotated

from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import Rules
from solitaire_env.core.native import Bool, Int64, UInt64, inner, kernel
from solitaire_env.core.rules.state import CODES, State
from solitaire_env.core.shuffle import Deals, next_bits, shuffle


@inner
def _find_hidden(rules, state, stock_seen, b, places):
    """Write the places of the hidden cards in the row to ``places``; the number of these cards."""
    count = 0
    for pile in range(rules.piles * rules.hides):
        bottom = pile * rules.pile_capacity
        for place in range(bottom, bottom + state.heights[b, pile]):
            if state.rows[b, place] >= DOWN:
                places[count] = place
                count += 1
    if not stock_seen[b]:
        for place in range(rules.row_stock, rules.row_stock + state.stock[b]):
            places[count] = place
            count += 1
    return count


@inner
def _sort_hidden(state, b, places, count, copies, order):
    """Write the cards at ``places`` to ``order``, in the order of their codes."""
    for card in range(CODES):
        copies[card] = 0
    for k in range(count):
        copies[state.rows[b, places[k]] & (DOWN - 1)] += 1
    k = 0
    for card in range(CODES):
        for _ in range(copies[card]):
            order[k] = card
            k += 1


@kernel
def resample_rows(
    rules: Rules,
    deals: Deals,
    state: State,
    stock_seen: Annotated[Bool, "batch"],
    places: Annotated[Int64, "rules.cards"],
    copies: Annotated[Int64, "CODES"],
    rows: Annotated[Int64, "n"],
    seeds: Annotated[UInt64, "n"],
) -> None:
    """Deal the hidden cards of some rows (int64 ``[n]``) again: every order has the same probability.

    Nothing else changes, since legal moves do not depend on hidden cards. ``places``, ``copies`` and the rows
    of ``deals.orders`` and ``deals.shuffles`` are scratch arrays.
    """
    for k in range(rows.shape[0]):
        b = rows[k]
        count = _find_hidden(rules, state, stock_seen, b, places)
        _sort_hidden(state, b, places, count, copies, deals.orders[b])
        deals.shuffles[b] = seeds[k]
        # The pack of the deal with the number of the seed was shuffled from the seed itself: similarly.
        deals.shuffles[b] = next_bits(deals.shuffles, b)
        shuffle(deals.shuffles, deals.orders, b, count)
        for i in range(count):
            down = state.rows[b, places[i]] & DOWN
            state.rows[b, places[i]] = deals.orders[b, i] | down
