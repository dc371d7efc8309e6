"""What the tests of several commands share."""

from pathlib import Path

import pytest

from agents.results import pages, stored
from solitaire_env.policies import shipped


@pytest.fixture
def empty_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every store and page of results in a folder of its own, empty: no test writes in the project."""
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path / "policies")
    monkeypatch.setattr(stored, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages.benchmark, "DATA", tmp_path / "benchmark.json")
    monkeypatch.setattr(pages.splits, "DATA", tmp_path / "splits.json")
    for page, tables in (
        ("README", ["leaderboard"]),
        ("PAPER", ["leaderboard", "family", "search"]),
        ("SEARCH_PAGE", ["search", "solver"]),
        ("WINNABILITY_PAGE", ["winnability"]),
    ):
        path = tmp_path / f"{page}.md"
        monkeypatch.setattr(pages, page, path)
        path.write_text("".join("before\n{0}old\n{0}after\n".format(pages.MARK.format(t)) for t in tables))
    monkeypatch.setattr(pages, "WINNABILITY_PICTURE", tmp_path / "winnability.svg")
    return tmp_path
