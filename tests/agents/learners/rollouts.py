"""Learners for the tests, and one rollout of them."""

from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from stable_baselines3.common.callbacks import BaseCallback

from agents.config import make_config
from agents.learners.base import Learner
from agents.learners.factory import make_model
from agents.learners.training_env import make_env
from tests.agents.test_train import CHECKPOINT, VALUES, assert_monotone, command, config_file, curve


def make_learner(**values: Any) -> Any:
    """The learner of a small configuration of Busy Aces, with other values of some keys."""
    config = make_config(VALUES | {"env": "busy-aces", "hidden": [16]} | values, "test")
    env = make_env(config)
    env.seed(0)
    return make_model(config, env)


class Positions(BaseCallback):
    """A callback that stores the positions and masks of a rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def _on_rollout_start(self) -> None:
        model: Any = self.model
        self.seen.append((model.seen.copy(), model.env.action_masks().copy()))

    def _on_step(self) -> bool:
        self._on_rollout_start()
        return True


def rollout(model: Learner) -> tuple[Any, list[Any]]:
    """A learner's first rollout, and the positions and masks before each step and after the last."""
    callback: Any = Positions()
    callback.init_callback(model)
    model.begin()
    played = model.play(callback)
    assert played is not None
    return played, callback.seen


def train_and_resume(folder: Path, **values: Any) -> tuple[Path, dict[str, Any]]:
    """Train, and resume the training; the run folder, and the checkpoint from before the resumption."""
    outcome = command(config_file(folder, **values), "--runs", folder)
    assert outcome.status == 0, outcome.err
    run = folder / "busy-aces-1"
    first, begun = curve(run), load_file(run / CHECKPOINT)
    assert command("--resume", run, "--total-steps", 3072).status == 0
    rows = curve(run)
    assert rows[: len(first)] == first and int(rows[-1]["steps"]) >= 2816
    assert_monotone(rows)
    return run, begun
