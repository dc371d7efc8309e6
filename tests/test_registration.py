"""Ids of games: with gym.make and gym.make_vec, in this process and in others, and of custom variants."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import solitaire_env
from solitaire_env import variants
from solitaire_env.env import SolitaireEnv
from solitaire_env.registration import env_id, env_variant, register_variant
from solitaire_env.variants import VARIANTS, Variant, get_variant
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses

IDS = [
    "Solitaire/FortyThieves-v0",
    "Solitaire/EightyThieves-v0",
    "Solitaire/EightsDown-v0",
    "Solitaire/FortyBandits-v0",
    "Solitaire/BusyAces-v0",
    "Solitaire/SixtyThieves-v0",
    "Solitaire/Limited-v0",
    "Solitaire/FamousFifty-v0",
    "Solitaire/WaningMoon-v0",
    "Solitaire/ThirtyNineSteps-v0",
    "Solitaire/Express-v0",
    "Solitaire/Carnation-v0",
    "Solitaire/Squadron-v0",
    "Solitaire/SanJuanHill-v0",
    "Solitaire/FortyAndEight-v0",
    "Solitaire/Lucas-v0",
    "Solitaire/NapoleonsSquare-v0",
    "Solitaire/MarieRose-v0",
    "Solitaire/Malmaison-v0",
    "Solitaire/Interchange-v0",
    "Solitaire/Unlimited-v0",
    "Solitaire/Maria-v0",
    "Solitaire/Streets-v0",
    "Solitaire/Roosevelt-v0",
    "Solitaire/BigStreets-v0",
    "Solitaire/NumberTen-v0",
    "Solitaire/NumberTwelve-v0",
    "Solitaire/RankAndFile-v0",
    "Solitaire/Emperor-v0",
    "Solitaire/ThievesOfEgypt-v0",
    "Solitaire/Indian-v0",
    "Solitaire/Midshipman-v0",
    "Solitaire/NapoleonsFolly-v0",
    "Solitaire/NapoleonsExile-v0",
    "Solitaire/DoubleRail-v0",
    "Solitaire/FinalBattle-v0",
    "Solitaire/SingleRail-v0",
    "Solitaire/TripleRail-v0",
    "Solitaire/Waterloo-v0",
    "Solitaire/Courtyard-v0",
    "Solitaire/Corona-v0",
    "Solitaire/TripleLine-v0",
    "Solitaire/LittleForty-v0",
    "Solitaire/Zebra-v0",
    "Solitaire/RedAndBlack-v0",
    "Solitaire/Deuces-v0",
    "Solitaire/Pluto-v0",
    "Solitaire/FreeCell-v0",
    "Solitaire/FreeCellTwoCells-v0",
    "Solitaire/FreeCellNoCells-v0",
    "Solitaire/RelaxedFreeCell-v0",
    "Solitaire/ForeCell-v0",
    "Solitaire/KingCell-v0",
    "Solitaire/SevenByFour-v0",
    "Solitaire/SevenByFive-v0",
    "Solitaire/TripleFreeCell-v0",
    "Solitaire/Cell11-v0",
    "Solitaire/BigCell-v0",
    "Solitaire/Repair-v0",
    "Solitaire/BakersGame-v0",
    "Solitaire/KingOnlyBakersGame-v0",
    "Solitaire/SeahavenTowers-v0",
    "Solitaire/RelaxedSeahavenTowers-v0",
    "Solitaire/DoubleSeahavenTowers-v0",
    "Solitaire/DoubleEightOff-v0",
    "Solitaire/Penguin-v0",
    "Solitaire/Opus-v0",
    "Solitaire/Klondike-v0",
    "Solitaire/KlondikeDraw3-v0",
    "Solitaire/DoubleKlondike-v0",
    "Solitaire/DoubleKlondikeDraw3-v0",
    "Solitaire/Westcliff-v0",
    "Solitaire/ThumbAndPouch-v0",
    "Solitaire/Whitehead-v0",
    "Solitaire/Yukon-v0",
    "Solitaire/RussianSolitaire-v0",
]
ROOT = Path(__file__).parents[1]
MINE = Variant("my-own", "My own: Game 2", decks=1, tableau=(3, 3, 3), ranks=4, aliases=("Mine",))
MY_ID = "Solitaire/MyOwnGame2-v0"


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Forget what a test registers."""
    registry, added = dict(gym.registry), dict(variants._ADDED)
    yield
    gym.registry.clear()
    gym.registry.update(registry)
    variants._ADDED.clear()
    variants._ADDED.update(added)


def test_ids_are_made_from_titles() -> None:
    ids = list(map(env_id, VARIANTS))
    assert ids[: len(IDS)] == IDS and len(set(ids)) == len(ids)
    assert set(ids) <= set(gym.registry)


