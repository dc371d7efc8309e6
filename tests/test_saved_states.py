"""Games start from saved states by the option ``state`` of reset, as ``set_state`` restores them."""

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from solitaire_env.env import SolitaireEnv
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses

GAMES = ["busy-aces", "klondike", "freecell"]


def played(game: str, seed: int, steps: int = 12, **keywords: Any) -> SolitaireEnv:
    """A game after some random moves."""
    env = SolitaireEnv(game, **keywords)
    env.reset(seed=seed)
    random = np.random.default_rng(seed)
    for _ in range(steps):
        env.step(random.choice(env.legal_actions()))
    return env


def assert_same(ours: tuple[Any, dict[str, Any]], theirs: tuple[Any, dict[str, Any]]) -> None:
    """Observations and infos are equal, types too."""
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert ours[0].dtype == theirs[0].dtype and ours[1].keys() == theirs[1].keys()
    for key, value in theirs[1].items():
        np.testing.assert_array_equal(ours[1][key], value)
        assert np.asarray(ours[1][key]).dtype == np.asarray(value).dtype, key


@pytest.mark.parametrize("game", GAMES)
def test_a_game_continues_from_a_state(game: str) -> None:
    """With its steps and its later deals, also in an environment that was not reset before."""
    env = played(game, 3)
    state = json.loads(json.dumps(env.get_state()))
    other, third = SolitaireEnv(game), played(game, 9)
    assert_same(other.reset(options={"state": state}), third.set_state(state))
    assert other.get_state() == state == env.get_state() and state["steps"] == 12
    for _ in range(3):
        actions = {each.legal_actions()[-1] for each in (env, other)}
        assert len(actions) == 1
        action = actions.pop()
        assert_same(env.step(action)[::4], other.step(action)[::4])
    assert env.reset()[1]["deal"] == other.reset()[1]["deal"]


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
def test_states_are_given_for_all_or_for_each(mode: AutoresetMode) -> None:
    states = [played("busy-aces", seed).get_state() for seed in range(3)]
    envs = SolitaireVectorEnv("busy-aces", 3, autoreset_mode=mode)
    for given in (states, tuple(states)):
        observations, infos = envs.reset(seed=4, options={"state": given})
        assert [envs.get_state(row) for row in range(3)] == states
        for row, state in enumerate(states):
            observation, info = SolitaireEnv("busy-aces").reset(options={"state": state})
            assert_same((observations[row], {key: infos[key][row] for key in info}), (observation, info))
    envs.reset(options={"state": states[1]})
    assert [envs.get_state(row) for row in range(3)] == [states[1]] * 3
    mask = np.array([False, True, False])
    envs.reset(options={"state": states[2], "reset_mask": mask})
    assert [envs.get_state(row) for row in range(3)] == [states[1], states[2], states[1]]
    envs.step(envs.action_masks().argmax(1))
    assert envs.batch.steps.tolist() == [13] * 3


def test_the_step_limit_counts_the_steps_of_the_state() -> None:
    envs = SolitaireVectorEnv("busy-aces", 2, max_episode_steps=14)
    envs.reset(seed=0)
    envs.reset(options={"state": played("busy-aces", 1).get_state()})
    ends = [envs.step(envs.action_masks().argmax(1))[3].tolist() for _ in range(2)]
    assert ends == [[False, False], [True, True]]


@pytest.mark.parametrize("mask_dtype", ["int8", "bool"])
@pytest.mark.parametrize("observation", ["cards", "features"])
def test_set_state_of_a_row_returns_what_that_of_a_single_environment_does(
    mask_dtype: Any, observation: Any
) -> None:
    keywords = {"mask_dtype": mask_dtype, "observation": observation}
    state = played("klondike", 5).get_state()
    for copy in (True, False):
        envs = SolitaireVectorEnv("klondike", 3, copy=copy, **keywords)
        envs.reset(seed=0)
        restored = envs.set_state(1, state)
        assert_same(restored, SolitaireEnv("klondike", **keywords).set_state(state))
        before = restored[0].copy()
        envs.step(envs.action_masks().argmax(1))
        np.testing.assert_array_equal(restored[0], before)


