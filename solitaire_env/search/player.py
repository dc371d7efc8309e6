"""A policy that searches with the information of a player.

Before each move it simulates the likeliest candidates of a prior, such as a network, on sampled stock
orders: every order of the unseen cards has the same probability. After a redeal it remembers the order of the
stock. The linear policy plays each simulation to its end. Candidates share the stock orders, and each round
drops the worse half of them (sequential halving: Karnin, Koren, Somekh, "Almost Optimal Exploration in
Multi-Armed Bandits", 2013), so that most simulations are spent where the choice is close.

It reads only the ``cards`` observation, which does not contain the stock. Where nothing is hidden it searches
for a winning line (:mod:`solitaire_env.search.solver`) and follows it.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.policies.linear import weights_for
from solitaire_env.policies.network import CompiledNetwork
from solitaire_env.policies.policy import Policy
from solitaire_env.search.budget import Budget, better_half, parts
from solitaire_env.search.exhaustive import FOUND, Exhaustive
from solitaire_env.search.policy import Memory, SearchPolicy
from solitaire_env.search.positions import SALT, keys_of
from solitaire_env.search.rollouts import play_to_end
from solitaire_env.search.solver import MAX_EXHAUSTIVE_CARDS, Solver
from solitaire_env.search.stocks import draw_stocks, unseen, with_stock, write_games

Array = npt.NDArray[Any]

STALL_LIMIT: Final = 20
"""A simulation ends after this many moves without a card going home or leaving the stock."""
MAX_REPEATS: Final = 30
"""After this many consecutive moves to past positions, moves are random, without search."""
MAX_IDLE: Final = 40
"""After this many moves without a card going home or leaving the stock the prior plays without search: such
games are hardly ever won, and searching would continue until the step limit."""
LEAF_MOVES: Final = 1000
LEAF_MEGABYTES: Final = 1
"""Limits of the search at the end of a simulation."""


@dataclass
class Visits(Memory):
    """The memory of a game. Its plan is a winning line."""

    visited: set[int] = field(default_factory=set)
    """Keys of its past positions."""
    repeats: int = 0
    """Number of consecutive moves to past positions."""
    progress: int = -1
    """Cards home and cards in the stock after the last move."""
    idle: int = 0
    """Number of consecutive moves that did not change ``progress``."""


class Trials(NamedTuple):
    """The simulations of the candidates."""

    actions: Array
    """int64 ``[candidates]``."""
    sums: Array
    """float64 ``[candidates]``: sums of the results of their simulations."""
    counts: Array
    """int64 ``[candidates]``: numbers of simulations."""


class Searcher(SearchPolicy):
    """The search policy, see the module.

    Parameters
    ----------
    variant
        The game.
    prior
        Proposes moves: a policy that explains its probabilities, such as a network.
    budget
        The search budget of a move.
    """

    memory = Visits

    def __init__(self, variant: Variant, prior: Policy, budget: Budget | None = None) -> None:
        if prior.observation != "cards" or prior.information == "thoughtful":
            raise ValueError(
                f"the network reads observation {prior.observation!r} with information "
                f"{prior.information!r}, allowed for search: 'cards', and 'player' or 'memory'"
            )
        if not prior.explains:
            raise ValueError(
                f"policy {prior.name} has no probabilities, allowed for search: a network, or another policy "
                "that overrides explain"
            )
        super().__init__(variant.with_rules(moves=prior.moves or variant.moves), budget)
        self.prior = prior
        rows = max(self.simulations + self.budget.candidates, 16)
        self.batch = Batch(GameSpec(self.variant), rows)
        solves = not variant.stock and not variant.hides_cards and self.budget.nodes > 0
        self.solver = Solver(self.variant) if solves else None
        self.weights = weights_for(variant.name, stock=variant.stock > 0)
        searches = variant.hides_cards and variant.cards <= MAX_EXHAUSTIVE_CARDS
        self.leaves = (
            Exhaustive(self.variant, self.weights, LEAF_MEGABYTES, LEAF_MOVES + 1) if searches else None
        )
        """Says which simulations are won, instead of playouts."""
        self.autoplay = has_safe_moves(variant)
        self.endless = variant.passes == 0 or variant.worrying_back
        """Whether only more cards home than before are progress, because stock or cards may cycle."""
        self.seen_rules = self.batch.rules._replace(passes=1)
        """Rules by which the keys of positions ignore the stock."""
        self.scratch = make_move_scratch(self.batch.rules)
        # A playout continues while cards go home or leave the stock.
        draws = variant.stock * max(1, variant.passes)
        self.line = np.zeros(STALL_LIMIT * (self.batch.rules.cards + draws + 1), dtype=np.int64)
        self.simulated_moves = 0
        """Number of moves played in simulations."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the prior and the budget."""
        prior = self.prior
        known = prior.weights_fingerprint if isinstance(prior, CompiledNetwork) else prior.fingerprint
        return hashlib.sha256(f"{known} {self.budget}".encode()).hexdigest()[:16]

    # ------------------------------------------------------------------------------------ a move

    def _choose(self, observation: Array, mask: Array, random: np.random.Generator, memory: Visits) -> int:
        # An observation ends with foundations and stock count; a move changes one of these numbers by one.
        rules = self.batch.rules
        idle = MAX_IDLE
        if self.endless:
            idle += rules.stock_capacity
            home = int(observation[rules.row_foundations : rules.row_stock_count].sum(dtype=np.int64))
            progress = max(memory.progress, home)
        else:
            progress = int(observation[rules.row_foundations :].sum(dtype=np.int64))
        memory.idle = memory.idle + 1 if progress == memory.progress else 0
        memory.progress = progress
        if self.solver is not None:
            if memory.plan is None:
                memory.plan = self._plan(observation)
            if (planned := memory.plan.get(observation.tobytes())) is not None:
                return planned
        if memory.repeats >= MAX_REPEATS:
            return int(random.choice(np.flatnonzero(mask)))
        if memory.idle >= idle:
            return int(random.choice(len(mask), p=self._probabilities(observation, mask, memory.order)))
        candidates, probabilities = self._candidates(observation, mask, memory)
        likely = candidates[: self.budget.candidates]
        likely = likely[(probabilities[likely] >= self.budget.min_prob) | (likely == likely[:1])]
        memory.repeats = 0 if len(likely) else memory.repeats + 1
        if len(likely) == 0:
            # Every move leads back to a past position: the game is lost, unless a random move helps.
            return int(random.choice(len(mask), p=probabilities))
        if len(likely) == 1:
            return int(likely[0])
        # A tiny probability may be rounded to 0.
        bonus = self.budget.prior_weight * np.log(probabilities[likely].clip(min=np.finfo(np.float64).tiny))
        return self._compare(observation, likely, bonus, random, memory.order)

    def _probabilities(self, observation: Array, mask: Array, order: Array | None) -> Array:
        """The prior's probabilities of all actions, float64 ``[actions]``; ``order`` is that of the stock, if
        it is remembered.
        """
        if self.prior.information == "memory":
            observation = with_stock(self.batch.rules, observation, order)
        explained, _ = self.prior.explain(observation[None], mask[None])
        assert explained is not None
        probabilities: Array = explained[0].astype(np.float64)
        return probabilities / probabilities.sum()

    def _candidates(self, observation: Array, mask: Array, memory: Visits) -> tuple[Array, Array]:
        """The legal moves to new positions, the likeliest first, and the probabilities of all actions,
        float64 ``[actions]``.
        """
        probabilities = self._probabilities(observation, mask, memory.order)
        # A tiny probability may be rounded to 0, as of illegal actions.
        order = np.argsort(-np.where(mask, probabilities, -1), kind="stable")[: np.count_nonzero(mask)]
        fresh = np.zeros(len(order), dtype=np.bool_)
        # Any stock order will do: the positions are compared without the stock.
        stock = unseen(self.batch.rules, observation)
        for start in range(0, len(order), self.batch.size - 1):
            part = order[start : start + self.batch.size - 1]
            # The last row is the position itself.
            self._place(observation, stock[None].repeat(len(part) + 1, 0), part)
            keys = np.zeros(len(part) + 1, dtype=np.uint64)
            keys_of(self.seen_rules, self.batch.state, len(keys), SALT, keys)
            memory.visited.add(int(keys[-1]))
            drawn = bool(self.variant.stock) & (part == 0)
            fresh[start : start + len(part)] = drawn | [int(key) not in memory.visited for key in keys[:-1]]
        return order[fresh], probabilities

    def _compare(
        self,
        observation: Array,
        actions: Array,
        bonus: Array,
        random: np.random.Generator,
        order: Array | None,
    ) -> int:
        """The candidate with the highest mean plus bonus, float64 ``[candidates]``.

        ``order`` is that of the stock, if it is remembered.
        """
        trials = Trials(actions, np.zeros(len(actions)), np.zeros(len(actions), dtype=np.int64))
        left = np.arange(len(actions))
        for each in self.budget.rounds(len(actions)):
            for many in each:
                n = max(1, min(many, self.batch.size) // len(left))
                stocks = draw_stocks(self.batch.rules, observation, n, random, order)
                self._simulate(observation, trials, left, stocks, random)
            means = trials.sums[left] / trials.counts[left] + bonus[left]
            left = better_half(left, means)
        return int(actions[left[0]])

    # -------------------------------------------------------------------------------- the trials

    def _place(self, observation: Array, stocks: Array, actions: Array) -> None:
        """Write the observed position with these hidden cards to the first rows; play the actions, int64
        ``[n]``, in the first ``n`` of them.
        """
        n = len(stocks)
        write_games(self.batch.rules, self.batch.state.rows[:n], observation, stocks)
        self.batch.derive(np.arange(n))
        self.batch.play(np.arange(len(actions)), actions)

    def _simulate(
        self, observation: Array, trials: Trials, left: Array, orders: Array, random: np.random.Generator
    ) -> None:
        """Simulate each remaining candidate on each order of the hidden cards, int8 ``[n, cards]``."""
        state, rules, n = self.batch.state, self.batch.rules, len(orders)
        stocks = np.tile(orders, (len(left), 1))
        self._place(observation, stocks, trials.actions[left].repeat(n))
        if self.leaves is not None:
            trials.sums[left] += self._solve(len(stocks)).reshape(len(left), n).sum(1)
            trials.counts[left] += n
            return
        random.integers(2**62)  # stored games were played with one more number drawn here
        m = len(stocks)
        rows = np.flatnonzero(state.status[:m] == PLAYING)
        self.simulated_moves += len(rows)
        for part in parts(len(rows)):
            self.simulated_moves += play_to_end(
                rules, state, self.batch.events, rows[part], self.weights, STALL_LIMIT, self.autoplay,
                self.line, self.scratch,
            )  # fmt: skip
        results = state.home[:m] / rules.cards + (state.status[:m] == WON)
        trials.sums[left] += results.reshape(len(left), n).sum(1)
        trials.counts[left] += n

    def _solve(self, n: int) -> Array:
        """Whether a short search wins each of the first games, bool ``[n]``."""
        assert self.leaves is not None
        state = self.batch.state
        won = state.status[:n] == WON
        for b in np.flatnonzero(state.status[:n] == PLAYING):
            self.leaves.begin(state.rows[b])
            end, moves = self.leaves.explore(LEAF_MOVES)
            won[b] = end == FOUND
            self.simulated_moves += moves
        return won

    # ------------------------------------------------------------------------------ nothing hidden

    def _plan(self, observation: Array) -> dict[bytes, int]:
        """Actions by position of a winning line; empty if none was found within the budget."""
        assert self.solver is not None
        cards = np.zeros(self.batch.rules.row_size, dtype=np.int8)
        cards[: len(observation)] = observation
        solution = self.solver.solve(cards, seconds=float("inf"), positions=self.budget.nodes)
        plan = {}
        if solution.status == "won":
            self.batch.set_row(0, cards)
            for action in solution.line:
                # If the line repeats a position, its last action counts.
                plan[self.batch.observations()[0].tobytes()] = action
                self.batch.play(np.zeros(1, dtype=np.int64), np.array([action]))
        return plan
