"""The mask inside the observation, as other libraries want it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from solitaire_env.registration import env_id
from solitaire_env.variants import VARIANTS
from solitaire_env.wrappers import DictObservation
from tests.conftest import Refuses

BUSY_ACES = "solitaire_env:Solitaire/BusyAces-v0"
KEYS = {
    "RLlib, PettingZoo": {},
    "Tianshou": {"obs_key": "obs", "mask_key": "mask"},
    "Sample Factory": {"obs_key": "obs"},
}


@pytest.mark.parametrize("name", list(map(env_id, VARIANTS)))
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_gymnasium_checker(name: str, keys: dict[str, str]) -> None:
    check_env(DictObservation(gym.make(f"solitaire_env:{name}").unwrapped, **keys), skip_render_check=True)


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("observation", ["cards", "features"])
def test_equals_the_game_inside(keys: dict[str, str], observation: str) -> None:
    names = (keys.get("obs_key", "observations"), keys.get("mask_key", "action_mask"))
    wrapped = DictObservation(gym.make(BUSY_ACES, observation=observation), **keys)
    plain = gym.make(BUSY_ACES, observation=observation)
    assert set(wrapped.observation_space) == set(names)
    assert wrapped.observation_space[names[0]] == plain.observation_space
    ours, expected = wrapped.reset(seed=1), plain.reset(seed=1)
    before = copy.deepcopy(ours[0])
    first = ours[0]
    for _ in range(20):
        assert wrapped.observation_space.contains(ours[0])
        np.testing.assert_array_equal(ours[0][names[0]], expected[0])
        np.testing.assert_array_equal(ours[0][names[1]], expected[-1]["action_mask"])
        assert ours[0][names[1]] is not ours[-1]["action_mask"]
        assert ours[1:-1] == expected[1:-1] and ours[-1]["deal"] == expected[-1]["deal"]
        action = expected[-1]["action_mask"].argmax()
        ours, expected = wrapped.step(action), plain.step(action)
    for name in names:
        np.testing.assert_array_equal(first[name], before[name])
    wrapped.reset(options={"deal": 7})
    assert wrapped.unwrapped.get_state()["deal"] == 7


def test_made_again_from_its_spec() -> None:
    env = DictObservation(gym.make(BUSY_ACES, moves="supermove"), obs_key="obs", mask_key="mask")
    sent = pickle.loads(pickle.dumps(env.spec))
    for spec in (env.spec, sent, EnvSpec.from_json(env.spec.to_json())):
        again = gym.make(spec)
        assert again.observation_space == env.observation_space
        assert again.reset(seed=3)[0]["mask"].tolist() == env.reset(seed=3)[0]["mask"].tolist()


def test_pickled_in_the_middle_of_a_game() -> None:
    env = DictObservation(gym.make(BUSY_ACES).unwrapped)
    observation, _ = env.reset(seed=0)
    for _ in range(5):
        observation, *_ = env.step(observation["action_mask"].argmax())
    for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert other.unwrapped.position() == env.unwrapped.position()


class Continuous(gym.Env[Any, Any]):
    action_space = gym.spaces.Box(0, 1)
    observation_space = gym.spaces.Box(0, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DictObservation(gym.make(BUSY_ACES), obs_key="obs", mask_key="obs"), ["'obs'", "different"]),
        (lambda: DictObservation(Continuous()), ["Box", "Discrete"]),
    ],
)
def test_refuses(call: Any, words: list[str], refuses: Refuses) -> None:
    refuses(call, *words)
