"""``agents.train``: run folders, interruptions and resumption."""

import contextlib
import csv
import io
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from safetensors import safe_open
from safetensors.torch import load_file

from agents import evaluate, train
from agents.commands.options import parse_options
from agents.config import RESUMABLE, TrainConfig, make_config
from agents.learners import training
from agents.learners.factory import make_model
from agents.learners.initial_weights import initial_weights_of
from agents.learners.training_env import MAX_FORCED, make_env
from agents.results import plots
from agents.runs.checkpoints import save_checkpoint
from agents.runs.config_files import dump_config, load_config
from agents.runs.folders import CURVE_COLUMNS, new_run
from agents.runs.models import save_model
from agents.train import main
from solitaire_env import SolitaireEnv
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import read_results
from solitaire_env.move_features.autoplay import autoplay_safe_moves
from solitaire_env.policies.linear import WEIGHTS
from solitaire_env.util.files import locked
from tests.conftest import Refuses

ROOT = Path(__file__).parents[2]
STEPS = 2048
SHORT_GAMES = "344,660,981"
"""Deals of Busy Aces in which the baselines get stuck within 335 steps. In many others one of them plays all
3,328.
"""
CHECKPOINT = "checkpoint.safetensors"
MAX_STEP = 8 * (1 + MAX_FORCED)
"""Maximum of the steps that one step of the environment counts."""
VALUES: dict[str, Any] = {
    "moves": "supermove",
    "minutes": None,
    "total_steps": STEPS,
    "width": 8,
    "num_envs": 8,
    "n_steps": 32,
    "batch_size": 64,
    "threads": 1,
    "stall_limit": 10,
    "selection_deals": None,
    "eval_deals": SHORT_GAMES,
}


@dataclass
class Outcome:
    status: int
    out: str
    err: str


def command(*args: str | Path, of: Any = main) -> Outcome:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = of([*map(str, args)])
        except SystemExit as error:  # of the command line's parser
            status = error.code
    assert "Traceback" not in err.getvalue()
    return Outcome(status, out.getvalue(), err.getvalue())


def assert_refused(outcome: Outcome, *words: str) -> None:
    """Exit status 2, and one error line on stderr with these words."""
    assert outcome.status == 2 and not outcome.out
    [error] = outcome.err.splitlines()
    assert error.startswith("error: ")
    for word in words:
        assert word in error


def parse(args: list[str]) -> TrainConfig:
    return parse_options(args, train.Arguments, "train").config


