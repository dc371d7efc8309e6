"""Masks in the observation, and move features as observation."""

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from solitaire_env.env import SolitaireEnv
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.table import MoveTable
from solitaire_env.wrappers import DictObservation, MoveFeatures, VectorMoveFeatures
from tests.comparing import expect_results
from tests.conftest import Refuses

BUSY_ACES = "solitaire_env:Solitaire/BusyAces-v0"
KEYS = {
    "RLlib": {},
    "PettingZoo": {"obs_key": "observation"},
    "Tianshou": {"obs_key": "obs", "mask_key": "mask"},
}


@pytest.mark.parametrize("name", ["Solitaire/BusyAces-v0", "Solitaire/Yukon-v0"])
@pytest.mark.parametrize("wrap", [DictObservation, MoveFeatures])
@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_check_env_passes(name: str, wrap: Any) -> None:
    check_env(wrap(gym.make(f"solitaire_env:{name}").unwrapped), skip_render_check=True)


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("observation", ["cards", "features"])
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_observations_equal_the_wrapped_game(keys: dict[str, str], observation: str, dtype: Any) -> None:
    names = (keys.get("obs_key", "observations"), keys.get("mask_key", "action_mask"))
    made = DictObservation(gym.make(BUSY_ACES, observation=observation), **keys, dtype=dtype)
    plain = gym.make(BUSY_ACES, observation=observation)
    space = plain.observation_space
    for wrapped in (made, gym.make(EnvSpec.from_json(made.spec.to_json()))):
        assert set(wrapped.observation_space) == set(names)
        assert dtype or wrapped.observation_space[names[0]] == space
        ours, expected = wrapped.reset(seed=1), plain.reset(seed=1)
        before = copy.deepcopy(ours[0])
        first = ours[0]
        for _ in range(20):
            assert wrapped.observation_space.contains(ours[0])
            assert ours[0][names[0]].dtype == (dtype or space.dtype)
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


class Continuous(gym.Env[Any, Any]):
    action_space = gym.spaces.Box(0, 1)
    observation_space = gym.spaces.Box(0, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DictObservation(gym.make(BUSY_ACES), obs_key="obs", mask_key="obs"), ["'obs'", "different"]),
        (lambda: DictObservation(gym.make(BUSY_ACES), dtype="int16"), ["'int16'", "None, 'float32'"]),
        (lambda: MoveFeatures(Continuous()), ["is a Continuous", "SolitaireEnv"]),
        (lambda: VectorMoveFeatures(gym.make_vec(BUSY_ACES, observation="features")), ["'cards'"]),
        (
            lambda: VectorMoveFeatures(SyncVectorEnv([lambda: gym.make(BUSY_ACES)])),
            ["is a SyncVectorEnv", "SolitaireVectorEnv"],
        ),
    ],
)
def test_invalid_arguments_raise_an_error(call: Any, words: list[str], refuses: Refuses) -> None:
    refuses(call, *words)


@pytest.mark.parametrize("words", [{}, {"moves": "supermove", "information": "thoughtful"}])
def test_move_features_equal_the_table(words: dict[str, Any]) -> None:
    env, plain = MoveFeatures(gym.make(BUSY_ACES, **words)), gym.make(BUSY_ACES, **words)
    seen, info = env.reset(seed=4)
    _, expected = plain.reset(seed=4)
    results: Any = ()
    for _ in range(200):
        legal = info["action_mask"] != 0
        assert env.observation_space.contains(seen)
        assert (seen[legal, 0:NUM_MOVE].any(axis=1) | (np.arange(len(legal))[legal] == 0)).all()
        assert not seen[~legal].any()
        np.testing.assert_array_equal(seen, MoveTable(env.unwrapped.batch).read()[0])
        np.testing.assert_array_equal(info["action_mask"], expected["action_mask"])
        action = np.flatnonzero(legal)[-1]
        before = seen.copy()
        results, (*_, expected) = env.step(action), plain.step(action)
        np.testing.assert_array_equal(seen, before)
        seen, info = results[0], results[-1]
    for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env), gym.make(env.spec)):
        other.reset(seed=5)
        np.testing.assert_array_equal(other.step(0)[0], (env.reset(seed=5), env.step(0)[0])[1])


def test_a_finished_game_has_zero_rows() -> None:
    env = MoveFeatures(SolitaireEnv("busy-aces"))
    home = "foundations: C 13 13 D 13 13 H 13 13 S 13 13"
    lines = ("variant: busy-aces", "stock:", "waste:", home, *(f"t{pile}:" for pile in range(1, 13)))
    seen, info = env.reset(options={"position": "\n".join(lines)})
    assert info["action_mask"].all() and not seen.any()


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("copies", [True, False])
def test_move_features_of_many_games_equal_single_games(mode: AutoresetMode, copies: bool) -> None:
    """Row by row, including final observations."""
    words: dict[str, Any] = {"autoreset_mode": mode, "max_episode_steps": 6}
    theirs = SyncVectorEnv(
        [lambda: MoveFeatures(gym.make(BUSY_ACES, max_episode_steps=6))] * 3, autoreset_mode=mode
    )
    ours = VectorMoveFeatures(gym.make_vec(BUSY_ACES, num_envs=3, copy=copies, **words))
    assert ours.autoreset_mode is mode
    assert ours.observation_space == theirs.observation_space
    assert ours.single_observation_space == theirs.single_observation_space
    expected: Any = theirs.reset(seed=[1, 2, 3])
    got: Any = ours.reset(seed=[1, 2, 3])
    expect_results("at reset", expected, got)
    first, before = got[0], got[0].copy()
    for step in range(20):
        actions = expected[-1]["action_mask"].argmax(axis=1)
        expected, got = theirs.step(actions), ours.step(actions)
        expect_results(f"in step {step}", expected, got)
        assert np.shares_memory(got[0], first) != copies
        ended = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            expected, got = (env.reset(options={"reset_mask": ended.copy()}) for env in (theirs, ours))
            expect_results("at reset of the ended", expected, got)
    assert (first == before).all() == copies
