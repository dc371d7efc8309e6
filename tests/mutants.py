"""Mutation tests: each fault of ``tests/mutants.toml`` must make a test fail.

The faults are listed by the rule that they break and located by their text, so a renamed function changes
nothing. Each is tried alone in a copy of the project, with the package's tests as plain Python, until the
first test fails; the tests that a reader understands best run first::

    python -m tests.mutants                 # all, one after the other
    python -m tests.mutants --jobs 4
    python -m tests.mutants --only space    # those with the word in their rule, file or fault
    python -m tests.mutants --equivalent    # those that no game can distinguish: none may be killed

A test that takes longer than :data:`TEST_SECONDS` counts as failed. ``make mutants-generated`` tries faults
that a tool generates.
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
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("mutants.toml")
TEST_SECONDS = 60
"""A test takes a few seconds at most as plain Python."""

STAGES = (
    ("tests/core/test_positions.py::test_the_engine_agrees",),
    ("tests/core/test_random_games.py",),
    (
        "tests/core/test_deals.py",
        "tests/core/test_cards_variants_layout.py",
        "tests/test_notation.py",
        "tests/core/test_engine.py",
        "tests/core/test_perft.py",
    ),
)
"""The order of the tests, hand-made positions first; then all others of the package."""
LEFT_OUT = re.compile(r"tests/(agents/|browser/|ray/|core/test_native|test_sb3|test_mutants)")
"""Tests that need torch, a browser, Ray or compiled kernels, and the tests of this list, which no mutated
source fits."""


class Mutant(NamedTuple):
    """A wrong edit of a rule."""

    rule: str
    file: str
    fault: str
    """What goes wrong, in words."""
    old: str
    new: str
    equivalent: str = ""
    """Why no game can distinguish it from the correct program; empty if one can."""


class Outcome(NamedTuple):
    """The result of a run of the tests."""

    killer: str
    """The first test that failed and the first line of its message; empty if all passed."""
    endless: bool = False
    """Whether that test timed out."""


def listed() -> list[Mutant]:
    """Every listed mutant."""
    rules = tomllib.loads(LIST.read_text(encoding="utf-8"))["rule"]
    return [Mutant(rule["name"], rule["file"], *fault) for rule in rules for fault in rule["faults"]]


def mutated(source: str, mutant: Mutant) -> str:
    """The source of a file with one fault in it.

    If the old text occurs several times in the file, the first is changed. Raises ValueError if it does not
    occur, or if nothing changes.
    """
    if mutant.old not in source:
        raise ValueError(f"{mutant.fault}: {mutant.old!r} is not in {mutant.file}")
    changed = source.replace(mutant.old, mutant.new, 1)
    if parsed(source) == ast.dump(ast.parse(changed)):
        raise ValueError(f"{mutant.fault}: {mutant.new!r} changes nothing in {mutant.file}")
    return changed


@cache
def parsed(source: str) -> str:
    return ast.dump(ast.parse(source))


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
    # No compiled files: two mutants of the same length within a second would be confused.
    settings = {"SOLITAIRE_ENV_KERNELS": "python", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300"}
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
    parser.add_argument("--only", default="", help="a word in the rule, file or fault")
    parser.add_argument("--equivalent", action="store_true", help="those marked equivalent, not the others")
    options = parser.parse_args(arguments)
    word = options.only.lower()
    chosen = [m for m in listed() if word in f"{m.rule} {m.file} {m.fault}".lower()]
    sources = {file: (ROOT / file).read_text() for file in {m.file for m in chosen}}
    changed = [mutated(sources[mutant.file], mutant) for mutant in chosen]
    tried = [
        (mutant, source)
        for mutant, source in zip(chosen, changed, strict=True)
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

        def attempt(case: tuple[Mutant, str]) -> Outcome:
            mutant, source = case
            folder = folders.get()
            try:
                (folder / mutant.file).write_text(source)
                return run_tests(folder, seconds=10 * clean + TEST_SECONDS)
            finally:
                (folder / mutant.file).write_text(sources[mutant.file])
                folders.put(folder)

        for (mutant, _), (killer, endless) in zip(tried, pool.map(attempt, tried), strict=True):
            print(f"{mutant.rule}: {mutant.fault}\n    {killer or 'SURVIVED'}", flush=True)
            killers["no end" if endless else killer.partition("::")[0]] += 1
    survived = killers.pop("", 0)
    print(f"\n{len(tried)} mutants: {len(tried) - survived} killed, {survived} survived;", end=" ")
    print(f"{len(chosen) - len(tried)} left out; {time.monotonic() - began:.0f} s")
    for what, number in killers.most_common():
        print(f"    {number:4} {what}")
    return int(survived < len(tried) if options.equivalent else survived > 0)


if __name__ == "__main__":
    sys.exit(main())
