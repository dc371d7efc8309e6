"""The legal-action mask: which entries a change of the cards sets and clears.

:mod:`~solitaire_env.core.rules.whole_mask` is its specification: when each action is legal, in plain Python.

A card moves from a *giver* to a *taker* of its kind: ``state.givers[kind]`` has the places that may give a
card of the kind (tableau piles, waste, cells and, if cards may worry back, the foundations of each suit),
``state.takers[kind]`` the tableau piles that take it, both as bits. A move changes the cards of one to three
places. Their legal entries are cleared before it and set after it by :func:`mask_place`; no other entry from
a card to a pile changes, unless a supermove carries more or fewer cards than before
(:func:`update_carriable`). The entries of the changed places to foundations, cells and spaces are written
too; those of all places to foundations when a card goes home or back, to cells and to spaces when the first
one appears or the last one is filled.

The mask is for players: a step plays what :func:`is_legal` finds legal, which reads the tables but no mask.
"""

import numpy as np

from solitaire_env.core.layout import PLAYING, SPACES_NONE, SPACES_RANK, STUCK, WON
from solitaire_env.core.native import inner, lowest_bit
from solitaire_env.core.rules.building import (
    carry_limit,
    is_crowded,
    is_in,
    kind_of,
    kinds_below,
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
def _given_card(rules, state, b, place, depth):
    """The card of a place that may move to a pile with the ``depth`` cards on it.

    For a suit, the last card of its foundation number ``depth``.
    """
    if place >= rules.sources:
        return last_home(rules, state, b, (place - rules.sources) * rules.decks + depth)
    if depth == 0:
        return state.tops[b, place]
    return state.rows[b, place * rules.pile_capacity + state.heights[b, place] - 1 - depth]


@inner
def _mask_giver(rules, state, b, place, depth, legal):
    """Set the entries that move a card of a place, with the ``depth`` cards on it, onto piles that take it.

    ``legal`` is 1 to set them, 0 to clear them.
    """
    kind = kind_of(rules, _given_card(rules, state, b, place, depth))
    this = 1 << place
    piles = state.takers[b, kind] & ~this
    while piles != 0:
        state.mask[b, tableau_action(rules, place, lowest_bit(piles), depth + 1)] = legal
        piles &= piles - 1
    state.givers[b, kind] = (state.givers[b, kind] & ~this) | legal << place


@inner
def _mask_kind(rules, state, b, place, pile, kind, legal):
    """Set the entries that move a card of a kind from a place onto a pile."""
    if rules.tableau_counts == 1 or place >= rules.piles:
        state.mask[b, tableau_action(rules, place, pile, 1)] = legal
        return
    for depth in range(state.carriable[b, place]):
        if kind_of(rules, _given_card(rules, state, b, place, depth)) == kind:
            state.mask[b, tableau_action(rules, place, pile, depth + 1)] = legal


@inner
def mask_place(rules, state, b, place, legal):
    """Set (``legal`` 1) or clear (0) the legal entries from a place to all piles, and from all places to it.

    The calls of a place alternate: what was set is cleared before its cards change, then set again.
    """
    given = rules.decks if place >= rules.sources else state.carriable[b, place]
    for depth in range(given):
        _mask_giver(rules, state, b, place, depth, legal)
    if place >= rules.piles:
        return
    kinds = kinds_below(rules, state.tops[b, place])
    while kinds != 0:
        kind = lowest_bit(kinds)
        kinds &= kinds - 1
        places = state.givers[b, kind] & ~(1 << place)
        while places != 0:
            _mask_kind(rules, state, b, lowest_bit(places), place, kind, legal)
            places &= places - 1
        state.takers[b, kind] ^= 1 << place


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
def mask_all_of(rules, state, b, place):
    """Write the entries of a place after its cards changed; those to other places must be cleared."""
    if place < rules.sources:
        mask_home(rules, state, b, place)
        _mask_space(rules, state, b, place)
        if rules.cells and place < rules.first_cell:
            mask_cell(rules, state, b, place)
    mask_place(rules, state, b, place, 1)


@inner
def update_carriable(rules, state, b, capacity):
    """Update how many cards of each pile may be carried, and the entries that depend on it."""
    for pile in range(rules.piles):
        run = state.runs[b, pile]
        if run > 1:
            _mask_space(rules, state, b, pile)
            before = state.carriable[b, pile]
            now = min(run, capacity)
            state.carriable[b, pile] = now
            for depth in range(min(before, now), max(before, now)):
                _mask_giver(rules, state, b, pile, depth, int(now > before))


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
        legal = False
        for depth in range(rules.decks):
            legal |= _takes(rules, state, b, target, _given_card(rules, state, b, source, depth))
        return legal
    if count < 1 or count > state.carriable[b, source]:
        return False
    card = _given_card(rules, state, b, source, count - 1)
    if action < rules.space_actions:
        return _takes(rules, state, b, target, card)
    if source < rules.piles and count > min(state.heights[b, source] - 1, carry_limit(rules, state, b, 1)):
        return False
    return state.spaces[b] > 0 and is_in(card, space_fillers(rules, state, b)) != 0


@inner
def _takes(rules, state, b, pile, card):
    """Whether a pile takes the card, or the sequence that it leads."""
    return (state.takers[b, kind_of(rules, card)] >> pile) & 1 != 0


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
