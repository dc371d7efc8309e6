"""Common parts of the learners: games, network and team, and the loop of playing and learning."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.type_aliases import MaybeCallback

from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.networks.feature_cache import Rows
from agents.networks.sb3_policy import NetworkPolicy


class TeamLearner(BaseAlgorithm):
    """A learner whose processes train together, with SB3's callbacks and loggers.

    Parameters
    ----------
    env
        This process's games.
    learning_rate
        Learning rate of Adam; called before each update.
    policy_kwargs
        Arguments of :class:`NetworkPolicy`.
    team
        The processes.
    """

    policy: NetworkPolicy
    env: TrainingEnv

    def __init__(
        self, env: TrainingEnv, *, learning_rate: Callable[[float], float], seed: int, device: str,
        policy_kwargs: dict[str, Any], team: Team,
    ) -> None:  # fmt: skip
        super().__init__(
            NetworkPolicy, env, learning_rate, policy_kwargs=policy_kwargs, device=device, seed=seed,
            support_multi_env=True,
        )  # fmt: skip
        self.team = team
        self._setup_model()

    def _setup_model(self) -> None:
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        self.random = np.random.default_rng([self.seed or 0, self.team.rank])
        self.policy = NetworkPolicy(
            self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs
        ).to(self.device)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer"], []

    def learn(
        self, total_timesteps: int, callback: MaybeCallback = None, log_interval: int = 1,
        tb_log_name: str = "run", reset_num_timesteps: bool = True, progress_bar: bool = False,
    ) -> "TeamLearner":  # fmt: skip
        """Play and learn until the callback ends it, or for ``total_timesteps`` steps of all games."""
        total, callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        self.begin()
        callback.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            played = self.play(callback)
            if played is None:
                break
            self.train(played)
            self.logger.dump(self.num_timesteps)
        callback.on_training_end()
        return self

    def begin(self) -> None:
        """Take over the games as the environment dealt them."""
        self.cache = self.policy.network.make_cache()
        self.seen = np.asarray(self._last_obs)

    def see(self, observations: Any) -> None:
        """Store the positions in which the next actions are chosen, ``[games, size]``."""
        self.seen = np.asarray(observations)

    def begin_rollout(self, callback: Any) -> None:
        """Clear the positions of the last rollout."""
        self.cache.clear()
        self.see(self.seen)
        self._steps_before = self.num_timesteps
        callback.on_rollout_start()

    def step(self, actions: Rows, callback: Any) -> tuple[Any, Any] | None:
        """Play actions, int64 ``[games]``, and return rewards and ends, ``[games]`` each; None when the
        callback ends the training.
        """
        observations, rewards, dones, infos = self.env.step(actions)
        self.see(observations)
        self.num_timesteps += self.env.steps
        callback.update_locals(locals())
        return (rewards, dones) if callback.on_step() else None

    def end_rollout(self, callback: Any) -> None:
        """Count the steps of all processes; until then only this one's are counted."""
        played = self.team.sum([self.num_timesteps - self._steps_before])
        self.num_timesteps = self._steps_before + int(played[0])
        callback.on_rollout_end()

    @abstractmethod
    def play(self, callback: Any) -> Any:
        """Play one rollout and return the data to learn from; None when the callback ends the training."""

    @abstractmethod
    def train(self, played: Any, /) -> None:
        """Learn from a rollout."""
