"""Duration of importing the package, of a first step, of first games, and of commands, in new processes.

::

    python -m benchmarks.startup                  the table of this checkout
    python -m benchmarks.startup --against DIR    compared with another checkout, by the Python in its .venv
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import tyro

from solitaire_env.cli import print_table
from solitaire_env.registration import env_id, env_variant
from solitaire_env.util.progress import ProgressLine

PROG: Final = "python -m benchmarks.startup"
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
"""Those that commits without ``load_policy`` can do, too."""
_GAMES: Final = ("--env", "busy-aces", "--deals", "0:1", "--quiet")
COMMANDS: Final = (
    ("solitaire_env", "perft", "busy-aces", "--depth", "2"),
    ("agents.evaluate", "--policy", "linear", *_GAMES),
    ("agents.evaluate", "--policy", "shipped", *_GAMES),
    ("agents.solve", "eights-down", "--deal", "251", "--seconds", "1", "--quiet"),
    ("agents.solve", "forty-thieves", "--deal", "0", "--seconds", "1", "--quiet", "--network", "none"),
)
"""Commands that call most of the compiled code, in a checkout of any age."""


class Checkout(NamedTuple):
    """A checkout of the project, and the Python that runs it."""

    folder: Path
    python: str


HERE: Final = Checkout(Path(__file__).parents[1], sys.executable)


class Start(NamedTuple):
    """Seconds from importing the package, after Gymnasium and NumPy."""

    first: float
    """In the first process; older commits compile then."""
    later: float
    """In later ones, the median."""
    lines: int
    """Lines on stderr of the first."""


class Spent(NamedTuple):
    """Time of some commands."""

    wall: float
    """Wall-clock seconds."""
    cpu: float
    """Processor seconds of all their processes."""


def import_time(processes: int, checkout: Checkout = HERE) -> float:
    """Seconds of ``import solitaire_env`` after Gymnasium and NumPy, the median of several processes."""
    return median(_seconds("", {}, checkout)[0] for _ in range(processes))


def time_first(what: str, game: str, num_envs: int, processes: int, checkout: Checkout = HERE) -> Start:
    """Time a key of :data:`FIRST` in new processes."""
    then = FIRST[what].format(id=env_id(env_variant(game)), num_envs=num_envs)
    with tempfile.TemporaryDirectory() as cache:
        place = {"NUMBA_CACHE_DIR": cache}  # for older commits
        first, said = _seconds(then, place, checkout)
        later = median(_seconds(then, place, checkout)[0] for _ in range(processes))
    return Start(first, later, len(said.splitlines()))


def spent_by(commands: Sequence[Sequence[str]], checkout: Checkout = HERE) -> Spent:
    """The time of some commands, one after another; each has run once before."""
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            clock, before = time.perf_counter(), os.times()
            for words in commands:
                _run(["-m", *words], {"NUMBA_CACHE_DIR": cache}, checkout)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(time.perf_counter() - clock, cpu)


def _seconds(then: str, variables: dict[str, str], checkout: Checkout = HERE) -> tuple[float, str]:
    """The seconds that a new process prints, and its stderr."""
    done = _run(["-c", _CLOCK.format(then=then)], variables, checkout)
    return float(done.stdout), done.stderr


def _run(
    arguments: Sequence[str], variables: dict[str, str], checkout: Checkout
) -> subprocess.CompletedProcess[str]:
    """Run Python in a checkout.

    Raises
    ------
    RuntimeError
        With the last line on stderr, if it fails.
    """
    done = subprocess.run(
        [checkout.python, *arguments],
        cwd=checkout.folder,
        env={**os.environ, "PYTHONPATH": str(checkout.folder), "SOLITAIRE_ENV_QUIET": "0", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a new process failed: {done.stderr.strip().splitlines()[-1]}")
    return done


# ------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Arguments:
    """Measure importing the package, a first step, first games and commands."""

    against: Path | None = None
    """Another checkout, with its own .venv, to measure too."""
    processes: int = 5
    """Number of new processes; the result is the median."""
    game: str = "forty-thieves"
    """Game of the first steps."""
    num_envs: int = 1024
    """Games of the vector environment."""


def measure(checkout: Checkout, a: Arguments, line: ProgressLine) -> dict[str, str]:
    """Measure a checkout for the table."""
    found = {}

    def note(what: str, text: str) -> None:
        found[what] = text
        line.show(f"{checkout.folder}: {what}: {text}")

    note("import solitaire_env", f"{import_time(a.processes, checkout):.2f} s")
    interface = (checkout.folder / "solitaire_env" / "__init__.py").read_text(encoding="utf-8")
    for what in FIRST if "load_policy" in interface else STEPS:
        start = time_first(what, a.game, a.num_envs, a.processes, checkout)
        note(what, f"{start.later:.2f} s")
        note(f"{what}, first process", f"{start.first:.2f} s, {start.lines} lines on stderr")
    spent = spent_by(COMMANDS, checkout)
    note("seven commands", f"{spent.wall:.1f} s, {spent.cpu:.1f} processor s")
    return found


def main(args: Sequence[str] | None = None) -> int:
    """Measure and print the table; the exit code."""
    a = tyro.cli(Arguments, prog=PROG, args=args)
    checkouts = {"here": HERE}
    if a.against is not None:
        folder = a.against.resolve()
        checkouts[folder.name] = Checkout(folder, str(folder / ".venv" / "bin" / "python"))
    line = ProgressLine(every=0.0)
    try:
        for checkout in checkouts.values():
            if not Path(checkout.python).exists():
                raise FileNotFoundError(f"there is no {checkout.python}: run make env in {checkout.folder}")
        columns = {name: measure(checkout, a, line) for name, checkout in checkouts.items()}
    except (OSError, RuntimeError, ValueError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 2
    finally:
        line.close()
    print_table(
        ["", *columns],
        ([what, *(column.get(what) for column in columns.values())] for what in columns["here"]),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
