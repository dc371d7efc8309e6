"""sb3-contrib's MaskablePPO over the native ``SolitaireVecEnv``, and over SB3's ``DummyVecEnv``."""

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any, Final, NamedTuple

import gymnasium as gym

from benchmarks.rounds import Speed, speed_of
from solitaire_env.registration import env_id, env_variant

NUM_ENVS: Final = 64
SETTINGS: Final = {"n_steps": 128, "batch_size": 2048, "seed": 0, "device": "cpu"}
"""Settings of both trainings; all others are MaskablePPO's defaults: features extractor, network, epochs."""


class Training(NamedTuple):
    """Results of the rounds."""

    native: Speed
    """Steps per second of ``collect_rollouts``, over ``SolitaireVecEnv``."""
    dummy: Speed
    """The same over ``DummyVecEnv``."""
    share: float
    """Share of ``step`` and the masks in the native training's time, collection and updates; the median."""


class _Trainee:
    """A model, and the seconds of its last round of collection and update."""

    def __init__(self, envs: Any) -> None:
        import torch
        from sb3_contrib import MaskablePPO

        self.torch = torch
        self.spent = {"collect": 0.0, "env": 0.0, "all": 0.0}
        envs.step = self._timed(envs.step, "env")
        envs.env_method = self._timed(envs.env_method, "env")  # asks for the action masks
        self.model = MaskablePPO("MlpPolicy", envs, **SETTINGS)  # type: ignore[arg-type]
        self.model.collect_rollouts = self._timed(  # type: ignore[method-assign]
            self.model.collect_rollouts, "collect"
        )
        self.steps = self.model.n_steps * envs.num_envs

    def _timed(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                self.spent[name] += time.perf_counter() - start

        return timed

    def round(self) -> tuple[float, float]:
        """One rollout and its update; return steps per second of collection, and the environment's share."""
        # Two threads would be four times slower for so few rows.
        self.torch.set_num_threads(1)
        self.spent.update(dict.fromkeys(self.spent, 0.0))
        self._timed(self.model.learn, "all")(self.steps, reset_num_timesteps=False)
        return self.steps / self.spent["collect"], self.spent["env"] / self.spent["all"]


def require() -> None:
    """Import what training needs; errors say how to install it."""
    try:
        import sb3_contrib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'the part training needs {error.name}: pip install -c constraints.txt -e ".[train]"'
        ) from None


def measure_training(game: str, rounds: int) -> Training:
    """Train alternately; a first round of each does not count.

    The single environments have SB3's ``Monitor`` around them, as the native one reports episodes too.
    """
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from solitaire_env.sb3 import SolitaireVecEnv

    name = env_id(env_variant(game))
    native = _Trainee(SolitaireVecEnv(name, NUM_ENVS, max_episode_steps="registered"))
    dummy = _Trainee(DummyVecEnv([lambda: Monitor(gym.make(name))] * NUM_ENVS))
    native.round()
    dummy.round()
    collected, shares, collected_by_dummy = [], [], []
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}, training", file=sys.stderr, flush=True)
        rate, share = native.round()
        collected.append(rate)
        shares.append(share)
        collected_by_dummy.append(dummy.round()[0])
    return Training(speed_of(collected), speed_of(collected_by_dummy), median(shares))
