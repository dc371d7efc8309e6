"""``agents tune``: small studies are run, interrupted and resumed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest

from agents.commands import tune
from agents.commands.tune import main, own_values
from agents.config import TrainConfig
from agents.runs.config_files import load_config
from tests.agents.test_train import VALUES, Outcome, command

BASE = {**VALUES, "total_steps": 1024, "init_linear_temperature": 2.0, "hidden": [8]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run folders are made below the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(json.dumps({"Solitaire/BusyAces-v0": BASE}))


def tuned(*args: str) -> Outcome:
    return command("tiny.yaml", "--study", "study.log", "--score-deals", "200000:200004", *args, of=main)


def trials() -> list[optuna.trial.FrozenTrial]:
    backend = optuna.storages.journal.JournalFileBackend("study.log")
    return optuna.load_study(study_name="busy-aces", storage=optuna.storages.JournalStorage(backend)).trials


def test_tune_stores_trials_and_the_best_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> bool:
        return False

    with monkeypatch.context() as patch:
        patch.setattr(tune, "learn", interrupted)
        assert tuned("--trials", "2").status == 130
    outcome = tuned("--trials", "2")
    assert outcome.status == 0, outcome.err
    failed, *made = trials()
    assert failed.state.name == "FAIL" and [trial.state.name for trial in made] == ["COMPLETE"] * 2
    # The first has the configuration's own values, the others differ.
    assert failed.params == own_values(load_config(Path("tiny.yaml"))) != made[1].params
    for trial in made:
        run = Path(trial.user_attrs["run"])
        assert trial.value is not None and 0 < trial.value <= 2
        assert load_config(run / "config.yaml") == replace(load_config(Path("tiny.yaml")), **trial.params)
        assert (run / "model").is_dir()
    best = max(made, key=lambda trial: trial.value or 0)
    file = Path("study-best.yaml")
    assert file.read_text().startswith(f"# Trial {best.number} of study.log: score {best.value:.3f}")
    assert load_config(file) == load_config(Path(best.user_attrs["run"]) / "config.yaml")
    again = tuned("--trials", "2", "--quiet")
    assert again.out == outcome.out and len(trials()) == 3


def test_a_diverged_trial_is_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*_: Any, **__: Any) -> bool:
        raise ValueError("an action that is not in the action space")

    monkeypatch.setattr(tune, "learn", diverge)
    assert "no trial was scored" in tuned("--trials", "1").err
    assert [trial.state.name for trial in trials()] == ["PRUNED"]


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ({}, {"init_linear_temperature"}),
        ({"learning_rate": 1.0, "batch_size": 999, "init_linear_temperature": 9}, set()),
    ],
)
def test_unused_keys_are_not_searched(values: dict[str, Any], missing: set[str]) -> None:
    """The search space includes the values of the configuration."""
    config = TrainConfig(**values)
    own = own_values(config)
    assert set(own) == {*tune.RANGES, *tune.CHOICES} - missing
    study = optuna.create_study()
    study.enqueue_trial(own)
    assert tune.suggest(study.ask(), config) == config
    assert tune.suggest(study.ask(), config) != config