def config_file(folder: Path, **values: Any) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(json.dumps({"Solitaire/BusyAces-v0": VALUES | values}))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A run folder, and the output of the command that made it."""
    folder = tmp_path_factory.mktemp("train")
    outcome = command(config_file(folder), "--runs", folder / "runs")
    return folder / "runs" / "busy-aces-1", outcome


@pytest.fixture
def run(trained: tuple[Path, Outcome], tmp_path: Path) -> Path:
    """A copy of the run, to resume or to damage."""
    return Path(shutil.copytree(trained[0], tmp_path / "busy-aces-1"))


def progress(run: Path) -> dict[str, Any]:
    with safe_open(run / CHECKPOINT, framework="pt") as file:
        return json.loads(file.metadata()["progress"])


def curve(run: Path) -> list[dict[str, str]]:
    with (run / "curve.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def assert_monotone(rows: list[dict[str, str]]) -> None:
    for column, least in (("steps", 1), ("minutes", 0), ("games", 0)):
        assert (np.diff([float(row[column]) for row in rows]) >= least).all(), column


# ---------------------------------------------------------------------------------- from end to end


def test_train_writes_a_run_folder(trained: tuple[Path, Outcome]) -> None:
    run, outcome = trained
    assert outcome.status == 0 and (run / "evaluation.txt").read_text() in outcome.out
    assert {path.name for path in run.iterdir()} == {
        "best_game.txt", CHECKPOINT, "config.yaml", "curve.csv", "curve.png", "evaluation", "evaluation.txt",
        "logs", "model", "score.json", "versions.json",
    }  # fmt: skip
    assert load_config(run / "config.yaml") == make_config({"env": "Solitaire/BusyAces-v0", **VALUES}, "test")
    versions = json.loads((run / "versions.json").read_text())
    assert versions["torch"] == version("torch") and versions["processors"] == os.cpu_count()
    rows = curve(run)
    assert_monotone(rows)
    assert tuple(rows[0]) == CURVE_COLUMNS and int(rows[-1]["steps"]) < STEPS + MAX_STEP
    assert STEPS <= progress(run)["steps"] < STEPS + MAX_STEP
    assert progress(run)["games"] >= int(rows[-1]["games"]) > 5


def test_train_evaluates_all_policies(trained: tuple[Path, Outcome], tmp_path: Path) -> None:
    run, _ = trained
    games = {path.stem: read_results(path) for path in (run / "evaluation").iterdir()}
    assert {name: [game.deal for game in rows] for name, rows in games.items()} == {
        name: [*map(int, SHORT_GAMES.split(","))] for name in ("random", "greedy", "linear", "busy-aces-1")
    }
    # agents.evaluate gives the same results for the saved model.
    path = tmp_path / "games.jsonl"
    arguments = ("--policy", run, "--env", "busy-aces", "--deals", SHORT_GAMES, "--games", path, "--quiet")
    assert command(*arguments, of=evaluate.main).status == 0
    assert read_results(path) == games["busy-aces-1"]
    best = (run / "best_game.txt").read_text()
    home = max(game.cards_home for game in games["busy-aces-1"])
    assert f", {home} cards home, " in best and "policy: busy-aces-1" in best


def test_training_runs_in_a_thread_and_leaves_signals_alone(tmp_path: Path) -> None:
    outcomes: list[Outcome] = []
    words = (config_file(tmp_path, total_steps=256), "--runs", tmp_path, "--quiet")
    thread = threading.Thread(target=lambda: outcomes.append(command(*words)))
    thread.start()
    while thread.is_alive():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        thread.join(0.01)
    assert [outcome.status for outcome in outcomes] == [0]
    assert progress(tmp_path / "busy-aces-1")["steps"] >= 256


@pytest.mark.slow
def test_equal_seeds_give_equal_networks(trained: tuple[Path, Outcome], tmp_path: Path) -> None:
    command(config_file(tmp_path), "--runs", tmp_path, "--quiet")
    runs = (trained[0], tmp_path / "busy-aces-1")
    first, again = (load_file(run / "model/model.safetensors") for run in runs)
    for name, weights in first.items():
        assert (weights == again[name]).all()


def test_a_picture_that_fails_does_not_end_the_training(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever matplotlib raises."""

    class Unknown(Exception):
        pass

    def fails(*_: Any) -> None:
        raise Unknown("Key backend: 'module://nowhere' is not a valid value")

    monkeypatch.setenv("SOLITAIRE_ENV_QUIET", "0")
    monkeypatch.setattr(plots, "draw_curve", fails)
    for name in ("score.json", "evaluation.txt", "curve.png"):
        (run / name).unlink()
    outcome = command("--resume", run, "--quiet")
    assert outcome.status == 0 and (run / "score.json").is_file()
    assert (run / "evaluation.txt").read_text() in outcome.out and not (run / "curve.png").exists()
    [notice] = outcome.err.splitlines()
    assert notice.startswith(f"{run / 'curve.png'}: not drawn (Unknown, Key backend: ")


# --------------------------------------------------------------------------------- stop and resume


def test_resume_continues_steps_and_curve(run: Path) -> None:
    before, old_rows = progress(run), curve(run)
    with (run / "curve.csv").open("a") as file:
        file.write("999999,9.0,999,0.5,50.0,20.0,1\n")  # of steps after the checkpoint
    more = ("--total-steps", STEPS + 1024, "--eval-deals", "660,981", "--quiet")
    outcome = command(f"--resume={run}", *more)
    assert outcome.status == 0, outcome.err
    after, rows = progress(run), curve(run)
    assert STEPS + 1024 <= after["steps"] < STEPS + 1024 + MAX_STEP
    assert after["seconds"] > before["seconds"] and after["games"] > before["games"]
    assert rows[: len(old_rows)] == old_rows and len(rows) > len(old_rows)
    assert_monotone(rows)
    assert load_config(run / "config.yaml").total_steps == STEPS + 1024
    assert len(read_results(run / "evaluation" / "busy-aces-1.jsonl")) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_handlers_are_restored(run: Path, number: signal.Signals) -> None:
    """The first signal ends the training after the current step; the handlers are restored."""
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    config = load_config(run / "config.yaml")
    config.total_steps = 10**9

    class Sends(training.TrainingCallback):
        def _on_step(self) -> bool:
            os.kill(os.getpid(), number)
            return super()._on_step()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "TrainingCallback", Sends)
        assert not training.learn(config, run, resume=True, quiet=True)
    assert 0 < progress(run)["steps"] - STEPS < 2 * MAX_STEP
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


