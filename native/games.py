"""Which kernels are compiled once more for each published game, with its rules as constants.

The sizes of loops and the rules that a game does not have are known then: they take a quarter to a half fewer
instructions. Custom games and house rules have the general kernels.
"""

from typing import Any, Final

from solitaire_env.core.layout import make_rules
from solitaire_env.variants import VARIANTS

KERNELS: Final = frozenset(
    {"solitaire_env__core__episodes__play_rows", "solitaire_env__core__observations___write_features"}
)
"""The symbols of these kernels."""


def games() -> list[Any]:
    """The rules of the games as numbers; some games have the same."""
    return list(dict.fromkeys(map(make_rules, VARIANTS)))
