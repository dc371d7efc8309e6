"""Ahead-of-time compilation: the order of the jobs, the messages and the errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from solitaire_env import cli, compilation
from solitaire_env.compilation import JOBS, Compiled, Job, compile_all, describe
from tests.games import COMPILED

ROOT = Path(__file__).parents[1]
needs_compiler = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def nothing() -> None:
    """A job that compiles nothing."""


def fails() -> None:
    raise ValueError("the reason\nin two lines")


def dies() -> None:
    os._exit(7)


@needs_compiler
def test_a_full_cache_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    done = compile_all([Job("a", nothing, 1.0), Job("b", nothing, 1.0, ("a",))], workers=3)
    assert done.functions == 0 and done.folder and done.cpu_seconds > 0
    assert describe(done) == f"Everything was compiled already; the code is in {done.folder}"
    assert capfd.readouterr() == ("", "")


COMPILES = """
from solitaire_env.compilation import JOBS, compile_all, describe
if __name__ == "__main__":
    print(describe(compile_all(JOBS[:1])))
"""


@pytest.mark.proof
@needs_compiler
def test_the_jobs_fill_an_empty_cache(tmp_path: Path) -> None:
    (tmp_path / "compiles.py").write_text(COMPILES)
    environ = {"NUMBA_CACHE_DIR": str(tmp_path / "code"), "PYTHONPATH": str(ROOT)}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(tmp_path / "compiles.py")], env={**os.environ, **environ},
            capture_output=True, text=True, check=True,
        )  # fmt: skip

    first = run()
    assert first.stdout.startswith("Compiled ") and str(tmp_path / "code") in first.stdout
    assert first.stderr.startswith("compiling 1 part on 1 core, about a minute; the code is kept in ")
    assert len(first.stderr.splitlines()) == 1
    assert run().stdout.startswith("Everything was compiled already")


@needs_compiler
@pytest.mark.parametrize(
    ("run", "words"),
    [
        (fails, "compiling 'bad' failed: ValueError: the reason in two lines"),
        (dies, "a worker ended while it compiled 'bad', exit code 7"),
    ],
)
def test_a_failing_job_ends_the_command(run: Any, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ChildProcessError) as caught:
        compile_all([Job("bad", run, 1.0), Job("after", nothing, 1.0, ("bad",))])
    assert str(caught.value) == words
    assert capfd.readouterr().err == ""


def test_interpreted_kernels_raise_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(OSError, match="nothing is compiled, because NUMBA_DISABLE_JIT is set"):
        compile_all([Job("a", nothing, 1.0)])


def test_a_number_of_workers_below_1_raises_an_error() -> None:
    with pytest.raises(ValueError, match="workers is 0, allowed: at least 1"):
        compile_all(JOBS, workers=0)


def test_jobs_come_after_their_prerequisites() -> None:
    names = [job.name for job in JOBS]
    assert len(set(names)) == len(names)
    for place, job in enumerate(JOBS):
        assert job.seconds > 0 and set(job.after) <= set(names[:place]), job.name


def test_the_longest_chain_starts_first() -> None:
    jobs = [Job("short", nothing, 3.0), Job("first", nothing, 1.0), Job("long", nothing, 5.0, ("first",))]
    schedule = compilation._Schedule(jobs, 2, quiet=True)
    begun = [job.name for job in (schedule.next_job(), schedule.next_job()) if job is not None]
    assert begun == ["first", "short"] and schedule.next_job() is None
    schedule.take(SimpleNamespace(job=jobs[1]), ("done", None))
    assert schedule.next_job() == jobs[2] and schedule.next_job() is None


def test_the_remaining_time_never_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a job takes far longer than estimated, or if nothing is known yet."""
    clock = [0.0]
    monkeypatch.setattr(compilation.time, "monotonic", lambda: clock[0])
    jobs = [Job(name, nothing, 10.0) for name in "abc"]
    schedule = compilation._Schedule(jobs, 1, quiet=True)
    left = []
    for job in jobs:
        worker: Any = SimpleNamespace(job=job, began=clock[0])
        for _ in range(25):
            clock[0] += 1.0
            text = schedule.text([worker])
            assert text.startswith(f"compiling: {schedule.done} of 3 parts ({job.name})")
            if "left" in text:
                minutes, seconds = text.split()[-2].split(":")
                left.append(60 * int(minutes) + int(seconds))
        schedule.take(worker, ("done", None))
    assert len(left) > 60 and left == sorted(left, reverse=True)
    assert schedule.text([]).endswith("0:00 left")


def test_the_command_prints_the_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def compiled(*given: Any) -> Compiled:
        asked.append(given)
        return Compiled(120, 40.4, 61.0, "/folder")

    monkeypatch.setattr(compilation, "compile_all", compiled)
    assert cli.main(["compile", "--workers", "2"]) == 0
    assert asked == [(JOBS, 2, False)]
    assert capsys.readouterr().out == (
        "Compiled 120 functions in 40 s (61 processor seconds); the code of the engine is in /folder\n"
    )


def test_a_failure_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*_: Any) -> Compiled:
        raise ChildProcessError("a worker ended as it started, exit code 1")

    monkeypatch.setattr(compilation, "compile_all", refused)
    assert cli.main(["compile"]) == 2
    assert capsys.readouterr().err == ("python -m solitaire_env: a worker ended as it started, exit code 1\n")