# ------------------------------------------------------------------------------- what is refused


def truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def configure(run: Path, **values: Any) -> None:
    """Change the stored configuration of a run."""
    config = replace(load_config(run / "config.yaml"), **values)
    (run / "config.yaml").write_text(dump_config(config))


@pytest.mark.parametrize(
    ("damage", "options", "words"),
    [
        (lambda run: configure(run, width=16), [], ["not a checkpoint of this configuration"]),
        (lambda run: configure(run, env="eights-down"), [], [CHECKPOINT, "another layout"]),
        (None, ["--env", "eights-down"], ["env is 'eights-down'", "'Solitaire/BusyAces-v0'", "--init-from"]),
        (None, ["--learner", "pqn"], ["learner is 'pqn', in the resumed run 'ppo'", "minutes, total_steps"]),
        (lambda run: truncate(run / CHECKPOINT, 5000), [], [CHECKPOINT, "not a whole safetensors file"]),
        (lambda run: (run / "config.yaml").unlink(), [], ["config.yaml", "cannot be read"]),
    ],
)
def test_resume_refuses_unsuitable_runs(run: Path, damage: Any, options: list[str], words: list[str]) -> None:
    if damage:
        damage(run)
    before = {path: path.read_bytes() for path in run.glob("*.*")}
    assert_refused(command("--resume", run, "--quiet", *options), *words)
    assert {path: path.read_bytes() for path in run.glob("*.*")} == before


