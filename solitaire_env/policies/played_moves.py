"""The moves that a policy has played in its games, so that it tries others when a position comes back."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.policies.drawing import draw
from solitaire_env.policies.rows import GameRows

PLAYED: Final = 2.0**-6
"""The probability of a move is multiplied by this for each time that it was played from the same position."""
SMALLEST: Final = 2.0**-1000
"""It stays at least this: the move may be the only one."""


@dataclass
class _Game:
    """What is remembered of a game; positions are hashes of observations."""

    played: dict[int, Counter[int]] = field(default_factory=dict)
    """How often each action was played, by position."""
    last: tuple[int, int] = (0, -1)
    """The last position, and the action in it."""


class PlayedMoves:
    """The moves that a policy has played in each position of its games, as it observes them."""

    def __init__(self) -> None:
        self._rows = GameRows()
        self._games: list[_Game] = []

    def draw(
        self,
        probabilities: npt.NDArray[np.float64],
        uniforms: npt.NDArray[np.float64],
        observations: npt.NDArray[Any],
        games: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """Actions int64 ``[n]`` drawn by their probabilities, rarely one that was played from this position.

        Parameters
        ----------
        probabilities
            float64 ``[n, actions]``, those of the policy.
        uniforms
            float64 ``[n]`` in [0, 1): random numbers that choose the actions.
        observations
            ``[n, size]``.
        games
            int64 ``[n]``: the number of each game.
        """
        weights = probabilities.copy()
        rows, new = self._rows.find(games)
        self._games += [_Game() for _ in range(len(self._games), rows.max(initial=-1) + 1)]
        for row in rows[new].tolist():
            self._games[row] = _Game()
        here = [hash(observation.tobytes()) for observation in observations]
        playing = [self._games[row] for row in rows.tolist()]
        for place, (game, position) in enumerate(zip(playing, here, strict=True)):
            played = game.played.setdefault(position, Counter())
            if position == game.last[0]:
                # Each move changes the position, so the last one was not played, or it was undone.
                played[game.last[1]] -= 1
            for action, times in played.items():
                weights[place, action] = max(weights[place, action] * PLAYED**times, SMALLEST)
        actions = draw(weights, uniforms)
        for game, position, action in zip(playing, here, actions.tolist(), strict=True):
            game.played[position][action] += 1
            game.last = position, action
        return actions

    def forget(self, games: Sequence[int]) -> None:
        """Forget games that have ended."""
        self._rows.free(games)
