"""Dig-out features: greedily uncover each next foundation card, and count the cards that go home.

To dig out a card, the cards above it are moved: a card goes home if it can; otherwise the sequence at the end
of the pile moves onto a pile that takes it, or to a space, or card by card to empty cells. After that all
possible cards go home. There is no search, and unseen cards stay unknown.

Dig-outs build in suit and use supermoves, regardless of the game's rules, or follow the game's own building
rule: :func:`planning_rules`. In plans a face-down card that is turned up stays unknown, and spaces are not
filled automatically.
"""

from typing import Final

from solitaire_env.core import Rules
from solitaire_env.core.layout import ANY_GROUP, ONE_CARD, SAME_SUIT, SEQUENCE, SUPERMOVE
from solitaire_env.core.native import inner
from solitaire_env.core.rules.building import carry_limit, fills_space, fits, is_in, playable, sequence_length
from solitaire_env.core.rules.foundations import goes_home
from solitaire_env.core.rules.moves import carry, empty_cell, send_home, to_cell
from solitaire_env.core.rules.state import copy_cards
from solitaire_env.move_features.columns import DIG, NUM_DIG

WASTE_DIG: Final = 6
"""Number of cards of the waste, from its top, that are dug out."""


def planning_rules(rules: Rules, own_build: bool = False) -> Rules:
    """The rules of dig-outs: building in suit, or by the game's own rule; supermoves if the game moves single
    cards, sequences if it moves any group.
    """
    moves = {ONE_CARD: SUPERMOVE, ANY_GROUP: SEQUENCE}.get(rules.moves, rules.moves)
    if own_build:
        return rules._replace(moves=moves)
    return rules._replace(build=SAME_SUIT, run_build=SAME_SUIT, moves=moves)


@inner
def send_all_home(rules, state, b):
    """Send all possible cards home, source by source, repeatedly; the playable cards that are left, as bits.
    Only moves cards.
    """
    left = ~0
    while left & state.next_home[b]:
        left = 0
        for pile in range(rules.piles):
            left |= 1 << _send_home_from(rules, state, b, pile)
        for source in range(rules.piles, rules.sources):
            left |= 1 << _send_home_from(rules, state, b, source)
    return left


@inner
def _send_home_from(rules, state, b, source):
    """Send all possible cards of a source home; the playable card that is left."""
    card = playable(rules, state, b, source)
    while goes_home(state, b, card):
        send_home(rules, state, b, source, card)
        card = playable(rules, state, b, source)
    return card


@inner
def _target(rules, state, b, source, count):
    """The pile that takes the last ``count`` cards of a source: the last one they fit onto, else the last
    space; -1 if there is none.
    """
    deepest = playable(rules, state, b, source)
    if source < rules.piles:
        end = source * rules.pile_capacity + state.heights[b, source]
        deepest = state.rows[b, end - count]
    onto = space = -1
    for pile in range(rules.piles):
        height = state.heights[b, pile]
        if height == 0:
            space = pile
        elif (
            fits(rules, deepest, state.rows[b, pile * rules.pile_capacity + height - 1])
            and pile != source
            and height + count <= rules.pile_capacity
        ):
            onto = pile
    if onto >= 0 and count <= carry_limit(rules, state, b, 0):
        return onto
    if space >= 0 and fills_space(rules, state, b, deepest) and count <= carry_limit(rules, state, b, 1):
        return space
    return -1


@inner
def _dig_out(rules, state, b, source, above):
    """Move the last ``above`` cards of a source away, as far as possible; the number of those that are left.
    Only moves cards.
    """
    while above > 0:
        card = playable(rules, state, b, source)
        if goes_home(state, b, card):
            send_home(rules, state, b, source, card)
            above -= 1
            continue
        count = sequence_length(rules, state, b, source, above) if source < rules.piles else 1
        target = _target(rules, state, b, source, count)
        if target >= 0:
            carry(rules, state, b, source, target, count, card)
        elif count <= state.empty_cells[b]:
            for _ in range(count):
                card = playable(rules, state, b, source)
                to_cell(rules, state, b, source, empty_cell(rules, state, b), card)
        else:
            break
        above -= count
    return above


@inner
def _cards_of(rules, state, b, source):
    """Start of a source's cards in the row, the first place to search, and the number of cards."""
    if source < rules.piles:
        return source * rules.pile_capacity, 0, state.heights[b, source]
    waste = state.waste[b]
    return rules.row_waste, max(0, waste - WASTE_DIG), waste


@inner
def _write_round(rules, state, start, trial, best, keep, out):
    """Dig out each next foundation card from the position in row ``start``; the number of dig-outs.

    With ``keep``, the position after the best one is stored in row ``best``. Copies of a card are dug out
    pile by pile, from the base; the waste comes last.
    """
    number = 0
    most_worth = most_free = most_home = -1
    next_cards = state.next_home[start]
    row = state.rows[start]
    fresh = False  # whether the cards in row `trial` are those in row `start`
    for source in range(rules.first_cell):
        base, first, cards = _cards_of(rules, state, start, source)
        for place in range(first, cards):
            if not is_in(row[base + place], next_cards):
                continue
            if not fresh:
                copy_cards(rules, state, start, trial)
            above = cards - 1 - place
            left = _dig_out(rules, state, trial, source, above)
            fresh = left == above and above > 0
            if left:
                continue
            send_all_home(rules, state, trial)
            number += 1
            home = state.home[trial] - state.home[start]
            empty_cells, spaces = state.empty_cells[trial], state.spaces[trial]
            free = empty_cells + 2 * spaces
            most_home = max(most_home, home)
            if home + free > most_worth:
                most_worth = home + free
                out[DIG.best_home] = home / 13
                out[DIG.best_empty_cells] = empty_cells / 8
                out[DIG.best_spaces] = spaces / 4
                out[DIG.best] = most_worth / 16
                if keep:
                    copy_cards(rules, state, trial, best)
            if free > most_free:
                most_free = free
                out[DIG.roomiest_home] = home / 13
                out[DIG.roomiest_empty_cells] = empty_cells / 8
                out[DIG.roomiest_spaces] = spaces / 4
    if number:
        out[DIG.number] = number / 4
        out[DIG.most_home] = most_home / 13
    return number


@inner(inline=False)
def write_dig_outs(rules, state, start, trial, best, out):
    """Write rounds of dig-outs to ``out``, float32 ``[rounds * NUM_DIG]``.

    The first round starts from the cards in row ``start``, each further one from the position after the best
    dig-out of the round before. All three rows are overwritten.
    """
    out[:] = 0.0
    for first in range(0, out.shape[0], NUM_DIG):
        more = first + NUM_DIG < out.shape[0]
        if not _write_round(rules, state, start, trial, best, more, out[first : first + NUM_DIG]):
            break
        if more:
            start, best = best, start