def test_a_resumed_run_can_change_its_budget_and_machine(tmp_path: Path) -> None:
    config = make_config(VALUES, "test")
    (tmp_path / "config.yaml").write_text(dump_config(config))
    changes = {
        "minutes": 3.0, "total_steps": 9, "device": "auto", "threads": 2, "checkpoint_minutes": 2.0,
        "selection_deals": "0:2", "eval_deals": "5", "wandb": "solitaire",
    }  # fmt: skip
    options = [
        word for name, value in changes.items() for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    resumed = parse(["--resume", str(tmp_path), *options])
    assert resumed == replace(config, **changes) and set(changes) == {*RESUMABLE}


def test_a_run_is_resumed_by_one_process_at_a_time(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*.*") if path.is_file()}
    with locked(run):
        assert_refused(command("--resume", run, "--quiet"), f"{run}: another process writes to it")
    assert {path: path.read_bytes() for path in run.rglob("*.*") if path.is_file()} == before


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    for runs in (tmp_path / "runs", tmp_path / "runs" / "below"):
        outcome = command(config_file(tmp_path), "--runs", runs)
        assert_refused(outcome, str(tmp_path / "runs"), "cannot be written")


LOADED = """
import pathlib
pathlib.Path(__file__).with_suffix(".log").write_text("imported")
"""


@pytest.mark.parametrize("args", [["mine.yaml"], ["--resume", "run"]], ids=["train", "resume"])
def test_a_configuration_imports_modules_only_if_it_is_trusted(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other commands that read one are in ``tests/test_hostile_names.py``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "loaded", raising=False)
    (tmp_path / "run").mkdir()
    (tmp_path / "loaded.py").write_text(LOADED)
    text = json.dumps({"busy-aces": {**VALUES, "network": "loaded:Network"}})
    for path in ("mine.yaml", "run/config.yaml"):
        (tmp_path / path).write_text(text)
    outcome = command(*args)
    assert outcome.status == 2 and "network is 'loaded:Network'" in outcome.err
    assert "--trust-model" in outcome.err and not (tmp_path / "loaded.log").exists()
    for trust in (["--trust-model"], ["--network", "loaded:Network"]):
        assert "has no attribute 'Network'" in command(*args, *trust).err
        assert (tmp_path / "loaded.log").exists()


def test_a_full_disk_is_an_error_that_names_the_file(run: Path, full_disk: Callable[[], None]) -> None:
    before = {path: path.read_bytes() for path in run.glob("*.*")}
    full_disk()
    outcome = command("--resume", run, "--quiet")
    assert_refused(outcome, f"{run}/config.yaml: cannot be written (File too large)")
    assert {path: path.read_bytes() for path in run.glob("*.*")} == before
    config = load_config(run / "config.yaml")
    model = make_model(config, make_env(config))
    with pytest.raises(OSError, match=rf"{run / CHECKPOINT}: cannot be written \(File too large\)"):
        save_checkpoint(run / CHECKPOINT, model.policy, {})
    assert {path: path.read_bytes() for path in run.glob("*.*")} == before


@pytest.mark.parametrize("processes", [1, 2])
def test_a_diverged_training_says_so(processes: int, tmp_path: Path) -> None:
    more = ("--threads", processes, "--num-envs", 64 * processes, "--n-steps", 4)
    rate = ("--learning-rate", "1e38", "--learning-rate-end", "1e38", "--quiet")
    outcome = command(config_file(tmp_path), "--runs", tmp_path, *more, *rate)
    assert_refused(outcome, "the network has diverged")
    assert not (tmp_path / "busy-aces-1" / CHECKPOINT).exists()


def test_parallel_trainings_get_different_run_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another training takes the next number between its choice and the creation of the folder."""
    make = Path.mkdir
    others = ["busy-aces-1", "busy-aces-2"]

    def mkdir(path: Path, *args: Any, **kwargs: Any) -> None:
        if path.name in others:
            make(tmp_path / others.pop(0))
        make(path, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert new_run(tmp_path, TrainConfig()).name == "busy-aces-3"


def test_options_override_the_configuration(tmp_path: Path) -> None:
    """Options override keys of the file; a misspelled option is named."""
    path = str(config_file(tmp_path))
    config = parse([path, "--width", "9", "--stall-limit", "None"])
    assert (config.width, config.stall_limit, config.n_steps) == (9, None, 32)
    outcome = command(path, "--widht", "9")
    assert outcome.status == 2 and "--widht" in outcome.err


# ------------------------------------------------------------------------------- how it is learned


def test_a_truncated_game_counts_as_lost() -> None:
    """SB3 would add the value of the last position to the reward of a truncated step."""
    env = make_env(make_config({"env": "busy-aces", **VALUES}, "test"))
    env.seed(0)
    env.reset()
    cut = 0
    for _ in range(300):
        _, rewards, dones, infos = env.step(env.action_masks().argmax(1))
        for row in np.flatnonzero(dones).tolist():
            assert infos[row]["TimeLimit.truncated"] is False and rewards[row] < 1
            cut += "terminal_observation" in infos[row] and not infos[row]["is_success"]
    assert cut > 10


@pytest.mark.parametrize("env", ["eights-down", "forty-thieves"])
def test_forced_moves_are_played_in_the_same_step(env: str) -> None:
    """The expected games come from single environments, with safe autoplay and forced moves as actions."""
    config = make_config({"env": env, "safe_autoplay": True, "stall_limit": 15}, "test")
    training = make_env(config, 8)
    rules = GameSpec(config.variant).rules
    twin = SolitaireEnv(config.variant, stall_limit=15, reward=config.reward, on_invalid="raise")
    training.seed(3)
    training.reset()
    random = np.random.default_rng(0)
    ended = sent = forced = 0
    texts = training.env_method("position")
    paid = np.zeros(8)
    for _ in range(200):
        masks = training.action_masks()
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in masks])
        stalls = training.batch.stalls.copy()
        _, rewards, dones, infos = training.step(actions)
        after = training.env_method("position")
        for row in range(8):
            # A new game begins where the environment says, and limits count from there.
            twin.reset(options={"position": texts[row]})
            total, done, action = 0.0, False, int(actions[row])
            still = int(stalls[row])
            for _ in range(1 + MAX_FORCED):
                if action < 0 or done:
                    break
                _, reward, done, _, _ = twin.step(action)
                total += float(reward)
                still = 0 if reward or (action == 0 and training.batch.rules.has_stock) else still + 1
                seen = twin.unwrapped.get_state()["row"]
                seen = np.array(seen, dtype=np.int8)[None, : training.observation_space.shape[0]]
                mask = twin.action_masks()
                action = int(autoplay_safe_moves(rules, seen, mask[None])[0])
                sent += action >= 0 and not done
                if action < 0 and mask.sum() == 1 and still < 15:
                    action = int(mask.argmax())
                    forced += not done
            assert rewards[row] == pytest.approx(total, abs=1e-6)
            assert not (dones[row] and not done and total > 0), "it was truncated although a card went home"
            assert dones[row] or not done
            paid[row] += rewards[row]
            if dones[row]:
                ended += 1
                assert infos[row]["episode"]["r"] == pytest.approx(paid[row], abs=1e-5)
                assert infos[row]["is_success"] == (infos[row]["cards_home"] == config.variant.cards)
                paid[row] = 0
            else:
                assert after[row] == twin.position()
        texts = after
    assert ended > 2
    assert sent > 20 and forced > 20


def test_training_starts_from_the_linear_policy() -> None:
    config = make_config({"env": "busy-aces", **VALUES, "init_linear_temperature": 2.0}, "test")
    env = make_env(config)
    model = make_model(config, env)
    weights = json.loads(WEIGHTS.read_text())["busy-aces"]["weights"]
    network = model.policy.network
    assert network.linear.weight[0].tolist() == pytest.approx([w / 2 for w in weights.values()], abs=1e-5)
    plain = make_model(make_config({"env": "busy-aces", **VALUES}, "test"), env)
    assert not plain.policy.network.linear.weight.any()


def test_training_starts_from_the_mean_of_several_models(tmp_path: Path, refuses: Refuses) -> None:
    config = make_config({"env": "busy-aces", **VALUES}, "test")
    env = make_env(config)
    policies = []
    for seed in (1, 2):
        policy = make_model(replace(config, seed=seed), env).policy
        th.nn.init.constant_(policy.value_net.weight, seed)
        policies.append(policy)
        save_model(tmp_path / str(seed), policy.network, config, steps=1, value=policy.value_net)
    start = f"{tmp_path / '1'},{tmp_path / '2'}"
    mean = make_model(replace(config, init_from=start), env).policy
    for part in ("network", "value_net"):
        ours, *theirs = (getattr(policy, part).state_dict() for policy in (mean, *policies))
        for name, tensor in ours.items():
            assert th.allclose(tensor, (theirs[0][name] + theirs[1][name]) / 2)
        assert not all(th.equal(tensor, theirs[0][name]) for name, tensor in ours.items())
    for values, words in (
        ({"init_from": f"{start},no/run"}, ["no/run/model.json: cannot be read"]),
        ({"init_from": start, "width": 16}, ["'width': 8", "'width': 16"]),
    ):
        refuses(lambda values=values: initial_weights_of(replace(config, **values)), *words)


def test_training_from_a_model_of_another_game_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOLITAIRE_ENV_QUIET")
    config = make_config({"env": "klondike", **VALUES}, "test")
    network = make_model(config, make_env(config)).policy.network
    save_model(tmp_path / "model", network, config, steps=1)
    other = replace(config, env="klondike-draw-3", init_from=str(tmp_path / "model"))
    assert initial_weights_of(replace(other, env="klondike")) is not None
    assert capsys.readouterr().err == ""
    assert initial_weights_of(other) is not None
    said = capsys.readouterr().err
    assert "Klondike-v0, this game is Klondike (Draw 3) (draw 1 and 3)" in said
    assert "only a start" in said


@pytest.mark.slow
def test_only_the_value_learns_during_warmup(tmp_path: Path) -> None:
    more = ("--value-warmup-steps", "2048", "--total-steps", "1280", "--quiet")
    assert command(config_file(tmp_path), "--runs", tmp_path, *more).status == 0
    tensors = load_file(tmp_path / "busy-aces-1" / CHECKPOINT)
    config = load_config(tmp_path / "busy-aces-1" / "config.yaml")
    begun = make_model(config, make_env(config)).policy.state_dict()
    changed = {name for name, weights in begun.items() if not th.equal(weights, tensors[f"policy/{name}"])}
    value = {"value_net.weight", "value_net.bias"} | {name for name in begun if ".to_value." in name}
    assert changed == value


@pytest.mark.slow
def test_an_untuned_training_solves_tiny_klondike(tmp_path: Path) -> None:
    outcome = command(ROOT / "configs" / "tiny.yaml", "--runs", tmp_path, "--eval-deals", "0:200", "--quiet")
    assert outcome.status == 0, outcome.err
    games = read_results(tmp_path / "tiny-klondike-1" / "evaluation" / "tiny-klondike-1.jsonl")
    assert sum(game.won for game in games) >= 190
