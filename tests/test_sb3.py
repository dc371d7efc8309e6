"""The native SB3 environment: steps equal those of SB3 over single ones; its methods and attributes."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.env import SolitaireEnv
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


METHODS = ("action_masks", "position", "legal_actions", "get_state", "set_state")


def test_methods_before_reset_raise_an_error() -> None:
    env = SolitaireVecEnv("busy-aces", 2, render_mode="rgb_array", render_size=(64, 64))
    for call in (
        env.action_masks,
        lambda: env.step(np.zeros(2, dtype=np.int64)),
        lambda: get_action_masks(env),
        env.get_attr("action_masks")[0],
        lambda: env.get_attr("deal"),
        env.get_images,
        env.render,
        *(lambda name=name: env.env_method(name) for name in METHODS),
        lambda: env.env_method("set_state", {}),
    ):
        with pytest.raises(gym.error.ResetNeeded, match=r"call reset\(\) first"):
            call()
    env.reset()
    env.step(env.action_masks().argmax(axis=1))


def test_attributes_that_sb3_reads_before_reset_exist() -> None:
    """SB3 reads them when it wraps an environment or makes a model."""
    env = SolitaireVecEnv("busy-aces", 2)
    assert is_masking_supported(env) and env.has_attr("action_masks")
    assert env.get_attr("render_mode") == [None, None] and env.get_images() == [None, None]
    assert VecNormalize(env).reset().shape == (2, 257)
    model = MaskablePPO("MlpPolicy", SolitaireVecEnv("busy-aces", 2), n_steps=8, batch_size=16, n_epochs=1)
    model.learn(16)
    assert model.num_timesteps == 16


@pytest.mark.parametrize(
    ("indices", "rows"),
    [(None, [0, 1, 2]), (1, [1]), (np.int64(1), [1]), ([2, 0], [2, 0]), (range(2), [0, 1]), ([], []),
     (np.array([1, 1]), [1, 1]), (iter((1, 2)), [1, 2])],
)  # fmt: skip
def test_indices_select_games(indices: Any, rows: list[int]) -> None:
    env = native()
    positions = env.env_method("position")
    assert env.env_method("position", indices=indices) == [positions[row] for row in rows]


def test_every_public_method_of_single_environments_can_be_called() -> None:
    """Except those that would bypass the vector environment, and copies."""
    own = set(dir(SolitaireEnv)) - {*dir(gym.Env), "clone", "resample"}
    public = {name for name in own if not name.startswith("_")}
    env = native()
    assert {name for name in public if not env.has_attr(name)} == set()
    for name in ("reset", "step", "close"):
        with pytest.raises(AttributeError, match=f"no method '{name}'"):
            env.env_method(name)


@pytest.mark.parametrize("moves", ["one card", "supermove"])
def test_methods_return_the_same_as_in_single_environments(moves: Any) -> None:
    ours = SolitaireVecEnv("busy-aces", 3, moves=moves, render_mode="ansi")
    theirs = DummyVecEnv([lambda: SolitaireEnv("busy-aces", moves=moves, render_mode="ansi")] * 3)
    for env in (ours, theirs):
        env.seed(0)
        env.reset()
    for _ in range(30):
        legal = ours.env_method("legal_actions")
        assert legal == theirs.env_method("legal_actions")
        for row, actions in enumerate(legal):
            for action in actions:
                for name in ("describe_action", "moved_cards", "expand", "action_text"):
                    if name != "expand" or moves == "supermove":
                        (answer,) = ours.env_method(name, action, indices=row)
                        assert [answer] == theirs.env_method(name, action, indices=row)
                assert ours.env_method("parse_action", answer, indices=row) == [action]
        for name in ("position", "get_state"):
            assert ours.env_method(name) == theirs.env_method(name)
        assert ours.env_method("position", hidden=True) == theirs.env_method("position", hidden=True)
        actions = np.array([row[-1] for row in legal])
        observations = ours.step(actions)[0]
        theirs.step(actions)
        seen = ours.env_method("decode_observation", observations[1], indices=1)
        assert seen == theirs.env_method("decode_observation", observations[1], indices=1)
    with pytest.raises(IllegalActionError, match="allowed here"):
        ours.env_method("describe_action", int(ours.action_masks()[0].argmin()), indices=0)
