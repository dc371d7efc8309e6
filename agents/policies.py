"""Policies by name: ``random``, ``greedy``, ``linear``, ``shipped``, ``search``, a run or model folder,
``module:Class``.

All answer ``policy(observations, masks) -> actions``; see :mod:`solitaire_env.evaluation`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from solitaire_env.play.hints import load_class
from solitaire_env.policies.greedy import Greedy
from solitaire_env.policies.linear import LayoutOf, load_linear
from solitaire_env.policies.random import Random
from solitaire_env.policies.shipped import load_shipped

Array = npt.NDArray[Any]


def _of_class(made: Callable[[dict[str, Any]], Any]) -> Callable[[LayoutOf], Any]:
    """Makes a policy of a class, which says by its attributes what layout it wants."""
    return lambda layout_of: made(layout_of(made))


BUILT_IN: dict[str, Callable[[LayoutOf], Any]] = {
    "random": _of_class(Random),
    "greedy": _of_class(Greedy),
    "linear": load_linear,
    "shipped": load_shipped,
}
SEARCH = "search"
"""Is made by :func:`make_searcher`, which takes a network and a budget."""


def make_searcher(layout_of: Any, prior: str = "shipped", budget: Any = None) -> Any:
    """The policy ``search`` of a game, by the network of a policy.

    Parameters
    ----------
    layout_of
        :class:`solitaire_env.evaluation.LayoutOf`, which knows the game too.
    prior
        ``shipped``, or a run or model folder.
    budget
        :class:`agents.search.budget.Budget`.
    """
    from agents.runs.models import NetworkPlayer  # torch is loaded only when a network is asked for
    from agents.search.player import Searcher

    player = make_policy(prior, layout_of)
    if not isinstance(player, NetworkPlayer):
        raise ValueError(f"search goes by a network, which {prior!r} is not, allowed: 'shipped', a folder")
    return Searcher(layout_of.variant, player, budget)


def make_policy(
    name: str, layout_of: LayoutOf, *, trust_model: bool = False, prior: str = "shipped", budget: Any = None
) -> Any:
    """A policy by name.

    Parameters
    ----------
    name
        One of :data:`BUILT_IN`, ``search``, a run or model folder, an SB3 zip, or ``module:Class``.
    layout_of
        Gives the layout of the game for a policy (or a class of policies) that says by its attributes what it
        wants.
    trust_model
        SB3 zips run code from the file; only with this are they opened.
    prior, budget
        For ``search``: see :func:`make_searcher`.
    """
    if name in BUILT_IN:
        return BUILT_IN[name](layout_of)
    if name == SEARCH:
        return make_searcher(layout_of, prior, budget)
    if ":" in name and not Path(name).exists():
        return _of_class(load_class(name))(layout_of)
    path = Path(name)
    if not path.exists():
        raise ValueError(
            f"unknown policy {name!r}, allowed: {', '.join((*BUILT_IN, SEARCH))}, "
            "a run or model folder, an SB3 zip, or module:Class"
        )
    from agents.runs.models import load_policy  # torch is loaded only when a network is asked for

    return load_policy(path, layout_of, trust_model=trust_model)
