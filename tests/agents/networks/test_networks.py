"""The networks, and the policy of SB3 over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as th
from sb3_contrib import MaskablePPO

from agents.networks import NETWORKS, MlpNetwork, MovesNetwork
from agents.networks.sb3_policy import NetworkPolicy
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.policies.linear import Linear
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses

GAMES = ("busy-aces", "eights-down", "klondike", "zebra")
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def positions(variant: Variant, steps: int = 60, size: int = 16, **settings: Any) -> th.Tensor:
    """Observations of games after some random moves."""
    return th.from_numpy(_played(variant, steps, size, **settings).observations().copy())


def _played(variant: Variant, steps: int, size: int, **settings: Any) -> Batch:
    batch = Batch(GameSpec(variant, Settings(**settings)), size)
    batch.deal(np.arange(size), range(size))
    random = np.random.default_rng(0)
    for _ in range(steps):
        mask = batch.state.mask
        batch.step((mask * (1 - random.random(mask.shape))).argmax(1), batch.everyone)
    return batch


def masks_of(variant: Variant, steps: int = 60, size: int = 16, **settings: Any) -> Any:
    """The masks of the same games."""
    return _played(variant, steps, size, **settings).state.mask.copy()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_rows_are_scored_independently(name: str, kind: str) -> None:
    network = NETWORKS[kind](GameSpec(get_variant(name)))
    observations, masks = positions(get_variant(name), size=4), masks_of(get_variant(name), size=4)
    together = network.score(observations, masks)
    for k in range(4):
        alone = network.score(observations[k : k + 1], masks[k : k + 1])
        of_game = together.games == k
        assert together.actions[of_game].tolist() == alone.actions.tolist() == masks[k].nonzero()[0].tolist()
        th.testing.assert_close(together.scores[of_game], alone.scores, **TOLERANCE)
        th.testing.assert_close(together.features[k : k + 1], alone.features, **TOLERANCE)
    th.testing.assert_close(network.value(observations), together.features, **TOLERANCE)
    assert together.scores.isfinite().all() and together.features.isfinite().all()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("kind", NETWORKS)
def test_gradient_reaches_every_parameter(name: str, kind: str) -> None:
    network = NETWORKS[kind](GameSpec(get_variant(name)))
    # Few steps: in a finished game, no move has an effect.
    observations, masks = positions(get_variant(name), steps=10), masks_of(get_variant(name), steps=10)
    if kind != "moves":
        masks[:] = 1  # they score all actions
    seen = network.score(observations, masks)
    (seen.scores.square().sum() + seen.features.sum()).backward()
    unreached = {name for name, w in network.named_parameters() if w.grad is None or not w.grad.any()}
    assert not unreached


@th.no_grad()
def test_moves_network_without_head_is_the_linear_policy() -> None:
    """Without its head, the score is the weighted sum of the move's features."""
    variant = get_variant("busy-aces").with_rules(moves="supermove")
    spec = GameSpec(variant)
    network = MovesNetwork(spec)
    network.head.weight.zero_()
    weights = th.randn(NUM_MOVE)
    network.linear.weight.copy_(weights)
    observations, masks = positions(variant), masks_of(variant)
    scores = network.score(observations, masks).dense(masks.shape[1])
    linear = Linear(spec, weights.numpy())
    assert scores.argmax(1).tolist() == linear(observations.numpy(), masks).tolist()


@pytest.mark.parametrize("kind", NETWORKS)
def test_unsupported_observations_are_refused(kind: str, refuses: Refuses) -> None:
    variant = get_variant("busy-aces")
    features = GameSpec(variant, Settings(observation="features"))
    if kind == "mlp":
        scores, hidden = MlpNetwork(features, hidden=(8, 4))(positions(variant, observation="features"))
        assert scores.shape == (16, 171) and hidden.shape == (16, 4)
    else:
        refuses(lambda: NETWORKS[kind](features), kind.removesuffix("s"), "'cards'", "'features'")
    thoughtful = Settings(information="thoughtful")
    network = NETWORKS[kind](GameSpec(variant, thoughtful))
    seen = network.score(
        positions(variant, information="thoughtful"), masks_of(variant, information="thoughtful")
    )
    assert len(seen.features) == 16


def policy_of(kind: str) -> tuple[MaskablePPO, NetworkPolicy, Any, Any]:
    """A model with its policy, and observations and masks of its games."""
    env = SolitaireVecEnv("eights-down", 8)
    env.seed(0)
    model = MaskablePPO(
        NetworkPolicy,
        env,
        n_steps=8,
        policy_kwargs={"kind": kind, "spec": env.game, "sizes": {}},
        device="cpu",
    )
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    return model, policy, env.reset(), env.action_masks()


@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_policy_uses_the_scores_of_its_network(kind: str) -> None:
    model, policy, observations, masks = policy_of(kind)
    seen = policy.network.score(th.from_numpy(observations), masks)
    expected = seen.dense(masks.shape[1])
    actions, _ = model.predict(observations, action_masks=masks, deterministic=True)
    assert actions.tolist() == expected.argmax(1).tolist()
    distribution = policy.get_distribution(th.from_numpy(observations), masks)
    th.testing.assert_close(distribution.distribution.probs, expected.softmax(1), **TOLERANCE)
    th.testing.assert_close(
        policy.predict_values(th.from_numpy(observations)), policy.value_net(seen.features)
    )
    optimized = [id(weights) for group in policy.optimizer.param_groups for weights in group["params"]]
    assert sorted(optimized) == sorted(map(id, policy.parameters()))


@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_probabilities_equal_those_of_a_dense_distribution(kind: str) -> None:
    _, policy, observations, masks = policy_of(kind)
    given = th.from_numpy(observations)
    for head in (
        policy.value_net.weight,
        *(w for n, w in policy.network.named_parameters() if "scor" in n or "head" in n),
    ):
        head.normal_()
    dense = policy.get_distribution(given, masks)
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
    assert dense.distribution.probs is not None
    for game, expected in enumerate(dense.distribution.probs):
        shares = th.bincount(drawn[:, game], minlength=len(expected)) / len(drawn)
        assert (shares - expected).abs().max() < 0.05
    # Without masks, every action counts as legal.
    actions, _, logs = policy(given, True)
    assert logs.isfinite().all() and actions.shape == (8,)
