"""The games: one row of data each, found by name.

A game is a :class:`~solitaire_env.core.variant.Variant`, a record of its rules. No other file names a game.
Legal moves are defined in :mod:`solitaire_env.core.rules`.

The rules are those of PySolFC, except for what ``differs`` lists.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from solitaire_env.core.variant import Build, Moves, Spaces, Variant, variant_from_dict, variant_to_dict
from solitaire_env.util.arguments import check_kind
from solitaire_env.util.messages import one_of_many, shown

__all__ = [
    "GROUPS",
    "POPULAR",
    "TINY_KLONDIKE",
    "VARIANTS",
    "WORRIES",
    "Build",
    "Moves",
    "Spaces",
    "Variant",
    "add_variant",
    "get_variant",
    "grouped",
    "known_variants",
    "variant_from_dict",
    "variant_to_dict",
]

WORRIES: Final = "PySolFC lets cards leave the foundations again (worrying back)."
"""Of all games in which PySolFC allows it and ``worrying_back`` is False."""


def _pysol(
    title: str,
    game: int,
    *,
    original: str = "",
    worries: bool = True,
    differs: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    **rules: Any,
) -> Variant:
    """A game of PySolFC, number ``game`` there; its name is the title in lower case, unless another is given.

    ``original`` is PySolFC's title if it is another, ``worries`` whether cards may worry back there, ``also``
    names other sources of the rules, ``differs`` differences besides the common ones; ``rules`` are fields.
    """
    words = "".join(c for c in title.lower().replace("-", " ") if c.isalnum() or c == " ")
    variant = Variant(
        **{"name": "-".join(words.split()), **rules},
        title=title,
        sources=(f"PySolFC 3.6, {original or title} (game {game})", *also),
    )
    common = []
    if variant.stock:
        cards = {1: "card", 3: "three cards"}[variant.draw]
        common.append(f"PySolFC starts with the first {cards} of the stock already on the waste.")
    if variant.worrying_back:
        common.append("PySolFC lets a card worry back into a space that takes it, too.")
    elif worries:
        common.append(WORRIES)
    return replace(variant, differs=(*common, *differs))


def _triangle(piles: int, *, from_right: bool = False, rows: int = 0) -> tuple[int, ...]:
    """PySolFC's dealing order of a triangle of face-down cards, none in the first pile; then some rows
    without the first pile, then one card to each pile.
    """
    starts = (*range(1, piles), *(1,) * rows, 0)
    dealt = [range(start, piles) for start in starts]
    return tuple(pile for row in dealt for pile in (reversed(row) if from_right else row))


_PYRAMID: Final = (1, 3, 5, 7, 9, 10, 8, 6, 4, 2)
_FREECELL: Final = (7, 7, 7, 7, 6, 6, 6, 6)
_AS_FREECELL: Final[dict[str, Any]] = {"build": "alternate color", "moves": "supermove"}
"""The rules of FreeCell's relatives."""
_AS_KLONDIKE: Final[dict[str, Any]] = {
    "build": "alternate color", "spaces": "kings", "moves": "sequence", "passes": 0, "worrying_back": True,
}  # fmt: skip
"""The rules of Klondike's relatives."""
_YUKON: Final = (1, 6, 7, 8, 9, 10, 11)

