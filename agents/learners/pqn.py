"""PQN (``learner: pqn``): Q-learning from many parallel games, over legal moves alone.

Gallici et al., "Simplifying Deep Temporal Difference Learning" (2024): no replay buffer and no target
network. All games play some steps with the current network, mostly the move of highest value. Then the
returns of the moves are computed backwards from the end of these steps, by Peng's Q(lambda), and the network
is fitted to them. Layer normalization in the network keeps the values from diverging.

SB3's DQN cannot be used: its buffer stores no masks, its maximum includes illegal actions, and it learns one
batch per step. So this is a separate algorithm on SB3's base class, with SB3's callbacks and loggers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from agents.config import TrainConfig
from agents.learners.base import TeamLearner
from agents.learners.parallel import make_minibatches, set_gradients
from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.networks.feature_cache import Rows
from agents.networks.scores import Scores

Array = npt.NDArray[Any]


AVERAGE = 0.999
"""Decay of the average weights per minibatch."""
HIGH = 1e3
"""Higher than every value."""


class Steps(NamedTuple):
    """A rollout: the steps of all games; arrays ``[steps, games]`` first."""

    actions: Array
    rewards: Array
    ended: Array
    best: Array
    """The highest value of a move after the step."""


def returns(steps: Steps, gamma: float, trace: float) -> Array:
    """The returns of moves, ``[steps, games]``: Peng's Q(lambda).

    Parameters
    ----------
    trace
        Lambda: 0 uses the value after one step, 1 all rewards to the end of the steps.
    """
    targets = np.empty_like(steps.rewards)
    after = steps.best[-1]
    for t in reversed(range(len(targets))):
        targets[t] = steps.rewards[t] + gamma * ~steps.ended[t] * after
        if t:
            after = (1 - trace) * steps.best[t - 1] + trace * targets[t]
    return targets


class PQN(TeamLearner):
    """Learn the value of each legal move.

    The result is ``average.module``: the network with the average weights of about the last thousand
    minibatches, which is steadier than the network after any of them.

    Parameters
    ----------
    share
        Returns the completed share of the training, 0 to 1.
    exploration
        Probabilities of a uniformly random legal move: at the start, and from the middle of the training on;
        linear in between.
    trace
        Lambda of the returns.
    """

    def __init__(
        self, env: TrainingEnv, *, n_steps: int, batch_size: int, n_epochs: int, gamma: float, trace: float,
        exploration: tuple[float, float], max_grad_norm: float, share: Callable[[], float], **shared: Any,
    ) -> None:  # fmt: skip
        self.n_steps, self.batch_size, self.n_epochs = n_steps, batch_size, n_epochs
        self.gamma, self.trace, self.exploration = gamma, trace, exploration
        self.max_grad_norm = max_grad_norm
        self.done = share
        super().__init__(env, **shared)

    def _setup_model(self) -> None:
        super()._setup_model()
        averaged: Any = get_ema_multi_avg_fn(AVERAGE)  # type: ignore[no-untyped-call]
        self.average = AveragedModel(self.policy.network, self.device, multi_avg_fn=averaged)
        self.policy.average = self.average  # so that checkpoints include it

    def see(self, observations: Any) -> None:
        """Store the positions and the values of their moves."""
        super().see(observations)
        self.masks = self.env.action_masks()
        self.values = self.value()

    def value(self) -> Scores:
        """Cache the current positions; return the values of their legal moves."""
        rows = self.cache.add(self.seen, self.masks)
        with th.inference_mode():
            return self.policy.network.score_cached(self.cache, rows)  # type: ignore[arg-type]

    def choose(self) -> Array:
        """Moves of highest value, ``[games]``, sometimes replaced by a random legal move."""
        seen = self.values
        first, last = self.exploration
        share = first + (last - first) * min(1.0, 2 * self.done())
        explores = th.rand(len(self.masks), device=seen.games.device) < share
        drawn = HIGH + th.rand_like(seen.scores)
        chosen = seen.choose(th.where(explores[seen.games], drawn, seen.scores))
        actions: Array = seen.actions[chosen].cpu().numpy()
        return actions

    def play(self, callback: Any) -> Steps | None:
        """Play ``n_steps`` of all games; None when the callback ends the training."""
        self.begin_rollout(callback)
        n = len(self.masks)
        steps = Steps(
            np.empty((self.n_steps, n), dtype=np.int64),
            np.empty((self.n_steps, n), dtype=np.float32),
            np.empty((self.n_steps, n), dtype=np.bool_),
            np.empty((self.n_steps, n), dtype=np.float32),
        )
        for t in range(self.n_steps):
            actions = self.choose()
            steps.actions[t] = actions
            played = self.step(actions, callback)
            if played is None:
                return None
            steps.rewards[t], steps.ended[t] = played
            steps.best[t] = self.values.highest(self.values.scores).cpu()
        self.end_rollout(callback)
        return steps

    def train(self, steps: Steps) -> None:
        """Learn the returns of the moves of these steps."""
        self._update_learning_rate(self.policy.optimizer)
        targets = th.from_numpy(returns(steps, self.gamma, self.trace).ravel()).to(self.device)
        last = self.values.actions[self.values.choose(self.values.scores)].cpu().numpy()
        chosen_moves = self.cache.choose(np.concatenate((steps.actions.ravel(), last)))
        network = self.policy.network
        parameters = list(network.parameters())

        def loss_of(rows: Rows, size: float) -> tuple[th.Tensor, th.Tensor]:
            scores = network.score_cached(chosen_moves, rows).scores  # type: ignore[arg-type]
            loss = (scores - targets[rows]).square().sum() / size
            return loss, loss[None]

        losses = []
        for _ in range(self.n_epochs):
            parts, size = make_minibatches(self.team, len(targets), self.batch_size, self.random)
            for rows in parts:
                [loss] = set_gradients(
                    self.team, parameters, partial(loss_of, size=size), rows, self.max_grad_norm
                )
                self.policy.optimizer.step()
                self.average.update_parameters(network)
                losses.append(loss)
        self.logger.record("train/value_loss", float(np.mean(losses)))
        self.logger.record("train/explained_variance", 1 - losses[-1] / max(targets.var().item(), 1e-12))
        self.logger.record("train/value", targets.mean().item())


def make_pqn(
    config: TrainConfig, env: TrainingEnv, rate: Callable[[float], float], policy: dict[str, Any],
    share: Callable[[], float], team: Team,
) -> PQN:  # fmt: skip
    """The learner of a configuration; ``policy`` holds the arguments of :class:`NetworkPolicy`."""
    keys = ("n_steps", "batch_size", "n_epochs", "gamma", "max_grad_norm", "seed", "device")
    return PQN(
        env, learning_rate=rate, policy_kwargs=policy, team=team, share=share, trace=config.gae_lambda,
        exploration=(config.exploration, config.exploration_end),
        **{key: getattr(config, key) for key in keys},
    )  # fmt: skip
