"""What the search policies share: the games that they remember, and the random numbers of each move."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch
from solitaire_env.core.position import remembered_order
from solitaire_env.core.variant import Variant
from solitaire_env.policies.policy import Policy
from solitaire_env.policies.rows import MAX_GAMES
from solitaire_env.search.budget import Budget

Array = npt.NDArray[Any]


@dataclass
class Memory:
    """The memory of a game."""

    order: Array | None = None
    """The order of the stock after a redeal, the next card last; None while cards were never drawn."""
    plan: dict[bytes, int] | None = None
    """Planned actions by observation; None before there was a plan."""


class SearchPolicy(Policy):
    """A policy that searches each move of a game, and remembers the game.

    Parameters
    ----------
    variant
        The game.
    budget
        The search budget of a move; what it leaves out is the game's default.
    """

    name = "search"
    stochastic = True
    stateful = True
    memory: type[Memory] = Memory
    """What it remembers of a game."""
    batch: Batch
    """Scratch games."""

    def __init__(self, variant: Variant, budget: Budget | None = None) -> None:
        self.budget = (budget or Budget()).of_game(variant)
        assert self.budget.simulations is not None
        self.simulations = self.budget.simulations
        self.variant = variant
        self.moves = variant.moves
        self.games: dict[int, Any] = {}
        self.plan: dict[bytes, int] = {}
        """The last plan."""

    def __call__(
        self,
        observations: Array,
        masks: npt.NDArray[np.int8],
        *,
        uniforms: npt.NDArray[np.float64] | None = None,
        games: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        """Actions int64 ``[n]``. Without ``games``, only the last plan is stored."""
        uniforms = np.random.default_rng().random(len(masks)) if uniforms is None else uniforms
        chosen = np.empty(len(masks), dtype=np.int64)
        for n, (observation, mask, chance) in enumerate(zip(observations, masks, uniforms, strict=True)):
            memory = self._memory(None if games is None else int(games[n]), observation)
            if self.variant.passes != 1:
                memory.order = remembered_order(self.batch.rules, observation, memory.order)
            chosen[n] = self._choose(observation, mask, np.random.default_rng(int(chance * 2**53)), memory)
            self.plan = memory.plan or self.plan
        return chosen

    def ended(self, games: Sequence[int]) -> None:
        """Delete the memory of games that have ended."""
        for game in games:
            self.games.pop(game, None)

    def _memory(self, game: int | None, observation: Array) -> Any:
        if game is None:
            # The game is not known, but it may be the one that was planned last.
            return self.memory(plan=self.plan if observation.tobytes() in self.plan else None)
        if game not in self.games:
            self.games[game] = self.memory()
            if len(self.games) > MAX_GAMES:
                del self.games[next(iter(self.games))]
        return self.games[game]

    def _choose(self, observation: Array, mask: Array, random: np.random.Generator, memory: Any) -> int:
        """The action in a game."""
        raise NotImplementedError
