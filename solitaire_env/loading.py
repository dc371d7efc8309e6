"""Policies by name: ``random``, ``greedy``, ``linear``, ``shipped``, ``search``, a model folder,
``module:Class``.

Names work the same in every command and function. Networks in torch are loaded by the function that
``import agents`` registers, in a clone of the repository.
"""

import os
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Build, Moves, Spaces, Variant
from solitaire_env.policies.greedy import Greedy
from solitaire_env.policies.linear import load_linear
from solitaire_env.policies.network import NetworkPlayer
from solitaire_env.policies.policy import FunctionPolicy, Policy, with_moves
from solitaire_env.policies.random import Random
from solitaire_env.policies.sb3_model import SB3Policy, is_sb3_model
from solitaire_env.policies.shipped import FAMILY, load_family, load_shipped, network_folder
from solitaire_env.registration import resolve_variant
from solitaire_env.search.budget import Budget
from solitaire_env.search.collapsed import collapses
from solitaire_env.search.player import Searcher
from solitaire_env.search.tree_player import TreeSearcher
from solitaire_env.util.arguments import check_kind
from solitaire_env.util.files import missing_folder, model_folder
from solitaire_env.util.messages import one_line, shown

SEARCH: Final = "search"
LoadFolder = Callable[[Path, GameSpec], Policy]
"""Loads the network of a run or model folder, for a game."""
_other_networks: list[LoadFolder] = []
"""Loads the networks that the package does not play itself, once it is registered."""


def register_networks(load: LoadFolder) -> None:
    """Load networks of all kinds but the package's own by this function, and no longer by an earlier one."""
    _other_networks[:] = [load]


def load_search(spec: GameSpec, prior: str | Policy = "shipped", budget: Budget | None = None) -> Policy:
    """The policy ``search``.

    Parameters
    ----------
    prior
        Proposes moves: ``shipped``, a run or model folder, or a policy that explains its probabilities. Games
        like Klondike need none.
    budget
        The search budget of a move.

    Raises
    ------
    ValueError
        If there is no such network, or it does not play this game.
    """
    if collapses(spec.variant):
        return TreeSearcher(spec.variant, budget)
    return Searcher(spec.variant, load_prior(prior, spec) if isinstance(prior, str) else prior, budget)


def load_prior(name: str, spec: GameSpec) -> Policy:
    """A network for search and the solver's beams: ``shipped``, ``family``, or a run or model folder."""
    folder = network_folder(name, spec)
    if not model_folder(folder).is_dir():
        raise ValueError(f"network {name!r} is not 'shipped' or 'family', and {missing_folder(Path(name))}")
    prior = _load_folder(folder, spec)
    if isinstance(prior, NetworkPlayer):
        prior.finish_games = False  # search finds the wins itself
    return prior


BUILT_IN: Final[dict[str, Callable[..., Policy]]] = {
    "random": Random,
    "greedy": Greedy,
    "linear": load_linear,
    "shipped": load_shipped,
    FAMILY: load_family,
    SEARCH: load_search,
}
"""The policies of the package."""
OPTIONS: Final = ("prior", *(option.name for option in fields(Budget)))
"""The options of ``search``."""


def load_policy(
    name: str | Path,
    game: str | Variant | GameSpec,
    *,
    build: Build | None = None,
    spaces: Spaces | None = None,
    moves: Moves | None = None,
    **options: Any,
) -> Policy:
    """A policy by name, for a game.

    Parameters
    ----------
    name
        One of :data:`BUILT_IN`, a run or model folder, or ``module:Class``, which is called with the game as
        a :class:`GameSpec`.
    game
        An id, a variant's name, a variant or a spec.
    build, spaces, moves
        House rules of the game. With ``moves="supermove"`` the policy also plays the game that moves one card
        at a time: each supermove as single moves.
    options
        Of ``search``: ``prior``, see :func:`load_search`, and the fields of
        :class:`~solitaire_env.search.budget.Budget`, such as ``simulations``.

    Raises
    ------
    ValueError
        If there is no such policy, or it does not play this game.
    """
    spec = game if isinstance(game, GameSpec) else GameSpec(resolve_variant(game))
    spec = replace(spec, variant=spec.variant.with_rules(build=build, spaces=spaces, moves=moves))
    text = str(name) if isinstance(name, Path) else check_kind("policy", name, str, "a name or a folder")
    if unknown := [option for option in options if text != SEARCH or option not in OPTIONS]:
        raise ValueError(
            f"policy {shown(text)} has no option {shown(unknown[0])}, allowed: "
            f"{', '.join(OPTIONS) if text == SEARCH else 'none'}"
        )
    if text in BUILT_IN:
        made = BUILT_IN[text]
        if options:
            made = partial(load_search, prior=options.pop("prior", "shipped"), budget=Budget(**options))
        return _create(text, made, _view_for(made, spec))
    if _is_folder(text):
        return _load_folder(Path(text), spec)
    if isinstance(name, Path) or {"/", os.sep} & {*text}:
        raise ValueError(missing_folder(Path(text)))
    if ":" in text:
        made = load_class(text)
        return with_moves(_create(text, made, _view_for(made, spec)), moves)
    raise ValueError(
        f"unknown policy {shown(text)}, allowed: {', '.join(BUILT_IN)}, a run or model folder, or "
        "module:Class"
    )


