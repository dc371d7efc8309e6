"""The networks, and the policy of SB3 over them."""

from typing import Any

import numpy as np
import pytest
import torch as th
from sb3_contrib import MaskablePPO

from agents.config import make_config
from agents.learners.factory import make_model
from agents.learners.pqn import PQN
from agents.learners.training_env import make_env
from agents.networks import NETWORKS, MlpNetwork, MovesNetwork
from agents.networks.sb3_policy import NetworkPolicy
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.policies.linear import Linear, weights_of
from solitaire_env.sb3 import SolitaireVecEnv
from tests.conftest import Refuses
from tests.policies.model_folders import played, spec_of

GAMES = ("busy-aces", "eights-down", "klondike", "zebra")
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def positions(spec: GameSpec, size: int = 16) -> tuple[th.Tensor, Any]:
    """Observations and masks of games after some random moves."""
    batch = played(spec, 60, size)
    return th.from_numpy(batch.observations().copy()), batch.state.mask.copy()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_rows_are_scored_independently(name: str, kind: str) -> None:
    network = NETWORKS[kind](spec_of(name))
    observations, masks = positions(spec_of(name), size=4)
    together = network.score(observations, masks)
    for k in range(4):
        alone = network.score(observations[k : k + 1], masks[k : k + 1])
        of_game = together.games == k
        assert together.actions[of_game].tolist() == alone.actions.tolist() == masks[k].nonzero()[0].tolist()
        th.testing.assert_close(together.scores[of_game], alone.scores, **TOLERANCE)
        th.testing.assert_close(together.features[k : k + 1], alone.features, **TOLERANCE)
    th.testing.assert_close(network.value(observations), together.features, **TOLERANCE)
    assert together.scores.isfinite().all() and together.features.isfinite().all()


@th.no_grad()
def test_moves_network_without_head_is_the_linear_policy() -> None:
    """Without its head, the score is the weighted sum of the move's features."""
    spec = spec_of("busy-aces", "supermove")
    network = MovesNetwork(spec)
    network.head.weight.zero_()
    weights = th.randn(NUM_MOVE)
    network.linear.weight.copy_(weights)
    observations, masks = positions(spec)
    scores = network.score(observations, masks).dense(masks.shape[1])
    linear = Linear(spec, weights.numpy())
    assert scores.argmax(1).tolist() == linear(observations.numpy(), masks).tolist()


@pytest.mark.parametrize("kind", NETWORKS)
def test_unsupported_observations_are_refused(kind: str, refuses: Refuses) -> None:
    features, thoughtful = (
        spec_of("busy-aces").view(**settings)
        for settings in ({"observation": "features"}, {"information": "thoughtful"})
    )
    if kind == "mlp":
        scores, hidden = MlpNetwork(features, hidden=(8, 4))(positions(features)[0])
        assert scores.shape == (16, 171) and hidden.shape == (16, 4)
    else:
        refuses(lambda: NETWORKS[kind](features), kind.removesuffix("s"), "'cards'", "'features'")
    assert len(NETWORKS[kind](thoughtful).score(*positions(thoughtful)).features) == 16


@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_policy_uses_the_probabilities_of_its_network(kind: str) -> None:
    """The expected values are those of a dense masked distribution."""
    env = SolitaireVecEnv("eights-down", 8)
    env.seed(0)
    about = {"kind": kind, "spec": env.game, "sizes": {}}
    model = MaskablePPO(NetworkPolicy, env, n_steps=8, policy_kwargs=about, device="cpu")
    policy: Any = model.policy
    for name, weights in policy.named_parameters():
        if "value_net.weight" in name or "scor" in name or "head" in name:
            weights.normal_()
    observations, masks = np.asarray(env.reset()), env.action_masks()
    given = th.from_numpy(observations)
    seen = policy.network.score(given, masks)
    expected = seen.dense(masks.shape[1])
    actions, _ = model.predict(observations, action_masks=masks, deterministic=True)
    assert actions.tolist() == expected.argmax(1).tolist()
    dense = policy.get_distribution(given, masks)
    th.testing.assert_close(dense.distribution.probs, expected.softmax(1), **TOLERANCE)
    th.testing.assert_close(policy.predict_values(given), policy.value_net(seen.features))
    for deterministic in (False, True):
        actions, values, logs = policy(given, deterministic, masks)
        assert masks[np.arange(8), actions.numpy()].all()
        th.testing.assert_close(logs, dense.log_prob(actions), **TOLERANCE)
        again, same_logs, entropy = policy.evaluate_actions(given, actions, th.from_numpy(masks))
        th.testing.assert_close(again, values)
        th.testing.assert_close(same_logs, logs)
        th.testing.assert_close(entropy, dense.entropy(), **TOLERANCE)
    th.manual_seed(0)
    drawn = th.stack([policy(given, False, masks)[0] for _ in range(2000)])
    for game, probabilities in enumerate(dense.distribution.probs):
        shares = th.bincount(drawn[:, game], minlength=len(probabilities)) / len(drawn)
        assert (shares - probabilities).abs().max() < 0.05
    # Without masks, every action counts as legal.
    actions, _, logs = policy(given, True)
    assert logs.isfinite().all() and actions.shape == (8,)
    optimized = [id(weights) for group in policy.optimizer.param_groups for weights in group["params"]]
    assert sorted(optimized) == sorted(map(id, policy.parameters()))


@th.no_grad()
def test_a_network_without_policy_weights_plays_no_moves() -> None:
    network = MovesNetwork(spec_of("busy-aces"), (8,), 8, dig_out=1, rollout_lookahead=3)
    observations = played(spec_of("busy-aces"), 10, 4).observations()
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
    weights = th.from_numpy(weights_of(spec_of("forty-bandits"))).float()
    assert weights.abs().sum() > 0
    model.learn(8 * 16)
    kept = model.average.module if isinstance(model, PQN) else model.policy.network
    assert isinstance(kept, MovesNetwork) and (kept.lookahead_weights == weights).all()
