"""The native SB3 environment: before the first reset, rows, pictures, deals, and the attributes that SB3
reads.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.env import SolitaireEnv
from solitaire_env.sb3 import SolitaireVecEnv


def started(num_envs: int = 3, **arguments: Any) -> SolitaireVecEnv:
    env = SolitaireVecEnv("busy-aces", num_envs, **arguments)
    env.seed(0)
    env.reset()
    return env


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
    env = started()
    positions = env.env_method("position")
    assert env.env_method("position", indices=indices) == [positions[row] for row in rows]


def test_every_public_method_of_single_environments_can_be_called() -> None:
    """Except those that would bypass the vector environment, and copies."""
    own = set(dir(SolitaireEnv)) - {*dir(gym.Env), "clone", "resample"}
    public = {name for name in own if not name.startswith("_")}
    env = started()
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
