"""A policy that plays the best move in a fixed order, written by hand."""

from typing import Annotated

import numpy as np

from solitaire_env.core import Rules, State, make_state
from solitaire_env.core.native import Int8, Int64, kernel
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.greedy_moves import greedy_move
from solitaire_env.move_features.observed import GAME, place_cards
from solitaire_env.policies.policy import Array, Policy


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
        chosen[game] = 0
        finished = True
        for action in range(masks.shape[1]):
            finished = finished and masks[game, action] != 0
        if not finished:
            place_cards(rules, state, GAME, observations[game])
            chosen[game] = greedy_move(rules, state, GAME, masks[game])
