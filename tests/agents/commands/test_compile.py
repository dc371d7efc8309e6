"""``python -m agents compile``: afterwards no command compiles anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.commands.compile import JOBS, main
from solitaire_env import compilation
from solitaire_env.compilation import Compiled
from tests.games import COMPILED

ROOT = Path(__file__).parents[3]
GAME = ["busy-aces", "--deal", "20000"]
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("solitaire_env", "list"),
    "show": ("solitaire_env", "show", *GAME),
    "play": ("solitaire_env", "play", *GAME, "--policy", "shipped"),
    "watch": ("solitaire_env", "watch", *GAME, "--policy", "greedy", "--transcript", "{folder}/game.txt"),
    "watch, hints": ("solitaire_env", "watch", *GAME),
    "replay": ("solitaire_env", "replay", "{folder}/game.txt", "-o", "{folder}/game.html"),
    "perft": ("solitaire_env", "perft", "forty-thieves", "--depth", "3", "--quiet"),
    "bench": ("solitaire_env", "bench", "eights-down", "--seconds", "0.1", "--quiet"),
    "bench, features": (
        "solitaire_env", "bench", "--observation", "features", "--copy", "--seconds", "0.1", "--quiet",
    ),
    "solve": ("agents.solve", "forty-thieves", "--deal", "0", "--seconds", "2", "--quiet"),
    "solve, exhaustive": ("agents.solve", "eights-down", "--deal", "251", "--seconds", "2", "--quiet"),
    "train": (
        "agents.train", "configs/default.yaml", "--total-steps", "20000", "--value-warmup-steps", "0",
        "--eval-deals", "0:4", "--runs", "{folder}/runs", "--quiet",
    ),
    "evaluate, transcripts": (
        "agents.evaluate", "--policy", "linear", "--env", "busy-aces", "--deals", "20000:20008",
        "--transcripts", "{folder}/games", "--quiet",
    ),
    "imitate": (
        "agents", "imitate", "configs/busy-aces.yaml", "{folder}/games", "--all-games",
        "--init-linear-temperature", "None", "--minutes", "0.02", "--eval-deals", "0:2",
        "--runs", "{folder}/runs", "--quiet",
    ),
    **{
        f"evaluate {policy} {game}": (
            "agents.evaluate", "--policy", policy, "--env", game, "--deals", "0:2", "--quiet",
        )
        for policy, games in {
            "random": ("busy-aces",),
            "greedy": ("busy-aces", "eights-down"),
            "linear": ("busy-aces", "forty-bandits"),
            "shipped": ("busy-aces", "eights-down", "forty-thieves", "forty-bandits", "eighty-thieves"),
            "search": ("busy-aces", "eights-down"),
        }.items()
        for game in games
    },
}  # fmt: skip
"""Command lines whose kernels the jobs must cover."""


def run(words: tuple[str, ...], folder: Path, lines: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command on two threads, with its compiled code in a folder."""
    environ = {"NUMBA_CACHE_DIR": str(folder / "code"), "NUMBA_NUM_THREADS": "2", "SOLITAIRE_ENV_QUIET": "0"}
    return subprocess.run(
        [sys.executable, "-m", *(word.format(folder=folder) for word in words)],
        cwd=ROOT, env={**os.environ, **environ}, input=lines, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.proof
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_after_compile_no_command_compiles(tmp_path: Path) -> None:
    done = run(("agents", "compile"), tmp_path)
    assert done.returncode == 0 and "Compiled " in done.stdout, done.stderr
    assert "compiling" in done.stderr
    found = {}
    for name, words in COMMANDS.items():
        ended = run(words, tmp_path, lines="draw\nhint\nquit\n")
        assert ended.returncode == 0, (name, ended.stderr)
        notices = [line for line in ended.stderr.splitlines() if "compiling" in line]
        if notices:
            found[name] = notices
    assert not found
    again = run(("agents", "compile"), tmp_path)
    assert again.returncode == 0 and again.stdout.startswith("Everything was compiled already")
    assert not again.stderr


def test_the_jobs_include_those_of_the_package() -> None:
    assert set(compilation.JOBS) < set(JOBS)
    names = [job.name for job in JOBS]
    assert len(set(names)) == len(names)
    for place, job in enumerate(JOBS):
        assert set(job.after) <= set(names[:place]), job.name


def test_compile_reports_what_it_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []

    def compile_all(*given: object) -> Compiled:
        asked.extend(given)
        return Compiled(3, 2.0, 4.0, "/folder")

    monkeypatch.setattr("agents.commands.compile.compile_all", compile_all)
    assert main(["--workers", "3", "--quiet"]) == 0
    assert asked == [JOBS, 3, True]
    assert "Compiled 3 functions in 2 s (4 processor seconds)" in capsys.readouterr().out


def test_a_wrong_number_of_workers_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workers", "0"]) == 2
    assert capsys.readouterr().err == "error: workers is 0, allowed: at least 1\n"
