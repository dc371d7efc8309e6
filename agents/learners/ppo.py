"""PPO (``learner: ppo``) over legal moves; :meth:`PPO.loss` is the loss.

Schulman et al., "Proximal Policy Optimization Algorithms" (2017). Advantages are estimated with ``gamma`` and
``gae_lambda``.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th

from agents.learners.base import Learner, Rollout
from agents.networks.feature_cache import Rows

Floats = npt.NDArray[np.float32]


class Targets(NamedTuple):
    """Training targets of positions, arrays ``[positions]``."""

    actions: th.Tensor
    logs: th.Tensor
    """Logarithms of the probabilities of the actions when they were played."""
    advantages: th.Tensor
    returns: th.Tensor


def estimate_advantages(
    rollout: Rollout, values: Floats, last: Floats, gamma: float, gae_lambda: float
) -> Floats:
    """Generalized advantage estimates, ``[steps, games]``; ``values`` are those of the positions before each
    step, and ``last`` ``[games]`` those at the end.
    """
    advantages = np.empty_like(rollout.rewards)
    after, trace = last, np.zeros_like(last)
    for t in reversed(range(len(advantages))):
        goes_on = ~rollout.ended[t]
        delta = rollout.rewards[t] + gamma * goes_on * after - values[t]
        advantages[t] = trace = delta + gamma * gae_lambda * goes_on * trace
        after = values[t]
    return advantages


class PPO(Learner):
    """See the module."""

    def act(self) -> tuple[Rows, tuple[Floats, Floats]]:
        """Choose a move in each position. Kept are the logarithms of their probabilities and the values of
        the positions, ``[games]`` each.
        """
        _, seen = self.see()
        with th.inference_mode():
            logs = seen.logs()
            chosen = seen.draw(logs)
            values = self.policy.value_net(seen.features)[:, 0]
            return seen.actions[chosen].cpu().numpy(), (logs[chosen].cpu().numpy(), values.cpu().numpy())

    def targets(self, rollout: Rollout) -> Targets:
        """What is learned from a rollout."""
        logs, values = (np.stack(part) for part in zip(*rollout.kept, strict=True))
        _, (_, last) = self.act()  # cached too, but not learned from
        advantages = estimate_advantages(rollout, values, last, self.config.gamma, self.config.gae_lambda)
        parts = (rollout.actions, logs, advantages, advantages + values)
        return Targets(*(th.from_numpy(part.ravel()).to(self.device) for part in parts))

    def loss(self, rows: Rows, targets: Targets, n: float) -> tuple[th.Tensor, th.Tensor]:
        """The contribution of some positions to the loss of a minibatch of ``n``, and logged values: losses
        of policy, value and entropy, the divergence from the policy that played, and clipped probabilities.
        """
        clip_range, ent_coef = self.config.clip_range, self.config.ent_coef
        seen = self.policy.network.score_cached(self.cache, rows)
        actions, before, advantages, returns = (part[rows] for part in targets)
        all_logs = seen.logs()
        logs = seen.of(actions, all_logs)
        errors = (self.policy.value_net(seen.features)[:, 0] - returns).square()
        change = logs - before
        ratio = change.exp()
        clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
        gains = th.minimum(advantages * ratio, advantages * clipped)
        total = errors.sum()
        negative_entropy = gains.new_zeros(())
        if ent_coef:
            negative_entropy = (all_logs.exp() * all_logs).sum()
        if not self.policy.value_only:
            total = total - gains.sum() + ent_coef * negative_entropy
        divergence = (ratio - 1 - change).sum()
        logged = (-gains.sum(), errors.sum(), negative_entropy, divergence, (ratio != clipped).sum())
        return total / n, th.stack([number.detach().float() for number in logged]) / n

    def train(self, rollout: Rollout) -> None:
        """Learn from a rollout."""
        targets = self.targets(rollout)
        returns, advantages = targets.returns, targets.advantages
        moments = [part.sum().item() for part in (advantages, advantages**2, returns, returns**2)]
        *sums, n = self.group.sum([*moments, len(returns)])
        mean, square, other_mean, other_square = (number / n for number in sums)
        variance, spread = square - mean**2, other_square - other_mean**2
        self.logger.record("train/explained_variance", 1 - variance / max(spread, 1e-12))
        targets = targets._replace(advantages=(advantages - mean) / (variance**0.5 + 1e-8))
        parameters = list(self.policy.parameters())
        logged = self.pass_over(len(returns), parameters, partial(self.loss, targets=targets))
        names = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction")
        for name, number in zip(names, logged.mean(0), strict=True):
            self.logger.record(f"train/{name}", float(number))
