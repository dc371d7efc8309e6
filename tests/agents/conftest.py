"""What the tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.commands import ablations as experiments
from agents.commands import leaderboard
from agents.commands import search_results as strength
from agents.reports import solver_results as verdicts
from agents.reports import stored as results
from solitaire_env.policies import shipped


@pytest.fixture
def empty_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every store and page of results in a folder of its own, empty: no test writes in the project."""
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path / "policies")
    monkeypatch.setattr(results, "STORE", tmp_path / "leaderboard")
    monkeypatch.setattr(verdicts, "VERDICTS", tmp_path / "verdicts")
    monkeypatch.setattr(strength, "STRENGTH", tmp_path / "strength")
    monkeypatch.setattr(leaderboard, "PAGE", tmp_path / "leaderboard.md")
    monkeypatch.setattr(strength, "ROUNDS", tmp_path / "rounds")
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path / "experiments")
    pages = {
        "README": ("README.md", [leaderboard.MARK]),
        "TRAINING_PAGE": ("training.md", [leaderboard.EXPERIMENT_MARK.format("rewards")]),
        "SEARCH_PAGE": (
            "looking-ahead.md",
            [leaderboard.SEARCH_MARK, leaderboard.SOLVER_MARK, leaderboard.ROUNDS_MARK],
        ),
    }
    for page, (name, marks) in pages.items():
        monkeypatch.setattr(leaderboard, page, tmp_path / name)
        (tmp_path / name).write_text("".join(f"before\n{mark}old\n{mark}after\n" for mark in marks))
    return tmp_path
