"""Whether the tests see a wrong rule: each mutant of the package must make one of them fail.

The mutants stand in ``tests/mutants_list.py``. Each is tried alone in a copy of the project, with the
package's tests as plain Python, until the first test fails, those that a reader understands best first::

    python -m tests.mutants                     # all, one after the other
    python -m tests.mutants --jobs 4
    python -m tests.mutants --only _capacity    # those with the word in their file, function or fault
    python -m tests.mutants --equivalent        # those that no game can tell: none may be killed

A test that does not end within :data:`TEST_SECONDS` has seen the fault too.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.mutants_list import FILES, Mutant

ROOT = Path(__file__).parents[1]
TEST_SECONDS = 60
"""A test takes a few seconds at most as plain Python."""

STAGES = (
    ("tests/core/test_positions.py::test_engine",),
    ("tests/core/test_twin.py",),
    (
        "tests/core/test_deals.py",
        "tests/core/test_cards_variants_layout.py",
        "tests/test_notation.py",
        "tests/core/test_engine.py",
        "tests/core/test_perft.py",
    ),
)
"""Tests are run in this order, hand-made positions first; then all others of the package."""
LEFT_OUT = re.compile(r"tests/(agents/|test_sb3|test_mutants)")
"""Tests that need torch, and those of the list of mutants, which no mutated source fits."""


class Place(NamedTuple):
    """Where a mutant stands."""

    file: str
    function: str

    def __str__(self) -> str:
        return f"{Path(self.file).stem}.{self.function}" if self.function else Path(self.file).stem


class Outcome(NamedTuple):
    """What a run of the tests came to."""

    killer: str
    """The first test that failed and the first line of its message; empty when all passed."""
    endless: bool = False
    """Whether that test did not end."""


def listed() -> Iterator[tuple[Place, Mutant]]:
    """Every mutant with its place."""
    for file, functions in FILES.items():
        for function, mutants in functions.items():
            for mutant in mutants:
                yield Place(file, function), Mutant(*mutant)


def mutated(source: str, function: str, mutant: Mutant) -> str:
    """The source of a file with one fault in it.

    Raises ValueError where the old text does not stand in the function once, or where nothing changes.
    """
    where = function or "the file"
    found = _functions(source).get(function, [])
    if len(found) != 1:
        raise ValueError(f"{mutant.fault}: there are {len(found)} functions {function}")
    start, end = found[0]
    part = source[start:end]
    if (times := part.count(mutant.old)) != 1:
        raise ValueError(f"{mutant.fault}: {mutant.old!r} stands {times} times in {where}")
    changed = part.replace(mutant.old, mutant.new)
    before, after = (ast.dump(ast.parse(textwrap.dedent(text))) for text in (part, changed))
    if before == after:
        raise ValueError(f"{mutant.fault}: {mutant.new!r} changes nothing in {where}")
    return source[:start] + changed + source[end:]


@cache
def _functions(source: str) -> dict[str, list[tuple[int, int]]]:
    """Where the text of each function begins and ends, by its name; the whole file by none."""
    found: dict[str, list[tuple[int, int]]] = {"": [(0, len(source))]}
    ends = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno:
            found.setdefault(node.name, []).append((ends[node.lineno - 1], ends[node.end_lineno]))
    return found


def copy_project(folder: Path) -> None:
    """Copy every file of the project that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run_tests(folder: Path, seconds: float | None = None) -> Outcome:
    """Run the package's tests in a copy of the project until the first fails."""
    files = [path.relative_to(folder).as_posix() for path in sorted(folder.glob("tests/**/test_*.py"))]
    named = [[test for test in stage if test.partition("::")[0] in files] for stage in STAGES]
    first = {test.partition("::")[0] for stage in named for test in stage}
    rest = [file for file in files if file not in first and not LEFT_OUT.match(file)]
    outcomes = (run_stage(folder, tests, seconds) for tests in (*named, rest) if tests)
    return next((outcome for outcome in outcomes if outcome.killer), Outcome(""))


def run_stage(folder: Path, tests: list[str], seconds: float | None = None) -> Outcome:
    """Run some tests in a copy of the project until the first fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    command += ["-o", f"faulthandler_timeout={TEST_SECONDS}", "-o", "faulthandler_exit_on_timeout=true"]
    # No compiled files: two mutants of one length within a second would be taken for the same.
    settings = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300"}
    environment = {**os.environ, **settings, "PYTHONPATH": str(folder)}
    environment.pop("CI", None)  # there pytest does not cut messages to their first line
    try:
        result = subprocess.run(
            [*command, *tests],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Outcome(f"no end within {seconds:.0f} s", endless=True)
    if failed := re.search(r"^(?:FAILED|ERROR) (.+)", result.stdout, re.MULTILINE):
        return Outcome(failed[1])
    if "Timeout (" in result.stderr:
        frames = re.findall(r'File "(.+?)", line \d+ in (\w+)', result.stderr)
        inside = [f"{Path(file).name}, {name}" for file, name in frames if str(folder) in file]
        return Outcome(f"no end in {' called by '.join(inside[:1] + inside[-1:])}", endless=True)
    if result.returncode != 0:
        raise RuntimeError(f"pytest failed without a failing test:\n{result.stdout}\n{result.stderr}")
    return Outcome("")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time")
    parser.add_argument("--only", default="", help="a word in the file, function or fault")
    parser.add_argument("--equivalent", action="store_true", help="those marked equivalent, not the others")
    options = parser.parse_args(arguments)
    chosen = [
        (place, mutant)
        for place, mutant in listed()
        if options.only.lower() in f"{place.file} {place} {mutant.fault}".lower()
    ]
    sources = {file: (ROOT / file).read_text() for file in FILES}
    changed = [mutated(sources[place.file], place.function, mutant) for place, mutant in chosen]
    tried = [
        (place, mutant, source)
        for (place, mutant), source in zip(chosen, changed, strict=True)
        if bool(mutant.equivalent) == options.equivalent
    ]
    began = time.monotonic()
    killers: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(options.jobs) as pool:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            folder = Path(temporary, str(number))
            copy_project(folder)
            folders.put(folder)
        if killer := run_tests(folder).killer:
            print(f"the tests fail without a mutant: {killer}")
            return 1
        clean = time.monotonic() - began
        print(f"{len(tried)} mutants; without one all tests pass in {clean:.0f} s", flush=True)

        def attempt(case: tuple[Place, Mutant, str]) -> Outcome:
            place, _, source = case
            folder = folders.get()
            try:
                (folder / place.file).write_text(source)
                return run_tests(folder, seconds=10 * clean + TEST_SECONDS)
            finally:
                (folder / place.file).write_text(sources[place.file])
                folders.put(folder)

        for (place, mutant, _), (killer, endless) in zip(tried, pool.map(attempt, tried), strict=True):
            print(f"{place}: {mutant.fault}\n    {killer or 'SURVIVED'}", flush=True)
            killers["no end" if endless else killer.partition("::")[0]] += 1
    survived = killers.pop("", 0)
    print(f"\n{len(tried)} mutants: {len(tried) - survived} killed, {survived} survived;", end=" ")
    print(f"{len(chosen) - len(tried)} left out; {time.monotonic() - began:.0f} s")
    for what, number in killers.most_common():
        print(f"    {number:4} {what}")
    return int(survived < len(tried) if options.equivalent else survived > 0)


if __name__ == "__main__":
    sys.exit(main())
