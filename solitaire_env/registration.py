"""Gymnasium ids of variants. Those of the package are registered when it is imported."""

import sys
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import gymnasium as gym

from solitaire_env.core.variant import Build, Moves, Spaces, Variant, variant_from_dict, variant_to_dict
from solitaire_env.util.arguments import check_kind
from solitaire_env.util.lazy import VARIANTS_KEPT
from solitaire_env.util.messages import one_line, one_of_many, shown
from solitaire_env.variants import TINY_KLONDIKE, VARIANTS, add_variant, get_variant, known_variants

NAMESPACE: Final = "Solitaire"

ENTRY_POINT: Final = "solitaire_env.env:SolitaireEnv"
VECTOR_ENTRY_POINT: Final = "solitaire_env.vector:SolitaireVectorEnv"

FAMILY_ID: Final = f"{NAMESPACE}/Family-v0"
"""The environment that plays many games, see :mod:`solitaire_env.family`. It gets a new version when one of
them does."""

STEPS_PER_CARD: Final = 32
"""The step limit of a variant is this times its cards. Winning lines in single moves take at most 8 steps per
card (Busy Aces: 783 steps for 104 cards, the longest seen); the limit is four times that."""


def env_id(variant: Variant) -> str:
    """The Gymnasium id of a variant, from its title and version: ``Solitaire/FortyThieves-v0``."""
    return _id_of(check_kind("variant", variant, Variant).title, variant.version)


@lru_cache(VARIANTS_KEPT)
def _id_of(title: str, version: int) -> str:
    words = "".join(c if c.isalnum() else " " for c in title.replace("'", "")).split()
    return f"{NAMESPACE}/{''.join(word[0].upper() + word[1:] for word in words)}-v{version}"


def is_family(game: str) -> bool:
    """Whether an id, with or without ``solitaire_env:``, is that of the environment of many games."""
    return check_kind("game", game, str, "an id").removeprefix("solitaire_env:") == FAMILY_ID


def env_variant(id_or_name: str) -> Variant:
    """The variant of a Gymnasium id (with or without its module), a name, a title or an alias.

    It must be known: published, or registered before. No module is imported, because names also come from
    files, networks and language models.

    Raises
    ------
    ValueError
        If there is no such game, or the module of ``module:id`` is not imported.
    """
    if not isinstance(id_or_name, str):
        raise TypeError(f"game is a {type(id_or_name).__name__}, allowed: an id, a name, a title or an alias")
    module, colon, name = id_or_name.rpartition(":")
    if colon and module not in sys.modules:
        raise ValueError(
            f"game {shown(id_or_name)}: module {shown(module)} is not imported, and importing it can run any "
            "code; if you trust it, import it first, or pass --trust-model to the command"
        )
    for variant in known_variants():
        if env_id(variant) == name:
            return variant
    if "/" in name:
        ids = {name: name for name in map(env_id, known_variants())}
        raise ValueError(f"unknown id {shown(name)}, {one_of_many(name, ids, 'ids')}")
    return get_variant(name)


def import_module_of(game: str) -> None:
    """Import the module of ``module:id``, which registers its variants, as ``gym.make`` does.

    This can run any code. Only commands call it: for a game that their user named, or with ``--trust-model``.

    Raises
    ------
    ValueError
        If there is no such module.
    """
    module, colon, _ = check_kind("game", game, str, "an id, a name, a title or an alias").rpartition(":")
    if not colon:
        return
    if not all(map(str.isidentifier, module.split("."))):
        raise ValueError(f"game {shown(game)} names module {shown(module)}, allowed: module:id")
    try:
        import_module(module)
    except Exception as error:  # a module may raise anything
        kind = "" if isinstance(error, (ImportError, ValueError)) else f"{type(error).__name__}, "
        why = f"module {shown(module)} of the game cannot be imported: {kind}{one_line(error)}"
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            why += "; its folder must be the current one or on PYTHONPATH"
        raise ValueError(why) from error


def resolve_variant(
    game: str | Variant | dict[str, Any],
    *,
    build: Build | None = None,
    spaces: Spaces | None = None,
    moves: Moves | None = None,
) -> Variant:
    """The variant of an id, a name, a record or its plain data, with house rules.

    Names are those that :func:`env_variant` takes: no module is imported.
    """
    if isinstance(game, str):
        game = env_variant(game)
    elif isinstance(game, dict):
        game = variant_from_dict(game)
    elif not isinstance(game, Variant):
        raise TypeError(
            f"variant is a {type(game).__name__}, allowed: a name, a Variant or its fields as a dict"
        )
    return game.with_rules(build=build, spaces=spaces, moves=moves)


def step_limit(variant: Variant) -> int:
    """The registered ``max_episode_steps`` of a variant."""
    return STEPS_PER_CARD * check_kind("variant", variant, Variant).cards


def spec_arguments(variant: Variant) -> dict[str, Any]:
    """The arguments of ``gym.register``, or of an ``EnvSpec``, for a variant."""
    return {
        "id": env_id(variant),
        "entry_point": ENTRY_POINT,
        "vector_entry_point": VECTOR_ENTRY_POINT,
        "max_episode_steps": step_limit(variant),
        # Plain data: worker processes make the environment without this registration.
        "kwargs": {"games": variant.name if variant in VARIANTS else variant_to_dict(variant)},
    }


def register_variant(variant: Variant) -> str:
    """Register a custom variant for ``gym.make`` and ``gym.make_vec``; return its id."""
    arguments = spec_arguments(variant)
    name: str = arguments["id"]
    known = gym.registry.get(name)
    if known is not None and known.kwargs != arguments["kwargs"]:
        raise ValueError(f"id {name!r} is already registered with other rules; choose another title")
    add_variant(variant)
    if known is None:
        gym.register(**arguments)
    return name


def register_all() -> None:
    """Register the published games, the environment of all of them, and Tiny Klondike."""
    for variant in (*VARIANTS, TINY_KLONDIKE):
        register_variant(variant)
    if FAMILY_ID not in gym.registry:
        gym.register(
            id=FAMILY_ID,
            entry_point=ENTRY_POINT,
            vector_entry_point=VECTOR_ENTRY_POINT,
            max_episode_steps=max(map(step_limit, VARIANTS)),
            kwargs={"games": "train"},
        )
