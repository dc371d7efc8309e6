"""Ids of games: with gym.make and gym.make_vec, in this process and in others, and of custom variants."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv

import solitaire_env
from solitaire_env import variants
from solitaire_env.core.variant import rules_to_dict
from solitaire_env.env import SolitaireEnv
from solitaire_env.family import SPLITS, read_games
from solitaire_env.registration import env_id, env_variant, register_variant
from solitaire_env.variants import TINY_KLONDIKE, VARIANTS, Variant, get_variant, grouped
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses

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


def test_each_game_has_an_id_which_makes_both_environments() -> None:
    ids = list(map(env_id, VARIANTS))
    assert ids[:2] == ["Solitaire/FortyThieves-v0", "Solitaire/EightyThieves-v0"]
    assert len(set(ids)) == len(ids) and set(ids) <= set(gym.registry)
    for name, variant in zip(ids, VARIANTS, strict=True):
        env, envs = gym.make(name), gym.make_vec(f"solitaire_env:{name}", num_envs=2)
        assert env.unwrapped.variant == envs.unwrapped.game.variant == variant  # type: ignore[attr-defined]
        limit = envs.unwrapped.game.settings.max_episode_steps  # type: ignore[attr-defined]
        assert env.spec.max_episode_steps == limit == 32 * variant.cards  # type: ignore[union-attr]


def test_a_game_that_changes_gets_its_own_version() -> None:
    """The ids of other games stay; the version is no rule."""
    changed = replace(MINE, version=3)
    name = register_variant(changed)
    assert name == "Solitaire/MyOwnGame2-v3"
    assert env_variant(name) == gym.make(name).unwrapped.variant == changed  # type: ignore[attr-defined]
    assert {env_id(variant).rpartition("-")[2] for variant in VARIANTS} == {"v0"}
    assert rules_to_dict(changed) == rules_to_dict(MINE)


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
        assert gym.make_vec(name, num_envs=2).unwrapped.game.variant == MINE  # type: ignore[attr-defined]
    assert SolitaireEnv("my-own").variant == get_variant("Mine") == env_variant(MY_ID) == MINE
    env = gym.make(MY_ID, build="any suit")
    assert env.unwrapped.variant == replace(MINE, build="any suit")  # type: ignore[attr-defined]
    plain = SolitaireEnv(MINE)
    plain.reset(seed=0)
    observation, _ = env.reset(options={"position": plain.position()})
    assert env.observation_space.contains(observation)


def test_conflicting_names_and_ids_raise_an_error(refuses: Refuses) -> None:
    """Nothing is left of a refused variant."""
    register_variant(MINE)
    known, registry = variants.known_variants(), dict(gym.registry)
    for changes, words in (
        ({"title": "Another", "decks": 2}, ("'my-own'", "another name")),
        ({"name": "other", "decks": 2}, (MY_ID, "another title")),
        ({"name": "busy-aces", "title": "Another"}, ("'busy-aces'", "another name")),
        ({"title": "Busy Aces"}, ("Solitaire/BusyAces-v0", "another title")),
    ):
        refuses(lambda changes=changes: register_variant(replace(MINE, **changes)), *words)
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
    for name in ("solitaire_env:Solitaire/EightsDown-v0", "eights-down", "Eights Down", "Eight Off"):
        assert env_variant(name).name == "eights-down"
    refuses(lambda: env_variant("Solitaire/BusyAce-v0"), "closest: Solitaire/BusyAces-v0")
    refuses(lambda: env_variant("forty-thief"), "'forty-thief'", "forty-thieves")
    refuses(lambda: env_variant("Solitaire/" + "x" * 10_000), "'Solitaire/xxx", "one of the ")


# ------------------------------------------------------------------------------- other processes


def test_spawned_workers_know_a_custom_variant() -> None:
    """A spawned process has not registered it: the plain data of the spec is enough."""
    spec = gym.spec(register_variant(MINE))
    seeds = 2
    workers = AsyncVectorEnv([partial(gym.make, spec)] * seeds, context="spawn")
    try:
        here = SolitaireVectorEnv(MINE, seeds, max_episode_steps=spec.max_episode_steps)
        observations, info = workers.reset(seed=3)
        expected, _ = here.reset(seed=3)
        for _ in range(5):
            np.testing.assert_array_equal(observations, expected)
            actions = info["action_mask"].argmax(axis=1)
            observations, *_, info = workers.step(actions)
            expected, *_ = here.step(actions)
    finally:
        workers.close()


# ------------------------------------------------------------------------------------ the package


def test_dir_lists_the_public_names() -> None:
    """Including those that are loaded on first use."""
    names = dir(solitaire_env)
    assert set(solitaire_env.__all__) <= set(names)
    assert not {"import_module", "os", "Any", "TYPE_CHECKING"} & set(names)
    for name in names:
        assert getattr(solitaire_env, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'wings'"):
        _ = solitaire_env.wings  # type: ignore[attr-defined]


EXTRAS = ("stable_baselines3", "torch", "PIL", "pygame", "imageio", "imageio_ffmpeg", "moviepy", "yaml",
          "pysol_cards", "pydantic", "scipy", "matplotlib", "rich")  # fmt: skip

WITHOUT_EXTRAS = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    sys.modules[name] = None
import solitaire_env
for module in pkgutil.walk_packages(solitaire_env.__path__, "solitaire_env.", onerror=lambda name: None):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            print(module.name, type(error).__name__, error)
"""


def test_modules_without_their_libraries_say_what_to_install() -> None:
    """Every module of the package can be imported, or names the extra with the missing library."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *EXTRAS]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    lacking = dict(line.split(" ", 1) for line in lines)
    for name, message in lacking.items():
        assert message.startswith("ImportError ") and 'pip install "solitaire-env[' in message, (
            name,
            message,
        )
    assert "stable_baselines3" in lacking["solitaire_env.sb3"] and "[train]" in lacking["solitaire_env.sb3"]
    assert "[render]" in lacking["solitaire_env.render.picture"]


def test_tiny_klondike_is_registered_and_not_published() -> None:
    env = gym.make("solitaire_env:Solitaire/TinyKlondike-v0")
    assert env.unwrapped.variant == get_variant("Tiny Klondike") == TINY_KLONDIKE  # type: ignore[attr-defined]
    assert TINY_KLONDIKE in variants.known_variants()
    for listed in (VARIANTS, *grouped().values(), *map(read_games, SPLITS)):
        assert TINY_KLONDIKE not in listed
