"""Steps per second: timed replays of games, and the description of the machine."""

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

import numpy as np

from solitaire_env.core import get_num_threads
from solitaire_env.util.cores import processor
from solitaire_env.vector import SolitaireVectorEnv

TIMED: Final = (
    "Timed: step() with observation, action mask, reward and auto-reset; one action in one game is a step.\n"
    "Not timed: the choice of actions (random legal ones, recorded beforehand), first reset."
)


class Recording:
    """Random legal actions for a vector environment, for timed replays from the same seed.

    All choices are made beforehand, from the masks of the same games.

    Parameters
    ----------
    length
        Calls of ``step`` per pass, by default 1,000; fewer if more than 4,096 games would need much memory.
    progress
        Called after each recorded call of ``step``, with their number up to now and in total.
    """

    def __init__(
        self,
        env: SolitaireVectorEnv,
        length: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.env = env
        self.actions = np.zeros(
            (length or max(10, min(1000, 2**22 // env.num_envs)), env.num_envs), dtype=np.int64
        )
        self.episodes = 0
        """Episodes that end in a pass."""
        chance = np.random.default_rng(0)
        _, infos = env.reset(seed=0)
        for number, actions in enumerate(self.actions, 1):
            mask = infos["action_mask"]
            np.argmax(mask * chance.random(mask.shape, dtype=np.float32), axis=1, out=actions)
            _, _, terminated, truncated, infos = env.step(actions)
            self.episodes += int(np.count_nonzero(terminated | truncated))
            if progress is not None:
                progress(number, len(self.actions))
        self._last = env.batch.state.rows.copy()

    @property
    def steps(self) -> int:
        """Total number of actions in a pass."""
        return self.actions.size

    def replay(self) -> float:
        """Play a pass; return its seconds."""
        self.env.reset(seed=0)
        step = self.env.step
        start = time.perf_counter()
        for actions in self.actions:
            step(actions)
        seconds = time.perf_counter() - start
        if not np.array_equal(self.env.batch.state.rows, self._last):
            raise RuntimeError("a replay did not repeat the games that were recorded")
        return seconds


def machine() -> str:
    """The machine and the versions of a measurement, in one line."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium"))
    return (
        f"Machine: {processor()}, {os.cpu_count()} cores, {get_num_threads()} threads used; "
        f"{platform.system()}, Python {platform.python_version()}, {packages}"
    )
