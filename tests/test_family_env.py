"""The environment of many games."""

from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.core.family import RULE_FIELDS
from solitaire_env.core.layout import make_rules
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import draw
from solitaire_env.family import SPLITS, TEST, TRAIN, read_games
from solitaire_env.notation import parse_position
from solitaire_env.registration import register_variant
from solitaire_env.variants import VARIANTS, Variant, get_variant
from solitaire_env.vector import SolitaireVectorEnv
from solitaire_env.wrappers import MoveFeatures, VectorMoveFeatures
from tests.comparing import check_vector

ID = "Solitaire/Family-v0"
SOME = ["klondike-draw-3", "freecell", "yukon", "penguin", "zebra"]
ALIKE = ["forty-thieves", "famous-fifty"]
"""Games whose rules are the same as numbers: they differ in the deal."""


def choose(rng: np.random.Generator, mask: Any) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def test_splits_contain_each_game_once() -> None:
    """Games that are published later do not change them."""
    assert set(TRAIN) | set(TEST) <= {variant.name for variant in VARIANTS} == set(SPLITS["all"])
    assert (len({*TRAIN} - {*TEST}), len({*TEST})) == (58, 18)


def rules_of(variant: Variant) -> tuple[Any, ...]:
    fields = [field for field in RULE_FIELDS if field not in ("piles", "space_rank")]
    return tuple(getattr(make_rules(variant), field) for field in fields)


def test_each_test_game_has_a_combination_of_rules_that_no_training_game_has() -> None:
    seen = {rules_of(get_variant(name)) for name in TRAIN}
    assert [name for name in TEST if rules_of(get_variant(name)) in seen] == []


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
def test_rows_equal_single_environments(mode: AutoresetMode) -> None:
    check_vector(gym.spec(ID), mode, seed=5, steps=120, num_envs=6, games=SOME)


def test_a_game_is_chosen_by_name() -> None:
    """Or by its position."""
    env, other = SolitaireEnv("all", render_mode="ansi"), SolitaireEnv("all")
    for variant in VARIANTS:
        observation, info = env.reset(seed=0, options={"variant": variant.name, "deal": 3})
        assert (info["variant"], info["deal"], env.variant) == (variant.name, 3, variant)
        assert env.observation_space.contains(observation)
        position = parse_position(env.position())
        assert position.variant == variant and variant.title in env.render()
        assert other.reset(options={"position": env.position()})[1]["variant"] == variant.name
        assert other.deal is None and other.position(hidden=True) == env.position(hidden=True)
        for pile, cards in enumerate(position.hidden().tableau, 1):
            part = observation[env.batch.layout.slices[f"t{pile}"]]
            assert part[: len(cards)].tolist() == list(cards)
        legal = np.flatnonzero(env.action_masks())
        alone = SolitaireEnv(variant)
        alone.set_state(env.get_state())
        own = [alone.action_text(action) for action in alone.legal_actions()]
        assert sorted(env.action_text(int(action)) for action in legal) == sorted(own)
        assert env.describe_action(int(legal[0]))


def test_an_action_of_another_game_is_illegal() -> None:
    env = SolitaireEnv(["freecell", "klondike"], on_invalid="raise")
    env.reset(options={"variant": "freecell", "deal": 0})
    draw = env.parse_action("draw")
    with pytest.raises(IllegalActionError, match="freecell has no such move"):
        env.step(draw)
    with pytest.raises(IllegalActionError, match="allowed here"):
        env.step(env.parse_action("t1>t2") if not env.action_masks()[env.parse_action("t1>t2")] else draw)


ONE_ACTION = Variant("one-action", "One Action", decks=1, tableau=(4,), ranks=1, spaces="none")
"""Its only action is legal in every position."""


def test_copied_rows_are_games_of_their_sources() -> None:
    """Of three games; rows that are both sources and targets are read first."""
    games = ["freecell", "klondike", "yukon"]
    envs = SolitaireVectorEnv(games, 12)
    _, infos = envs.reset(seed=0, options={"variant": [*games] * 4, "deal": [*range(11), "pysol:24"]})
    random = np.random.default_rng(0)
    for _ in range(25):
        observations, rewards, *_, infos = envs.step(draw(infos["action_mask"], random.random(12)))
    before = [envs.get_state(row) for row in range(12)]
    sources, targets = [0, 1, 2, 3, 4, 11, 0], [1, 2, 0, 8, 3, 5, 9]
    envs.copy_rows(sources, targets)
    now = np.arange(12)
    now[targets] = sources
    assert [envs.get_state(row) for row in range(12)] == [before[row] for row in now]
    np.testing.assert_array_equal(envs.batch.observations(), observations[now])
    np.testing.assert_array_equal(envs.action_masks(), infos["action_mask"][now])
    np.testing.assert_array_equal(envs.batch.rewards, rewards[now])
    actions = envs.action_masks().argmax(1)
    observations, *_, infos = envs.step(actions)
    for row, source in ((8, 3), (9, 0)):
        alone = SolitaireEnv(games)
        alone.set_state(before[source])
        seen, *_, info = alone.step(actions[row])
        np.testing.assert_array_equal(observations[row], seen)
        np.testing.assert_array_equal(infos["action_mask"][row], info["action_mask"])


