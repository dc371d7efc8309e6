"""Instructions per step, compared with stored numbers: a speed test that works on a busy machine.

::

    python -m benchmarks.instructions            fails if a game takes over 10 % more than stored
    python -m benchmarks.instructions --update   writes the numbers

Callgrind (Debian package ``valgrind``) runs the steps on a simulated processor and counts instructions:
always the same number, within 0.1 %, whatever else the machine does. The count ignores the cost of cache
misses, wrongly predicted branches and slow instructions, and it counts loops one entry at a time that newer
processors run as vectors; ``python -m benchmarks`` measures all of that.

- The library for every x86-64 is loaded, so the numbers do not depend on the machine. They depend on the
  versions of numba and LLVM that built it, which ``constraints.txt`` pins, and of Python, whose interpreter
  runs a part of each step.
- One process, without callgrind, records random legal actions. A second, under callgrind, loads them and
  makes callgrind count only the calls of ``step``, one game at a time
  (``--instr-atstart=no`` and client requests). Counting everything and subtracting a shorter run would need
  no requests, but take twice as long: start-up is most of such a run.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import tyro

from benchmarks import GAMES
from benchmarks.replay import CALLS, NUM_ENVS
from solitaire_env.util.command_line import parse
from solitaire_env.util.messages import text_table

FIGURES: Final = Path(__file__).with_name("instructions.json")
ROOT: Final = Path(__file__).parents[1]
TOLERANCE: Final = 0.10
"""Allowed excess over the stored number, as a share. With another Python it is up to 3 %."""

ENVIRONMENT: Final = {
    **os.environ,
    "SOLITAIRE_ENV_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True)
class Arguments:
    """Compare the instructions per step of the vector environment with the stored numbers."""

    update: tyro.conf.FlagCreatePairsOff[bool] = False
    """Write the numbers instead of comparing."""


def versions() -> dict[str, str]:
    """The versions that the numbers depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in ("numba", "llvmlite", "numpy")}}


def read_totals(folder: Path) -> dict[str, int]:
    """Instructions of each game, from the files that callgrind wrote at its client requests."""
    totals = {}
    for path in folder.glob("callgrind.out.*"):
        text = path.read_text(encoding="utf-8")
        game = re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
        if game and total:
            totals[game[1]] = int(total[1])
    return totals


def count() -> dict[str, float]:
    """Count the instructions per step of each game, which takes half a minute."""
    if platform.machine() not in ("x86_64", "AMD64"):
        raise OSError(f"this machine is {platform.machine()!r}, allowed: x86_64, which the figures are of")
    if not shutil.which("valgrind"):
        raise OSError("valgrind is not installed (Debian: apt-get install valgrind)")
    replay = [sys.executable, "-m", "benchmarks.replay"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        callgrind = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={folder / 'callgrind.out'}",
        ]
        for command in ([*replay, "record", name], [*callgrind, *replay, "count", name]):
            subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True)
        totals = read_totals(folder)
    missing = [game for game in GAMES if not totals.get(game)]
    if missing:
        raise OSError(f"callgrind counted nothing for {', '.join(missing)}")
    return {game: totals[game] / (CALLS * NUM_ENVS) for game in GAMES}


def figures_text(counted: Mapping[str, float], made_with: Mapping[str, str]) -> str:
    """The JSON file of the numbers."""
    what = (
        f"instructions per environment step: SolitaireVectorEnv, {NUM_ENVS} games, copy=False, "
        f"{CALLS} calls of step from a reset, random legal actions; generic x86-64, one thread"
    )
    figures = {game: round(instructions) for game, instructions in counted.items()}
    return json.dumps({"counted": what, "versions": made_with, "instructions": figures}, indent=2) + "\n"


def compare(counted: Mapping[str, float], figures: Mapping[str, int]) -> tuple[list[list[Any]], list[str]]:
    """A row of the table per game, and a sentence per failure."""
    rows, faults = [], []
    for game, now in counted.items():
        if game not in figures:
            rows.append([game, f"{now:,.0f}", None, None])
            faults.append(f"{game} has no figure in {FIGURES.name}: write it with --update")
            continue
        figure = figures[game]
        change = now / figure - 1
        rows.append([game, f"{now:,.0f}", f"{figure:,}", f"{change:+.1%}"])
        if change > TOLERANCE:
            faults.append(
                f"{game} takes {now:,.0f} instructions a step, {change:.1%} over its figure {figure:,}, "
                f"allowed: {TOLERANCE:.0%}; if it must be so: python -m benchmarks.instructions --update"
            )
    return rows, faults


def main(args: Sequence[str] | None = None) -> int:
    """Count, print the table, and compare or write the numbers; the exit code."""
    arguments = parse(Arguments, args, "python -m benchmarks.instructions")
    try:
        known = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
        counted = count()
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"python -m benchmarks.instructions: {error}", file=sys.stderr)
        return 2
    rows, faults = compare(counted, known.get("instructions", {}))
    print(text_table(["game", "instructions a step", "on file", "change"], rows))
    if arguments.update:
        FIGURES.write_text(figures_text(counted, versions()), encoding="utf-8")
        return 0
    if known.get("versions") not in (None, versions()):
        print(f"\nThe figures are of {listed(known['versions'])}; here are {listed(versions())}.")
    for fault in faults:
        print(f"python -m benchmarks.instructions: {fault}", file=sys.stderr)
    return 1 if faults else 0


def listed(made_with: Mapping[str, str]) -> str:
    """Names with their versions, in a sentence."""
    return ", ".join(f"{name} {number}" for name, number in made_with.items())


if __name__ == "__main__":
    sys.exit(main())
