"""The vector environment that all learners play in."""

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from agents.config import TrainConfig
from solitaire_env.move_features.autoplay import autoplay_safe_moves, keep_safe_moves
from solitaire_env.sb3 import SolitaireVecEnv


class TrainingEnv(SolitaireVecEnv):
    """The native vector environment, in which a truncated game counts as lost.

    PPO would add the value of the position at which a game was truncated: standing still would pay as well as
    playing on, and in games that cannot be won it would pay better.

    With ``sure_home``, safe autoplay is played in the same step.
    """

    def __init__(self, *args: Any, sure_home: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sure_home = sure_home

    def _play(self) -> int:
        ended = super()._play()
        if not self.sure_home:
            return ended
        batch = self.batch
        rewards = batch.rewards.copy()
        flags = (batch.terminated, batch.truncated, batch.ended)
        ends = [flag.copy() for flag in flags]
        while True:
            safe = autoplay_safe_moves(batch.rules, batch.state)
            sent = safe >= 0
            if not sent.any():
                break
            batch.step(np.maximum(safe, 0), sent.astype(np.int8))
            rewards += batch.rewards
            for end, now in zip(ends, flags, strict=True):
                # A game at its stall limit continues, as a card went home.
                end[sent] = now[sent]
        batch.rewards[:] = rewards
        for flag, end in zip(flags, ends, strict=True):
            flag[:] = end
        return int(np.count_nonzero(ends[-1]))

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The moves to choose among, bool ``[num_envs, actions]``."""
        masks = super().action_masks()
        if not self.sure_home:
            return masks
        # A new deal may begin with safe autoplay.
        return keep_safe_moves(masks, autoplay_safe_moves(self.batch.rules, self.batch.state))

    def step_wait(self) -> VecEnvStepReturn:
        """Play the actions; finished games are dealt again."""
        observations, rewards, dones, infos = super().step_wait()
        for row in np.flatnonzero(dones).tolist():
            infos[row]["TimeLimit.truncated"] = False
        return observations, rewards, dones, infos


def make_env(config: TrainConfig, num_envs: int | None = None) -> TrainingEnv:
    """The native vector environment of a configuration."""
    return TrainingEnv(
        config.variant,
        num_envs or config.num_envs,
        observation=config.observation,
        information=config.information,
        reward=config.reward,
        stall_limit=config.stall_limit,
        sure_home=config.sure_home,
    )
