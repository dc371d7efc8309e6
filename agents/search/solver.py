"""A thoughtful solver: the order of the stock is known, and the question is whether the game can be won.

1. Nested rollouts of the linear policy (:func:`agents.search.kernels.nested_rollouts`): milliseconds a game.
2. The same again and again with weights that differ by chance: other habits win other deals.
3. In games of one deck or less, a search that leaves nothing out, in bounded memory. It finds what rollouts
miss, and where it comes to its end without a win there is none.

One-card games are searched by supermoves, which stand for single moves; lines are given in the moves of the
game itself.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from agents.files import read_json
from agents.moves import MOVE_FEATURES
from agents.policies.linear import WEIGHTS
from agents.search.kernels import (
    EXHAUSTED,
    FOUND,
    MORE,
    SALT,
    Store,
    enter,
    explore,
    keys_of,
    make_room,
    make_store,
    nested_rollouts,
)
from solitaire_env import Variant
from solitaire_env.batch import Batch, Settings

Array = npt.NDArray[Any]

Result = Literal["winnable", "unwinnable", "unknown"]

LONGEST: Final = 4000
"""A line has at most so many moves."""
PATIENCE: Final = (30, 30, 30, 100)
"""After so many moves without a card going home or coming off the stock a playout is given up; which of them
it is, is drawn for each further try."""
NOISE: Final = (1.0, 8.0)
"""Least and largest standard deviation of what is added to the weights for another try."""
TRIES: Final = 40
"""So many tries are made before nothing is left out."""
SLICE: Final = 100_000
"""Moves of the exhaustive search between two looks at the clock."""
SMALL: Final = 52
"""Games of at most so many cards are searched exhaustively."""


@dataclass(frozen=True)
class Solution:
    """What the solver found out about a game."""

    result: Result
    """``unknown``: neither a win nor a proof that there is none was found."""
    line: tuple[int, ...]
    """Actions of the game itself, that win it, or come to the most cards home."""
    cards_home: int
    """After the line."""
    nodes: int
    """Moves that were played."""
    seconds: float
    stopped: bool = False
    """Whether Ctrl-C ended it."""


def weights_for(variant: Variant) -> Array:
    """The linear policy's weights for a game, float64 ``[NUM_MOVE]``; those of a like game where none were
    found for it.
    """
    entries = read_json(WEIGHTS)
    like = "busy-aces" if variant.stock else "eights-down"
    entry = entries.get(variant.name, entries[like])
    return np.array([entry["weights"][name] for name in MOVE_FEATURES])


class Solver:
    """Solves games of one variant, one after another.

    Parameters
    ----------
    variant
        The game.
    megabytes
        What an exhaustive search may take of memory.
    seed
        Of the weights of further tries.
    """

    def __init__(self, variant: Variant, *, megabytes: float = 1000, seed: int = 0) -> None:
        if not 1 <= megabytes <= 1e6:
            raise ValueError(f"memory is {megabytes} MB, allowed: 1 to 1000000")
        self.variant = variant
        self.strict = variant
        if variant.moves == "one card":
            # A supermove stands for single moves: what it reaches, they reach, and in fewer steps.
            self.variant = variant.with_rules(moves="supermove")
        self.megabytes = megabytes
        self.seed = seed
        self.weights = weights_for(variant)
        self.batch = Batch(self.variant, Settings(), 3)
        self.room = make_room(self.batch.rules)
        self.line = np.zeros(LONGEST, dtype=np.int64)
        self.trial = np.zeros(LONGEST, dtype=np.int64)

    def compile(self) -> None:
        """Have all kernels compiled, or read from disk, before time counts."""
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        store = make_store(rules, 1)
        enter(rules, state, 0, -1, -1, store)
        explore(rules, state, events, self.weights, False, 1, store, self.room)
        nested_rollouts(rules, state, events, self.weights, 1, self.line, self.trial, self.room)

    def solve_deal(self, deal: int | str, **limits: Any) -> Solution:
        """Solve a numbered or named deal; see :meth:`solve`."""
        batch = Batch(self.variant, Settings(), 1)
        batch.deal(np.zeros(1, dtype=np.int64), [deal])
        return self.solve(batch.state.rows[0], **limits)

    def solve(
        self, cards: Array, *, seconds: float = 10.0, nodes: float = float("inf"),
        progress: Callable[[int, int], None] | None = None,
    ) -> Solution:  # fmt: skip
        """Solve the game of a position row (int8 ``[row_size]``, the stock in its order).

        Parameters
        ----------
        seconds, nodes
            Where it ends if neither a win nor a proof was found: looked at between two tries.
        progress
            Is told moves played and most cards home.
        """
        begin = time.perf_counter()
        cards = cards.copy()
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        self.batch.set_row(0, cards)
        most, best = int(state.home[0]), np.zeros(0, dtype=np.int64)
        result: Result = "winnable" if most == rules.cards else "unknown"
        random = np.random.default_rng(self.seed)
        played = tries = 0
        store: Store | None = None
        stopped = explored = False
        try:
            while result == "unknown":
                if store is not None:
                    before = int(store.counts[2])
                    end = explore(rules, state, events, self.weights, self._forced, SLICE, store, self.room)
                    played += int(store.counts[2]) - before
                    if end == FOUND:
                        most, best = rules.cards, _path(store)
                    elif end == EXHAUSTED:
                        result = "unwinnable"
                    if end != MORE:
                        store, explored = None, True
                else:
                    self.batch.set_row(0, cards)
                    weights, patience = self._habits(random) if tries else (self.weights, PATIENCE[0])
                    home, length, moves = nested_rollouts(
                        rules, state, events, weights, patience, self.line, self.trial, self.room
                    )  # fmt: skip
                    tries += 1
                    played += moves
                    if home > most:
                        most, best = home, self.line[:length].copy()
                if most == rules.cards:
                    result = "winnable"
                if progress is not None:
                    progress(played, most)
                if time.perf_counter() - begin >= seconds or played >= nodes:
                    break
                if store is None and not explored and tries >= TRIES and rules.cards <= SMALL:
                    store = self._begin(cards)
        except KeyboardInterrupt:
            stopped = True
        return Solution(
            result, tuple(self._strict_line(cards, best)), most, played, time.perf_counter() - begin, stopped
        )

    def _habits(self, random: np.random.Generator) -> tuple[Array, int]:
        """Weights and patience for another try."""
        noise = np.exp(random.uniform(*np.log(NOISE))) * random.standard_normal(len(self.weights))
        return self.weights + noise, int(random.choice(PATIENCE))

    @property
    def _forced(self) -> bool:
        """Whether a card that can go home may go home at once, and nothing be lost."""
        return self.variant.decks == 1 and self.variant.build == "same suit"

    def _begin(self, cards: Array) -> Store:
        """An exhaustive search that waits to look at a position."""
        store = make_store(self.batch.rules, self.megabytes)
        self.batch.set_row(0, cards)
        enter(self.batch.rules, self.batch.state, 0, -1, -1, store)
        return store

    def _strict_line(self, cards: Array, line: Array) -> list[int]:
        """A line in the moves of the game itself.

        Carried through spaces, a sequence may come to lie in another space than the supermove says. Spaces
        are alike: from then on the move is made that leads to the like position.
        """
        if self.variant == self.strict:
            return [int(action) for action in line]
        planned = Batch(self.variant, Settings(), 1)
        seen = Batch(self.variant, Settings(), self.batch.rules.actions)
        played = Batch(self.strict, Settings(on_invalid="raise"), 1)
        for batch in (planned, played):
            batch.set_row(0, cards)
        one = np.ones(1, dtype=np.int8)
        actions: list[int] = []
        for planned_action in line:
            seen.set_row(0, played.state.rows[0])
            same = np.array_equal(planned.state.rows[0], seen.state.rows[0])
            planned.step(np.array([planned_action]), one)
            action = planned_action if same else self._like(seen, self._keys(planned, 1)[0])
            singles = seen.expand(0, int(action))
            for single in singles:
                played.step(np.array([single]), one)
            actions += singles
        return actions

    @staticmethod
    def _keys(batch: Batch, n: int) -> Array:
        keys = np.zeros(n, dtype=np.uint64)
        keys_of(batch.rules, batch.state, n, SALT, keys)
        return keys

    def _like(self, seen: Batch, key: np.uint64) -> int:
        """The action in row 0 that leads to the position with a key; the other rows are written over."""
        legal = np.flatnonzero(seen.state.mask[0])
        row = seen.state.rows[0].copy()
        for n in range(len(legal)):
            seen.set_row(n, row)
        todo = np.zeros(seen.size, dtype=np.int8)
        todo[: len(legal)] = 1
        actions = np.zeros(seen.size, dtype=np.int64)
        actions[: len(legal)] = legal
        seen.step(actions, todo)
        found = legal[self._keys(seen, len(legal)) == key]
        seen.set_row(0, row)
        return int(found[0])


def _path(store: Store) -> Array:
    """The actions that lead to the last position of a store."""
    actions = []
    at = int(store.counts[0]) - 1
    while store.parents[at] >= 0:
        actions.append(int(store.actions[at]))
        at = int(store.parents[at])
    return np.array(actions[::-1], dtype=np.int64)
