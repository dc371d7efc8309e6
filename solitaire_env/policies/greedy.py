"""A policy that plays the best move in a fixed order, written by hand."""

from typing import Annotated, Final

import numpy as np

from solitaire_env.core import Rules, State, make_state
from solitaire_env.core.cards import EMPTY, FACE_DOWN, SUITS
from solitaire_env.core.native import Int8, Int64, inner, kernel
from solitaire_env.core.rules.building import cards_below, fits, is_in, wrapped
from solitaire_env.core.rules.foundations import last_home, place_home, worrying_foundation
from solitaire_env.core.rules.moves import decode
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import lowest_of_suit
from solitaire_env.move_features.observed import GAME, place_cards
from solitaire_env.policies.policy import Array, Policy

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


class Greedy(Policy):
    """The best move in a fixed order, which is how an experienced player plays Klondike.

    A *whole sequence* is one that lies on no card that it could be placed on: moving it joins cards and
    separates none. A card is *needed* in the tableau while a card of another suit that is not home could be
    placed on it; the first two cards of a foundation never are.

    1. A card home that is not needed, the lowest rank first.
    2. A whole sequence onto another pile: the pile with the most face-down cards first, then one that becomes
       empty, then the shortest.
    3. From the waste or a cell onto a pile, the highest rank first.
    4. A sequence off a face-down card to a space, the pile with the most face-down cards first.
    5. A card home that is needed, the lowest rank first: it was held back for moves 2 to 4.
    6. A needed card back from its foundation, if a whole sequence or the card of the waste can then be placed
       on it.
    7. A part of a sequence onto another pile, if the card under it then goes home.
    8. To a space: the waste, if the stock is empty; a pile of at most five cards, the shortest first; the
       waste.
    9. Draw.
    10. To a space: a longer pile, the shortest first; a cell, the highest rank first.
    11. To a cell: from the pile to dig out, the one where a next foundation card lies under the fewest cards;
        then from the waste. No card moves onto that pile.
    12. Redeal.

    All other moves separate cards or change nothing. They are played only if no other is legal. The policy
    has no memory: with unlimited redeals, it turns the stock over even if no card has moved since the last
    time.
    """

    name = "greedy"
    deterministic = True

    def __init__(self, spec: GameSpec) -> None:
        if spec.settings.observation != "cards":
            raise ValueError(f"policy 'greedy' reads observation 'cards', not {spec.settings.observation!r}")
        self.moves = spec.variant.moves
        self.rules = spec.rules

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Actions ``[n]``."""
        actions = np.empty(len(masks), dtype=np.int64)
        choose(
            self.rules, make_state(self.rules, 1), np.ascontiguousarray(observations, dtype=np.int8),
            np.ascontiguousarray(masks).view(np.int8), actions,
        )  # fmt: skip
        return actions


# ---------------------------------------------------------------------------------------- kernels


@inner
def _find_dig_pile(rules, state):
    """The pile where a card that goes home lies under the fewest cards; -1 if there is none."""
    dig_pile = -1
    fewest = rules.pile_capacity
    for pile in range(rules.piles):
        height = state.heights[GAME, pile]
        for above in range(min(height, fewest)):
            card = state.rows[GAME, pile * rules.pile_capacity + height - 1 - above]
            if is_in(card, state.next_home[GAME]):
                fewest = above
                dig_pile = pile
                break
    return dig_pile


@inner
def _under(rules, state, pile, count):
    """The card under the last ``count`` cards of a pile."""
    height = state.heights[GAME, pile]
    return state.rows[GAME, pile * rules.pile_capacity + height - count - 1] if height > count else EMPTY


@inner
def _lead(rules, state, pile, count):
    """The first of the last ``count`` cards of a pile."""
    return state.rows[GAME, pile * rules.pile_capacity + state.heights[GAME, pile] - count]


@inner
def _face_down(rules, state, pile):
    """Number of face-down cards in a pile."""
    cards = 0
    for place in range(state.heights[GAME, pile]):
        cards += state.rows[GAME, pile * rules.pile_capacity + place] == FACE_DOWN
    return cards


@inner
def _is_needed(rules, state, card):
    """Whether a card of another suit that is not home could be placed on a card."""
    place = place_home(rules, state, GAME, card)
    below = cards_below(rules, card, rules.build)
    for suit in range(SUITS):
        lower = 4 * wrapped(rules, (card >> 2) - 1) + suit
        if suit != card & 3 and is_in(lower, below) and lowest_of_suit(rules, state, GAME, suit) < place:
            return place > 1
    return False


@inner
def _is_awaited(rules, state, card):
    """Whether a whole sequence, or the card of the waste, can be placed on a card."""
    for pile in range(rules.piles):
        count = state.runs[GAME, pile]
        if 0 < count <= state.carriable[GAME, pile]:
            lead = _lead(rules, state, pile, count)
            if fits(rules, lead, card) and not fits(rules, lead, _under(rules, state, pile, count)):
                return True
    return rules.has_stock and fits(rules, state.tops[GAME, rules.piles], card)


@inner
def _score_from_pile(rules, state, source, target, count, dig_pile):
    """The score of a move from a pile onto another or to a space."""
    height = state.heights[GAME, source]
    under = _under(rules, state, source, count)
    to_space = state.heights[GAME, target] == 0
    if fits(rules, _lead(rules, state, source, count), under):
        return STEP * (POINTLESS if to_space or not is_in(under, state.next_home[GAME]) else PART)
    if to_space:
        if under == FACE_DOWN:
            return STEP * TURN_UP + _face_down(rules, state, source)
        return STEP * (SHORT_PILE_TO_SPACE if height <= SHORT else LONG_PILE_TO_SPACE) - 10 * height + count
    if rules.cells and target == dig_pile:
        return STEP * POINTLESS
    return STEP * JOIN + 20 * _face_down(rules, state, source) + 20 * (under < SUITS) - height


@inner(inline=False)
def _score(rules, state, action, dig_pile):
    """The score of a legal action."""
    if action < rules.home_actions:
        return STEP * (DRAW if action == 0 else REDEAL)
    source, target, count = decode(rules, state, GAME, action)
    if action >= rules.worry_actions:
        foundation = worrying_foundation(rules, state, GAME, source - rules.sources, target)
        card = last_home(rules, state, GAME, foundation)
        back = _is_needed(rules, state, card) and _is_awaited(rules, state, card)
        return STEP * BACK if back else -STEP
    card = state.tops[GAME, source]
    rank = card >> 2
    if action < rules.cell_actions:
        home = HOME if _is_needed(rules, state, card) else FREE_HOME
        return STEP * home - place_home(rules, state, GAME, card)
    if action < rules.tableau_actions:
        return STEP * (TO_CELL if source >= rules.piles else DIG if source == dig_pile else POINTLESS)
    if source < rules.piles:
        return _score_from_pile(rules, state, source, target, count, dig_pile)
    if action < rules.space_actions:
        return STEP * POINTLESS if rules.cells and target == dig_pile else STEP * PLACE + rank
    if source < rules.first_cell:
        # A card of the waste that is not placed is soon covered.
        return STEP * (WASTE_TO_SPACE if state.stock[GAME] else LAST_WASTE_TO_SPACE)
    return STEP * CELL_TO_SPACE + rank


@kernel
def choose(
    rules: Rules,
    state: State,
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n rules.actions"],
    chosen: Annotated[Int64, "n"],
) -> None:
    """Write the legal action with the highest score of each game; the first of equal ones."""
    for game in range(masks.shape[0]):
        place_cards(rules, state, GAME, observations[game])
        dig_pile = _find_dig_pile(rules, state) if rules.cells else -1
        most = -2 * STEP
        chosen[game] = 0
        finished = True
        for action in range(masks.shape[1]):
            finished = finished and masks[game, action] != 0
        for action in range(masks.shape[1]):
            if masks[game, action] != 0 and not finished:
                score = _score(rules, state, action, dig_pile)
                if score > most:
                    most = score
                    chosen[game] = action
