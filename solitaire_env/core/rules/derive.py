"""All that follows from the position rows."""

from typing import Annotated

from solitaire_env.core.layout import MAX_STOCK_COUNT, ONE_CARD, Rules
from solitaire_env.core.native import Int64, inner, kernel
from solitaire_env.core.rules.building import cards_below, carry_limit, playable, sequence_length
from solitaire_env.core.rules.foundations import update_next_home
from solitaire_env.core.rules.legal import (
    mask_full_piles,
    mask_moves_from,
    mask_source,
    update_given,
    update_status,
)
from solitaire_env.core.rules.state import State, write_row


@inner
def update_source(rules, state, b, source, capacity):
    """Update the playable card of a source, the cards that it gives, and those that a pile takes."""
    card = playable(rules, state, b, source)
    if source < rules.piles:
        height = state.heights[b, source]
        run = min(height, 1)
        if rules.moves != ONE_CARD:
            run = sequence_length(rules, state, b, source, height)
        state.runs[b, source] = run
        state.carriable[b, source] = min(run, capacity)
        state.taken[b, source] = cards_below(rules, card, rules.build)
    else:
        state.carriable[b, source] = card != 0
    state.tops[b, source] = card
    update_given(rules, state, b, source)


@inner(inline=False)
def derive_cards(rules, state, b):
    """Update all that is derived from a position row, except mask and status."""
    spaces = 0
    for pile in range(rules.piles):
        height = 0
        while height < rules.pile_capacity and state.rows[b, pile * rules.pile_capacity + height] != 0:
            height += 1
        state.heights[b, pile] = height
        spaces += int(height == 0)
    state.spaces[b] = spaces

    empty_cells = 0
    for cell in range(rules.cells):
        empty_cells += int(state.rows[b, rules.row_cells + cell] == 0)
    state.empty_cells[b] = empty_cells

    home = 0
    for place in range(rules.row_foundations, rules.row_stock_count):
        home += state.rows[b, place]
    state.home[b] = home

    if rules.has_stock:
        waste = 0
        stock = 0
        for place in range(rules.stock_capacity):
            waste += int(state.rows[b, rules.row_waste + place] != 0)
            stock += int(state.rows[b, rules.row_stock + place] != 0)
        state.waste[b] = waste
        state.stock[b] = stock
        state.rows[b, rules.row_stock_count] = min(stock, MAX_STOCK_COUNT)

    capacity = carry_limit(rules, state, b, 0)
    for source in range(rules.sources):
        update_source(rules, state, b, source, capacity)
    for place in range(rules.sources, rules.places):
        update_given(rules, state, b, place)
    update_next_home(rules, state, b)


@inner(inline=False)
def derive(rules, state, b):
    """Update everything after a change of ``state.rows`` in a game."""
    derive_cards(rules, state, b)
    state.mask[b, :] = 0
    for source in range(rules.sources):
        mask_source(rules, state, b, source)
    for place in range(rules.places):
        mask_moves_from(rules, state, b, place)
    mask_full_piles(rules, state, b)
    update_status(rules, state, b)


@inner
def place(rules, state, b, row):
    """Set a game to a position row (int8 ``[row_size]``)."""
    write_row(row, state.rows[b])
    derive(rules, state, b)


@kernel
def derive_rows(rules: Rules, state: State, rows: Annotated[Int64, "n"]) -> None:
    """Update everything after a change of ``state.rows`` in some rows (int64 ``[n]``)."""
    for k in range(rows.shape[0]):
        derive(rules, state, rows[k])
