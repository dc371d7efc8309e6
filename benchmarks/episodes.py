"""Single environments of ``gym.make``: timed replays of recorded random actions."""

import time
from typing import Any, Final

import gymnasium as gym
import numpy as np

from benchmarks.rounds import Contestant

STEPS: Final = 5000
"""Minimum number of steps in a pass; the last episode is played to its end."""


def single(name: str, env: "gym.Env[Any, Any]", peer: bool = False) -> Contestant:
    """An environment's ``step``, without resets, with random actions; legal ones if infos have a mask.

    Raises
    ------
    RuntimeError
        In a pass, if an episode does not end as it was recorded.
    """
    episodes: list[tuple[int, list[int], Any]] = []
    recorded = 0
    env.action_space.seed(0)
    while recorded < STEPS:
        seed = len(episodes)
        observation, info = env.reset(seed=seed)
        actions: list[int] = []
        ended = False
        while not ended:
            actions.append(int(env.action_space.sample(info.get("action_mask"))))
            observation, _, terminated, truncated, info = env.step(actions[-1])
            ended = terminated or truncated
        episodes.append((seed, actions, observation))
        recorded += len(actions)

    def replay() -> float:
        spent = 0.0
        step = env.step
        for seed, actions, last in episodes:
            env.reset(seed=seed)
            start = time.perf_counter()
            for action in actions:
                result = step(action)
            spent += time.perf_counter() - start
            if not np.array_equal(result[0], last):
                raise RuntimeError(f"{name} did not repeat the episode of seed {seed}")
        return spent

    return Contestant(name, recorded, replay, peer)