def as_policy(
    policy: Any,
    game: str | Variant | GameSpec,
    *,
    observation: Observation | None = None,
    information: Information | None = None,
) -> Policy:
    """Convert to a policy: a policy itself, a name, a folder, an SB3 model or a function.

    Parameters
    ----------
    observation, information
        What a function reads that does not declare it; by default ``"cards"`` and ``"player"``.

    Raises
    ------
    TypeError
        If it is none of these.
    ValueError
        If a policy declares another observation or information.
    """
    given = {"observation": observation, "information": information}
    needs = {name: value for name, value in given.items() if value is not None}
    made = _as_policy(policy, game, needs)
    for name, value in needs.items():
        if getattr(made, name) != value:
            raise ValueError(
                f"{name} is {shown(value)}, but policy {made.name} reads {getattr(made, name)!r}, allowed: "
                "that, None, or a function that declares none"
            )
    return made


def _as_policy(policy: Any, game: str | Variant | GameSpec, needs: dict[str, Any]) -> Policy:
    if isinstance(policy, Policy) and not hasattr(policy, "reset"):
        return policy
    if isinstance(policy, (str, Path)):
        return load_policy(policy, game)
    if is_sb3_model(policy):
        spec = game if isinstance(game, GameSpec) else GameSpec(resolve_variant(game))
        return SB3Policy(policy, spec, **needs)
    if isinstance(policy, type) or not callable(policy):
        kind = "class" if isinstance(policy, type) else type(policy).__name__
        raise TypeError(
            f"policy {shown(policy)} is a {kind}, "
            "allowed: a Policy, a name, a model folder, an SB3 model or a function"
        )
    return FunctionPolicy(policy, **needs)


def load_class(path: str, what: str = "policy") -> Callable[..., Any]:
    """The class or function of a ``module:Class`` text; errors call it ``what``.

    Raises
    ------
    ValueError
        If it does not exist.
    """
    module, _, attribute = check_kind(what, path, str, "module:Class").partition(":")
    try:
        if not all(map(str.isidentifier, module.split("."))) or not attribute.isidentifier():
            raise ImportError(f"{module!r} is not the name of a module")
        made = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{what} {shown(path)} cannot be loaded: {one_line(error)}, allowed: module:Class"
        ) from None
    except Exception as error:
        raise _failed(f"{what} {shown(path)}", "loaded", error) from error
    if not callable(made):
        raise ValueError(f"{what} {shown(path)} is a {type(made).__name__}, allowed: a class or a function")
    return made  # type: ignore[no-any-return]


def _view_for(made: Any, spec: GameSpec) -> GameSpec:
    """The game as a class of policies declares that it needs to see it."""
    return spec.view(
        moves=getattr(made, "moves", None),
        observation=getattr(made, "observation", None),
        information=getattr(made, "information", None),
    )


def trust_folder(name: str) -> None:
    """Import the module of the custom network that a run or model folder names, which can run any code.

    Other policies need no trust.
    """
    from solitaire_env.policies.network import network_kind  # reads safetensors

    if _is_folder(name) and ":" in (kind := network_kind(Path(name))):
        load_class(kind, "network")


def _is_folder(text: str) -> bool:
    try:
        return bool(text) and Path(text).is_dir()
    except OSError:  # too long for a name
        return False


def _load_folder(path: Path, spec: GameSpec) -> Policy:
    from solitaire_env.policies.network import KIND, load_network, network_kind  # reads safetensors

    kind = network_kind(path)
    if kind == KIND:
        return load_network(path, spec)
    if not _other_networks:
        module, custom, _ = kind.partition(":")
        raise ValueError(
            f"{path}: network is {shown(kind)}, allowed: {KIND!r}; other networks need torch and a clone of "
            "the repository: first import agents"
            + (f" and {one_line(module, 60)}, or pass --trust-model to the command" if custom else "")
        )
    return _other_networks[0](path, spec)


def _create(name: str, make: Callable[[GameSpec], Any], spec: GameSpec) -> Policy:
    try:
        return as_policy(make(spec), spec)
    except Exception as error:
        raise _failed(f"policy {shown(name)}", "created", error) from error


def _failed(what: str, step: str, error: Exception) -> ValueError:
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return ValueError(f"{what} cannot be {step}: {kind}{one_line(error, 300)}")
