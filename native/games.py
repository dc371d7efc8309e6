"""Which kernels are compiled once more for a game, with its rules as constants.

The sizes of loops and the rules that a game does not have are known then: a step takes a quarter fewer
instructions. All 76 games would add 50 seconds to a build of 35.
"""

from typing import Any, Final

from solitaire_env.core.layout import make_rules
from solitaire_env.variants import get_variant

KERNELS: Final = frozenset({"solitaire_env__core__episodes__play_rows"})
"""The symbols of these kernels."""
GAMES: Final = (
    "forty-thieves", "eighty-thieves", "eights-down", "forty-bandits", "busy-aces", "freecell", "klondike",
    "klondike-draw-3", "yukon",
)  # fmt: skip
"""The games that the benchmarks measure, and those with a shipped network."""


def games() -> list[Any]:
    """The rules of these games as numbers."""
    return [make_rules(get_variant(name)) for name in GAMES]
