"""The features of legal moves, read from the engine's state, and the linear policy's scores of them.

:func:`measure` writes the features of a move and returns their weighted sum. Playouts and searches use the
sum, the linear policy and networks the features (:mod:`solitaire_env.move_features.reader`). The features are
listed in :class:`~solitaire_env.move_features.columns.MoveColumns`.
"""

from typing import Annotated, Final, NamedTuple

import numpy as np

from solitaire_env.core import Rules
from solitaire_env.core.cards import DOWN
from solitaire_env.core.native import Float32, Float64, Int64, inner
from solitaire_env.core.rules.building import base_rank, follows, is_in, next_higher, next_lower
from solitaire_env.core.rules.foundations import cards_home_after, last_home, place_home, worrying_foundation
from solitaire_env.core.rules.moves import decode
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.move_features.columns import MOVE, NUM_MOVE

BLOCK: Final = 16
"""Number of entries of a mask that are read together."""


class MoveScratch(NamedTuple):
    """Scratch arrays for the legal moves of one game at a time."""

    near: Annotated[Float64, "rules.piles"]
    """float64 ``[piles]``: how near the end of each pile a next foundation card lies."""
    move: Annotated[Float32, "own_features"]
    """float32 ``[NUM_MOVE]``: features, if only their sum is needed."""
    actions: Annotated[Int64, "rules.actions"]
    """int64 ``[actions]``: the legal actions."""
    scores: Annotated[Float64, "rules.actions"]
    """float64 ``[actions]``: the scores of the legal actions."""
    order: Annotated[Int64, "rules.actions"]
    """int64 ``[actions]``: their indices by score, see :func:`sort_by_score`."""


def make_move_scratch(rules: Rules) -> MoveScratch:
    """Scratch arrays for the moves of one game at a time."""
    return make_arrays(MoveScratch, rules, own_features=NUM_MOVE)


class View(NamedTuple):
    """Common data of all moves of a position; sets of cards are bits."""

    next: int
    """The next foundation cards."""
    in_sight: int
    """The playable cards."""
    fitting: int
    """The cards that fit onto the playable card of a pile."""
    lowest: int
    """The number of cards on the lowest foundation."""


@inner
def cards_in_sight(rules, state, b):
    """The playable cards of piles, and those of all sources, as sets."""
    on_piles = in_sight = 0
    for source in range(rules.sources):
        in_sight |= 1 << state.tops[b, source]
        if source == rules.piles - 1:
            on_piles = in_sight
    return on_piles & ~15, in_sight & ~15


@inner
def lowest_foundation(rules, state, b):
    """Number of cards on the lowest foundation; foundations of a suit are ordered fullest first."""
    lowest = rules.ranks
    for suit in range(4):
        last = rules.row_foundations + (suit + 1) * rules.decks - 1
        lowest = min(lowest, state.rows[b, last])
    return lowest


@inner
def cards_after_next(rules, state, b):
    """The cards that go home right after the next foundation cards."""
    if rules.alternate_home:
        return cards_home_after(rules, state, b, 1)
    # None goes home after the last of a foundation.
    return next_higher(rules, state.next_home[b]) & ~(15 << 4 * base_rank(rules, state, b))


@inner
def _nearness(rules, state, b, pile, next_cards, after):
    """How near the end of a pile a next foundation card lies: 1 / its place, half for the card after one."""
    height = state.heights[b, pile]
    end = pile * rules.pile_capacity + height - 1
    near = 0.0
    nearest = height  # the place of the nearest card after a next one
    for above in range(height):
        card = state.rows[b, end - above]
        known = card if card < DOWN else 0
        if is_in(known, next_cards):
            # All deeper cards count less.
            near = 1.0 / (1 + above)
            break
        nearest = min(nearest, above if is_in(known, after) else height)
    return max(near, 0.5 / (1 + nearest)) if nearest < height else near


@inner
def survey(rules, state, b, near):
    """The view of a position; ``near`` gets how near the end of each pile a next foundation card lies."""
    next_cards = state.next_home[b]
    after = cards_after_next(rules, state, b)
    for pile in range(rules.piles):
        near[pile] = _nearness(rules, state, b, pile, next_cards, after)
    on_piles, in_sight = cards_in_sight(rules, state, b)
    fitting = next_lower(rules, on_piles)
    return View(next_cards, in_sight, fitting, lowest_foundation(rules, state, b))


