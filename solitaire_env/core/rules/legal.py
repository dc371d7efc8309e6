"""The legal-action mask: which entries are written after a change of the cards.

:mod:`~solitaire_env.core.rules.whole_mask` is its specification: when each action is legal, in plain Python.

A card may move to a tableau pile if it is among the cards that its place gives (``state.given``) and the pile
takes (``state.taken``), both as bits: an entry is written without a branch. A move changes the cards of one
to three places. The entries from them and to them are written again; no other entry from a place to a pile
changes, unless a supermove carries more or fewer cards than before
(:func:`update_carriable`). The entries of the changed places to foundations, cells and spaces are written
too; those of all places to foundations when a card goes home or back, to cells and to spaces when the first
one appears or the last one is filled.

The mask is for players: a step plays what :func:`is_legal` finds legal, which reads these sets but no mask.
"""

import numpy as np

from solitaire_env.core.layout import ONE_CARD, PLAYING, SPACES_NONE, SPACES_RANK, STUCK, WON
from solitaire_env.core.native import inner
from solitaire_env.core.rules.building import (
    carry_limit,
    is_crowded,
    is_in,
    space_fillers,
)
from solitaire_env.core.rules.foundations import goes_home, last_home
from solitaire_env.core.rules.moves import can_redeal, decode


@inner
def tableau_action(rules, place, target, count):
    """Number of the action that moves ``count`` cards of a place onto a pile; a pile has none to itself."""
    if place >= rules.sources:
        return rules.worry_actions + (place - rules.sources) * rules.piles + target
    if place >= rules.piles:
        first = rules.tableau_actions + rules.piles * (rules.piles - 1) * rules.tableau_counts
        return first + (place - rules.piles) * rules.piles + target
    pair = place * (rules.piles - 1) + target - int(place < target)
    return rules.tableau_actions + pair * rules.tableau_counts + min(count, rules.tableau_counts) - 1


@inner
def update_given(rules, state, b, place):
    """Update the cards that a place gives: of a pile, those that are carried with all cards on them."""
    cards = 0
    if place >= rules.sources:
        for foundation in range(rules.decks):
            cards |= 1 << last_home(rules, state, b, (place - rules.sources) * rules.decks + foundation)
    elif place >= rules.piles or rules.moves == ONE_CARD:
        cards = 1 << state.tops[b, place]
    else:
        top = place * rules.pile_capacity + state.heights[b, place] - 1
        for depth in range(state.carriable[b, place]):
            cards |= 1 << state.rows[b, top - depth]
    state.given[b, place] = cards


@inner
def _card_at(rules, state, b, pile, depth):
    """The card of a pile with ``depth`` cards on it."""
    return state.rows[b, pile * rules.pile_capacity + state.heights[b, pile] - 1 - depth]


@inner
def _mask_counts(rules, state, b, place, pile):
    """Write the entries from a pile to another, if the player chooses the number of cards."""
    first = tableau_action(rules, place, pile, 1)
    for depth in range(rules.tableau_counts):
        state.mask[b, first + depth] = 0
    moved = state.given[b, place] & state.taken[b, pile]
    if moved != 0:
        for depth in range(state.carriable[b, place]):
            state.mask[b, first + depth] = is_in(_card_at(rules, state, b, place, depth), moved)


@inner
def mask_moves_from(rules, state, b, place):
    """Write the entries from a place to all other piles."""
    given = state.given[b, place]
    first = tableau_action(rules, place, int(place == 0), 1)
    if place >= rules.piles:
        for pile in range(rules.piles):
            state.mask[b, first + pile] = int((given & state.taken[b, pile]) != 0)
    elif rules.tableau_counts == 1:
        for other in range(rules.piles - 1):
            taken = state.taken[b, other + 1] if other >= place else state.taken[b, other]
            state.mask[b, first + other] = int((given & taken) != 0)
    else:
        for other in range(rules.piles - 1):
            _mask_counts(rules, state, b, place, other + int(other >= place))


@inner
def mask_moves_to(rules, state, b, pile):
    """Write the entries from all other places to a pile."""
    taken = state.taken[b, pile]
    for other in range(rules.piles - 1):
        place = other + int(other >= pile)
        if rules.tableau_counts == 1:
            legal = int((state.given[b, place] & taken) != 0)
            state.mask[b, tableau_action(rules, place, pile, 1)] = legal
        else:
            _mask_counts(rules, state, b, place, pile)
    for place in range(rules.piles, rules.places):
        state.mask[b, tableau_action(rules, place, pile, 1)] = int((state.given[b, place] & taken) != 0)


@inner(inline=False)
def mask_full_piles(rules, state, b):
    """Clear the entries of moves for which a pile has no room.

    After the deal, and so in every game that starts with one, no pile can get full.
    """
    state.crowded[b] = is_crowded(rules, state, b)
    if state.crowded[b] == 0:
        return
    for action in range(rules.tableau_actions, rules.actions):
        if state.mask[b, action] != 0:
            _, target, count = decode(rules, state, b, action)
            if state.heights[b, target] + count > rules.pile_capacity:
                state.mask[b, action] = 0


