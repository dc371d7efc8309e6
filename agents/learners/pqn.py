"""PQN (``learner: pqn``): Q-learning from many parallel games, over legal moves alone.

Gallici et al., "Simplifying Deep Temporal Difference Learning" (2024): no replay buffer and no target
network. All games play some steps with the current network, mostly the move of highest value. Then the
returns of the moves are computed backwards from the end of these steps, by Peng's Q(lambda), and the network
is fitted to them. Layer normalization in the network keeps the values from diverging.

SB3's DQN cannot be used: its buffer stores no masks, its maximum includes illegal actions, and it learns one
batch per step.
"""

from typing import Any, Final

import numpy as np
import torch as th
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from agents.config import TrainConfig
from agents.learners.base import Array, Learner, Rollout
from agents.learners.process_group import ProcessGroup
from agents.learners.training_env import TrainingEnv
from agents.networks.feature_cache import Rows
from agents.networks.scores import Scores

EXPLORATION: Final = (0.1, 0.01)
"""Probabilities of a uniformly random legal move: at the start, and from the middle of the training on; in
between it falls linearly."""
TEMPERATURE: Final = 0.01
"""The trained policy draws moves with the softmax of their values divided by this."""
AVERAGE: Final = 0.999
"""Decay of the average weights per minibatch."""
HIGH: Final = 1e3
"""Higher than every value."""


def returns(rollout: Rollout, best: Array, gamma: float, trace: float) -> Array:
    """The returns of moves, ``[steps, games]``: Peng's Q(lambda).

    Parameters
    ----------
    best
        ``[steps, games]``: the highest value of a move after each step.
    trace
        Lambda: 0 uses the value after one step, 1 all rewards to the end of the steps.
    """
    targets = np.empty_like(rollout.rewards)
    after = best[-1]
    for t in reversed(range(len(targets))):
        targets[t] = rollout.rewards[t] + gamma * ~rollout.ended[t] * after
        if t:
            after = (1 - trace) * best[t - 1] + trace * targets[t]
    return targets


class PQN(Learner):
    """Learn the value of each legal move.

    The result is ``average.module``: the network with the average weights of about the last thousand
    minibatches, which is steadier than the network after any of them.
    """

    def __init__(self, config: TrainConfig, env: TrainingEnv, group: ProcessGroup) -> None:
        super().__init__(config, env, group)
        averaged: Any = get_ema_multi_avg_fn(AVERAGE)  # type: ignore[no-untyped-call]
        self.average = AveragedModel(self.policy.network, self.device, multi_avg_fn=averaged)
        self.policy.average = self.average  # so that checkpoints include it

    def act(self) -> tuple[Rows, Scores]:
        """Choose the moves of highest value, ``[games]``, sometimes replaced by a random legal move. Kept are
        the values.
        """
        _, seen = self.see()
        first, last = EXPLORATION
        share = first + (last - first) * min(1.0, 2 * self.group.share)
        explores = th.rand(len(self.seen), device=seen.games.device) < share
        drawn = HIGH + th.rand_like(seen.scores)
        chosen = seen.choose(th.where(explores[seen.games], drawn, seen.scores))
        return seen.actions[chosen].cpu().numpy(), seen

    def train(self, rollout: Rollout) -> None:
        """Learn the returns of the moves of a rollout."""
        _, last = self.see()
        best = np.stack([seen.highest(seen.scores).cpu() for seen in [*rollout.kept[1:], last]])
        of_moves = returns(rollout, best, self.config.gamma, self.config.gae_lambda)
        targets = th.from_numpy(of_moves.ravel()).to(self.device)
        after = last.actions[last.choose(last.scores)].cpu().numpy()
        chosen_moves = self.cache.choose(np.concatenate((rollout.actions.ravel(), after)))
        network = self.policy.network

        def loss_of(rows: Rows, n: float) -> tuple[th.Tensor, th.Tensor]:
            scores = network.score_cached(chosen_moves, rows).scores
            loss = (scores - targets[rows]).square().sum() / n
            return loss, loss[None]

        losses = self.pass_over(len(targets), list(network.parameters()), loss_of)
        self.logger.record("train/value_loss", float(losses.mean()))
        self.logger.record("train/explained_variance", 1 - losses[-1, 0] / max(targets.var().item(), 1e-12))
        self.logger.record("train/value", targets.mean().item())

    def end_minibatch(self) -> None:
        """Update the average weights."""
        self.average.update_parameters(self.policy.network)
