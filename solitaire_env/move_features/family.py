"""The family's features: effects of further rules on moves and positions, and the rules as numbers.

They are the same in every game, listed in :class:`~solitaire_env.move_features.columns.FamilyColumns`, and
come last among the features of a position. Those of a move describe the move before the position.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Rules
from solitaire_env.core.cards import DOWN, SUITS
from solitaire_env.core.layout import (
    ALTERNATE_COLOR,
    ANY_GROUP,
    ANY_SUIT,
    ONE_CARD,
    OTHER_SUIT,
    SAME_COLOR,
    SAME_SUIT,
    SEQUENCE,
    SPACES_ANY,
    SPACES_RANK,
    SUPERMOVE,
)
from solitaire_env.core.native import inner
from solitaire_env.core.rules.building import cards_below, fits, follows, is_in, playable
from solitaire_env.core.rules.foundations import last_home, worrying_foundation
from solitaire_env.core.rules.moves import decode
from solitaire_env.core.rules.state import write_row
from solitaire_env.move_features.columns import FAMILY, NUM_FAMILY

NONE_OVER: Final = 13
"""Maximum number of cards over face-down ones; also if no card is face down."""


def family_rules(rules: Rules) -> npt.NDArray[np.float32]:
    """The features of a game's rules, float32 ``[NUM_FAMILY]``; all other features are 0."""
    out = np.zeros(NUM_FAMILY, dtype=np.float32)
    for column, value in (
        (FAMILY.decks, rules.decks / 4),
        (FAMILY.ranks, rules.ranks / 13),
        (FAMILY.piles, rules.piles / 16),
        (FAMILY.cells, rules.cells / 8),
        (FAMILY.stock, rules.stock_capacity / rules.cards),
        (FAMILY.build_suit, rules.build == SAME_SUIT),
        (FAMILY.build_color, rules.build == ALTERNATE_COLOR),
        (FAMILY.build_any, rules.build == ANY_SUIT),
        (FAMILY.build_other, rules.build == OTHER_SUIT),
        (FAMILY.build_same_color, rules.build == SAME_COLOR),
        (FAMILY.runs_in_suit, rules.run_build == SAME_SUIT),
        (FAMILY.spaces_any, rules.spaces == SPACES_ANY),
        (FAMILY.spaces_rank, rules.spaces == SPACES_RANK),
        (FAMILY.one_card, rules.moves == ONE_CARD),
        (FAMILY.supermove, rules.moves == SUPERMOVE),
        (FAMILY.sequence, rules.moves == SEQUENCE),
        (FAMILY.any_group, rules.moves == ANY_GROUP),
        (FAMILY.draw, rules.draw * rules.has_stock / 3),
        (FAMILY.passes, rules.passes * rules.has_stock / 4),
        (FAMILY.no_limit, rules.passes == 0),
        (FAMILY.fill, rules.fill),
        (FAMILY.hides, rules.hides),
        (FAMILY.alternate_home, rules.alternate_home),
        (FAMILY.wraps, rules.wraps),
        (FAMILY.worrying_back, rules.worrying_back),
    ):
        out[column] = value
    return out


# ----------------------------------------------------------------------------------------- kernels


@inner
def lies_face_down(rules, state, b, pile, place):
    """Whether a card, counted from the base, is face down. The last card of a pile never is: if it is hidden,
    a move has just turned it up.
    """
    card = state.rows[b, pile * rules.pile_capacity + place]
    return (card >= DOWN or card < SUITS) and place < state.heights[b, pile] - 1


@inner
def pile_tops_take(rules, state, b):
    """The cards, as bits, that fit onto the playable card of a pile by the rules."""
    cards = 0
    for pile in range(rules.piles):
        cards |= cards_below(rules, playable(rules, state, b, pile), rules.build)
    return cards