@inner
def _mask_space(rules, state, b, source):
    """Write the entries from a source to a space; without a space they stay 0."""
    if state.spaces[b] == 0 or rules.spaces == SPACES_NONE:
        return
    fillers = space_fillers(rules, state, b)
    if source >= rules.piles:
        legal = is_in(state.tops[b, source], fillers)
        state.mask[b, rules.space_actions + rules.piles * (rules.space_counts - 1) + source] = legal
        return
    # A whole pile moving to a space only renames the pile: that is not a move.
    height = state.heights[b, source]
    most = min(state.runs[b, source], height - 1, carry_limit(rules, state, b, 1))
    first = rules.space_actions + source * rules.space_counts
    for count in range(rules.space_counts):
        state.mask[b, first + count] = int(count < most)
    if rules.spaces == SPACES_RANK:
        top = source * rules.pile_capacity + height - 1
        legal = 0
        for depth in range(most):
            legal |= is_in(state.rows[b, top - depth], fillers) << min(depth, rules.space_counts - 1)
        for count in range(rules.space_counts):
            state.mask[b, first + count] = (legal >> count) & 1


@inner
def mask_spaces(rules, state, b):
    """Write the entries from all sources to a space, after the first one appeared or the last was filled."""
    for action in range(rules.space_actions, rules.worry_actions):
        state.mask[b, action] = 0
    for source in range(rules.sources):
        _mask_space(rules, state, b, source)


@inner
def mask_home(rules, state, b, source):
    """Write the entry from a source to the foundations."""
    state.mask[b, rules.home_actions + source] = goes_home(state, b, state.tops[b, source])


@inner
def mask_cell(rules, state, b, source):
    """Write the entry from a source to a cell."""
    legal = int(state.tops[b, source] != 0) & int(state.empty_cells[b] > 0)
    state.mask[b, rules.cell_actions + source] = legal


@inner
def mask_source(rules, state, b, source):
    """Write the entries from a source to the foundations, to a space and to a cell."""
    mask_home(rules, state, b, source)
    _mask_space(rules, state, b, source)
    if rules.cells and source < rules.first_cell:
        mask_cell(rules, state, b, source)


@inner
def update_carriable(rules, state, b, capacity):
    """Update how many cards of each pile may be carried, and the entries that depend on it."""
    for pile in range(rules.piles):
        run = state.runs[b, pile]
        if run > 1:
            _mask_space(rules, state, b, pile)
            carried = min(run, capacity)
            if carried != state.carriable[b, pile]:
                state.carriable[b, pile] = carried
                update_given(rules, state, b, pile)
                mask_moves_from(rules, state, b, pile)


@inner
def is_legal(rules, state, b, action, source, target, count):
    """Whether an action, decoded, is legal; its game must not be finished. The mask has the same, 0 or 1."""
    if action < rules.home_actions:
        return state.stock[b] > 0 if rules.has_stock and action == 0 else can_redeal(rules, state, b)
    if action < rules.cell_actions:
        return goes_home(state, b, state.tops[b, source]) != 0
    if action < rules.tableau_actions:
        return state.tops[b, source] != 0 and state.empty_cells[b] > 0
    if state.heights[b, target] + count > rules.pile_capacity:
        return False
    if action >= rules.worry_actions:
        return (state.given[b, source] & state.taken[b, target]) != 0
    if count < 1 or count > state.carriable[b, source]:
        return False
    card = state.tops[b, source]
    if count > 1:
        card = _card_at(rules, state, b, source, count - 1)
    if action < rules.space_actions:
        return is_in(card, state.taken[b, target]) != 0
    if source < rules.piles and count > min(state.heights[b, source] - 1, carry_limit(rules, state, b, 1)):
        return False
    return state.spaces[b] > 0 and is_in(card, space_fillers(rules, state, b)) != 0


@inner
def update_status(rules, state, b):
    """Write the entries of the stock, and the status.

    A finished game gets a mask of ones, so that an action can always be sampled.
    """
    if rules.has_stock:
        state.mask[b, 0] = int(state.stock[b] > 0)
    if rules.passes != 1:
        state.mask[b, 1] = int(can_redeal(rules, state, b))
    state.status[b] = PLAYING
    if state.home[b] == rules.cards:
        state.status[b] = WON
    elif state.stock[b] == 0 and state.empty_cells[b] == 0:
        # Otherwise a card can be drawn or move to a cell, or only cells have cards and one of them goes home.
        # The loop reads all entries, as bytes: that is faster than an early exit.
        legal = np.int8(0)
        for action in range(rules.actions):
            legal = np.int8(legal | state.mask[b, action])
        state.status[b] = PLAYING if legal else STUCK
    if state.status[b] != PLAYING:
        state.mask[b, :] = 1
