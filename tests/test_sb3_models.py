"""Models that SB3 and sb3-contrib train on our environments, played by ``solitaire_env.evaluate``."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from solitaire_env import evaluate
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.wrappers import MoveFeatures
from tests.conftest import Refuses

BUSY_ACES = "solitaire_env:Solitaire/BusyAces-v0"

MAKE: dict[str, Callable[[], VecEnv]] = {
    "native": lambda: SolitaireVecEnv(BUSY_ACES, 2, observation="features"),
    "native, supermoves": lambda: SolitaireVecEnv(BUSY_ACES, 2, moves="supermove"),
    "of SB3": lambda: make_vec_env(BUSY_ACES, 2, env_kwargs={"information": "thoughtful"}),
    "of SB3, features of moves": lambda: make_vec_env(BUSY_ACES, 2, wrapper_class=MoveFeatures),
}


def trained(env: VecEnv) -> MaskablePPO:
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, device="cpu", seed=0)
    return model.learn(64)


@pytest.mark.parametrize("name", MAKE)
def test_a_trained_model_is_evaluated(name: str) -> None:
    model = trained(MAKE[name]())
    assert model.num_timesteps == 64
    results = evaluate(model, BUSY_ACES, range(4), max_episode_steps=100)
    assert [game.deal for game in results.games] == [0, 1, 2, 3]
    assert {game.policy for game in results.games} == {"MaskablePPO"}
    assert results.games == evaluate(model, BUSY_ACES, range(4), max_episode_steps=100).games


def test_a_model_of_another_game_is_refused(refuses: Refuses) -> None:
    model = trained(make_vec_env("solitaire_env:Solitaire/EightsDown-v0", 2, wrapper_class=MoveFeatures))
    refuses(lambda: evaluate(model, BUSY_ACES, [0]), "(160, 28)", "171 actions", "28 move features")


def test_models_that_need_more_than_the_observation_are_refused(refuses: Refuses) -> None:
    recurrent = RecurrentPPO("MlpLstmPolicy", SolitaireVecEnv(BUSY_ACES, 2), n_steps=8, device="cpu")
    refuses(lambda: evaluate(recurrent, BUSY_ACES, [0]), "RecurrentPPO", "remembers", "without memory")
    for change in (
        gym.wrappers.NormalizeObservation,
        lambda env: gym.wrappers.RescaleObservation(env, np.float32(-1), np.float32(1)),
    ):
        env = make_vec_env(BUSY_ACES, 2, env_kwargs={"observation": "features"}, wrapper_class=change)
        model = MaskablePPO("MlpPolicy", env, n_steps=8, device="cpu")
        refuses(lambda model=model: evaluate(model, BUSY_ACES, [0]), "a wrapper", "a function")
    normalized = MaskablePPO(
        "MlpPolicy", VecNormalize(SolitaireVecEnv(BUSY_ACES, 2)), n_steps=8, device="cpu"
    )
    refuses(lambda: evaluate(normalized, BUSY_ACES, [0]), "a wrapper", "a function")
