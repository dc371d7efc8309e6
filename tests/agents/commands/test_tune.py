"""``agents tune``: small studies are run, interrupted and resumed; wrong options are refused."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy
from optuna.trial import TrialState

from agents.commands import tune
from agents.commands.tune import Arguments, configured, main, open_study, own_values
from agents.config import TrainConfig, make_config
from agents.runs.config_files import load_config
from tests.agents.test_train import ROOT, VALUES, Outcome, assert_refused, command

BASE = {**VALUES, "total_steps": 1024, "init_linear_temperature": 2.0, "hidden": [8]}
DEALS = "200000:200004"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run folders are made below the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(json.dumps({"Solitaire/BusyAces-v0": BASE}))


def tuned(*args: str, study: str = "study.db") -> Outcome:
    return command("tiny.yaml", "--study", study, "--deals", DEALS, *args, of=main)


def loaded(path: str = "study.db") -> optuna.Study:
    """The study as a process without heartbeat sees it."""
    url = sqlalchemy.URL.create("sqlite", database=path).render_as_string()
    return optuna.load_study(study_name="tune", storage=url)


def trials(path: str = "study.db") -> list[optuna.trial.FrozenTrial]:
    return loaded(path).trials


def arguments(total_steps: int = BASE["total_steps"], trials: int = 20) -> Arguments:
    config = make_config({"env": "Solitaire/BusyAces-v0", **BASE, "total_steps": total_steps}, "test")
    return Arguments(config, Path("study.db"), trials, DEALS)


def states(path: str = "study.db") -> list[str]:
    return [trial.state.name for trial in trials(path)]


# ------------------------------------------------------------------------------ from end to end


def test_tune_stores_trials_and_the_best_configuration(tmp_path: Path) -> None:
    outcome = tuned("--trials", "2", study="studies/small one%20.db")
    assert outcome.status == 0, outcome.err
    made = trials("studies/small one%20.db")
    assert [trial.state.name for trial in made] == ["COMPLETE"] * 2
    for trial in made:
        attributes = trial.user_attrs
        assert trial.value == pytest.approx(attributes["cards_home"] / 104 + attributes["win_rate"])
        config = load_config(Path(attributes["run"]) / "config.yaml")
        assert config == configured(arguments().config, trial.params)
        assert (Path(attributes["run"]) / "model").is_dir()
    # The first has the configuration's own values, the second others.
    assert made[0].params == own_values(load_config(Path("tiny.yaml"))) != made[1].params
    assert load_config(Path(made[0].user_attrs["run"]) / "config.yaml") == load_config(Path("tiny.yaml"))
    best = max(made, key=lambda trial: trial.value or 0)
    file = Path("studies/small one%20-best.yaml")
    assert file.read_text().startswith(f"# Trial {best.number} of small one%20.db: score {best.value:.3f}")
    assert load_config(file) == load_config(Path(best.user_attrs["run"]) / "config.yaml")
    for words in ("2 scored", "games won", "linear", str(file)):
        assert words in outcome.out
    assert "trial 1, runs/tune/busy-aces-2: learning_rate " in outcome.err
    assert command(file, "--eval-deals", "0", "--quiet").status == 0


@pytest.mark.slow
def test_tune_adds_the_missing_trials_to_a_study() -> None:
    """``--trials`` is the total number; if none is missing, the results are printed again."""
    assert tuned("--trials", "1", "--quiet").status == 0
    outcome = tuned("--trials", "2", "--quiet", "--threads", "2")
    assert outcome.status == 0 and not outcome.err and states() == ["COMPLETE"] * 2
    again = tuned("--trials", "2", "--quiet")
    assert again.out == outcome.out and len(states()) == 2
    assert_refused(
        tuned("--trials", "3", "--gamma", "0.9"), "study.db", "gamma is 0.999 in its trials and 0.9 here"
    )
    other = command("tiny.yaml", "--study", "study.db", "--deals", "300000", of=main)
    assert_refused(other, "study.db", "'200000:200004'", "'300000'")
    assert len(states()) == 2


@pytest.mark.slow
def test_ctrl_c_loses_only_the_running_trial() -> None:
    """Meanwhile a second process adds a trial to the study."""
    more = ["--deals", DEALS, "--study", "study.db", "--trials", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.commands.tune", "tiny.yaml", "--total-steps", str(10**9), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    try:
        end = time.monotonic() + 120
        while not Path("runs/tune/busy-aces-1/curve.csv").exists() and time.monotonic() < end:
            time.sleep(0.1)
        assert states() == ["RUNNING"]
        with contextlib.closing(sqlite3.connect("study.db")) as db:
            assert db.execute("SELECT count(*) FROM trial_heartbeats").fetchone() == (1,)
        open_study(arguments(total_steps=10**9))
        study = loaded()
        study.tell(study.ask(), 0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130 and "Run the same command to resume." in err and "Traceback" not in err
    assert not out and states() == ["FAIL", "COMPLETE"]
    assert (Path("runs/tune/busy-aces-1") / "checkpoint.safetensors").exists()


def test_the_first_trial_is_repeated_until_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> bool:
        return False

    monkeypatch.setattr(tune, "learn", interrupted)
    for _ in range(2):
        assert tuned("--quiet").status == 130
    first, second = trials()
    assert first.state == second.state == TrialState.FAIL and first.params == second.params


@pytest.mark.slow
def test_the_trial_of_a_killed_process_fails_after_a_minute() -> None:
    a = arguments(trials=1)
    study = open_study(a)
    loaded().ask()
    tune.search(study, a)  # it may still be running
    assert states() == ["RUNNING"]
    with contextlib.closing(sqlite3.connect("study.db")) as db, db:
        db.execute("INSERT INTO trial_heartbeats (trial_id, heartbeat) VALUES (1, '2020-01-01 00:00:00')")
    assert tuned("--trials", "1", "--quiet").status == 0
    assert states() == ["FAIL", "COMPLETE"]


@pytest.mark.slow
def test_bad_trials_are_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial below the median half-way, and one whose weights are no longer finite."""
    open_study(arguments(total_steps=8192))
    study = loaded()
    for _ in range(5):
        trial = study.ask()
        tune.suggest(trial, arguments().config)
        for step in tune.PRUNE_AT:
            trial.report(2.0, step)
        trial.set_user_attr("win_rate", 1.0)
        trial.set_user_attr("cards_home", 104.0)
        study.tell(trial, 2.0)
    outcome = tuned("--trials", "6", "--total-steps", "8192")
    assert outcome.status == 0 and "trial 5: pruned at 50 % of its training" in outcome.err
    monkeypatch.setitem(tune.RANGES, "learning_rate", (1e30, 1e31, "log"))
    outcome = tuned("--trials", "7", "--total-steps", "8192")
    assert "trial 6: diverged" in outcome.err and "5 scored, 2 pruned" in outcome.out


