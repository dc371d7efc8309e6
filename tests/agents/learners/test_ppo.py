"""PPO: advantages and loss equal slow computations; training improves play."""

import numpy as np
import pytest
import torch as th
from sb3_contrib.common.maskable.distributions import MaskableCategorical

from agents.learners.base import Rollout
from agents.learners.ppo import estimate_advantages
from tests.agents.learners.rollouts import make_learner, rollout


def test_advantages_equal_a_slow_sum() -> None:
    random = np.random.default_rng(0)
    shape = (6, 4)
    paid, ended = random.random(shape).astype(np.float32), random.random(shape) < 0.3
    played = Rollout(np.zeros(shape, dtype=np.int64), paid, ended, [])
    values = random.random(shape).astype(np.float32)
    last = random.random(4).astype(np.float32)
    gamma, lam = 0.9, 0.8

    def advantage(t: int, game: int) -> float:
        """The discounted sum of the value's errors from a step to the end of the game."""
        total, weight = 0.0, 1.0
        for k in range(t, 6):
            after = last[game] if k == 5 else values[k + 1, game]
            ended = bool(played.ended[k, game])
            total += weight * (played.rewards[k, game] + gamma * (not ended) * after - values[k, game])
            if ended:
                break
            weight *= gamma * lam
        return total

    slow = [[advantage(t, game) for game in range(4)] for t in range(6)]
    np.testing.assert_allclose(estimate_advantages(played, values, last, gamma, lam), slow, atol=1e-5)


@pytest.mark.parametrize("network", ["moves", "mlp"])
def test_loss_equals_that_of_sb3_contrib(network: str) -> None:
    """The expected loss is computed from dense masked distributions, as in sb3-contrib."""
    model = make_learner(network=network, ent_coef=0.02)
    played, positions = rollout(model)
    targets = model.targets(played)
    with th.no_grad():
        for weights in model.policy.parameters():
            weights += 0.3 * th.randn_like(weights)  # so that some probabilities are clipped
    rows = np.random.default_rng(0).permutation(len(targets.actions))[:100]
    loss, logged = model.loss(rows, targets, 100)

    observations, masks = (np.concatenate(parts)[rows] for parts in zip(*positions[:-1], strict=True))
    seen = model.policy.network.score(th.from_numpy(observations), masks)
    logits = seen.dense(masks.shape[1]).clamp(min=-1e8)
    distribution = MaskableCategorical(logits=logits, masks=masks)
    logs = distribution.log_prob(targets.actions[rows])
    ratio = (logs - targets.logs[rows]).exp()
    advantages = targets.advantages[rows]
    gain = th.min(advantages * ratio, advantages * ratio.clamp(0.85, 1.15)).mean()
    errors = (model.policy.value_net(seen.features)[:, 0] - targets.returns[rows]).square().mean()
    entropy = distribution.entropy().mean()
    expected = -gain - 0.02 * entropy + errors
    th.testing.assert_close(loss, expected, rtol=1e-3, atol=1e-4)
    for number, slow in zip(logged[:3], (-gain, errors, -entropy), strict=True):
        assert number.item() == pytest.approx(slow.item(), rel=1e-3, abs=1e-4)
    assert 0 < logged[4] < 1

    model.policy.value_only = True
    value_loss, _ = model.loss(rows, targets, 100)
    th.testing.assert_close(value_loss, errors, rtol=1e-3, atol=1e-4)


def test_rollouts_store_the_played_actions_and_probabilities() -> None:
    """The stored probabilities are those of the network, and every action was legal."""
    model = make_learner()
    played, positions = rollout(model)
    targets = model.targets(played)
    masks = np.concatenate([masks for _, masks in positions[:-1]])
    actions = targets.actions.numpy()
    assert masks[np.arange(len(masks)), actions].all() and len(masks) == 8 * 32
    rows = np.arange(len(masks))
    seen = model.policy.network.score_cached(model.cache, rows)
    logs = seen.of(targets.actions, seen.logs())
    th.testing.assert_close(logs, targets.logs, rtol=1e-4, atol=1e-5)
    # Actions are drawn: each occurs about as often as its probability says.
    likeliest = seen.actions[seen.choose(seen.scores)]
    assert 0.1 < (likeliest == targets.actions).float().mean() < 0.9


def test_ppo_learns_which_moves_are_rewarded() -> None:
    model = make_learner(n_epochs=40, learning_rate=1e-2)
    played, _ = rollout(model)
    targets = model.targets(played)
    told = targets._replace(advantages=th.randn(len(targets.actions)))
    model.targets = lambda _: told
    model.policy.value_only = False
    before = targets.logs.clone()
    model.set_rate()
    model.train(played)
    rows = np.arange(len(before))
    seen = model.policy.network.score_cached(model.cache, rows)
    change = seen.of(targets.actions, seen.logs()) - before
    choice = change.abs() > 1e-6
    assert np.corrcoef(change[choice].detach(), told.advantages[choice])[0, 1] > 0.3