def test_stable_baselines_takes_states_as_options() -> None:
    states = [played("busy-aces", seed).get_state() for seed in range(3)]
    env = SolitaireVecEnv("busy-aces", 3)
    env.set_options([{"state": states[0]}, {}, {"state": states[2]}])
    observations = env.reset()
    got = env.env_method("get_state")
    assert (got[0], got[2]) == (states[0], states[2]) and got[1]["steps"] == 0
    np.testing.assert_array_equal(observations[2], SolitaireEnv("busy-aces").set_state(states[2])[0])
    env.set_options({"state": states[1]})
    env.reset()
    assert env.env_method("get_state") == [states[1]] * 3
    env.reset()
    assert all(state["steps"] == 0 for state in env.env_method("get_state"))


def test_a_family_starts_from_the_state_of_any_of_its_games(refuses: Refuses) -> None:
    states = [played(game, 2).get_state() for game in GAMES]
    env, envs = SolitaireEnv(GAMES), SolitaireVectorEnv(GAMES, 3)
    observations, infos = envs.reset(seed=0, options={"state": states})
    assert infos["variant"].tolist() == GAMES
    for row, state in enumerate(states):
        observation, info = env.reset(options={"state": state})
        assert info["variant"] == GAMES[row] and env.get_state() == envs.get_state(row) == state
        np.testing.assert_array_equal(observation, observations[row])
        assert_same(envs.set_state(0, state), env.set_state(state))
    env.reset(options={"state": states[1], "variant": "klondike"})
    assert env.variant.name == "klondike"
    other = {"state": states[1], "variant": "freecell"}
    refuses(lambda: env.reset(options=other), "'klondike'", "'freecell'")
    refuses(lambda: env.reset(options={"state": played("yukon", 0).get_state()}), "'yukon'", "allowed")


STATE = played("busy-aces", 1).get_state()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"state": None}, ("NoneType", "a dict with variant, row, deal")),
        ({"state": {**STATE, "steps": -1}}, ("steps is -1",)),
        ({"state": {**STATE, "deal": -1}}, ("-1", "0 to 2**63 - 1")),
        ({"state": {**STATE, "variant": "klondike"}}, ("'klondike'", "busy-aces")),
        ({"state": {**STATE, "row": STATE["row"][1:]}}, ("a list of",)),
        ({"state": STATE, "deal": 3}, ("'deal' and 'state' cannot be combined",)),
        ({"state": STATE, "position": ""}, ("'position' and 'state' cannot be combined",)),
        ({"dealt": 3}, ("'dealt'", "'deal', 'deals', 'position', 'state'")),
        ({"deal": 3, "position": ""}, ("'deal' and 'position' cannot be combined",)),
        ({"deal": -1}, ("-1", "0 to 2**63 - 1")),
        ({"position": None}, ("NoneType", "position text")),
        ({"position": "nonsense"}, ("'nonsense'", "'name: cards'")),
        ("deal", ("str", "a dict or None")),
    ],
    ids=lambda value: repr(value)[-40:],
)
def test_invalid_options_and_damaged_states_are_refused_before_anything_changes(
    options: Any, words: tuple[str, ...], refuses: Refuses
) -> None:
    env, envs = played("busy-aces", 0), SolitaireVectorEnv("busy-aces", 2)
    sb3 = SolitaireVecEnv("busy-aces", 2)
    envs.reset(seed=0)
    sb3.reset()
    before = env.get_state(), envs.get_state(0), sb3.env_method("get_state")
    refuses(lambda: env.reset(seed=1, options=options), *words)
    refuses(lambda: envs.reset(seed=1, options=options), *words)
    if [*options] == ["state"]:
        refuses(lambda: envs.reset(seed=1, options={"state": [STATE, options["state"]]}), *words)
    refuses(lambda: envs.reset(options={"state": [STATE] * 3}), "3 states", "each of the 2 games")
    sb3.set_options([{"state": STATE}, options])
    refuses(sb3.reset, *words)
    assert (env.get_state(), envs.get_state(0), sb3.env_method("get_state")) == before


def test_a_state_before_the_first_reset_needs_a_reset() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        SolitaireVectorEnv("busy-aces", 2).set_state(0, STATE)