# ----------------------------------------------------------------------------------- the features


@inner
def _put(column, value, weights, out):
    """Write a feature; return its part of the weighted sum."""
    out[column] = value
    return weights[column] * value


@inner
def _covers(rules, card, view):
    """Whether a card in sight fits onto a card."""
    return (view.in_sight & next_lower(rules, 1 << card)) != 0


@inner
def _home(rules, state, b, card, view, weights, out):
    """A card that goes home: ranks above the lowest foundation, and whether a card fits onto it."""
    score = _put(MOVE.home, 1.0, weights, out)
    ahead = place_home(rules, state, b, card) - view.lowest
    score += _put(MOVE.home_rank, ahead / 13, weights, out)
    return score + _put(MOVE.home_covers, int(_covers(rules, card, view)), weights, out)


@inner(inline=False)
def _worry(rules, state, b, suit, target, view, near, weights, out):
    """A card that worries back onto a pile: -1 for ``home``, as the reverse of that move."""
    card = last_home(rules, state, b, worrying_foundation(rules, state, b, suit, target))
    score = _put(MOVE.home, -1.0, weights, out)
    score += _put(MOVE.cards, 1 / 13, weights, out)
    score += _put(MOVE.onto_covers, int(_covers(rules, card, view)), weights, out)
    score += _put(MOVE.target_cards, state.heights[b, target] / 13, weights, out)
    return score + _put(MOVE.target_near, near[target], weights, out)


@inner
def _to_cell(rules, state, b, source, card, weights, out):
    """A card that goes to a cell: its rank, and the remaining cells."""
    kind = MOVE.pile_to_cell if source < rules.piles else MOVE.waste_to_cell
    score = _put(kind, 1.0, weights, out)
    score += _put(MOVE.rank, (card >> 2) / 13, weights, out)
    return score + _put(MOVE.cells_left, (state.empty_cells[b] - 1) / 4, weights, out)


@inner
def _to_pile(rules, state, b, source, target, card, view, near, weights, out):
    """Cards that go onto a pile: what fits onto the last, and the cards below them."""
    kind = MOVE.pile_to_pile
    if source >= rules.piles:
        kind = MOVE.waste_to_pile if source < rules.first_cell else MOVE.cell_to_pile
    score = _put(kind, 1.0, weights, out)
    score += _put(MOVE.onto_covers, int(_covers(rules, card, view)), weights, out)
    score += _put(MOVE.target_cards, state.heights[b, target] / 13, weights, out)
    return score + _put(MOVE.target_near, near[target], weights, out)


@inner
def _to_space(rules, state, b, source, card, deepest, view, weights, out):
    """Cards that go to a space: what fits onto the last, the rank of the first, and the spaces left."""
    kind = MOVE.pile_to_space
    if source >= rules.piles:
        kind = MOVE.waste_to_space if source < rules.first_cell else MOVE.cell_to_space
    score = _put(kind, 1.0, weights, out)
    score += _put(MOVE.onto_covers, int(_covers(rules, card, view)), weights, out)
    score += _put(MOVE.rank, (deepest >> 2) / 13, weights, out)
    return score + _put(MOVE.spaces_left, (state.spaces[b] - 1) / 4, weights, out)


@inner
def _from_pile(
    rules, state, b, source, stay, deepest, view, near, weights, out
):  # fmt: skip
    """The pile that cards leave: how many stay, and what the card under them can do."""
    filled = rules.fill and state.waste[b] + state.stock[b] > 0
    score = _put(MOVE.source_empties, int(stay == 0 and not filled), weights, out)
    score += _put(MOVE.source_stay, stay / 13, weights, out)
    score += _put(MOVE.source_near, near[source], weights, out)
    under = state.rows[b, source * rules.pile_capacity + stay - 1] if stay else 0
    if 0 < under < DOWN:
        score += _put(MOVE.source_breaks, int(follows(rules, deepest, under)), weights, out)
        score += _put(MOVE.source_frees_home, (view.next >> under) & 1, weights, out)
        score += _put(MOVE.source_frees_fitting, (view.fitting >> under) & 1, weights, out)
    return score