@pytest.mark.usefixtures("registered_games_removed")
@pytest.mark.parametrize("name", [ONE_ACTION.name, *SOME])
def test_actions_of_other_games_change_nothing_and_end_games_if_asked(name: str) -> None:
    """In each position of a random game."""
    register_variant(ONE_ACTION)
    rng = np.random.default_rng(0)
    games = [ONE_ACTION.name, *SOME]
    env, ending = SolitaireVectorEnv(games, 2), SolitaireVectorEnv(games, 2, on_invalid="terminate")
    for each in (env, ending):
        each.reset(options={"variant": name, "deal": 0})
    foreign = np.flatnonzero(env.batch.layout.own_actions[games.index(name)] < 0)
    for _ in range(20):
        states = [env.get_state(row) for row in range(2)]
        for action in rng.choice(foreign, 8).tolist():
            _, rewards, terminated, _, infos = env.step(np.full(2, action))
            assert infos["invalid_action"].all() and not rewards.any() and not terminated.any()
        for row, state in enumerate(states):
            assert env.get_state(row)["row"] == state["row"]
        legal = np.array([choose(rng, mask) for mask in env.action_masks()])
        if any(each.step(legal)[2].any() for each in (env, ending)):
            return
    assert ending.step(np.full(2, foreign[0]))[2].all()


@pytest.mark.parametrize(
    ("games", "words"),
    [("most", "unknown split"), ([], "one or more"), (["yukon", "yukon"], "each once"), (["x"], "unknown")],
)
def test_invalid_games_raise_an_error(games: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_games(games)


def test_invalid_arguments_raise_an_error() -> None:
    env, envs = SolitaireEnv(SOME), SolitaireVectorEnv(SOME, 2)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    with pytest.raises(ValueError, match="'variant' is 'forty-thieves', allowed: klondike-draw-3"):
        env.reset(options={"variant": "forty-thieves"})
    env.reset(seed=0)
    envs.reset(seed=0)
    for step, action in (
        (env.step, len(env.batch.layout.texts)),
        (envs.step, [0, len(env.batch.layout.texts)]),
    ):
        with pytest.raises(ValueError, match="outside the space"):
            step(action)
    with pytest.raises(ValueError, match="state is of variant"):
        env.set_state({**env.get_state(), "variant": "forty-thieves"})


def test_it_has_the_methods_of_a_single_game() -> None:
    env = SolitaireEnv(SOME, max_episode_steps="registered")
    _, info = env.reset(seed=0, options={"variant": "freecell", "deal": 5})
    alone = SolitaireEnv("freecell")
    alone.reset(options={"deal": 5})
    assert "SolitaireEnv('freecell')" in repr(env) and env.position() in repr(env)
    assert env.settings.max_episode_steps == 32 * 52 and env.game.variant is env.variant
    legal = env.legal_actions()
    assert legal == np.flatnonzero(info["action_mask"]).tolist()
    for action, own in zip(map(env.action_text, legal), alone.legal_actions(), strict=True):
        assert action == alone.action_text(own)
        number = env.parse_action(action)
        assert env.moved_cards(number) == alone.moved_cards(own) and env.expand(number) == alone.expand(own)
        assert env.describe_action(number) == alone.describe_action(own)
    assert env.decode_observation(env._observation()) == alone.decode_observation(alone._observation())
    assert env.observation_layout == env.batch.layout.slices
    other = deepcopy(env)
    assert other.get_state() == env.get_state()
    other.step(legal[0])
    assert other.get_state() != env.get_state()


def test_a_limit_of_gym_make_is_the_only_one() -> None:
    env = gym.make(ID, games=["busy-aces"], max_episode_steps=10_000)
    assert env.unwrapped.settings.max_episode_steps is None  # type: ignore[attr-defined]
    assert gym.make_vec(ID, num_envs=2).batch.settings.max_episode_steps == 32 * 208  # type: ignore[attr-defined]


@pytest.mark.parametrize("games", [SOME, ALIKE], ids=["some", "alike"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_move_features_are_those_of_each_game(mode: str, games: list[str]) -> None:
    envs = SolitaireVectorEnv(games, 5, autoreset_mode=mode, max_episode_steps=6)
    wrapped = VectorMoveFeatures(SolitaireVectorEnv(games, 5, autoreset_mode=mode, max_episode_steps=6))
    singles = {name: SolitaireEnv(name) for name in games}
    _, infos = envs.reset(seed=3)
    table, _ = wrapped.reset(seed=3)
    rng = np.random.default_rng(3)
    for _ in range(12):
        assert wrapped.observation_space.contains(table)
        for row, name in enumerate(infos["variant"]):
            single = MoveFeatures(singles[name])
            observation, _ = single.reset(options={"position": envs.position(row)})
            expected = np.zeros_like(table[row])
            expected[envs.batch.layout.actions[games.index(name)]] = observation
            np.testing.assert_array_equal(table[row], expected)
        actions = np.array([choose(rng, mask) for mask in infos["action_mask"]])
        *_, infos = envs.step(actions)
        table, *_, wrapped_infos = wrapped.step(actions)
        for row in np.flatnonzero(wrapped_infos.get("_final_obs", [])):
            assert wrapped_infos["final_obs"][row].shape == table[row].shape
    assert SolitaireEnv(SOME).observation_space != MoveFeatures(SolitaireEnv(SOME)).observation_space
