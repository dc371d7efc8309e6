"""Duration of importing the package, of a first step and of first games, in new processes."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from solitaire_env.registration import env_id, env_variant

ROOT: Final = Path(__file__).parents[1]
_CLOCK: Final = """
import time, gymnasium, numpy
start = time.perf_counter()
import solitaire_env
{then}
print(time.perf_counter() - start)
"""
FIRST: Final = {
    "first step, gym.make": "env = gymnasium.make({id!r}); env.reset(seed=0); env.step(0)",
    "first step, vector": (
        "env = gymnasium.make_vec({id!r}, num_envs={num_envs}); env.reset(seed=0)\n"
        "env.step(numpy.zeros({num_envs}, dtype=numpy.int64))"
    ),
    "ten deals, shipped policy": (
        "solitaire_env.evaluate(solitaire_env.load_policy('shipped', 'busy-aces'), 'busy-aces', range(10))"
    ),
}
"""What a new process does, and the code for it."""
STEPS: Final = tuple(FIRST)[:2]
"""Those that take a step; the last one plays games."""


class Start(NamedTuple):
    """Seconds from importing the package, after Gymnasium and NumPy."""

    seconds: float
    """The median of several processes."""
    lines: int
    """Lines on stderr of the first."""


def import_time(processes: int) -> float:
    """Seconds of ``import solitaire_env`` after Gymnasium and NumPy, the median of several processes."""
    return median(_seconds("")[0] for _ in range(processes))


def time_first(what: str, game: str, num_envs: int, processes: int) -> Start:
    """Time a key of :data:`FIRST` in new processes."""
    then = FIRST[what].format(id=env_id(env_variant(game)), num_envs=num_envs)
    _, said = _seconds(then)
    return Start(median(_seconds(then)[0] for _ in range(processes)), len(said.splitlines()))


def _seconds(then: str) -> tuple[float, str]:
    """The seconds that a new process prints, and its stderr.

    Raises
    ------
    RuntimeError
        With the last line on stderr, if it fails.
    """
    done = subprocess.run(
        [sys.executable, "-c", _CLOCK.format(then=then)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SOLITAIRE_ENV_QUIET": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a new process failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout), done.stderr
