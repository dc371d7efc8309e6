"""The games of ``Solitaire/Family-v0``, for learning across rules, and for playing games that were never seen
in training. :data:`TRAIN` and :data:`TEST` are constant lists.
"""

from collections.abc import Sequence
from typing import Any, Final

from solitaire_env.core.variant import Variant
from solitaire_env.registration import resolve_variant
from solitaire_env.util.arguments import check_choice, has_items
from solitaire_env.util.messages import shown
from solitaire_env.variants import VARIANTS

TEST: Final = (
    "emperor", "corona", "napoleons-folly", "forty-and-eight", "zebra", "triple-line", "little-forty",
    "unlimited", "pluto", "russian-solitaire", "double-klondike-draw-3", "thieves-of-egypt", "squadron",
    "forecell", "kingcell", "relaxed-seahaven-towers", "westcliff", "waterloo",
)  # fmt: skip
"""Test games, each with a combination of rules that no game of :data:`TRAIN` has."""
TRAIN: Final = (
    "forty-thieves", "eighty-thieves", "eights-down", "forty-bandits", "busy-aces", "sixty-thieves",
    "limited", "famous-fifty", "waning-moon", "thirty-nine-steps", "express", "carnation", "san-juan-hill",
    "lucas", "napoleons-square", "marie-rose", "malmaison", "interchange", "maria", "streets", "roosevelt",
    "big-streets", "number-ten", "number-twelve", "rank-and-file", "indian", "midshipman", "napoleons-exile",
    "double-rail", "final-battle", "single-rail", "triple-rail", "courtyard", "red-and-black", "deuces",
    "freecell", "freecell-two-cells", "freecell-no-cells", "relaxed-freecell", "seven-by-four",
    "seven-by-five", "triple-freecell", "cell-11", "big-cell", "repair", "bakers-game",
    "bakers-game-king-only", "seahaven-towers", "double-seahaven-towers", "double-eight-off", "penguin",
    "opus", "klondike", "klondike-draw-3", "double-klondike", "thumb-and-pouch", "whitehead", "yukon",
)  # fmt: skip
"""Training games. Games that are published later are in neither list."""
SPLITS: Final = {"train": TRAIN, "test": TEST, "all": tuple(variant.name for variant in VARIANTS)}

Game = str | Variant | dict[str, Any]
"""A game: its id or name, a Variant, or its fields."""
Games = Game | Sequence[Game]
"""A game; or several: a split (``"train"``, ``"test"`` or ``"all"``) or a list."""


def read_games(games: str | Sequence[Game]) -> tuple[Variant, ...]:
    """The variants of a split or a list.

    Raises
    ------
    ValueError
        If the split is unknown, or the list is empty or names a game twice.
    """
    if isinstance(games, str):
        check_choice("split", games, SPLITS)
        games = SPLITS[games]
    if not has_items(games):
        raise TypeError(f"games are a {type(games).__name__}, allowed: a split or a list of games")
    variants = tuple(resolve_variant(game) for game in games)
    names = [variant.name for variant in variants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not variants or twice:
        raise ValueError(f"games are {shown(names, 60)}, allowed: one or more, each once")
    return variants
