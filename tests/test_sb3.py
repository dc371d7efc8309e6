"""The native SB3 environment, compared with SB3's own vector environments over single ones."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from solitaire_env.registration import env_id
from solitaire_env.sb3 import SolitaireVecEnv
from tests.games import THE_FIVE

IDS = list(map(env_id, THE_FIVE.values()))
BUSY_ACES = "Solitaire/BusyAces-v0"

ENDS: list[dict[str, Any]] = [
    {},
    {"observation": "features", "reward": "progress+win", "max_episode_steps": 40},
    {"moves": "supermove", "information": "thoughtful", "stall_limit": 9},
    {"on_invalid": "terminate", "reward": "win"},
]


def dummy(name: str, num_envs: int, **keywords: Any) -> DummyVecEnv:
    return DummyVecEnv(
        [lambda: Monitor(gym.make(f"solitaire_env:{name}", **keywords)) for _ in range(num_envs)]
    )


def native(num_envs: int = 3, **keywords: Any) -> SolitaireVecEnv:
    env = SolitaireVecEnv(BUSY_ACES, num_envs, **keywords)
    env.seed(0)
    env.reset()
    return env


def assert_equal_step(ours: Any, theirs: Any) -> None:
    """Check observations, rewards, ends, and the contents of the native infos."""
    for a, b in zip(ours[:3], theirs[:3], strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    for info, expected, done in zip(ours[3], theirs[3], ours[2], strict=True):
        assert info.get("invalid_action", False) == expected["invalid_action"]
        if not done:
            assert set(info) <= {"invalid_action"}
            continue
        np.testing.assert_array_equal(info["terminal_observation"], expected["terminal_observation"])
        for key in ("TimeLimit.truncated", "is_success", "cards_home", "deal"):
            assert (
                info[key] == expected[key] and np.asarray(info[key]).dtype == np.asarray(expected[key]).dtype
            ), key
        for key in ("r", "l"):
            assert info["episode"][key] == expected["episode"][key], key
        assert info["episode"]["t"] >= 0


@pytest.mark.parametrize("keywords", ENDS, ids=str)
@pytest.mark.parametrize("name", IDS)
def test_equals_dummy_vec_env(name: str, keywords: dict[str, Any]) -> None:
    ours, theirs = SolitaireVecEnv(name, 5, **keywords), dummy(name, 5, **keywords)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    ours.seed(7)
    theirs.seed(7)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    random = np.random.default_rng(0)
    ended = 0
    for _ in range(150):
        masks = get_action_masks(ours)
        np.testing.assert_array_equal(masks, get_action_masks(theirs))
        actions = (masks * random.random(masks.shape)).argmax(1)
        # Sometimes one that may be illegal.
        if random.random() < 0.1:
            actions[0] = random.integers(ours.action_space.n)
        played = ours.step(actions)
        assert_equal_step(played, theirs.step(actions))
        assert [i["deal"] for i in ours.reset_infos] == [i["deal"] for i in theirs.reset_infos]
        ended += played[2].sum()
    assert ended or not keywords


def test_options_are_used_once_and_do_not_advance_the_streams() -> None:
    ours, theirs = SolitaireVecEnv(BUSY_ACES, 4), dummy(BUSY_ACES, 4)
    position = native().env_method("position", hidden=True)[0]
    for env in (ours, theirs):
        env.seed(3)
        env.set_options([{"deal": 5}, {}, {"deal": "ms:11"}, {"position": position}])
    for _ in range(3):
        np.testing.assert_array_equal(ours.reset(), theirs.reset())
        assert [i["deal"] for i in ours.reset_infos] == [i["deal"] for i in theirs.reset_infos]
    ours.set_options({"deal": 5})
    ours.reset()
    assert [i["deal"] for i in ours.reset_infos] == [5] * 4


def test_returned_arrays_are_not_overwritten() -> None:
    env = native()
    observations = env.reset()
    before, masks = observations.copy(), env.action_masks()
    masks_before = masks.copy()
    for _ in range(5):
        env.step(env.action_masks().argmax(1))
    np.testing.assert_array_equal(observations, before)
    np.testing.assert_array_equal(masks, masks_before)
