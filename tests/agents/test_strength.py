"""The table of what search adds, from stored games."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents import strength
from agents.results import STORE, read_store
from solitaire_env.evaluation import evaluate
from tests.conftest import Refuses

COST = {"simulations": 64, "depth": 20, "candidates": 4, "seconds": 3.5, "machine": "a desk"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with the first deals of Eights Down, played badly."""
    monkeypatch.setattr(strength, "STRENGTH", tmp_path)
    game = tmp_path / "eights-down"
    game.mkdir()
    evaluate(
        lambda _, masks: masks.argmax(1), "eights-down", range(10), results=game / "mine.jsonl", name="m"
    )
    (game / "mine.json").write_text(json.dumps(COST))
    return game


def test_the_table_counts_the_same_deals(folder: Path) -> None:
    entries = read_store(STORE)
    (row,) = strength.strength_table(entries).splitlines()[2:]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:3] == ["Eights Down", "64 x 20", "10"]
    assert cells[3].startswith("0.0 % [0.0, ")
    shipped = next(entry for entry in entries["eights-down"] if entry.about.policy == "shipped")
    wins = sum(game.won for game in shipped.standard[:10])
    assert cells[5].startswith(f"{10 * wins:.1f} % ")
    assert cells[6].startswith(f"0 : {wins}, p = ")
    assert cells[7] == "3.5"


def test_without_games_there_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strength, "STRENGTH", tmp_path)
    assert strength.strength_table({}) == ""


def test_games_that_the_network_did_not_play_stand_alone(folder: Path) -> None:
    (row,) = strength.strength_table({}).splitlines()[2:]
    assert row.count("| - ") == 2


def test_what_they_took_has_to_be_told(folder: Path, refuses: Refuses) -> None:
    about = folder / "mine.json"
    about.write_text(json.dumps(COST | {"seconds": -1}))
    refuses(lambda: strength.strength_table({}), "mine.json", "seconds", "-1")
    about.unlink()
    refuses(lambda: strength.strength_table({}), "mine.json", "cannot be read")
