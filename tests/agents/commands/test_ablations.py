"""``agents ablations``: stored trainings, and the table written from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.commands.ablations import main
from agents.reports import ablations
from agents.reports.ablations import ablation_table
from agents.runs.config_files import load_config
from solitaire_env.evaluation import read_games
from solitaire_env.policies import shipped
from tests.conftest import Refuses

RUN = str(shipped.SHIPPED / "eights-down")
"""Configuration, curve and network, as a run folder holds them."""
ADD = ("add", "rewards", RUN, "--quiet", "--deals", "0:4")


@pytest.fixture
def kept(empty_stores: Path) -> Path:
    """An ablation of two trainings."""
    for what in ("as shipped", "again"):
        assert main([*ADD, "--what", what]) == 0
    return ablations.ABLATIONS / "rewards"


def test_add_stores_games_configuration_and_cost(kept: Path) -> None:
    assert sorted(path.name for path in kept.iterdir()) == [
        "1.json", "1.jsonl", "1.yaml", "2.json", "2.jsonl", "2.yaml"
    ]  # fmt: skip
    told = json.loads((kept / "2.json").read_text())
    assert told["what"] == "again" and told["training"]["steps"] > 1_000_000
    assert [game.deal for game in read_games(kept / "2.jsonl")] == [0, 1, 2, 3]
    config = load_config(kept / "1.yaml")
    assert (config.learner, config.eval_deals) == ("pqn", "0:4")


def test_the_table_compares_with_the_baseline(kept: Path) -> None:
    head, _, first, second = ablation_table("rewards").splitlines()
    assert "won, deals 0-3" in head
    assert first.startswith("| as shipped | ") and " M steps, " in first and first.endswith("| - |")
    assert second.startswith("| again | ") and second.endswith("| 0 : 0, p = 1 |")


def test_the_same_command_resumes(kept: Path) -> None:
    whole = (kept / "2.jsonl").read_text()
    (kept / "2.jsonl").write_text(whole[: whole.index("\n") + 20])
    assert main([*ADD, "--what", "again"]) == 0
    assert (kept / "2.jsonl").read_text() == whole
    assert not (kept / "3.jsonl").exists()


def test_wrong_options_and_damaged_files_are_refused(
    kept: Path, refuses: Refuses, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["add", "a/b", RUN, "--what", "x"]) == 2
    assert "'a/b'" in capsys.readouterr().err
    assert main(["add", "rewards", RUN, "--what", "a | b"]) == 2
    assert "'a | b'" in capsys.readouterr().err
    refuses(lambda: ablation_table("none"), "none", "has no stored trainings")
    lines = (kept / "2.jsonl").read_text().splitlines(keepends=True)
    (kept / "2.jsonl").write_text("".join(lines[:3]))
    refuses(lambda: ablation_table("rewards"), "2.jsonl", "has deals 0-2, allowed: 0-3")
    (kept / "2.jsonl").write_text(lines[0] + "".join(lines[2:]))
    refuses(lambda: ablation_table("rewards"), "2.jsonl", "has deals 0, 2-3, allowed: 0-3")
    (kept / "1.json").write_text('{"what": "x"}')
    refuses(lambda: ablation_table("rewards"), "1.json", "training")
    (kept / "1.json").unlink()
    refuses(lambda: ablation_table("rewards"), "1.json", "cannot be read")


def test_without_a_subcommand_the_usage_is_printed(
    empty_stores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(empty_stores.rglob("*"))
    assert main([]) == 2
    assert "usage: python -m agents ablations {add}" in capsys.readouterr().err
    assert sorted(empty_stores.rglob("*")) == before
