"""Networks with rollout lookahead."""

from __future__ import annotations

import numpy as np
import pytest
import torch as th

from agents.config import make_config
from agents.learners.factory import make_model
from agents.learners.pqn import PQN
from agents.learners.training_env import make_env
from agents.networks import MovesNetwork
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies.linear import weights_of
from tests.games import ALL_GAMES
from tests.move_features.test_moves import played


@th.no_grad()
def test_a_network_without_policy_weights_plays_no_moves() -> None:
    network = MovesNetwork(GameSpec(get_variant("busy-aces")), (8,), 8, dig_out=1, rollout_lookahead=3)
    observations = played(ALL_GAMES["busy-aces"], 10, 4).observations()
    positions = network.read_features(observations, np.zeros((4, 0), dtype=np.int8)).positions
    assert (positions[:, -2] == 0).all()


@pytest.mark.parametrize("learner", ["ppo", "pqn"])
def test_lookahead_follows_the_linear_policy_in_training(learner: str) -> None:
    """Training does not change the weights of the linear policy, and the model stores them."""
    sizes = {"hidden": [8], "width": 8, "rollout_lookahead": 3, "relaxed_reachability": 1}
    given = {"num_envs": 8, "n_steps": 16, "batch_size": 32, **sizes}
    config = make_config({"env": "forty-bandits", "learner": learner, **given}, "test")
    env = make_env(config)
    model = make_model(config, env)
    weights = th.from_numpy(weights_of(GameSpec(get_variant("forty-bandits")))).float()
    assert weights.abs().sum() > 0
    model.learn(8 * 16)
    kept = model.average.module if isinstance(model, PQN) else model.policy.network
    assert isinstance(kept, MovesNetwork) and (kept.lookahead_weights == weights).all()