@inner
def _write_piles(rules, state, b, out):
    """Face-down cards, and cards in order by the rules."""
    down = piles_down = joined = 0
    least = NONE_OVER
    for pile in range(rules.piles):
        base = pile * rules.pile_capacity
        height = state.heights[b, pile]
        last_down = -1
        for place in range(height):
            if lies_face_down(rules, state, b, pile, place):
                down += 1
                last_down = place
            elif place and last_down < place - 1:
                card = state.rows[b, base + place]
                joined += card >= SUITS and fits(rules, card, state.rows[b, base + place - 1])
        if last_down >= 0:
            piles_down += 1
            least = min(least, height - 1 - last_down)
    out[FAMILY.face_down] = 2 * down / rules.cards
    out[FAMILY.piles_down] = piles_down / rules.piles
    out[FAMILY.least_over_down] = least / 13
    out[FAMILY.joined] = 2 * joined / rules.cards


@inner(inline=False)
def write_family(rules, state, b, drawn, unseen, constants, out):
    """Write the features of a position and of the rules; clear those of a move.

    Parameters
    ----------
    drawn
        For the position after a draw: the number of cards drawn.
    unseen
        int64 ``[64]``: number of unseen copies of each card.
    constants
        :func:`family_rules`.
    out
        float32 ``[NUM_FAMILY]``.
    """
    write_row(constants, out)
    _write_piles(rules, state, b, out)
    redeals = 2
    if rules.passes:
        redeals = state.rows[b, rules.row_redeals] if rules.passes > 1 else 0
    out[FAMILY.redeals] = redeals / 3
    takes = pile_tops_take(rules, state, b)
    fitting = 0
    for source in range(rules.sources):
        if not (drawn and rules.piles <= source < rules.first_cell):
            fitting += is_in(playable(rules, state, b, source), takes)
    out[FAMILY.fitting] = fitting / 8
    hidden = 0
    for card in range(SUITS, SUITS + SUITS * rules.ranks):
        hidden += unseen[card]
    out[FAMILY.unseen] = (hidden - drawn) / rules.cards


@inner
def _write_leaving(rules, state, b, source, stay, deepest, takes, out):
    """Features of the pile that a move's cards leave."""
    base = source * rules.pile_capacity
    height = state.heights[b, source]
    misplaced = 0
    for place in range(stay + 1, height):
        below = state.rows[b, base + place - 1]
        misplaced += not fits(rules, state.rows[b, base + place], below)
    out[FAMILY.out_of_order] = misplaced / 13
    if stay == 0:
        out[FAMILY.fills] = rules.fill and state.waste[b] + state.stock[b] > 0
    elif lies_face_down(rules, state, b, source, stay - 1):
        out[FAMILY.turns] = 1.0
    else:
        under = state.rows[b, base + stay - 1]
        out[FAMILY.breaks] = fits(rules, deepest, under)
        out[FAMILY.frees_home] = is_in(under, state.next_home[b])
        out[FAMILY.frees_fitting] = is_in(under, takes)


@inner(inline=False)
def write_family_move(rules, state, b, action, out):
    """Write the features of a legal action of the game in row ``b``, before it is played."""
    if action == 0 and rules.has_stock:
        out[FAMILY.drawn] = min(rules.draw, state.stock[b]) / 3
        return
    if action < rules.home_actions:
        out[FAMILY.redeal] = 1.0
        return
    takes = pile_tops_take(rules, state, b)
    source, target, count = decode(rules, state, b, action)
    if source >= rules.sources:
        out[FAMILY.worry] = 1.0
        card = last_home(
            rules, state, b, worrying_foundation(rules, state, b, source - rules.sources, target)
        )
        deepest = card
    else:
        card = deepest = playable(rules, state, b, source)
        if source < rules.piles:
            stay = state.heights[b, source] - count
            deepest = state.rows[b, source * rules.pile_capacity + stay]
            _write_leaving(rules, state, b, source, stay, deepest, takes, out)
        elif source < rules.first_cell and state.waste[b] > 1:
            under = state.rows[b, rules.row_waste + state.waste[b] - 2]
            out[FAMILY.frees_home] = is_in(under, state.next_home[b])
            out[FAMILY.frees_fitting] = is_in(under, takes)
    if 0 <= target < rules.piles:
        if state.heights[b, target]:
            out[FAMILY.onto_suit] = follows(rules, deepest, playable(rules, state, b, target))
        below = cards_below(rules, card, rules.build)
        for other in range(rules.sources):
            if other not in (source, target) and is_in(playable(rules, state, b, other), below):
                out[FAMILY.covers] = 1.0
