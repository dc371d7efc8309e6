"""Deals: the position that a pack is dealt to."""

from typing import Annotated

from solitaire_env.core.cards import SUITS
from solitaire_env.core.layout import Rules
from solitaire_env.core.native import Int64, inner, kernel
from solitaire_env.core.rules.building import base_rank
from solitaire_env.core.rules.derive import derive
from solitaire_env.core.rules.state import State
from solitaire_env.core.shuffle import Deals


@inner
def _deal_home(rules, deals, state, b):
    """Place the cards that start on the foundations, and write base and redeals; the rank of these cards, or
    0 if there are none.

    If the deal decides the base, it is the rank of the first card, which itself is dealt to the tableau.
    """
    if rules.passes > 1:
        state.rows[b, rules.row_redeals] = rules.passes - 1
    first = deals.orders[b, 0]
    if rules.base == 0:
        state.rows[b, rules.row_base] = first >> 2
    elif not rules.aces_home:
        return 0
    for suit in range(SUITS):
        staying = int(rules.base == 0 and suit == (first & 3))
        for foundation in range(rules.decks - staying):
            state.rows[b, rules.row_foundations + suit * rules.decks + foundation] = 1
    return base_rank(rules, state, b)


@inner
def _next_dealt(rules, deals, b, k, base):
    """The place in the pack, from ``k``, of the next card that does not start on a foundation."""
    while deals.orders[b, k] >> 2 == base and (rules.base != 0 or k > 0):
        k += 1
    return k


@inner(inline=False)
def deal(rules, deals, state, b):
    """Deal a pack row by row, one card to each pile in a row, then to the cells; the rest is the stock.

    The cards that start on the foundations are skipped wherever they are in the pack.
    """
    state.rows[b, :] = 0
    base = _deal_home(rules, deals, state, b)
    k = 0
    for height in range(deals.down.shape[1]):
        for pile in range(rules.piles):
            if height < deals.sizes[pile]:
                k = _next_dealt(rules, deals, b, k, base)
                card = deals.orders[b, k] | deals.down[pile, height]
                state.rows[b, pile * rules.pile_capacity + height] = card
                k += 1
    for cell in range(rules.cells_filled):
        k = _next_dealt(rules, deals, b, k, base)
        state.rows[b, rules.row_cells + cell] = deals.orders[b, k]
        k += 1
    for place in range(rules.stock_capacity):
        # Bottom first: the next card of the stock is last.
        k = _next_dealt(rules, deals, b, k, base)
        state.rows[b, rules.row_stock + rules.stock_capacity - 1 - place] = deals.orders[b, k]
        k += 1
    derive(rules, state, b)


@kernel
def deal_rows(rules: Rules, deals: Deals, state: State, rows: Annotated[Int64, "n"]) -> None:
    """Deal new games to some rows (int64 ``[n]``) from their packs in ``deals.orders``."""
    for k in range(rows.shape[0]):
        deal(rules, deals, state, rows[k])
