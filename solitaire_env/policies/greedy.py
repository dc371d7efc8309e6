"""A policy that plays the best move in a fixed order, written by hand."""

from typing import Annotated, Final

import numpy as np

from solitaire_env.core import Rules, State, make_state
from solitaire_env.core.cards import SUITS
from solitaire_env.core.native import Int8, Int64, inner, kernel
from solitaire_env.core.rules.building import fits, is_in
from solitaire_env.core.rules.foundations import place_home
from solitaire_env.core.rules.moves import decode
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.observed import GAME, place_cards
from solitaire_env.policies.policy import Array, Policy

LAST: Final = -1e9
"""Score of a move that Greedy plays only if no other is legal."""


class Greedy(Policy):
    """The best move in a fixed order; never one that undoes another, unless no other is legal.

    1. Home, the lowest rank first: no card is held back.
    2. A sequence from one pile onto another, unless its lowest card already lies on a card that it could go
       onto.
    3. From a cell or the waste onto a pile, the highest rank first.
    4. From a pile of at most three cards to a space, the shortest first; from the waste to a space.
    5. Draw.
    6. From a longer pile, or a cell, to a space.
    7. To a cell, from the pile to dig out: the one where a next foundation card lies under the fewest cards.
       No card moves onto that pile.
    8. Redeal.

    Every move except draws and moves home takes a card from the waste or from the pile to dig out, makes one
    more card lie on one that it fits onto, or fills a space: no position repeats while one of these is legal.
    But with unlimited redeals the stock cycles at the end.
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
        _choose(
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
def _score_from_pile(rules, state, source, target, count, dig_pile):
    """From a pile onto another or to a space: never cards off one that they fit onto; turning up a card
    counts like a space.
    """
    height = state.heights[GAME, source]
    stay = source * rules.pile_capacity + height - count
    under = state.rows[GAME, stay - 1] if height > count else 0
    if fits(rules, state.rows[GAME, stay], under):
        return LAST
    if state.heights[GAME, target] == 0:
        return 400.0 - 10.0 * height + count if under else LAST
    return LAST if rules.cells and target == dig_pile else 800.0 + 20.0 * (under < SUITS) - height


@inner(inline=False)
def _score(rules, state, action, dig_pile):
    """The score of a legal action."""
    if action < rules.home_actions:
        return 350.0 if action == 0 else 5.0
    if action >= rules.worry_actions:
        return 1.5 * LAST
    source, target, count = decode(rules, state, GAME, action)
    rank = state.tops[GAME, source] >> 2
    if action < rules.cell_actions:
        return 1000.0 - place_home(rules, state, GAME, state.tops[GAME, source])
    if action < rules.tableau_actions:
        return 10.0 if source >= rules.piles else (100.0 if source == dig_pile else LAST)
    if source < rules.piles:
        return _score_from_pile(rules, state, source, target, count, dig_pile)
    if action < rules.space_actions:
        return LAST if rules.cells and target == dig_pile else 700.0 + rank
    if source < rules.first_cell:
        # A card of the waste that is not placed is soon covered.
        return 360.0 if state.stock[GAME] else 450.0
    return 300.0 + rank


@kernel
def _choose(
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
        most = 2.0 * LAST
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