@pytest.mark.parametrize("name", IDS)
def test_gym_make_makes_each_game(name: str) -> None:
    for text in (name, f"solitaire_env:{name}"):
        env = gym.make(text)
        assert isinstance(env.unwrapped, SolitaireEnv)
        assert env_id(env.unwrapped.variant) == name
        vector = gym.make_vec(text, num_envs=2)
        assert isinstance(vector.unwrapped, SolitaireVectorEnv)
        assert vector.unwrapped.variant == env.unwrapped.variant
        assert vector.unwrapped.settings.max_episode_steps == env.spec.max_episode_steps  # type: ignore[union-attr]


@pytest.mark.parametrize("name", IDS)
def test_spec_is_plain_data(name: str) -> None:
    env = gym.make(name, observation="features", moves="one card")
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))  # type: ignore[union-attr]
    assert again.unwrapped.settings == env.unwrapped.settings  # type: ignore[attr-defined]
    assert again.unwrapped.variant == env.unwrapped.variant  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
def test_make_vec_supports_both_modes(mode: str) -> None:
    env = gym.make_vec(IDS[4], num_envs=2, vectorization_mode=mode, moves="supermove")
    assert isinstance(env, SyncVectorEnv if mode == "sync" else SolitaireVectorEnv)
    assert env.single_action_space.n == 171 + 12 * 12  # type: ignore[attr-defined]