# --------------------------------------------------------------------------------- what is searched


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ({}, {"init_linear_temperature"}),
        ({"init_linear_temperature": 1.5}, set()),
        ({"network": "piles"}, {"init_linear_temperature", "hidden"}),
        ({"network": "mlp", "stall_limit": None}, {"init_linear_temperature", "stall_limit"}),
        (
            {
                "learning_rate": 1.0,
                "learning_rate_end": 2.0,
                "hidden": [7],
                "batch_size": 999,
                "init_linear_temperature": 9,
            },
            set(),
        ),
    ],
)
def test_unused_keys_are_not_searched(values: dict[str, Any], missing: set[str]) -> None:
    """The search space includes the values of the configuration."""
    config = TrainConfig(**values)
    own = own_values(config)
    assert set(own) == {*tune.RANGES, *tune.CHOICES} - missing
    assert configured(config, own) == config
    study = optuna.create_study()
    study.enqueue_trial(own)
    assert tune.suggest(study.ask(), config) == config
    other = tune.suggest(study.ask(), config)
    assert other != config and own_values(other).keys() == own.keys()
    assert 0 <= other.learning_rate_end <= max(1, own["final_rate"]) * other.learning_rate


def test_the_parameters_of_an_old_study_are_read() -> None:
    config = TrainConfig()
    own = own_values(replace(config, init_linear_temperature=2.0))
    old = {"linear_start" if name == "init_linear_temperature" else name: v for name, v in own.items()}
    assert configured(config, old) == configured(config, own)
    study = open_study(arguments())
    settings = study.user_attrs["settings"]
    settings["sure_home"] = settings.pop("safe_autoplay")
    study.set_user_attr("settings", settings)
    open_study(arguments())


# ---------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--trials", "0"], ["trials is 0", "at least 1"]),
        (["--deals", "0:5"], ["'0:5'", "5 of them", "0-999", "200000:200500"]),
        (["--deals", "99999:100001"], ["'99999:100001'", "1 of them", "100000-100999"]),
        (["--deals", "some"], ["'some'", "FIRST:END"]),
        (["--study", "tiny.yaml"], ["tiny.yaml", "not a usable study", "not a database"]),
        (["--study", "tiny.yaml/study.db"], ["tiny.yaml"]),
        (["--study", "."], ["not a usable study"]),
        (["--device", "cuda"], ["'cuda'", "auto, cpu"]),
        (["--gamma", "3"], ["command line: gamma is 3.0"]),
    ],
)
def test_wrong_options_are_refused(args: list[str], words: list[str]) -> None:
    text = Path("tiny.yaml").read_text()
    assert_refused(command("tiny.yaml", "--study", "study.db", *args, of=main), *words)
    assert [path.name for path in Path(".").iterdir()] == ["tiny.yaml"]
    assert Path("tiny.yaml").read_text() == text


def test_a_missing_configuration_is_refused() -> None:
    assert_refused(command("none.yaml", "--study", "study.db", of=main), "none.yaml", "cannot be read")
    outcome = command("tiny.yaml", of=main)
    assert outcome.status == 2 and "--study" in outcome.err


@pytest.mark.parametrize("module", ["optuna", pytest.param("wandb", marks=pytest.mark.slow)])
def test_a_missing_package_is_named_with_its_extra(module: str) -> None:
    code = (
        f"import sys, runpy; sys.modules['{module}'] = None; "
        "sys.argv = ['agents.commands.tune', 'tiny.yaml', "
        "'--study', 'study.db', '--wandb', 'project']; "
        "runpy.run_module('agents.commands.tune', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 2 and not Path("study.db").exists()
    extra = {"optuna": "tune", "wandb": "wandb"}[module]
    assert done.stderr.startswith("error: ") and f"needs {module}: pip install -e '.[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    assert f'\n{extra} = ["{module}' in (ROOT / "pyproject.toml").read_text()
