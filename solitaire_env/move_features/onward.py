"""Where a move leads on to: the linear policy goes on after it, until it would draw.

What :mod:`solitaire_env.move_features.moves` reads of the position after a move says little of what that position is good for.
Here it is played on, as far as everything is known: by the highest scores of :mod:`solitaire_env.policies.linear`,
until these would turn up the next card of the stock. What the position that this comes to is like is read,
and how far the cards at hand would reach from there (:mod:`solitaire_env.move_features.reach`). Of a draw, and of the position
itself, it is the one that the linear policy comes to without a draw.
"""

from copy import deepcopy
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env import Variant
from solitaire_env.core import jit_allocating
from solitaire_env.core.batch import Batch
from solitaire_env.core.engine import copy, place, step, write_row
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import send_home
from solitaire_env.move_features.linear_scores import best_action, make_room
from solitaire_env.move_features.moves import NUM_PLAIN, PLAIN_FEATURES, Look, Moves, look_at_positions

Array = npt.NDArray[Any]

ONWARD_FEATURES: Final = (
    *(f"onward: {name}" for name in PLAIN_FEATURES),
    "onward: moves that led there / their limit",
    "onward: cards that went home on the way / 13",
)
"""Of a move, and of a position."""


def num_onward(reach: int = 0) -> int:
    """How many numbers are read of where a move leads on to."""
    return len(ONWARD_FEATURES) + reach


def variant_of(layout: dict[str, Any]) -> Variant:
    """A game that is played as one with this layout is, sequences being built in suit. What lies where at the
    deal may be something else.
    """
    first, end = layout["slices"]["t1"]
    highest = end - first + 1 - layout["ranks"]  # the cards of the highest pile at the deal, or 1
    stock = layout["slices"].get("waste", (0, 0))
    dealt = 4 * layout["decks"] * layout["ranks"] - (stock[1] - stock[0])
    tableau: list[int] = []
    for _ in range(layout["piles"]):
        tableau.append(min(highest, dealt - sum(tableau)))
    return Variant(
        "any", "Any", layout["decks"], tuple(tableau), layout["cells"], dealt - sum(tableau),
        spaces=layout["spaces"], moves=layout["moves"], ranks=layout["ranks"],
    )  # fmt: skip


class Onward:
    """Goes on from positions of a game.

    Parameters
    ----------
    layout
        Of the game.
    moves
        The same, as :func:`solitaire_env.move_features.moves.moves_of` gives it.
    limit
        So many moves it goes on at most; what is sure to go home goes in between, and is not counted.
    reach
        So many numbers are read of how far the cards at hand would reach.
    """

    def __init__(self, layout: dict[str, Any], moves: Moves, limit: int, reach: int = 0) -> None:
        batch = Batch(GameSpec(variant_of(layout)), 2)
        self.rules, self.state, self.events = batch.rules, batch.state, batch.events
        self.moves = moves
        self.limit = limit
        self.reach = reach

    def lengthen(self, seen: Look, observations: Array, weights: Array) -> Look:
        """A look at observations, int8 ``[n, size]``, longer by the :func:`num_onward` numbers of where these
        weights, float64 ``[NUM_MOVE]``, come to from each move and each position.
        """
        games = np.concatenate((seen.games, np.arange(len(observations))))
        actions = np.concatenate((seen.actions, np.full(len(observations), -1)))
        ends, ways = self.follow(observations, games, actions, weights)
        numbers = np.concatenate((look_at_positions(ends, self.moves, 0, self.reach), ways), 1)
        count = len(seen.games)
        return seen._replace(
            moves=np.concatenate((seen.moves, numbers[:count]), 1),
            positions=np.concatenate((seen.positions, numbers[count:]), 1),
        )

    def follow(
        self, observations: Array, games: Array, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Where the linear policy comes to after the action ``actions[k]``, none where it is negative, in the
        position ``observations[games[k]]``: int8 ``[k, size]``, and of how it came there, float32 ``[k, 2]``.
        """
        ends = np.empty((len(games), observations.shape[1]), dtype=np.int8)
        ways = np.empty((len(games), len(ONWARD_FEATURES) - NUM_PLAIN), dtype=np.float32)
        # Copies: others may ask at the same time.
        state, events = deepcopy((self.state, self.events))
        _follow(
            self.rules, state, events, np.ascontiguousarray(observations), games, actions, weights,
            self.limit, make_room(self.rules), ends, ways,
        )  # fmt: skip
        return ends, ways


@jit_allocating
def _follow(  # type: ignore[no-untyped-def]
    rules, state, events, observations, games, actions, weights, limit, room, ends, ways
):  # fmt: skip
    size = observations.shape[1]
    row = np.zeros(rules.row_size, dtype=np.int8)
    last = -1
    for k in range(len(games)):
        if games[k] != last:
            last = games[k]
            write_row(observations[last], row)
            # What is left of the stock is not known; that something is left, is.
            left = rules.cards
            for at in range(rules.row_foundations):
                left -= int(row[at]) != 0
            for at in range(rules.row_foundations, rules.row_foundations + 4 * rules.decks):
                left -= int(row[at])
            for at in range(rules.stock_capacity):
                row[rules.row_stock + at] = 4 if at < left else 0
            place(rules, state, 0, row)
        copy(rules, state, 0, 1)
        before = int(state.home[1])
        made = 0
        action = actions[k]
        # Of a finished game all actions pass for legal; none does anything.
        if int(state.status[1]) == 0 and action >= int(rules.has_stock):
            step(rules, state, events, 1, action)
        while True:
            send_home(rules, state, events, 1)
            if made == limit or int(state.status[1]) != 0:
                break
            action = best_action(rules, state, 1, weights, room)
            if action < int(rules.has_stock):  # a draw
                break
            step(rules, state, events, 1, action)
            made += 1
        for at in range(size):
            ends[k, at] = state.rows[1, at]
        ways[k, 0] = made / limit
        ways[k, 1] = (int(state.home[1]) - before) / 13
