"""The comparison of a trained policy with the baselines at the end of a training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch as th

from agents.config import TrainConfig, make_config
from agents.networks import NETWORKS
from agents.reports.compare import compare
from agents.runs.folders import policy_name
from agents.runs.models import save_model
from solitaire_env.evaluation import read_games


@pytest.fixture
def config() -> TrainConfig:
    values = {"hidden": [8], "width": 8, "deals": "train-1k", "eval_deals": "0:6"}
    return make_config({"env": "eights-down", **values}, "test")


@pytest.mark.parametrize("name", ["greedy", "linear", "mine"])
def test_a_run_named_like_a_baseline_has_its_own_row(
    name: str, config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the run's relative path equals the name of a policy."""
    monkeypatch.chdir(tmp_path)
    run = Path(name)
    th.manual_seed(0)
    network = NETWORKS["moves"](config.game, **config.network_sizes)
    save_model(run / "model", network, config.game, kind="moves", sizes=config.network_sizes, steps=0)
    table = compare(config, run, quiet=True)
    own = policy_name(run)
    assert own == ("mine" if name == "mine" else f"run-{name}")
    played = {path.stem: read_games(path) for path in (run / "evaluation").iterdir()}
    assert set(played) == {"random", "greedy", "linear", own}
    assert all({game.policy for game in games} == {label} for label, games in played.items())
    assert f"Deals that only {own} won" in table and f"{own} wins " in table
    assert "Warning" not in table and json.loads((run / "score.json").read_text())["trained_on"] == 0
    assert played[own] != played["greedy"]
    assert (run / "best_game.txt").is_file()
