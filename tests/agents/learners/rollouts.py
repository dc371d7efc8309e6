"""Learners for the tests, and one rollout of them."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from agents.config import make_config
from agents.learners.base import TeamLearner
from agents.learners.factory import make_model
from agents.learners.training_env import make_env
from tests.agents.test_train import VALUES


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


def rollout(model: TeamLearner) -> tuple[Any, list[Any]]:
    """A learner's first rollout, and the positions and masks before each step and after the last."""
    callback = Positions()
    callback.init_callback(model)
    model._setup_learn(0, callback)
    model.begin()
    played = model.play(callback)
    assert played is not None
    return played, callback.seen
