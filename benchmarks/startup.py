"""How long a new process takes to import the package, and to its first step."""

import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Final, NamedTuple

from solitaire_env.registration import env_id, env_variant

_CLOCK: Final = """
import time, gymnasium, numpy
start = time.perf_counter()
import solitaire_env
{then}
print(time.perf_counter() - start)
"""
_STEP: Final = {
    "gym.make": "env = gymnasium.make({id!r}); env.reset(seed=0); env.step(0)",
    "vector": (
        "env = gymnasium.make_vec({id!r}, num_envs={num_envs}); env.reset(seed=0)\n"
        "env.step(numpy.zeros({num_envs}, dtype=numpy.int64))"
    ),
}


class FirstStep(NamedTuple):
    """Seconds from the import of the package, Gymnasium and NumPy being imported, to the end of a step."""

    warm: float
    """With compiled code on disk, the median of some processes."""
    cold: float
    """With none, in one process."""
    lines: int
    """Lines on stderr, with none."""


def import_time(processes: int) -> float:
    """Seconds of ``import solitaire_env`` beyond Gymnasium and NumPy, the median of some processes."""
    return median(_seconds("", {})[0] for _ in range(processes))


def first_step(kind: str, game: str, num_envs: int, processes: int) -> FirstStep:
    """To the first step of the environment that ``kind`` makes, ``"gym.make"`` or ``"vector"``."""
    then = _STEP[kind].format(id=env_id(env_variant(game)), num_envs=num_envs)
    with tempfile.TemporaryDirectory() as cache:
        place = {"NUMBA_CACHE_DIR": cache}
        cold, said = _seconds(then, place)
        warm = median(_seconds(then, place)[0] for _ in range(processes))
    return FirstStep(warm, cold, len(said.splitlines()))


def _seconds(then: str, variables: dict[str, str]) -> tuple[float, str]:
    """The seconds that a new process prints, and what it says on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", _CLOCK.format(then=then)],
        env={**os.environ, "SOLITAIRE_ENV_QUIET": "0", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a new process failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout), done.stderr
