"""PPO (``learner: ppo``) over legal moves; :meth:`PPO.loss` is the loss.

Schulman et al., "Proximal Policy Optimization Algorithms" (2017). Each update plays ``n_steps`` of all games,
estimates advantages (``gamma``, ``gae_lambda``) and takes ``n_epochs`` passes over minibatches of
``batch_size`` positions. The features of a position are cached for all passes. Each minibatch is shared
by the processes of a team.

:mod:`agents.learners.maskable_ppo` is sb3-contrib's, which computes the same loss in several times the time.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th

from agents.config import TrainConfig
from agents.learners.base import TeamLearner
from agents.learners.parallel import make_minibatches, set_gradients
from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.networks.feature_cache import Rows

Floats = npt.NDArray[np.float32]


class Steps(NamedTuple):
    """A rollout: the steps of all games; arrays ``[steps, games]``."""

    actions: Rows
    logs: Floats
    """Logarithms of the probabilities of the actions."""
    values: Floats
    """Values of the positions before them."""
    rewards: Floats
    ended: npt.NDArray[np.bool_]


class Targets(NamedTuple):
    """Training targets of positions, arrays ``[positions]``."""

    actions: th.Tensor
    logs: th.Tensor
    """Logarithms of the probabilities of the actions when they were played."""
    advantages: th.Tensor
    returns: th.Tensor


def estimate_advantages(steps: Steps, last: Floats, gamma: float, gae_lambda: float) -> Floats:
    """Generalized advantage estimates, ``[steps, games]``; ``last`` ``[games]`` are the final values."""
    advantages = np.empty_like(steps.rewards)
    after, trace = last, np.zeros_like(last)
    for t in reversed(range(len(advantages))):
        goes_on = ~steps.ended[t]
        delta = steps.rewards[t] + gamma * goes_on * after - steps.values[t]
        advantages[t] = trace = delta + gamma * gae_lambda * goes_on * trace
        after = steps.values[t]
    return advantages


class PPO(TeamLearner):
    """PPO, see the module. Parameters are keys of :class:`agents.config.TrainConfig`, and those that all
    learners share.
    """

    def __init__(
        self, env: TrainingEnv, *, n_steps: int, batch_size: int, n_epochs: int, gamma: float,
        gae_lambda: float, clip_range: float, ent_coef: float, vf_coef: float, max_grad_norm: float,
        **shared: Any,
    ) -> None:  # fmt: skip
        self.n_steps, self.batch_size, self.n_epochs = n_steps, batch_size, n_epochs
        self.gamma, self.gae_lambda, self.clip_range = gamma, gae_lambda, clip_range
        self.ent_coef, self.vf_coef, self.max_grad_norm = ent_coef, vf_coef, max_grad_norm
        super().__init__(env, **shared)

    # ------------------------------------------------------------------------------- playing

    def play(self, callback: Any) -> Targets | None:
        """Play ``n_steps`` of all games; None when the callback ends the training."""
        self.begin_rollout(callback)
        shape = (self.n_steps, self.env.num_envs)
        steps = Steps(
            np.empty(shape, dtype=np.int64),
            np.empty(shape, dtype=np.float32),
            np.empty(shape, dtype=np.float32),
            np.empty(shape, dtype=np.float32),
            np.empty(shape, dtype=np.bool_),
        )
        for t in range(self.n_steps):
            steps.actions[t], steps.logs[t], steps.values[t] = self.act()
            played = self.step(steps.actions[t], callback)
            if played is None:
                return None
            steps.rewards[t], steps.ended[t] = played
        self.end_rollout(callback)
        _, _, last = self.act()  # cached too, but not learned from
        advantages = estimate_advantages(steps, last, self.gamma, self.gae_lambda)
        parts = (steps.actions, steps.logs, advantages, advantages + steps.values)
        return Targets(*(th.from_numpy(part.ravel()).to(self.device) for part in parts))

    def act(self) -> tuple[Rows, Floats, Floats]:
        """Cache the current positions and choose a move in each: actions, logarithms of their probabilities,
        and values of the positions, ``[games]`` each.
        """
        rows = self.cache.add(self.seen, self.env.action_masks())
        with th.no_grad():
            seen = self.policy.network.score_cached(self.cache, rows)  # type: ignore[arg-type]
            logs = seen.logs()
            actions, chosen_logs = self.policy.choose(seen, logs, deterministic=False)
            values = self.policy.value_net(seen.features)[:, 0]
            return actions.cpu().numpy(), chosen_logs.cpu().numpy(), values.cpu().numpy()

    # ------------------------------------------------------------------------------- learning

    def loss(self, rows: Rows, targets: Targets, n: float) -> tuple[th.Tensor, th.Tensor]:
        """The contribution of some positions to the loss of a minibatch of ``n``, and logged values: losses
        of policy, value and entropy, the divergence from the policy that played, and clipped probabilities.
        """
        seen = self.policy.network.score_cached(self.cache, rows)  # type: ignore[arg-type]
        actions, before, advantages, returns = (part[rows] for part in targets)
        all_logs = seen.logs()
        logs = seen.of(actions, all_logs)
        errors = (self.policy.value_net(seen.features)[:, 0] - returns).square()
        change = logs - before
        ratio = change.exp()
        clipped = ratio.clamp(1 - self.clip_range, 1 + self.clip_range)
        gains = th.minimum(advantages * ratio, advantages * clipped)
        total = self.vf_coef * errors.sum()
        negative_entropy = gains.new_zeros(())
        if self.ent_coef:
            negative_entropy = (all_logs.exp() * all_logs).sum()
        if not self.policy.value_only:
            total = total - gains.sum() + self.ent_coef * negative_entropy
        divergence = (ratio - 1 - change).sum()
        logged = (-gains.sum(), errors.sum(), negative_entropy, divergence, (ratio != clipped).sum())
        return total / n, th.stack([number.detach().float() for number in logged]) / n

    def train(self, targets: Targets) -> None:
        """Run the passes of an update."""
        self._update_learning_rate(self.policy.optimizer)
        returns, advantages = targets.returns, targets.advantages
        moments = [part.sum().item() for part in (advantages, advantages**2, returns, returns**2)]
        *sums, n = self.team.sum([*moments, len(returns)])
        mean, square, other_mean, other_square = (number / n for number in sums)
        variance, spread = square - mean**2, other_square - other_mean**2
        self.logger.record("train/explained_variance", 1 - variance / max(spread, 1e-12))
        targets = targets._replace(advantages=(advantages - mean) / (variance**0.5 + 1e-8))
        logged = []
        for _ in range(self.n_epochs):
            parts, size = make_minibatches(self.team, len(returns), self.batch_size, self.random)
            logged += [self.learn_minibatch(rows, targets, size) for rows in parts]
        names = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction")
        for name, number in zip(names, np.mean(logged, axis=0), strict=True):
            self.logger.record(f"train/{name}", float(number))

    def learn_minibatch(self, rows: Rows, targets: Targets, size: float) -> npt.NDArray[np.float64]:
        """Take one step of Adam with a minibatch of ``size`` positions; return the logged values."""
        logged = set_gradients(
            self.team, list(self.policy.parameters()), lambda part: self.loss(part, targets, size), rows,
            self.max_grad_norm,
        )  # fmt: skip
        self.policy.optimizer.step()
        return logged


KEYS: Final = (
    "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef",
    "max_grad_norm", "seed", "device",
)  # fmt: skip
"""Keys of a configuration that PPO takes unchanged, here and in sb3-contrib."""


def make_ppo(
    config: TrainConfig, env: TrainingEnv, rate: Callable[[float], float], policy: dict[str, Any], team: Team
) -> PPO:
    """The learner of a configuration; ``policy`` holds the arguments of :class:`NetworkPolicy`."""
    keys = {key: getattr(config, key) for key in KEYS}
    return PPO(env, learning_rate=rate, policy_kwargs=policy, team=team, **keys)
