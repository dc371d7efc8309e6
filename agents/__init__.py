"""Training and evaluation of policies; not part of the installed package."""

from collections.abc import Callable
from typing import Any

import solitaire_env  # noqa: F401 - before torch: it settles how OpenMP's threads wait


def policy(name: str, layout_of: Callable[[Any], dict[str, Any]]) -> Any:
    """A policy by name, for the package's commands: ``--policy agents:policy@greedy``, or ``@runs/mine``."""
    from agents.policies import make_policy

    return make_policy(name, layout_of)