VARIANTS: Final[tuple[Variant, ...]] = (
    _pysol(
        "Forty Thieves", 13, decks=2, tableau=(4,) * 10, aliases=("Napoleon at St Helena", "Le Cadran"),
        also=("Solvitaire, preset forty-thieves",),
    ),
    _pysol("Eighty Thieves", 776, decks=4, tableau=(8,) * 10),
    _pysol(
        "Eights Down", 258, original="Eight Off", decks=1, tableau=(6,) * 8, cells=8, cells_filled=4,
        spaces="kings", moves="supermove", aliases=("Eight Off",),
        differs=(
            "PySolFC fills every other cell at the deal; cells are alike.",
            'House rules: spaces="any" lets any card fill a space, build="alternate color" builds by color.',
        ),
        also=("freecell-solver, preset eight_off",),
    ),
    _pysol(
        "Forty Bandits", 462, original="Josephine", decks=2, tableau=(4,) * 10, moves="sequence",
        aliases=("Josephine",),
    ),
    _pysol("Busy Aces", 80, decks=2, tableau=(1,) * 12),
    # Relatives of Forty Thieves that build in suit, one card at a time.
    _pysol("Sixty Thieves", 775, decks=3, tableau=(5,) * 12),
    _pysol("Limited", 228, decks=2, tableau=(3,) * 12),
    _pysol("Famous Fifty", 683, decks=2, tableau=(5,) * 10),
    _pysol("Waning Moon", 79, decks=2, tableau=(4,) * 13),
    _pysol("Thirty-Nine Steps", 940, decks=2, tableau=(3,) * 13),
    _pysol("Express", 506, decks=3, tableau=(3,) * 14),
    _pysol("Carnation", 514, decks=4, tableau=(3,) * 16),
    _pysol(
        "Squadron", 440, decks=2, tableau=(4,) * 10, cells=3, cells_filled=3,
        pysol_order=(10, 11, 12, *tuple(range(10)) * 4),
    ),
    _pysol("San Juan Hill", 529, decks=2, tableau=(4,) * 10, aces_home=True, aliases=("Kettle Hill",)),
    _pysol("Forty and Eight", 23, decks=2, tableau=(4,) * 8, passes=2),
    # Sequences in suit.
    _pysol(
        "Lucas", 125, decks=2, tableau=(4,) * 13, moves="sequence",
        differs=("Solvitaire deals 13 piles of 3, Aces to the foundations, and moves one card.",),
    ),
    _pysol("Napoleon's Square", 295, decks=2, tableau=(4,) * 12, moves="sequence"),
    _pysol("Marie Rose", 493, decks=3, tableau=(5,) * 12, moves="sequence"),
    _pysol("Malmaison", 848, decks=4, tableau=(8,) * 10, moves="sequence"),
    _pysol(
        "Interchange", 574, decks=2, tableau=(7,) * 7, spaces="kings", moves="sequence",
        face_down="rows 2, 4, 6",
    ),
    _pysol(
        "Unlimited", 575, decks=2, tableau=(7,) * 7, spaces="kings", moves="sequence",
        face_down="rows 2, 4, 6", passes=0,
    ),
    # Alternate colors.
    _pysol(
        "Maria", 73, decks=2, tableau=(4,) * 9, build="alternate color",
        aliases=("Maria Luisa", "Thirty-Six Card Tableau"),
    ),
    _pysol("Streets", 76, decks=2, tableau=(4,) * 10, build="alternate color"),
    _pysol("Roosevelt", 588, decks=2, tableau=(4,) * 7, build="alternate color"),
    _pysol("Big Streets", 503, decks=3, tableau=(4,) * 12, build="alternate color"),
    _pysol(
        "Number Ten", 70, decks=2, tableau=(4,) * 10, build="alternate color", moves="sequence", face_down=2,
    ),
    _pysol(
        "Number Twelve", 504, decks=3, tableau=(4,) * 12, build="alternate color", moves="sequence",
        face_down=2,
    ),
    _pysol(
        "Rank and File", 71, decks=2, tableau=(4,) * 10, build="alternate color", moves="sequence",
        face_down=3, aliases=("Dress Parade",),
    ),
    _pysol(
        "Emperor", 310, decks=2, tableau=(4,) * 10, build="alternate color", face_down=3,
        aliases=("Deauville",), differs=("Some programs move sequences, which makes it Rank and File.",),
    ),
    _pysol(
        "Thieves of Egypt", 678, decks=2, tableau=_PYRAMID, build="alternate color", spaces="kings",
        moves="sequence", passes=2,
        pysol_order=(*(pile for pile, size in enumerate(_PYRAMID) for _ in range(size - 1)), *range(10)),
        aliases=("Upside-Down Pyramid",),
    ),
    # Other suits, or any suit.
    _pysol("Indian", 69, decks=2, tableau=(3,) * 10, build="other suit", face_down=1),
    _pysol("Midshipman", 74, decks=2, tableau=(4,) * 9, build="other suit", face_down=2),
    _pysol("Napoleon's Folly", 981, decks=2, tableau=(4,) * 10, build="other suit"),
    _pysol("Napoleon's Exile", 198, decks=2, tableau=(4,) * 10, build="any suit"),
    _pysol("Double Rail", 131, decks=2, tableau=(1,) * 5, build="any suit", moves="sequence"),
    _pysol("Final Battle", 528, decks=2, tableau=(1,) * 6, build="any suit", moves="sequence"),
    _pysol(
        "Single Rail", 199, decks=1, tableau=(1,) * 4, build="any suit", moves="sequence",
        aliases=("Auxiliary Sequences",),
    ),
    _pysol("Triple Rail", 818, decks=3, tableau=(1,) * 9, build="any suit", moves="sequence"),
    _pysol(
        "Waterloo", 540, decks=2, tableau=(1,) * 6, build="any suit", moves="sequence", sequence="same suit",
        aces_home=True, differs=("PySolFC deals some Aces onto foundations of other suits.",),
    ),
    # Spaces filled from the waste, foundations in alternating colors.
    _pysol("Courtyard", 110, decks=2, tableau=(1,) * 12, moves="sequence", fill="waste"),
    _pysol("Corona", 196, decks=2, tableau=(3,) * 12, fill="waste", aliases=("Round Dozen",), worries=False),
    _pysol(
        "Triple Line", 197, decks=2, tableau=(3,) * 12, build="alternate color", moves="sequence", passes=2,
        fill="waste", worries=False,
    ),
    _pysol(
        "Little Forty", 115, decks=2, tableau=(4,) * 10, build="any suit", moves="sequence",
        sequence="same suit", draw=3, passes=4, fill="waste",
    ),
    _pysol(
        "Zebra", 113, decks=2, tableau=(1,) * 8, build="alternate color", passes=2, aces_home=True,
        foundation_build="alternate color", fill="waste", worries=False,
    ),
    _pysol(
        "Red and Black", 126, decks=2, tableau=(1,) * 8, build="alternate color", moves="sequence",
        aces_home=True, foundation_build="alternate color",
    ),
    # Foundations from Two to Ace.
    _pysol("Deuces", 109, decks=2, tableau=(1,) * 10, base=2, aces_home=True, aliases=("Les Deux", "Twos")),
    _pysol("Pluto", 847, decks=2, tableau=(1,) * 12, base=2, aliases=("Square",)),
    # FreeCell and relatives.
    _pysol("FreeCell", 8, decks=1, tableau=_FREECELL, cells=4, **_AS_FREECELL, aliases=("Four Free",)),
    _pysol(
        "FreeCell (Two Cells)", 1900, original="FreeCell (2 Reserves)", decks=1, tableau=_FREECELL, cells=2,
        **_AS_FREECELL, aliases=("FreeCell (2 Reserves)",),
    ),
    _pysol(
        "FreeCell (No Cells)", 1901, original="FreeCell (No Reserve)", decks=1, tableau=_FREECELL,
        **_AS_FREECELL, aliases=("FreeCell (No Reserve)",),
    ),
    _pysol(
        "Relaxed FreeCell", 5, decks=1, tableau=_FREECELL, cells=4, build="alternate color", moves="sequence",
    ),
    _pysol(
        "ForeCell", 46, decks=1, tableau=(6,) * 8, cells=4, cells_filled=4, **_AS_FREECELL, spaces="kings",
    ),
    _pysol(
        "KingCell", 542, decks=1, tableau=_FREECELL, cells=4, build="any suit", spaces="kings",
        moves="supermove",
    ),
    _pysol("Seven by Four", 364, decks=1, tableau=(8, 8, 8, 7, 7, 7, 7), cells=4, **_AS_FREECELL),
    _pysol("Seven by Five", 365, decks=1, tableau=(8, 8, 8, 7, 7, 7, 7), cells=5, **_AS_FREECELL),
    _pysol("Triple FreeCell", 265, decks=3, tableau=(12,) * 13, cells=10, **_AS_FREECELL),
    _pysol(
        "Cell 11", 451, decks=3, tableau=(12, *(13,) * 10, 12), cells=11, cells_filled=2, **_AS_FREECELL,
        differs=("PySolFC fills the first and the last cell at the deal; cells are alike.",),
    ),
    _pysol("Big Cell", 509, decks=3, tableau=(12,) * 13, cells=4, build="alternate color", moves="sequence"),
    _pysol(
        "Repair", 448, decks=2, tableau=(10,) * 10, cells=4, cells_filled=4, build="alternate color",
        moves="sequence",
    ),
    _pysol("Baker's Game", 45, decks=1, tableau=_FREECELL, cells=4, moves="supermove"),
    _pysol(
        "King Only Baker's Game", 26, name="bakers-game-king-only", decks=1, tableau=_FREECELL, cells=4,
        spaces="kings", moves="supermove",
    ),
    _pysol(
        "Seahaven Towers", 9, decks=1, tableau=(5,) * 10, cells=4, cells_filled=2, spaces="kings",
        moves="supermove", aliases=("Sea Towers", "Tours du Alice", "Towers"),
        differs=("PySolFC fills the second and third cell at the deal; cells are alike.",),
    ),
    _pysol(
        "Relaxed Seahaven Towers", 6, decks=1, tableau=(5,) * 10, cells=4, cells_filled=2, spaces="kings",
        moves="sequence", differs=("PySolFC fills the second and third cell at the deal; cells are alike.",),
    ),
    _pysol(
        "Double Seahaven Towers", 513, decks=2, tableau=(7,) * 14, cells=8, cells_filled=6, spaces="kings",
        moves="supermove", aliases=("Ocean Towers",),
        differs=("PySolFC fills all but the first and the last cell at the deal; cells are alike.",),
    ),
    _pysol(
        "Double Eight Off", 985, decks=2, tableau=(8,) * 12, cells=8, cells_filled=8, spaces="kings",
        moves="supermove",
    ),
    _pysol(
        "Penguin", 64, decks=1, tableau=(7,) * 7, cells=7, spaces="base - 1", moves="sequence", base="dealt",
        aliases=("Beak and Flipper",), worries=False,
    ),
    _pysol(
        "Opus", 427, decks=1, tableau=(7,) * 7, cells=5, spaces="base - 1", moves="sequence", base="dealt",
        worries=False,
    ),
    # Klondike and relatives.
    _pysol(
        "Klondike", 2, decks=1, tableau=tuple(range(1, 8)), **_AS_KLONDIKE, face_down=tuple(range(7)),
        pysol_order=_triangle(7, from_right=True), aliases=("American Patience", "Classic Solitaire"),
    ),
    _pysol(
        "Klondike (Draw 3)", 18, decks=1, tableau=tuple(range(1, 8)), **_AS_KLONDIKE,
        face_down=tuple(range(7)), draw=3, pysol_order=_triangle(7, from_right=True),
    ),
    _pysol(
        "Double Klondike", 21, decks=2, tableau=tuple(range(1, 10)), **_AS_KLONDIKE,
        face_down=tuple(range(9)), pysol_order=_triangle(9),
    ),
    _pysol(
        "Double Klondike (Draw 3)", 28, decks=2, tableau=tuple(range(1, 10)), **_AS_KLONDIKE,
        face_down=tuple(range(9)), draw=3, pysol_order=_triangle(9),
    ),
    _pysol(
        "Westcliff", 33, decks=1, tableau=(3,) * 10, build="alternate color", moves="sequence", face_down=2,
        worries=False,
    ),
    _pysol(
        "Thumb and Pouch", 58, decks=1, tableau=tuple(range(1, 8)), build="other suit", moves="sequence",
        face_down=tuple(range(7)), worrying_back=True, pysol_order=_triangle(7, from_right=True),
    ),
    _pysol(
        "Whitehead", 67, decks=1, tableau=tuple(range(1, 8)), build="same color", moves="sequence",
        sequence="same suit", worrying_back=True, pysol_order=_triangle(7, from_right=True),
    ),
    _pysol(
        "Yukon", 19, decks=1, tableau=_YUKON, build="alternate color", spaces="kings", moves="any group",
        face_down=tuple(range(7)), pysol_order=_triangle(7, rows=4), worries=False,
    ),
    _pysol(
        "Russian Solitaire", 20, decks=1, tableau=_YUKON, spaces="kings", moves="any group",
        face_down=tuple(range(7)), pysol_order=_triangle(7, rows=4), worries=False,
    ),
)  # fmt: skip
"""The published games.

:meta hide-value:
"""

