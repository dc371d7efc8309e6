"""The progress of a training: its steps, games and time, its learning curve and its progress line."""

import time
from collections import deque
from pathlib import Path
from typing import Any, Final, NamedTuple

from agents.config import TrainConfig
from agents.runs.folders import CURVE, write_row
from solitaire_env.util.progress import bar, clock

WINDOW: Final = 1000
"""Number of last games that the rates in progress line and curve refer to."""


class Rates(NamedTuple):
    """Means over the last games of a training."""

    won: float
    home: float
    """Cards home."""
    length: float
    """Steps."""


class Progress:
    """Steps, games and seconds of a training, over all resumptions.

    Parameters
    ----------
    config
        The configuration, with the budget.
    run
        The run folder, whose curve is written.
    steps, seconds, games
        Those before this part of the training.
    """

    def __init__(
        self, config: TrainConfig, run: Path, steps: int = 0, seconds: float = 0.0, games: int = 0
    ) -> None:
        self.config, self.run = config, run
        self.steps, self.games = steps, games
        self._before = steps, seconds
        self._start = self._saved = time.monotonic()

    @property
    def seconds(self) -> float:
        """Training time, including earlier parts of the run."""
        return self._before[1] + time.monotonic() - self._start

    @property
    def share(self) -> float:
        """The completed share of the training, 0 to 1."""
        shares = []
        if self.config.minutes is not None:
            shares.append(self.seconds / (60 * self.config.minutes))
        if self.config.total_steps is not None:
            shares.append(self.steps / self.config.total_steps)
        return min(1.0, max(shares))

    @property
    def speed(self) -> float:
        """Steps per second, since the start or the last resumption."""
        return (self.steps - self._before[0]) / max(time.monotonic() - self._start, 1e-9)

    @property
    def stored(self) -> dict[str, Any]:
        """What a checkpoint stores, for the constructor."""
        return {"steps": self.steps, "seconds": self.seconds, "games": self.games}

    def checkpoint_is_due(self) -> bool:
        """Whether the next checkpoint is due; then the time starts again."""
        due = time.monotonic() - self._saved > 60 * self.config.checkpoint_minutes
        if due:
            self._saved = time.monotonic()
        return due

    def write_row(self, rates: Rates | None) -> None:
        """Add a row to the curve; without rates if no game has ended."""
        texts = (f"{rates.won:.4f}", f"{rates.home:.3f}", f"{rates.length:.1f}") if rates else ("", "", "")
        row = (self.steps, f"{self.seconds / 60:.4f}", self.games, *texts, f"{self.speed:.0f}")
        write_row(self.run / CURVE, row)

    def text(self, rates: Rates | None) -> str:
        """The progress line."""
        share, total = self.share, self.config.total_steps
        done = f"{self.steps / 1e6:.2f}" + (f" of {total / 1e6:.2f}" if total else "")
        won = f"{self.games:,} games have ended"
        # The first games that end are the short ones, which are lost.
        if rates is not None and self.games >= self.config.num_envs:
            won = f"{self.games:,} games, won {100 * rates.won:.1f} %, cards home {rates.home:.1f}"
        left = f"{clock(self.seconds * (1 - share) / share)} left" if share > 0.01 else "starting"
        return f"training {bar(share)} {done} M steps, {self.speed:,.0f}/s, {won}, {left}"


class LastGames:
    """The last games of a training."""

    def __init__(self) -> None:
        self.games: deque[tuple[bool, int, int, float]] = deque(maxlen=WINDOW)

    def add(self, info: dict[str, Any]) -> None:
        """Add a game, from the info at its end."""
        episode = info["episode"]
        self.games.append((info["is_success"], info["cards_home"], episode["l"], episode["r"]))

    def means(self) -> tuple[Rates, float] | None:
        """The rates and the mean return; None if no game has ended."""
        if not self.games:
            return None
        n = len(self.games)
        *rates, paid = (sum(column) / n for column in zip(*self.games, strict=True))
        return Rates(*rates), paid
