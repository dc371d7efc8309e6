"""PQN: returns equal a slow computation; moves are legal; training improves play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from safetensors.torch import load_file
from stable_baselines3.common.callbacks import BaseCallback

from agents.config import make_config
from agents.learners.factory import make_model
from agents.learners.pqn import PQN, Steps, returns
from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.runs.models import load_model
from agents.train import parse_arguments
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec
from tests.agents.test_train import VALUES, assert_monotone, assert_refused, command, curve
from tests.conftest import Refuses
from tests.games import SHORT


def test_returns_equal_a_slow_sum() -> None:
    random = np.random.default_rng(1)
    shape = (7, 5)
    steps = Steps(
        np.zeros(shape, dtype=np.int64),
        random.random(shape).astype(np.float32),
        random.random(shape) < 0.3,
        random.random(shape).astype(np.float32),
    )
    gamma, trace = 0.9, 0.7

    def worth(t: int, game: int) -> float:
        """The return of a move: its reward, plus a mixture of the next value and the next return."""
        paid, best = float(steps.rewards[t, game]), float(steps.best[t, game])
        if steps.ended[t, game]:
            return paid
        if t == shape[0] - 1:
            return paid + gamma * best
        return paid + gamma * ((1 - trace) * best + trace * worth(t + 1, game))

    slow = [[worth(t, game) for game in range(shape[1])] for t in range(shape[0])]
    assert np.allclose(returns(steps, gamma, trace), slow, atol=1e-6)


def learner(variant: Any = "eights-down", **changes: Any) -> PQN:
    env = TrainingEnv(variant, 64, reward="progress+win", stall_limit=20)
    values: dict[str, Any] = {
        "learning_rate": lambda _: 1e-3, "n_steps": 16, "batch_size": 256, "n_epochs": 2, "gamma": 0.99,
        "trace": 0.9, "exploration": (0.1, 0.0), "max_grad_norm": 1.0, "share": lambda: 0.0, "seed": 0,
        "device": "cpu", "team": Team(),
        "policy_kwargs": {"kind": "moves", "spec": env.game, "sizes": {"hidden": [32, 32]}},
    }  # fmt: skip
    env.seed(0)
    return PQN(env, **values | changes)


class Record(BaseCallback):
    """A callback that stores the moves, their masks, and the ends of games."""

    def __init__(self, model: PQN, share: list[float] | None = None) -> None:
        super().__init__()
        self.learner, self.share = model, share
        self.home: list[int] = []
        self.legal: list[bool] = []
        self.highest: list[bool] = []

    def _on_rollout_start(self) -> None:
        self.masks, self.values = self.learner.masks.copy(), self.learner.values

    def _on_step(self) -> bool:
        actions = self.locals["actions"]
        rows = np.arange(len(actions))
        dense = self.values.dense(self.masks.shape[1]).numpy()
        self.legal += (self.masks[rows, actions] == 1).tolist()
        self.highest += (dense[rows, actions] == dense.max(1)).tolist()
        # The values after a step cover only legal moves.
        seen = self.learner.values
        assert (seen.actions.numpy() == self.learner.masks.nonzero()[1]).all()
        self.masks, self.values = self.learner.masks.copy(), seen
        self.home += [info["cards_home"] for info in self.locals["infos"] if "cards_home" in info]
        return True


@pytest.mark.parametrize(("share", "greedy"), [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (1.0, 1.0)])
def test_exploration_decreases_and_is_legal(share: float, greedy: float) -> None:
    model = learner(exploration=(1.0, 0.0), share=lambda: share)
    record = Record(model)
    model.learn(2048, record)
    assert all(record.legal) and 1024 < len(record.legal) <= 2048  # the others were forced
    by_chance = np.mean(record.highest)
    assert by_chance == 1 if greedy == 1 else greedy <= by_chance < greedy + 0.45


def test_pqn_improves_play() -> None:
    """In a game with few cards, more cards go home, and the values predict the returns."""
    model = learner(SHORT["short-5, same suit, any, supermove"])
    before = Record(model)
    model.learn(4096, before)
    done = iter(np.linspace(0, 1, 2000))
    model.done = lambda: float(next(done))
    after = Record(model)
    model.learn(60_000, after, reset_num_timesteps=False)
    assert np.mean(after.home[-300:]) > np.mean(before.home[:300]) + 3
    logged = model.logger.name_to_value
    assert logged["train/value_loss"] < 0.1


@pytest.mark.slow
def test_a_pqn_run_can_be_resumed_played_and_continued_by_ppo(tmp_path: Path) -> None:
    values = VALUES | {"learner": "pqn", "batch_size": 65, "hidden": [8]}
    path = tmp_path / "pqn.yaml"
    path.write_text(str({"Solitaire/BusyAces-v0": values}).replace("None", "null"))
    outcome = command(path, "--runs", tmp_path)
    assert outcome.status == 0, outcome.err
    run = tmp_path / "busy-aces-1"
    first = curve(run)
    assert command("--resume", run, "--total-steps", 4096).status == 0
    rows = curve(run)
    assert rows[: len(first)] == first and int(rows[-1]["steps"]) >= 3840
    assert_monotone(rows)

    # The model has the averaged weights, and the resumed run continued them.
    kept, last = load_file(run / "model" / "model.safetensors"), load_file(run / "checkpoint.safetensors")
    assert all((kept[name] == last[f"policy/average.module.{name}"]).all() for name in kept)
    assert (kept["head.weight"] != last["policy/network.head.weight"]).any()

    player = load_model(run / "model", GameSpec(get_variant("busy-aces")))
    assert player.temperature == 0.01
    env = TrainingEnv("busy-aces", 8, moves="supermove")
    observations, masks = env.reset(), env.action_masks()
    probabilities, worth = player.explain(observations, masks)
    assert np.allclose(probabilities.sum(1), 1) and (probabilities[masks == 0] == 0).all()
    with th.inference_mode():
        scores = player.network.score(th.from_numpy(observations), masks).dense(masks.shape[1]).numpy()
    assert worth is not None and np.allclose(worth, scores.max(1))
    likeliest = probabilities.argmax(1)
    assert np.allclose(scores[np.arange(8), likeliest], worth)

    # PPO starts from values as from logits with the same probabilities.
    start = ("--learner", "ppo", "--batch-size", "64", "--init-from", str(run))
    config = parse_arguments([str(path), *start]).config
    model = make_model(config, env)
    logits = model.policy.get_distribution(th.from_numpy(observations), masks).distribution.probs
    np.testing.assert_allclose(logits.numpy(force=True), probabilities, atol=1e-4)
    assert command(path, "--runs", tmp_path, *start).status == 0

    # PQN does not start from logits.
    refused = command(path, "--runs", tmp_path, "--init-from", tmp_path / "busy-aces-2")
    assert_refused(refused, "its scores are logits", "values of moves")


@pytest.mark.slow
def test_only_network_moves_starts_from_values(tmp_path: Path) -> None:
    values = VALUES | {"learner": "pqn", "network": "piles", "width": 8, "embedding": 4, "context_rounds": 1}
    path = tmp_path / "pqn.yaml"
    path.write_text(str({"Solitaire/BusyAces-v0": values}).replace("None", "null"))
    assert command(path, "--runs", tmp_path).status == 0
    refused = command(path, "--runs", tmp_path, "--learner", "ppo", "--init-from", tmp_path / "busy-aces-1")
    assert_refused(refused, "its scores are values", "only a network 'moves'")


def test_values_out_of_range_are_refused(refuses: Refuses) -> None:
    for change, words in (
        ({"init_linear_temperature": 1.0}, ["init_linear_temperature", "'pqn'"]),
        ({"exploration": 1.5}, ["exploration is 1.5", "0 to 1"]),
        ({"temperature": 0.0}, ["temperature is 0.0", "more than 0"]),
        ({"learner": "dqn"}, ["learner", "dqn"]),
    ):
        values = {"env": "busy-aces", "learner": "pqn"} | change
        refuses(lambda values=values: make_config(values, "here"), *words)
