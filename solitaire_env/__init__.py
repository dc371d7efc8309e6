"""Reinforcement-learning environments for solitaire card games: Forty Thieves, Klondike, FreeCell and others.

Importing the package registers the games::

    import gymnasium as gym
    env = gym.make("solitaire_env:Solitaire/FortyThieves-v0")
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.argv[:1] == ["-m"]:
    from solitaire_env.util.interrupts import expect_interrupts

    expect_interrupts()

from solitaire_env.registration import env_id, register_all, register_variant
from solitaire_env.variants import VARIANTS, Variant, get_variant

if TYPE_CHECKING:
    from solitaire_env.core.spec import GameSpec
    from solitaire_env.env import SolitaireEnv
    from solitaire_env.evaluation import evaluate
    from solitaire_env.loading import load_policy
    from solitaire_env.policies import Policy
    from solitaire_env.search.solver import Solution
    from solitaire_env.solving import solve
    from solitaire_env.vector import SolitaireVectorEnv

__version__ = "0.1.0"

__all__ = [
    "VARIANTS",
    "GameSpec",
    "Policy",
    "SolitaireEnv",
    "SolitaireVectorEnv",
    "Solution",
    "Variant",
    "env_id",
    "evaluate",
    "get_variant",
    "load_policy",
    "register_variant",
    "solve",
]

# The compiled engine is loaded with the first environment, not with the package.
_LAZY = {
    "GameSpec": "solitaire_env.core.spec",
    "Policy": "solitaire_env.policies",
    "Solution": "solitaire_env.search.solver",
    "SolitaireEnv": "solitaire_env.env",
    "SolitaireVectorEnv": "solitaire_env.vector",
    "evaluate": "solitaire_env.evaluation",
    "load_policy": "solitaire_env.loading",
    "solve": "solitaire_env.solving",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'solitaire_env' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


register_all()
