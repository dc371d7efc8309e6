"""What the tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.reports import ablations, leaderboard, search_results, solver_results, stored
from solitaire_env.policies import shipped


@pytest.fixture
def empty_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every store and page of results in a folder of its own, empty: no test writes in the project."""
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path / "policies")
    monkeypatch.setattr(stored, "STORE", tmp_path / "leaderboard")
    monkeypatch.setattr(solver_results, "SOLVER_RESULTS", tmp_path / "solver")
    monkeypatch.setattr(search_results, "SEARCH", tmp_path / "search")
    monkeypatch.setattr(ablations, "ABLATIONS", tmp_path / "ablations")
    monkeypatch.setattr(leaderboard, "PAGE", tmp_path / "leaderboard.md")
    pages = {
        "README": ("README.md", [leaderboard.MARK]),
        "SEARCH_PAGE": ("search-and-solver.md", [leaderboard.SEARCH_MARK, leaderboard.SOLVER_MARK]),
    }
    for page, (name, marks) in pages.items():
        monkeypatch.setattr(leaderboard, page, tmp_path / name)
        (tmp_path / name).write_text("".join(f"before\n{mark}old\n{mark}after\n" for mark in marks))
    return tmp_path
