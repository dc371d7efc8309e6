"""The native SB3 environment, compared with SB3's own vector environments over single ones."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.registration import env_id, step_limit
from solitaire_env.sb3 import SolitaireVecEnv
from tests.conftest import Refuses
from tests.core.test_deals import SHORT
from tests.core.test_random_numbers import STREAMS, next_deal
from tests.games import THE_FIVE

IDS = list(map(env_id, THE_FIVE.values()))
BUSY_ACES = "Solitaire/BusyAces-v0"

ENDS = [
    (name, keywords)
    for name in IDS
    for keywords in (
        {},
        {"observation": "features", "reward": "progress+win", "max_episode_steps": 40},
        {"moves": "supermove", "information": "thoughtful", "stall_limit": 9},
        {"on_invalid": "terminate", "reward": "win"},
    )
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


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("observation", ["cards", "features"])
def test_check_env_passes(name: str, observation: str) -> None:
    check_env(gym.make(f"solitaire_env:{name}", observation=observation))


@pytest.mark.parametrize(("name", "keywords"), ENDS)
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


@pytest.mark.parametrize("observation", ["cards", "features"])
def test_float_observations_equal_the_others(observation: Any) -> None:
    words = {"observation": observation, "max_episode_steps": 9}
    plain, floats = (
        SolitaireVecEnv(BUSY_ACES, 3, observation_dtype=dtype, **words) for dtype in (None, "float32")
    )
    assert floats.observation_space.dtype == np.float32
    np.testing.assert_array_equal(floats.observation_space.high, plain.observation_space.high)
    for env in (plain, floats):
        env.seed(1)
    expected, seen = plain.reset(), floats.reset()
    ended = 0
    for _ in range(12):
        assert seen.dtype == np.float32 and all(floats.observation_space.contains(row) for row in seen)
        np.testing.assert_array_equal(seen, expected)
        actions = np.array([mask.argmax() for mask in plain.env_method("action_masks")])
        expected, *_, dones, infos = plain.step(actions)
        seen, *_, others = floats.step(actions)
        for row in np.flatnonzero(dones).tolist():
            last = others[row]["terminal_observation"]
            assert last.dtype == np.float32
            np.testing.assert_array_equal(last, infos[row]["terminal_observation"])
            ended += 1
    assert ended


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


def test_seeds_define_the_games() -> None:
    env = SolitaireVecEnv(BUSY_ACES, 3)
    first = [(env.seed(5), env.reset())[1] for _ in range(2)]
    np.testing.assert_array_equal(*first)
    assert (env.reset() != first[0]).any(1).all()
    env.seed(6)
    np.testing.assert_array_equal(env.reset()[:2], first[0][1:])


def test_returned_arrays_are_not_overwritten() -> None:
    env = native()
    observations = env.reset()
    before, masks = observations.copy(), env.action_masks()
    masks_before = masks.copy()
    for _ in range(5):
        env.step(env.action_masks().argmax(1))
    np.testing.assert_array_equal(observations, before)
    np.testing.assert_array_equal(masks, masks_before)


def test_env_method_calls_methods_of_single_games() -> None:
    env = native()
    assert is_masking_supported(env)
    masks = env.action_masks()
    np.testing.assert_array_equal(env.env_method("action_masks", indices=[2, 0]), masks[[2, 0]])
    np.testing.assert_array_equal([mask() for mask in env.get_attr("action_masks")], masks)
    assert env.env_is_wrapped(Monitor) == [True] * 3
    assert env.env_is_wrapped(gym.wrappers.TimeLimit, 1) == [False]
    assert env.get_attr("render_mode") == [None] * 3
    assert env.has_attr("render_mode") and not env.has_attr("wings")
    states = env.env_method("get_state")
    positions = env.env_method("position")
    env.step(masks.argmax(1))
    for row, state in enumerate(states):
        env.env_method("set_state", state, indices=row)
    assert env.env_method("position") == positions
    assert native(2, render_mode="ansi").render().count("foundations") == 2
    drawn = native(2, render_mode="rgb_array", render_size=(120, 90))
    drawn.reset()
    assert [image.shape for image in drawn.get_images()] == [(90, 120, 3)] * 2
    assert drawn.render().shape == (180, 120, 3)
    with pytest.raises(ValueError, match="unknown render_mode 'human', allowed: None, 'ansi', 'ascii'"):
        native(2, render_mode="human")
    assert env.render() is None and env.get_images() == [None] * 3
    assert env.settings.max_episode_steps == step_limit(env.variant)
    assert native(max_episode_steps=None).settings.max_episode_steps is None
    env.close()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: native().env_method("fly"), "'fly'.*action_masks, .*position.*deal, render"),
        (lambda: native().get_attr("wings"), "'wings'"),
        (lambda: native().set_attr("reward", "win"), "'reward'.*SolitaireVecEnv"),
    ],
)
def test_unknown_attributes_raise_an_error(call: Any, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SolitaireVecEnv("Solitaire/BusyAce-v0"), ["Solitaire/BusyAce-v0", BUSY_ACES]),
        (lambda: SolitaireVecEnv("busy-ace"), ["busy-ace", "busy-aces"]),
        (lambda: SolitaireVecEnv(BUSY_ACES, 0), ["num_envs is 0", "from 1"]),
        (lambda: native(build="by color"), ["by color", "same suit"]),
        (lambda: native(observation="pixels"), ["pixels", "'cards', 'features'"]),
        (lambda: native(observation_dtype="int16"), ["observation_dtype 'int16'", "None, 'float32'"]),
        (lambda: native(max_episode_steps=0), ["max_episode_steps is 0", "from 1 to"]),
        (lambda: native(speed=3), ["speed"]),
        (lambda: native().step(np.array([0, 0])), ["(2,)", "(3,)"]),
        (lambda: native().step(np.zeros(3)), ["float64", "whole numbers"]),
        (lambda: native().step(np.array([0, 0, 171])), ["171", "0..170"]),
    ],
)
def test_invalid_arguments_raise_an_error(call: Any, words: list[str], refuses: Refuses) -> None:
    refuses(call, *words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": 1}, ["'seed'", "'deal', 'position'"]),
        ({"deal": -1}, ["-1"]),
        ({"position": "variant: forty-thieves"}, ["forty-thieves", "busy-aces"]),
        ({"deal": 1, "position": ""}, ["cannot be combined"]),
    ],
)
def test_invalid_options_raise_an_error(options: dict[str, Any], words: list[str], refuses: Refuses) -> None:
    env = SolitaireVecEnv(BUSY_ACES, 2)
    env.set_options(options)
    refuses(env.reset, *words)


def test_an_illegal_action_raises_an_error_and_nothing_is_played() -> None:
    env = native(on_invalid="raise")
    before = env.env_method("position")
    actions = env.action_masks().argmax(1)
    actions[1] = env.action_masks()[1].argmin()
    with pytest.raises(IllegalActionError, match=f"illegal action {actions[1]} "):
        env.step(actions)
    assert env.env_method("position") == before


def make_busy_aces() -> gym.Env[Any, Any]:
    """At the top level of a module: processes import it by name."""
    return Monitor(gym.make(f"solitaire_env:{BUSY_ACES}", max_episode_steps=40))


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("dummy", marks=pytest.mark.slow),
        pytest.param("subprocess", marks=pytest.mark.slow),
        "native",
    ],
)
def test_maskable_ppo_trains(kind: str) -> None:
    env: VecEnv
    if kind == "native":
        env = SolitaireVecEnv(BUSY_ACES, 2, max_episode_steps=40)
    elif kind == "dummy":
        env = DummyVecEnv([make_busy_aces] * 2)
    else:
        env = SubprocVecEnv([make_busy_aces] * 2, start_method="spawn")
    try:
        model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, device="cpu", seed=0)
        model.learn(256)
    finally:
        env.close()
    assert model.num_timesteps == 256 and len(model.ep_info_buffer) >= 4
    assert len(model.ep_success_buffer) == len(model.ep_info_buffer)
    assert all(weights.isfinite().all() for weights in model.policy.parameters())


def test_reserved_deals_are_not_dealt() -> None:
    """Streams that are about to draw the number of a reserved deal skip it."""
    env = SolitaireVecEnv(SHORT, len(STREAMS), max_episode_steps=1)
    env.reset()
    for row, stream in enumerate(STREAMS):
        (state,) = env.env_method("get_state", indices=row)
        env.env_method("set_state", {**state, "stream": stream}, indices=row)
    env.step(env.action_masks().argmax(axis=1))
    assert [info["deal"] for info in env.reset_infos] == [next_deal(stream) for stream in STREAMS]
