"""Wrappers for libraries that want the mask inside the observation."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class DictObservation(gym.Wrapper[dict[str, Any], np.int64, Any, np.int64], gym.utils.RecordConstructorArgs):
    """Put observation and mask into one dict: ``{obs_key: observation, mask_key: int8 [actions]}``.

    RLlib and PettingZoo call them ``observations`` and ``action_mask``, Tianshou ``obs`` and ``mask``, Sample
    Factory ``obs`` and ``action_mask``.
    """

    def __init__(
        self, env: gym.Env[Any, np.int64], *, obs_key: str = "observations", mask_key: str = "action_mask"
    ) -> None:
        if obs_key == mask_key:
            raise ValueError(f"obs_key and mask_key are both {obs_key!r}, allowed: two different keys")
        gym.utils.RecordConstructorArgs.__init__(self, obs_key=obs_key, mask_key=mask_key)
        super().__init__(env)
        if not isinstance(env.action_space, spaces.Discrete):
            raise TypeError(f"action space is {env.action_space}, allowed: Discrete")
        self.obs_key = obs_key
        self.mask_key = mask_key
        self.observation_space = spaces.Dict(
            {
                obs_key: env.observation_space,
                mask_key: spaces.Box(0, 1, shape=(int(env.action_space.n),), dtype=np.int8),
            }
        )

    def _observation(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        return {self.obs_key: observation, self.mask_key: info["action_mask"].copy()}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a new game."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observation(observation, info), info

    def step(self, action: np.int64) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._observation(observation, info), reward, terminated, truncated, info
