"""PQN: returns equal a slow computation; moves are legal; training improves play."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from stable_baselines3.common.callbacks import ConvertCallback

from agents.config import make_config
from agents.learners import pqn
from agents.learners.base import Rollout
from agents.learners.factory import make_model
from agents.learners.pqn import returns
from agents.learners.training_env import TrainingEnv
from agents.runs.models import load_model
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec
from tests.agents.learners.rollouts import make_learner, rollout, train_and_resume
from tests.agents.test_train import assert_refused, command, config_file
from tests.games import SHORT


def test_returns_equal_a_slow_sum() -> None:
    random = np.random.default_rng(1)
    shape = (7, 5)
    paid, ended = random.random(shape).astype(np.float32), random.random(shape) < 0.3
    played = Rollout(np.zeros(shape, dtype=np.int64), paid, ended, [])
    highest = random.random(shape).astype(np.float32)
    gamma, trace = 0.9, 0.7

    def worth(t: int, game: int) -> float:
        """The return of a move: its reward, plus a mixture of the next value and the next return."""
        paid, best = float(played.rewards[t, game]), float(highest[t, game])
        if played.ended[t, game]:
            return paid
        if t == shape[0] - 1:
            return paid + gamma * best
        return paid + gamma * ((1 - trace) * best + trace * worth(t + 1, game))

    slow = [[worth(t, game) for game in range(shape[1])] for t in range(shape[0])]
    assert np.allclose(returns(played, highest, gamma, trace), slow, atol=1e-6)


@pytest.mark.parametrize(("share", "greedy"), [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0)])
def test_exploration_decreases_and_is_legal(
    share: float, greedy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pqn, "EXPLORATION", (1.0, 0.0))
    model = make_learner(learner="pqn")
    model.group.share = share
    played, positions = rollout(model)
    highest = []
    for (_, masks), actions, seen in zip(positions, played.actions, played.kept, strict=False):
        rows = np.arange(len(actions))
        assert masks[rows, actions].all() and (seen.actions.numpy() == masks.nonzero()[1]).all()
        dense = seen.dense(masks.shape[1]).numpy()
        highest += (dense[rows, actions] == dense.max(1)).tolist()
    by_chance = np.mean(highest)
    assert by_chance == 1 if greedy == 1 else greedy <= by_chance < greedy + 0.45


@pytest.mark.slow
def test_pqn_improves_play() -> None:
    """In a game with few cards, more cards go home, and the values predict the returns."""
    values = {
        "learner": "pqn", "env": "eights-down", "num_envs": 64, "n_steps": 16, "batch_size": 256,
        "n_epochs": 2, "gamma": 0.99, "gae_lambda": 0.9, "hidden": [32, 32], "stall_limit": 20,
    }  # fmt: skip
    config = make_config(values, "test")
    env = TrainingEnv(SHORT["short-5, same suit, any, supermove"], 64, reward="progress+win", stall_limit=20)
    env.seed(0)
    model: Any = make_model(config, env)
    home: list[int] = []

    def store(variables: Any, _: Any) -> bool:
        model.group.share = model.num_timesteps / 64_000
        home.extend(info["cards_home"] for info in variables["infos"] if "cards_home" in info)
        return True

    model.learn(64_000, ConvertCallback(store))
    assert np.mean(home[-300:]) > np.mean(home[:60]) + 3
    assert model.logger.name_to_value["train/value_loss"] < 0.1


@pytest.mark.slow
def test_a_pqn_run_can_be_resumed_and_played(tmp_path: Path) -> None:
    run, _ = train_and_resume(tmp_path, learner="pqn", batch_size=65, hidden=[8])
    # The model has the averaged weights, and the resumed run continued them.
    kept, last = load_file(run / "model" / "model.safetensors"), load_file(run / "checkpoint.safetensors")
    assert all((kept[name] == last[f"policy/average.module.{name}"]).all() for name in kept)
    assert (kept["head.weight"] != last["policy/network.head.weight"]).any()

    assert load_model(run / "model", GameSpec(get_variant("busy-aces"))).temperature == 0.01

    # PPO does not start from values.
    refused = command(config_file(tmp_path, hidden=[8]), "--runs", tmp_path, "--init-from", run)
    assert_refused(refused, "its scores are values of moves", "'ppo'")