TINY_KLONDIKE: Final = Variant(
    "tiny-klondike", "Tiny Klondike", decks=1, ranks=6, tableau=(1, 2, 3, 4), face_down=(0, 1, 2, 3),
    **{**_AS_KLONDIKE, "spaces": "any"},
)  # fmt: skip
"""Klondike with 24 cards, for first trainings and lessons. It is registered, but not published: the lists of
games and the benchmark do not have it."""

GROUPS: Final[dict[str, Callable[[Variant], bool]]] = {
    "klondike": lambda v: v.worrying_back or (v.decks == 1 and v.hides_cards),
    "freecell": lambda v: not v.stock,
    "forty-thieves": lambda v: True,
}
"""The name of the best-known game of each group, and the rule of its relatives; the first that applies.

:meta hide-value:
"""


def grouped() -> dict[str, list[Variant]]:
    """The published games by group: the game that gives the group its name, then its relatives by title."""
    groups: dict[str, list[Variant]] = {name: [] for name in GROUPS}
    for variant in VARIANTS:
        groups[next(name for name, applies in GROUPS.items() if applies(variant))].append(variant)
    return {
        f"{get_variant(name).title} and relatives": sorted(group, key=lambda v: (v.name != name, v.title))
        for name, group in groups.items()
    }


POPULAR: Final = (
    "klondike", "klondike-draw-3", "freecell", "yukon", "eights-down", "forty-thieves", "bakers-game",
    "seahaven-towers", "russian-solitaire", "double-klondike",
)  # fmt: skip
"""The games that most players look for, the best-known first.

:meta hide-value:
"""

