"""The order of moves that the policy `greedy` plays, see :class:`~solitaire_env.policies.greedy.Greedy`."""

from typing import Final

from solitaire_env.core.cards import EMPTY, FACE_DOWN, SUITS
from solitaire_env.core.native import inner
from solitaire_env.core.rules.building import cards_below, fits, is_in, wrapped
from solitaire_env.core.rules.foundations import last_home, place_home, worrying_foundation
from solitaire_env.core.rules.moves import decode
from solitaire_env.move_features.autoplay import lowest_of_suit

# The order of moves, the best last. Greedy says which moves they are.
POINTLESS: Final = 0
REDEAL: Final = 1
TO_CELL: Final = 2
DIG: Final = 3
CELL_TO_SPACE: Final = 4
LONG_PILE_TO_SPACE: Final = 5
DRAW: Final = 6
WASTE_TO_SPACE: Final = 7
SHORT_PILE_TO_SPACE: Final = 8
LAST_WASTE_TO_SPACE: Final = 9
PART: Final = 10
BACK: Final = 11
HOME: Final = 12
TURN_UP: Final = 13
PLACE: Final = 14
JOIN: Final = 15
FREE_HOME: Final = 16
STEP: Final = 1_000
"""Scores of one kind of move and the next are so far apart; preferences within a kind are smaller."""
SHORT: Final = 5
"""Maximum number of cards of a short pile."""


@inner
def _find_dig_pile(rules, state, b):
    """The pile where a card that goes home lies under the fewest cards; -1 if there is none."""
    dig_pile = -1
    fewest = rules.pile_capacity
    for pile in range(rules.piles):
        height = state.heights[b, pile]
        for above in range(min(height, fewest)):
            card = state.rows[b, pile * rules.pile_capacity + height - 1 - above]
            if is_in(card, state.next_home[b]):
                fewest = above
                dig_pile = pile
                break
    return dig_pile


@inner
def _under(rules, state, b, pile, count):
    """The card under the last ``count`` cards of a pile."""
    height = state.heights[b, pile]
    return state.rows[b, pile * rules.pile_capacity + height - count - 1] if height > count else EMPTY


@inner
def _lead(rules, state, b, pile, count):
    """The first of the last ``count`` cards of a pile."""
    return state.rows[b, pile * rules.pile_capacity + state.heights[b, pile] - count]


@inner
def _face_down(rules, state, b, pile):
    """Number of face-down cards in a pile."""
    cards = 0
    for place in range(state.heights[b, pile]):
        cards += state.rows[b, pile * rules.pile_capacity + place] == FACE_DOWN
    return cards


@inner
def _is_needed(rules, state, b, card):
    """Whether a card of another suit that is not home could be placed on a card."""
    place = place_home(rules, state, b, card)
    below = cards_below(rules, card, rules.build)
    for suit in range(SUITS):
        lower = 4 * wrapped(rules, (card >> 2) - 1) + suit
        if suit != card & 3 and is_in(lower, below) and lowest_of_suit(rules, state, b, suit) < place:
            return place > 1
    return False


@inner
def _is_awaited(rules, state, b, card):
    """Whether a whole sequence, or the card of the waste, can be placed on a card."""
    for pile in range(rules.piles):
        count = state.runs[b, pile]
        if 0 < count <= state.carriable[b, pile]:
            lead = _lead(rules, state, b, pile, count)
            if fits(rules, lead, card) and not fits(rules, lead, _under(rules, state, b, pile, count)):
                return True
    return rules.has_stock and fits(rules, state.tops[b, rules.piles], card)


@inner
def _score_from_pile(rules, state, b, source, target, count, dig_pile):
    """The score of a move from a pile onto another or to a space."""
    height = state.heights[b, source]
    under = _under(rules, state, b, source, count)
    to_space = state.heights[b, target] == 0
    if fits(rules, _lead(rules, state, b, source, count), under):
        return STEP * (POINTLESS if to_space or not is_in(under, state.next_home[b]) else PART)
    if to_space:
        if under == FACE_DOWN:
            return STEP * TURN_UP + _face_down(rules, state, b, source)
        return STEP * (SHORT_PILE_TO_SPACE if height <= SHORT else LONG_PILE_TO_SPACE) - 10 * height + count
    if rules.cells and target == dig_pile:
        return STEP * POINTLESS
    return STEP * JOIN + 20 * _face_down(rules, state, b, source) + 20 * (under < SUITS) - height


@inner(inline=False)
def _score(rules, state, b, action, dig_pile):
    """The score of a legal action."""
    if action < rules.home_actions:
        return STEP * (DRAW if action == 0 else REDEAL)
    source, target, count = decode(rules, state, b, action)
    if action >= rules.worry_actions:
        foundation = worrying_foundation(rules, state, b, source - rules.sources, target)
        card = last_home(rules, state, b, foundation)
        back = _is_needed(rules, state, b, card) and _is_awaited(rules, state, b, card)
        return STEP * BACK if back else -STEP
    card = state.tops[b, source]
    rank = card >> 2
    if action < rules.cell_actions:
        home = HOME if _is_needed(rules, state, b, card) else FREE_HOME
        return STEP * home - place_home(rules, state, b, card)
    if action < rules.tableau_actions:
        return STEP * (TO_CELL if source >= rules.piles else DIG if source == dig_pile else POINTLESS)
    if source < rules.piles:
        return _score_from_pile(rules, state, b, source, target, count, dig_pile)
    if action < rules.space_actions:
        return STEP * POINTLESS if rules.cells and target == dig_pile else STEP * PLACE + rank
    if source < rules.first_cell:
        # A card of the waste that is not placed is soon covered.
        return STEP * (WASTE_TO_SPACE if state.stock[b] else LAST_WASTE_TO_SPACE)
    return STEP * CELL_TO_SPACE + rank


@inner(inline=False)
def greedy_move(rules, state, b, mask):
    """The best action of a mask, int8 ``[actions]``, by its score; the first of equal ones."""
    dig_pile = _find_dig_pile(rules, state, b) if rules.cells else -1
    best, most = 0, -2 * STEP
    for action in range(mask.shape[0]):
        if mask[action] != 0:
            score = _score(rules, state, b, action, dig_pile)
            if score > most:
                best, most = action, score
    return best
