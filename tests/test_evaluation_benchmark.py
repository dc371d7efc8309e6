"""The benchmark of evaluation, on few deals, against this very commit."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from benchmarks import evaluation

ROOT = Path(__file__).parents[1]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the same code and a Python in its .venv."""
    folder = tmp_path / "old"
    (folder / ".venv" / "bin").mkdir(parents=True)
    python = folder / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    for name in ("agents", "native", "solitaire_env"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def test_a_row_is_printed_for_each_policy(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--against", str(clone), "--policies", "greedy", "--deals", "0:3", "--rounds", "1", "--quiet"]
    assert evaluation.main([*given, "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"\| greedy \| +[\d.]+ \| +[\d.]+ \| +[\d.]+ \| .* >= 10 \| +(yes|no) \|", out)
    assert "busy-aces, deals 0:3, beyond start-up; 1 threads" in out and "Machine: " in out
    assert err == ""


def test_failures_are_reported(clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--policies", "greedily", "--rounds", "1", "--quiet"]
    assert evaluation.main(["--against", str(clone), *given]) == 2
    assert "evaluation of 'greedily' failed: " in capsys.readouterr().err
    assert evaluation.main(["--against", str(tmp_path / "none"), *given]) == 2
    assert "none" in capsys.readouterr().err


def test_games_that_end_differently_are_refused(monkeypatch: pytest.MonkeyPatch, clone: Path) -> None:
    ends = iter("ab")
    monkeypatch.setattr(evaluation, "in_new_process", lambda *_: evaluation.Timed(1.0, 1.0, next(ends)))
    arguments = evaluation.Arguments(clone, rounds=1, quiet=True)
    with pytest.raises(RuntimeError, match="did not end as they did before"):
        evaluation.compare("greedy", arguments, evaluation.ProgressLine(True))