@inner
def _from_waste(rules, state, b, view, weights, out):
    """The waste that a card leaves: the share of the stock left, and what the card under it can do."""
    score = _put(MOVE.waste_stock, state.stock[b] / rules.stock_capacity, weights, out)
    waste = state.waste[b]
    if waste > 1:
        under = state.rows[b, rules.row_waste + waste - 2]
        score += _put(MOVE.waste_frees_home, (view.next >> under) & 1, weights, out)
        score += _put(MOVE.waste_frees_fitting, (view.fitting >> under) & 1, weights, out)
    return score


@inner
def measure(rules, state, b, action, view, near, weights, out):
    """Write the features of a legal action to ``out``; return their weighted sum.

    Features that do not apply are not written: clear ``out`` first.

    Parameters
    ----------
    view, near
        The result of :func:`survey`.
    weights
        float64 ``[NUM_MOVE]``.
    out
        float32 ``[NUM_MOVE]``.
    """
    source, target, count = decode(rules, state, b, action)
    if target == source:
        # A draw or a redeal: they are never legal together.
        return _put(MOVE.draw_spaces, state.spaces[b] / 4, weights, out)
    if source >= rules.sources:
        return _worry(rules, state, b, source - rules.sources, target, view, near, weights, out)
    card = state.tops[b, source]
    stay = 0
    deepest = card
    if source < rules.piles:
        stay = state.heights[b, source] - count
        deepest = state.rows[b, source * rules.pile_capacity + stay]
    score = _put(MOVE.cards, count / 13, weights, out)
    if target < 0:
        score += _home(rules, state, b, card, view, weights, out)
    elif target >= rules.first_cell:
        score += _to_cell(rules, state, b, source, card, weights, out)
    elif state.heights[b, target]:
        score += _to_pile(rules, state, b, source, target, card, view, near, weights, out)
    else:
        score += _to_space(rules, state, b, source, card, deepest, view, weights, out)
    if source < rules.piles:
        score += _from_pile(rules, state, b, source, stay, deepest, view, near, weights, out)
    elif source < rules.first_cell:
        score += _from_waste(rules, state, b, view, weights, out)
    return score


# --------------------------------------------------------------------------------- the legal moves


@inner
def next_action(mask, action):
    """The first action from ``action`` on that a mask has; the length of the mask if there is none.

    Most actions are illegal: it reads ``BLOCK`` entries together, which takes one machine instruction.
    """
    while action < mask.shape[0]:
        some = mask[action]
        step = 1
        if action + BLOCK <= mask.shape[0]:
            some = np.int8(0)
            for k in range(BLOCK):
                some = np.int8(some | mask[action + k])
            step = BLOCK
        if some == 0:
            action += step
        elif mask[action] != 0:
            break
        else:
            action += 1
    return action


# ------------------------------------------------------------------------------------- the scores


@inner
def score_moves(rules, state, b, weights, scratch):
    """Write the legal moves of a game in play and their scores to ``scratch``; return their number."""
    view = survey(rules, state, b, scratch.near)
    mask = state.mask[b]
    n = 0
    action = next_action(mask, 0)
    while action < rules.actions:
        scratch.actions[n] = action
        scratch.scores[n] = measure(rules, state, b, action, view, scratch.near, weights, scratch.move)
        n += 1
        action = next_action(mask, action + 1)
    return n


@inner
def best_move(rules, state, b, weights, scratch):
    """The action with the highest score in a game in play; the first of equal ones."""
    n = score_moves(rules, state, b, weights, scratch)
    best = 0
    for k in range(1, n):
        if scratch.scores[k] > scratch.scores[best]:
            best = k
    return scratch.actions[best]


@inner
def sort_by_score(n, scratch):
    """Write the indices of the first ``n`` actions to ``scratch.order``, the lowest score first; equal ones
    in the order of the actions.
    """
    for k in range(n):
        place = k
        while place > 0 and scratch.scores[scratch.order[place - 1]] > scratch.scores[k]:
            scratch.order[place] = scratch.order[place - 1]
            place -= 1
        scratch.order[place] = k
