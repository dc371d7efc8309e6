"""The rules and everything that is compiled: cards, layouts, the rules, deals, observations, batches of
games.

No Gymnasium, no policies, no text except names of cards and actions. Public: search, features and training
use it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from solitaire_env.core.batch import Batch, IllegalActionError
    from solitaire_env.core.layout import PLAYING, STUCK, WON, Rules, make_rules
    from solitaire_env.core.native import inner, kernel, lowest_bit
    from solitaire_env.core.position import Position
    from solitaire_env.core.rules.derive import derive, place
    from solitaire_env.core.rules.moves import decode
    from solitaire_env.core.rules.state import Events, State, copy, make_events, make_state
    from solitaire_env.core.rules.step import step
    from solitaire_env.core.spec import GameSpec, Settings
    from solitaire_env.core.threads import (
        get_num_threads,
        max_threads,
        run_parts,
        set_num_threads,
        split_evenly,
    )
    from solitaire_env.core.variant import Variant

__all__ = [
    "PLAYING",
    "STUCK",
    "WON",
    "Batch",
    "Events",
    "GameSpec",
    "IllegalActionError",
    "Position",
    "Rules",
    "Settings",
    "State",
    "Variant",
    "copy",
    "decode",
    "derive",
    "get_num_threads",
    "inner",
    "kernel",
    "lowest_bit",
    "make_events",
    "make_rules",
    "make_state",
    "max_threads",
    "place",
    "run_parts",
    "set_num_threads",
    "split_evenly",
    "step",
]

# Loaded on first use: listing the games does not need them.
_MODULES: Final = {
    "batch": ("Batch", "IllegalActionError"),
    "layout": ("PLAYING", "STUCK", "WON", "Rules", "make_rules"),
    "position": ("Position",),
    "rules.derive": ("derive", "place"),
    "rules.moves": ("decode",),
    "rules.state": ("Events", "State", "copy", "make_events", "make_state"),
    "rules.step": ("step",),
    "spec": ("GameSpec", "Settings"),
    "native": ("inner", "kernel", "lowest_bit"),
    "threads": ("get_num_threads", "max_threads", "run_parts", "set_num_threads", "split_evenly"),
    "variant": ("Variant",),
}  # fmt: skip
_HOME: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'solitaire_env.core' has no attribute {name!r}")
    return getattr(import_module(f"solitaire_env.core.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
