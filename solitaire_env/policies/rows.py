"""Rows for the games that a policy remembers."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

MAX_GAMES: Final = 4096
"""Maximum number of games that a policy remembers, unless more are played in parallel. Games that are left
before they end would otherwise be remembered for good."""


class GameRows:
    """A row for each game that a policy remembers: a small number, so that arrays can hold its state.

    Of ``n`` games that are played in parallel to their ends, the rows are below ``n``.
    """

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        """Rows by game; the games of the last call are last."""
        self._free: list[int] = []
        """Rows below the number of all rows that no game has."""

    def find(self, games: npt.NDArray[Any] | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """The row of each game, int64 ``[n]``, and whether the game is new, bool ``[n]``.

        Parameters
        ----------
        games
            int64 ``[n]``: the numbers of the games, as a policy gets them.

        Raises
        ------
        ValueError
            If the policy got none.
        """
        if games is None:
            raise ValueError("games is None, allowed: the number of each game, which the policy remembers")
        known, numbers = self._rows, games.tolist()
        new = np.array([number not in known for number in numbers], dtype=np.bool_)
        for number in numbers:
            row = known.pop(number, None)
            if row is None:
                row = self._free.pop() if self._free else len(known)
            known[number] = row
        rows = np.array([known[number] for number in numbers], dtype=np.int64)
        while len(known) > max(MAX_GAMES, len(numbers)):
            self.free([next(iter(known))])
        return rows, new

    def free(self, games: Sequence[int]) -> None:
        """Forget games that have ended; other games get their rows."""
        self._free += [self._rows.pop(game) for game in games if game in self._rows]
