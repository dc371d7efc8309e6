"""A policy that plays given actions: a line of the solver, a transcript."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.policies.policy import Array, Policy


class Scripted(Policy):
    """Plays given actions in each game; a missing or illegal action raises an error.

    Parameters
    ----------
    lines
        The actions of each game, in the order in which games begin.
    name
        Describes the line of a game in errors, by its index in ``lines``.
    """

    name = "scripted"
    stateful = True

    def __init__(
        self, lines: Sequence[Sequence[int]], name: Callable[[int], str] = lambda k: f"line {k + 1}"
    ) -> None:
        self.lines = lines
        self.line_name = name
        self._begun = 0
        self._places: dict[int, int] = {}
        """The line of each game."""
        self._played: dict[int, int] = {}
        """Number of its actions that were played."""

    def begun(self, games: Sequence[int], starts: Sequence[Any]) -> None:
        """Assign the next lines to the next games."""
        for game in games:
            self._places[game], self._played[game] = self._begun, 0
            self._begun += 1

    def ended(self, games: Sequence[int]) -> None:
        """Forget games that have ended."""
        for game in games:
            self._places.pop(game, None)
            self._played.pop(game, None)

    def next_action(self, game: int, mask: npt.NDArray[np.int8]) -> int:
        """The next action of a game.

        Raises
        ------
        ValueError
            If there is none or it is illegal. The message names the line and the step.
        """
        line, played = self.lines[self._places[game]], self._played[game]
        name = self.line_name(self._places[game])
        if played >= len(line):
            raise ValueError(f"{name}: the game is not over after its {len(line)} steps")
        action = int(line[played])
        if not 0 <= action < len(mask) or not mask[action]:
            raise ValueError(f"{name}: step {played + 1}: action {action} is not legal")
        self._played[game] += 1
        return action

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """The next action of each game."""
        assert games is not None  # the runner passes it to stateful policies
        pairs = zip(games.tolist(), masks, strict=True)
        return np.array([self.next_action(game, mask) for game, mask in pairs], dtype=np.int64)
