"""The loop of playing and learning, which PPO, PQN and learning from playouts share.

Each update plays ``n_steps`` of all games and caches the features of their positions; then ``n_epochs``
passes over minibatches learn from them. Each minibatch is shared by the processes of a group.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import get_device

from agents.config import TrainConfig
from agents.learners.parallel import make_minibatches, set_gradients
from agents.learners.process_group import ProcessGroup
from agents.learners.training_env import TrainingEnv, derived_seed
from agents.networks.actor_critic import ActorCritic
from agents.networks.feature_cache import Rows
from agents.networks.scores import Scores

Array = npt.NDArray[Any]


class Rollout(NamedTuple):
    """The steps of a rollout."""

    actions: Rows
    """``[steps, games]``."""
    rewards: npt.NDArray[np.float32]
    """``[steps, games]``."""
    ended: npt.NDArray[np.bool_]
    """``[steps, games]``."""
    kept: list[Any]
    """For each step, what :meth:`Learner.act` returned besides the actions."""


class Learner:
    """A learner whose processes train together.

    Parameters
    ----------
    config
        The configuration.
    env
        This process's games.
    group
        The processes; ``group.share`` is the completed share of the training, 0 to 1.
    """

    def __init__(self, config: TrainConfig, env: TrainingEnv, group: ProcessGroup) -> None:
        self.config, self.env, self.group = config, env, group
        self.device = get_device(config.device)
        self.random = np.random.default_rng([config.seed, group.rank])
        self.logger = Logger(None, [])
        self.num_timesteps = 0
        """Steps of all games until now."""
        th.manual_seed(config.seed)
        env.seed(derived_seed(config.seed, group.rank))
        self.policy = ActorCritic(
            config.network, config.spec, config.network_sizes, config.rate_at(group.share)
        ).to(self.device)

    def set_logger(self, logger: Logger) -> None:
        """Log there from now on."""
        self.logger = logger

    def learn(self, total_timesteps: int, callback: BaseCallback | None = None) -> None:
        """Play and learn until a callback of SB3 ends it, or for ``total_timesteps`` steps of all games."""
        callback = callback or CallbackList([])
        callback.init_callback(self)  # type: ignore[arg-type]  # reads the logger and the number of steps
        callback.on_training_start({}, {})
        self.begin()
        while self.num_timesteps < total_timesteps and (rollout := self.play(callback)) is not None:
            self.set_rate()
            self.train(rollout)
            self.logger.dump(self.num_timesteps)
        callback.on_training_end()

    def begin(self) -> None:
        """Deal the first games."""
        self.cache: Any = self.policy.network.make_cache()
        self.seen = np.asarray(self.env.reset())

    def set_rate(self) -> None:
        """Set the learning rate of the completed share of the training."""
        rate = self.config.rate_at(self.group.share)
        self.policy.optimizer.param_groups[0]["lr"] = rate
        self.logger.record("train/learning_rate", rate)

    def play(self, callback: BaseCallback) -> Rollout | None:
        """Play ``n_steps`` of all games; None when the callback ends the training."""
        self.cache.clear()
        before = self.num_timesteps
        callback.on_rollout_start()
        shape = (self.config.n_steps, self.env.num_envs)
        rollout = Rollout(
            np.empty(shape, np.int64), np.empty(shape, np.float32), np.empty(shape, np.bool_), []
        )
        for t in range(self.config.n_steps):
            rollout.actions[t], kept = self.act()
            rollout.kept.append(kept)
            observations, rollout.rewards[t], dones, infos = self.env.step(rollout.actions[t])
            rollout.ended[t] = dones
            self.seen = np.asarray(observations)
            self.num_timesteps += self.env.steps
            callback.update_locals({"dones": dones, "infos": infos})
            if not callback.on_step():
                return None
        # Until now, only the steps of this process are counted.
        self.num_timesteps = before + int(self.group.sum([self.num_timesteps - before])[0])
        callback.on_rollout_end()
        return rollout

    def see(self) -> tuple[Rows, Scores]:
        """Cache the current positions, and score their moves: their numbers in the cache, and the scores."""
        rows = self.cache.add(self.seen, self.env.action_masks())
        with th.inference_mode():
            return rows, self.policy.network.score_cached(self.cache, rows)

    def pass_over(
        self, positions: int, parameters: Sequence[th.nn.Parameter],
        loss_of: Callable[..., tuple[th.Tensor, th.Tensor]],
    ) -> Array:  # fmt: skip
        """Take ``n_epochs`` passes over positions; return the logged values of each minibatch.

        Parameters
        ----------
        positions
            Number of positions of this process.
        parameters
            The parameters that learn.
        loss_of
            ``loss_of(rows, n=size)`` returns the contribution of some positions, an int64 array, to the loss
            of a minibatch of ``size``, and to its logged values, ``[numbers]``.
        """
        logged = []
        for _ in range(self.config.n_epochs):
            parts, size = make_minibatches(self.group, positions, self.config.batch_size, self.random)
            for rows in parts if size else []:
                logged.append(set_gradients(self.group, parameters, partial(loss_of, n=size), rows))
                self.policy.optimizer.step()
                self.end_minibatch()
        return np.array(logged)

    def end_minibatch(self) -> None:
        """Do what follows a step of Adam; nothing by default."""

    @abstractmethod
    def act(self) -> tuple[Rows, Any]:
        """Choose a move in each current position, ``[games]``; the second result is kept for learning."""

    @abstractmethod
    def train(self, rollout: Rollout, /) -> None:
        """Learn from a rollout."""