_ADDED: dict[str, Variant] = {}


def known_variants() -> tuple[Variant, ...]:
    """The published games, then the registered ones."""
    return (*VARIANTS, *_ADDED.values())


def add_variant(variant: Variant) -> None:
    """Add a custom variant by its name; an existing name raises an error."""
    check_kind("variant", variant, Variant)
    for known in known_variants():
        if known.name == variant.name and known != variant:
            raise ValueError(
                f"variant {variant.name!r} is already registered with other rules; choose another name"
            )
    if variant not in VARIANTS:
        _ADDED[variant.name] = variant


def get_variant(name: str) -> Variant:
    """The variant of that name, title or alias; case, spaces and hyphens do not matter.

    An exact name has priority over another game's title or alias.
    """
    if not isinstance(name, str):
        raise TypeError(f"variant is a {type(name).__name__}, allowed: a name, a title or an alias")

    def plain(text: str) -> str:
        return "".join(c for c in text.lower() if c.isalnum())

    plain_name = plain(name)
    for variant in known_variants():
        if variant.name == name:
            return variant
    for variant in known_variants():
        if plain_name and plain_name in map(plain, (variant.name, variant.title, *variant.aliases)):
            return variant
    names = {text: v.name for v in known_variants() for text in (v.name, v.title, *v.aliases)}
    raise ValueError(f"unknown variant {shown(name)}, {one_of_many(name, names, 'games')}")
