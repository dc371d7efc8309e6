"""The search for settings: studies of small trainings, stopped, gone on with, and what is refused."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
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


@pytest.mark.training
def test_a_study(tmp_path: Path) -> None:
    outcome = tuned("--trials", "2", study="studies/small one%20.db")
    assert outcome.status == 0, outcome.err
    made = trials("studies/small one%20.db")
    assert [trial.state.name for trial in made] == ["COMPLETE"] * 2
    for trial in made:
        told = trial.user_attrs
        assert trial.value == pytest.approx(told["cards_home"] / 104 + told["win_rate"])
        config = load_config(Path(told["run"]) / "config.yaml")
        assert config == configured(arguments().config, trial.params)
        assert (Path(told["run"]) / "model").is_dir()
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


@pytest.mark.proof
@pytest.mark.training
def test_goes_on() -> None:
    """So many trials are made in all; with none left the results are shown again."""
    assert tuned("--trials", "1", "--quiet").status == 0
    outcome = tuned("--trials", "2", "--quiet", "--threads", "2")
    assert outcome.status == 0 and not outcome.err and states() == ["COMPLETE"] * 2
    again = tuned("--trials", "2", "--quiet")
    assert again.out == outcome.out and len(states()) == 2
    assert_refused(tuned("--trials", "3", "--gamma", "0.9"), "study.db", "gamma 0.999, here it is 0.9")
    other = command("tiny.yaml", "--study", "study.db", "--deals", "300000", of=main)
    assert_refused(other, "study.db", "'200000:200004'", "'300000'")
    assert len(states()) == 2


@pytest.mark.proof
@pytest.mark.training
def test_ctrl_c_and_another_process() -> None:
    """The trial in hand is lost, the study is not; a second process makes trials of it meanwhile."""
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
    assert process.returncode == 130 and "the same command goes on" in err and "Traceback" not in err
    assert not out and states() == ["FAIL", "COMPLETE"]
    assert (Path("runs/tune/busy-aces-1") / "checkpoint.safetensors").exists()


def test_the_own_values_come_again_until_a_trial_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> bool:
        return False

    monkeypatch.setattr(tune, "learn", stopped)
    for _ in range(2):
        assert tuned("--quiet").status == 130
    first, second = trials()
    assert first.state == second.state == TrialState.FAIL and first.params == second.params


@pytest.mark.proof
@pytest.mark.training
def test_a_process_that_was_killed() -> None:
    """Its trial is not waited for once it has been silent for a minute."""
    a = arguments(trials=1)
    study = open_study(a)
    loaded().ask()
    tune.search(study, a)  # it may still be running
    assert states() == ["RUNNING"]
    with contextlib.closing(sqlite3.connect("study.db")) as db, db:
        db.execute("INSERT INTO trial_heartbeats (trial_id, heartbeat) VALUES (1, '2020-01-01 00:00:00')")
    assert tuned("--trials", "1", "--quiet").status == 0
    assert states() == ["FAIL", "COMPLETE"]


@pytest.mark.proof
@pytest.mark.training
def test_what_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial that does worse half-way than most did; and one whose weights are no numbers any more."""
    open_study(arguments(total_steps=8192))
    study = loaded()
    for _ in range(5):
        trial = study.ask()
        tune.suggest(trial, arguments().config)
        for step in tune.REPORTS:
            trial.report(2.0, step)
        trial.set_user_attr("win_rate", 1.0)
        trial.set_user_attr("cards_home", 104.0)
        study.tell(trial, 2.0)
    outcome = tuned("--trials", "6", "--total-steps", "8192")
    assert outcome.status == 0 and "trial 5: given up at 50 % of its training" in outcome.err
    monkeypatch.setitem(tune.RANGES, "learning_rate", (1e30, 1e31, "log"))
    outcome = tuned("--trials", "7", "--total-steps", "8192")
    assert "trial 6: diverged" in outcome.err and "5 scored, 2 given up" in outcome.out


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
def test_own_values(values: dict[str, Any], missing: set[str]) -> None:
    """What a configuration has no use for is not searched, and its own values always belong to the space."""
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


# ---------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--trials", "0"], ["trials is 0", "at least 1"]),
        (["--deals", "0:5"], ["'0:5'", "5 of them", "0-999", "200000:200500"]),
        (["--deals", "99999:100001"], ["'99999:100001'", "1 of them", "100000-100999"]),
        (["--deals", "some"], ["'some'", "FIRST:END"]),
        (["--study", "tiny.yaml"], ["tiny.yaml", "not a study", "not a database"]),
        (["--study", "tiny.yaml/study.db"], ["tiny.yaml"]),
        (["--study", "."], ["not a study"]),
        (["--device", "cuda"], ["'cuda'", "auto, cpu"]),
        (["--gamma", "3"], ["command line: gamma is 3.0"]),
    ],
)
def test_refuses(args: list[str], words: list[str]) -> None:
    text = Path("tiny.yaml").read_text()
    assert_refused(command("tiny.yaml", "--study", "study.db", *args, of=main), *words)
    assert [path.name for path in Path(".").iterdir()] == ["tiny.yaml"]
    assert Path("tiny.yaml").read_text() == text


def test_refuses_a_base_that_cannot_be_read() -> None:
    assert_refused(command("none.yaml", "--study", "study.db", of=main), "none.yaml", "cannot be read")
    outcome = command("tiny.yaml", of=main)
    assert outcome.status == 2 and "--study" in outcome.err


@pytest.mark.parametrize("module", ["optuna", "wandb"])
def test_without_its_packages(module: str) -> None:
    """Each says what to install, and that is an extra."""
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
