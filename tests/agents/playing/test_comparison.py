"""The comparison of a trained policy with the baselines at the end of a training."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch as th

from agents.config import TrainConfig, make_config
from agents.learners.progress import Progress, Rates
from agents.networks import NETWORKS
from agents.playing import comparison
from agents.playing.comparison import affordable_deals, compare
from agents.runs.folders import policy_name
from agents.runs.models import save_model
from solitaire_env.evaluation import read_results


@pytest.fixture
def config() -> TrainConfig:
    values = {"hidden": [8], "width": 8, "deals": "train-1k", "eval_deals": "0:6"}
    return make_config({"env": "eights-down", **values}, "test")


def write_model(config: TrainConfig, run: Path) -> None:
    th.manual_seed(0)
    network = NETWORKS["moves"](config.game, **config.network_sizes)
    save_model(run / "model", network, config, steps=0)


def write_minutes(run: Path, minutes: float) -> None:
    run.mkdir(exist_ok=True)
    (run / "curve.csv").write_text(f"steps,minutes\n1,{minutes / 2}\n2,{minutes}\n")


@pytest.mark.parametrize("name", ["greedy", "linear", "mine"])
def test_a_run_named_like_a_baseline_has_its_own_row(
    name: str, config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the run's relative path equals the name of a policy."""
    monkeypatch.chdir(tmp_path)
    run = Path(name)
    write_model(config, run)
    table = compare(config, run, quiet=True)
    own = policy_name(run)
    assert own == ("mine" if name == "mine" else f"run-{name}")
    played = {path.stem: read_results(path) for path in (run / "evaluation").iterdir()}
    assert set(played) == {"random", "greedy", "linear", own}
    assert all({game.policy for game in games} == {label} for label, games in played.items())
    assert f"Deals that only {own} won" in table and f"{own} wins " in table
    assert "Warning" not in table and json.loads((run / "score.json").read_text())["trained_on"] == 0
    assert played[own] != played["greedy"]
    assert (run / "best_game.txt").is_file()


@pytest.mark.parametrize(
    ("minutes", "seconds", "deals"),
    [
        (None, 1.0, "0:50"),
        (0.0, 1.0, "0:50"),
        (1.0, 21.0, "0:50"),
        (1.0, 7.0, "0:100"),
        (5.0, 7.0, "0:500"),
        (60.0, 7.0, "0:1000"),
        (1.0, 0.0, "0:1000"),
    ],
)
def test_the_comparison_takes_a_share_of_the_training(
    minutes: float | None, seconds: float, deals: str, tmp_path: Path
) -> None:
    if minutes is not None:
        write_minutes(tmp_path, minutes)
    assert affordable_deals(seconds, tmp_path) == deals


@pytest.mark.parametrize(
    ("minutes", "given", "deals"), [(0.0, None, 3), (1e6, None, 8), (0.0, "0:5", 5), (1e6, "0:5", 5)]
)
def test_the_deals_of_a_comparison_fit_the_training_unless_they_are_given(
    minutes: float, given: str | None, deals: int, config: TrainConfig, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(comparison, "FIRST", 3)
    monkeypatch.setattr(comparison, "STANDARD", range(8))
    write_model(config, tmp_path / "run")
    write_minutes(tmp_path / "run", minutes)
    table = compare(replace(config, eval_deals=given), tmp_path / "run", quiet=True)
    for path in (tmp_path / "run" / "evaluation").iterdir():
        assert [game.deal for game in read_results(path)] == [*range(deals)], path
    assert f"deals 0:{deals}," in table
    assert ("--eval-deals 0:8 plays all" in table) is (deals == 3)
    assert (tmp_path / "run" / "best_game.txt").is_file()


@pytest.mark.parametrize("ended", [0, 7, 8, 2000])
def test_the_progress_line_has_no_rate_until_enough_games_have_ended(
    ended: int, config: TrainConfig, tmp_path: Path
) -> None:
    progress = Progress(replace(config, num_envs=8), tmp_path, games=ended)
    text = progress.text(Rates(0.5, 40.0, 100.0) if ended else None)
    assert f"{ended:,} games" in text
    assert ("won 50.0 %, cards home 40.0" in text) is (ended >= 8)
