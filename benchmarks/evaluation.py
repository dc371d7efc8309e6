"""Duration of evaluations, compared with another commit in the same run.

::

    git clone --branch COMMIT . ../old && make -C ../old     a clone with its own environment, in .venv
    python -m benchmarks.evaluation --against ../old

The old and the new code play the same deals with each policy, in rounds of a new process each. Start-up does
not count: a process imports, loads kernels (older commits may compile), and plays other deals before timing.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import tyro

from benchmarks.speed import machine
from benchmarks.table import markdown
from solitaire_env.util.progress import ProgressLine

PROG: Final = "python -m benchmarks.evaluation"
HEAD: Final = ("policy", "old s", "new s", "ratio", "old processor s", "new processor s")
TIMER: Final = Path(__file__).with_name("timed_evaluation.py")
"""Script of each process."""


@dataclass
class Arguments:
    """Compare evaluation with another commit."""

    against: Path
    """Clone of the other commit, with its environment in .venv."""
    policies: tuple[str, ...] = ("random", "greedy", "linear", "shipped")
    """Policies that play."""
    env: str = "busy-aces"
    """The game."""
    deals: str = "0:1000"
    """Deals: N, FIRST:END, or several with commas."""
    rounds: int = 3
    """Number of processes of each; the result is the median."""
    threads: int = 2
    """Number of threads of each."""
    quiet: bool = False
    """Hide the progress line."""


class Timed(NamedTuple):
    """One evaluation in one process."""

    seconds: float
    processor: float
    """Seconds of processor time of all threads."""
    games: str
    """Digest of the ends of the games."""


def in_new_process(folder: Path, python: Path, policy: str, a: Arguments) -> Timed:
    """Run an evaluation with the code in a folder, by its own Python.

    Raises
    ------
    RuntimeError
        If the process fails.
    """
    threads = str(a.threads)
    # The other commit lacks this file: pass its text.
    done = subprocess.run(
        [python, "-c", TIMER.read_text(encoding="utf-8"), policy, a.env, a.deals],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(folder),
            "SOLITAIRE_ENV_THREADS": threads,
            "NUMBA_NUM_THREADS": threads,  # of older commits
            "OMP_NUM_THREADS": threads,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip() or "it says nothing").splitlines()[-1]
        raise RuntimeError(f"{folder}: evaluation of {policy!r} failed: {last}")
    return Timed(*json.loads(done.stdout.splitlines()[-1]))


def compare(policy: str, a: Arguments, line: ProgressLine) -> list[str]:
    """A row of the table.

    Raises
    ------
    RuntimeError
        If a process fails, or the games differ.
    """
    root = Path(__file__).resolve().parents[1]
    sides = (
        (a.against.resolve(), a.against.resolve() / ".venv" / "bin" / "python"),
        (root, Path(sys.executable)),
    )
    timed: tuple[list[Timed], list[Timed]] = ([], [])
    for number in range(a.rounds):
        for (folder, python), times in zip(sides, timed, strict=True):
            line.count(number, a.rounds, f"{policy}, {folder.name}")
            times.append(in_new_process(folder, python, policy, a))
    if len({one.games for times in timed for one in times}) > 1:
        raise RuntimeError(f"the games of {policy!r} did not end as they did before")
    old, new = (median(one.seconds for one in times) for times in timed)
    processor = [median(one.processor for one in times) for times in timed]
    return [
        policy,
        f"{old:.2f}",
        f"{new:.2f}",
        f"{old / new:.1f}",
        f"{processor[0]:.2f}",
        f"{processor[1]:.2f}",
    ]


def main(args: Sequence[str] | None = None) -> int:
    """Measure and print the table; the exit code."""
    arguments = tyro.cli(Arguments, prog=PROG, args=args)
    line = ProgressLine(arguments.quiet)
    try:
        rows = [compare(policy, arguments, line) for policy in arguments.policies]
    except (RuntimeError, OSError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 2
    finally:
        line.close()
    print(markdown(HEAD, rows))
    print(
        f"\n{arguments.env}, deals {arguments.deals}, beyond start-up; {arguments.threads} threads; "
        f"{arguments.rounds} processes of each by turns, the median counts\n{machine()}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
