"""The search policy in games like Klondike: tree search over the cards that are not seen.

1. While redeals are not limited, drawing costs nothing: the player draws until it has seen the whole stock.
2. Tree search (:mod:`solitaire_env.search.tree`) compares the choices by sequential halving. A choice is
   a move that cannot be taken back, after those that it needs.
3. When all cards are known, since at most one is face down, the exhaustive search
   (:mod:`solitaire_env.search.collapsed`) says how to win.

It reads only the ``cards`` observation.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.search.budget import Budget, better_half, parts
from solitaire_env.search.collapsed import COLUMNS, Collapsed, code_of, make_puzzle, make_search, read
from solitaire_env.search.exhaustive import FOUND, MORE
from solitaire_env.search.policy import Memory, SearchPolicy
from solitaire_env.search.solver import explore_in_parts
from solitaire_env.search.stocks import draw_stocks, unseen, write_games
from solitaire_env.search.tree import TRIED, WINS, grow, make_tree, plant

Array = npt.NDArray[Any]

STATES: Final = 1000
"""Maximum number of states of a search at a leaf of the tree."""
EXPLORE: Final = 0.3
"""Factor of the confidence bounds."""
DEPTH: Final = 30
"""Maximum number of choices of an iteration."""
MEGABYTES: Final = 64
"""Memory of the search when all cards are known."""


@dataclass
class Chances(Memory):
    """The memory of a game."""

    lost: bool = False
    """Whether the game cannot be won."""


class TreeSearcher(SearchPolicy):
    """The policy, see the module.

    Parameters
    ----------
    variant
        The game, see :func:`~solitaire_env.search.collapsed.collapses`.
    budget
        ``simulations`` is the number of iterations of a choice, ``nodes`` of states when all cards are known.
    """

    memory = Chances

    def __init__(self, variant: Variant, budget: Budget | None = None) -> None:
        super().__init__(variant, budget)
        self.batch = Batch(GameSpec(variant), 1)
        self.puzzle = make_puzzle(self.batch.rules)
        self.search = make_search(0)
        self.tree = make_tree(2 * self.simulations)
        self.path = np.zeros(DEPTH, dtype=np.int64)
        self.frame = np.zeros(COLUMNS, dtype=np.int64)
        self.solver = Collapsed(variant, MEGABYTES)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the budget."""
        return hashlib.sha256(f"tree {self.budget}".encode()).hexdigest()[:16]

    def _choose(self, observation: Array, mask: Array, random: np.random.Generator, memory: Chances) -> int:
        rules = self.batch.rules
        if memory.plan and (planned := memory.plan.get(observation.tobytes())) is not None:
            return planned
        if self.variant.passes == 0 and memory.order is None:
            return 0  # draw
        if not memory.lost:
            memory.plan = self._plan(observation, random, memory.order)
            memory.lost = not memory.plan
        if not memory.plan:
            legal = np.flatnonzero(mask)
            home = legal[(legal >= rules.home_actions) & (legal < rules.cell_actions)]
            return int(random.choice(home if len(home) else legal))
        return memory.plan[observation.tobytes()]

    def _plan(self, observation: Array, random: np.random.Generator, order: Array | None) -> dict[bytes, int]:
        """Actions by observation, to a win or to the best choice; empty if the game is lost."""
        rules = self.batch.rules
        rows = np.zeros((1, rules.row_size), dtype=np.int8)
        write_games(rules, rows, observation, draw_stocks(rules, observation, 1, random, order))
        known = 0 if order is None else int(observation[rules.row_stock_count])
        if len(unseen(rules, observation)) - known <= 1 and self.solver.begin(rows[0]):
            end, _ = explore_in_parts(self.solver, self.budget.nodes)
            moves = self.solver.moves() if end == FOUND else []
        else:
            end = MORE
        if end == MORE:
            moves = self._compare(observation, rows[0], random, order)
        line = self.solver.spell(rows[0], moves)
        self.batch.set_row(0, rows[0])
        plan: dict[bytes, int] = {}
        for action in line:
            plan[self.batch.observations()[0].tobytes()] = action
            self.batch.play(np.zeros(1, dtype=np.int64), np.array([action]))
        return plan

    def _compare(
        self, observation: Array, row: Array, random: np.random.Generator, order: Array | None
    ) -> list[int]:
        """The moves of the choice that wins the most worlds; none if there is no choice."""
        tree = self.tree
        puzzle, frame = self.puzzle, np.zeros(COLUMNS, dtype=np.int64)
        if not read(self.batch.rules, row, puzzle, frame):
            raise ValueError(f"{self.variant.name}: the position occurs in no game, so search cannot play it")
        left = np.arange(plant(puzzle, self.search, frame, tree))
        if len(left) == 0:
            return []
        for share in self.budget.rounds(len(left)):
            for iterations in share:
                n = max(1, iterations // len(left))
                worlds = code_of(draw_stocks(self.batch.rules, observation, n, random, order))
                for part in parts(n, len(left)):
                    grow(
                        puzzle, self.search, frame, tree, left, worlds[part], EXPLORE, STATES, self.path,
                        self.frame,
                    )  # fmt: skip
            wins = tree.choices[left, WINS] / tree.choices[left, TRIED]
            left = better_half(left, wins)
        moves: list[int] = tree.lines[left[0]].tolist()
        return moves[: moves.index(-1)]