def test_the_module_form_registers_the_games() -> None:
    """In a fresh interpreter that has not imported the package; importing it does not load the engine."""
    code = (
        "import sys, gymnasium as gym, solitaire_env\n"
        "assert 'solitaire_env.core.rules' not in sys.modules, 'importing the package loads the engine'\n"
        "env = gym.make('solitaire_env:Solitaire/EightyThieves-v0')\n"
        "env.step(env.reset()[1]['action_mask'].argmax())\n"
        "assert 'numba' not in sys.modules, 'a step needs numba'\n"
        "print(env.unwrapped.variant.name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("eighty-thieves\n", "")


def test_registering_again_changes_nothing() -> None:
    before = dict(gym.registry)
    for variant in VARIANTS:
        assert register_variant(variant) == env_id(variant)
    solitaire_env.registration.register_all()
    assert dict(gym.registry) == before


# ----------------------------------------------------------------------------------- of one's own


def test_a_registered_variant_can_be_made() -> None:
    assert solitaire_env.register_variant(MINE) == MY_ID
    assert register_variant(MINE) == MY_ID
    for name in (MY_ID, f"solitaire_env:{MY_ID}"):
        env = gym.make(name)
        assert env.unwrapped.variant == MINE  # type: ignore[attr-defined]
        assert env.spec.max_episode_steps == 32 * 16  # type: ignore[union-attr]
        assert gym.make_vec(name, num_envs=2).unwrapped.variant == MINE  # type: ignore[attr-defined]
    assert SolitaireEnv("my-own").variant == get_variant("Mine") == env_variant(MY_ID) == MINE
    env = gym.make(MY_ID, build="any suit")
    assert env.unwrapped.variant == replace(MINE, build="any suit")  # type: ignore[attr-defined]
    observation, _ = env.reset(options={"position": solitaire_env.notation.format_position(_position(MINE))})
    assert env.observation_space.contains(observation)


def _position(variant: Variant) -> solitaire_env.notation.Position:
    env = SolitaireEnv(variant)
    observation, _ = env.reset(seed=0)
    return env.decode_observation(observation)


def test_conflicting_names_and_ids_raise_an_error(refuses: Refuses) -> None:
    """Nothing is left of a refused variant."""
    register_variant(MINE)
    known, registry = variants.known_variants(), dict(gym.registry)
    refuses(lambda: register_variant(replace(MINE, title="Another", decks=2)), "'my-own'", "another name")
    refuses(lambda: register_variant(replace(MINE, name="other", decks=2)), MY_ID, "another title")
    refuses(
        lambda: register_variant(replace(MINE, name="busy-aces", title="Another")),
        "'busy-aces'",
        "another name",
    )
    refuses(
        lambda: register_variant(replace(MINE, title="Busy Aces")), "Solitaire/BusyAces-v0", "another title"
    )
    assert variants.known_variants() == known and dict(gym.registry) == registry


def test_a_name_has_priority_over_an_alias() -> None:
    """The position text of a custom variant names that variant, although another game has this alias."""
    mine = replace(MINE, name="eight-off", title="Eight On", aliases=("???",))
    register_variant(mine)
    assert get_variant("eight-off") == mine and get_variant("Eight Off").name == "eights-down"
    env = SolitaireEnv(mine)
    env.reset(seed=0)
    assert solitaire_env.notation.parse_position(env.position()).variant == mine
    with pytest.raises(ValueError, match="unknown variant"):
        get_variant("!")


def test_games_are_found_by_id(refuses: Refuses) -> None:
    for name in (IDS[2], f"solitaire_env:{IDS[2]}", "eights-down", "Eights Down", "Eight Off"):
        assert env_variant(name).name == "eights-down"
    refuses(lambda: env_variant("Solitaire/BusyAce-v0"), "'Solitaire/BusyAce-v0'", f"closest: {IDS[4]}")
    refuses(lambda: env_variant("forty-thief"), "'forty-thief'", "forty-thieves")
    refuses(lambda: env_variant("Solitaire/" + "x" * 10_000), "'Solitaire/xxx", "one of the 76 ids")
    refuses(lambda: env_variant(7), "is a int", "an id")  # type: ignore[arg-type]


def test_an_unknown_id_raises_an_error() -> None:
    with pytest.raises(gym.error.NameNotFound, match="Spider"):
        gym.make("solitaire_env:Solitaire/Spider-v0")


def test_unknown_arguments_are_named_in_the_error(refuses: Refuses) -> None:
    refuses(lambda: gym.make(IDS[0], observation="image"), "'image'", "'cards', 'features'")
    refuses(lambda: gym.make_vec(IDS[0], num_envs=2, moves="all"), "'all'", "'supermove'")


# ------------------------------------------------------------------------------- other processes


def test_spawned_workers_know_a_custom_variant() -> None:
    """A spawned process has not registered it: the plain data of the spec is enough."""
    spec = gym.spec(register_variant(MINE))
    seeds = 2
    workers = AsyncVectorEnv([partial(gym.make, spec)] * seeds, context="spawn")
    try:
        here = SolitaireVectorEnv(seeds, MINE, max_episode_steps=spec.max_episode_steps)
        observations, info = workers.reset(seed=3)
        expected, _ = here.reset(seed=3)
        for _ in range(5):
            np.testing.assert_array_equal(observations, expected)
            actions = info["action_mask"].argmax(axis=1)
            observations, *_, info = workers.step(actions)
            expected, *_ = here.step(actions)
    finally:
        workers.close()


def test_spawned_workers_import_the_package() -> None:
    workers = gym.make_vec(
        "solitaire_env:Solitaire/BusyAces-v0",
        2,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
    )
    try:
        _, info = workers.reset(seed=3)
        assert info["deal"].tolist() == [SolitaireEnv("busy-aces").reset(seed=s)[1]["deal"] for s in (3, 4)]
    finally:
        workers.close()


MY_GAMES = """
import solitaire_env

solitaire_env.register_variant(
    solitaire_env.Variant("my-own", "My own: Game 2", decks=1, tableau=(3, 3, 3), ranks=4)
)
"""
WORKERS = """
import sys
from functools import partial

import gymnasium as gym
import my_games
from gymnasium.vector import AsyncVectorEnv

ID = "Solitaire/MyOwnGame2-v0"


def play(envs, reset):
    envs.seed(3) if reset == "sb3" else None
    observations = envs.reset() if reset == "sb3" else envs.reset(seed=3)[0]
    for _ in range(3):
        observations = envs.step([0, 0])[0]
    envs.close()
    return observations.tolist()


if __name__ == "__main__":
    context = sys.argv[1]
    here = play(gym.make_vec(ID, num_envs=2), "gymnasium")
    for make in (partial(gym.make, gym.spec(ID)), partial(gym.make, f"my_games:{ID}")):
        assert play(AsyncVectorEnv([make] * 2, context=context), "gymnasium") == here
    vector = {"vectorization_mode": "async", "vector_kwargs": {"context": context}}
    assert play(gym.make_vec(ID, num_envs=2, **vector), "gymnasium") == here
    if sys.argv[2] == "sb3":
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.vec_env import SubprocVecEnv

        words = {"vec_env_cls": SubprocVecEnv, "vec_env_kwargs": {"start_method": context}}
        for make in (partial(gym.make, gym.spec(ID)), f"my_games:{ID}"):
            assert play(make_vec_env(make, 2, **words), "sb3") == here
    print("the same")
"""


@pytest.mark.slow
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_a_custom_variant_reaches_workers(context: str, tmp_path: Path) -> None:
    """By its spec, or by an id with the module that registers it, as documented."""
    (tmp_path / "my_games.py").write_text(MY_GAMES)
    (tmp_path / "train.py").write_text(WORKERS)
    sb3 = "sb3" if find_spec("stable_baselines3") else "gymnasium"
    done = subprocess.run(
        [sys.executable, "-W", "error", "train.py", context, sb3],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("the same\n", 0), done.stderr[-2000:]
