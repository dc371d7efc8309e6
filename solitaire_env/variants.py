"""The games: one row of data each, found by name.

A game is a :class:`~solitaire_env.core.variant.Variant`, a record of its rules. No other file names a game.
Legal moves are defined in :mod:`solitaire_env.core.rules`.

The rules are those of PySolFC, except for what ``differs`` lists.
"""

from typing import Final

from solitaire_env.core.variant import Build, Moves, Spaces, Variant, variant_from_dict, variant_to_dict
from solitaire_env.util.arguments import check_kind
from solitaire_env.util.messages import one_of_many, shown

__all__ = [
    "VARIANTS",
    "WORRIES",
    "Build",
    "Moves",
    "Spaces",
    "Variant",
    "add_variant",
    "get_variant",
    "known_variants",
    "variant_from_dict",
    "variant_to_dict",
]

_FIRST_CARD: Final = "PySolFC starts with the first card of the stock already on the waste."
_FIRST_THREE: Final = "PySolFC starts with the first three cards of the stock already on the waste."
WORRIES: Final = "PySolFC lets cards leave the foundations again (worrying back)."
"""Of all games in which PySolFC allows it and ``worrying_back`` is False."""
_BACK_TO_SPACES: Final = "PySolFC lets a card worry back into a space that takes it, too."


def _triangle(piles: int, *, from_right: bool = False, rows: int = 0) -> tuple[int, ...]:
    """PySolFC's dealing order of a triangle of face-down cards, none in the first pile; then some rows
    without the first pile, then one card to each pile.
    """
    starts = (*range(1, piles), *(1,) * rows, 0)
    dealt = [range(start, piles) for start in starts]
    return tuple(pile for row in dealt for pile in (reversed(row) if from_right else row))


_PYRAMID: Final = (1, 3, 5, 7, 9, 10, 8, 6, 4, 2)
_FREECELL: Final = (7, 7, 7, 7, 6, 6, 6, 6)
_YUKON: Final = (1, 6, 7, 8, 9, 10, 11)

VARIANTS: Final[tuple[Variant, ...]] = (
    Variant(
        name="forty-thieves",
        title="Forty Thieves",
        decks=2,
        tableau=(4,) * 10,
        aliases=("Napoleon at St Helena", "Le Cadran"),
        sources=("PySolFC 3.6, Forty Thieves (game 13)", "Solvitaire, preset forty-thieves"),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="eighty-thieves",
        title="Eighty Thieves",
        decks=4,
        tableau=(8,) * 10,
        sources=("PySolFC 3.6, Eighty Thieves (game 776)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="eights-down",
        title="Eights Down",
        decks=1,
        tableau=(6,) * 8,
        cells=8,
        cells_filled=4,
        spaces="kings",
        moves="supermove",
        aliases=("Eight Off",),
        sources=("PySolFC 3.6, Eight Off (game 258)", "freecell-solver, preset eight_off"),
        differs=(
            WORRIES,
            "PySolFC fills every other cell at the deal; cells are alike.",
            'House rules: spaces="any" lets any card fill a space, build="alternate color" builds by color.',
        ),
    ),
    Variant(
        name="forty-bandits",
        title="Forty Bandits",
        decks=2,
        tableau=(4,) * 10,
        moves="sequence",
        aliases=("Josephine",),
        sources=("PySolFC 3.6, Josephine (game 462)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="busy-aces",
        title="Busy Aces",
        decks=2,
        tableau=(1,) * 12,
        sources=("PySolFC 3.6, Busy Aces (game 80)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    # Relatives of Forty Thieves that build in suit, one card at a time.
    Variant(
        name="sixty-thieves", title="Sixty Thieves", decks=3, tableau=(5,) * 12,
        sources=("PySolFC 3.6, Sixty Thieves (game 775)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="limited", title="Limited", decks=2, tableau=(3,) * 12,
        sources=("PySolFC 3.6, Limited (game 228)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="famous-fifty", title="Famous Fifty", decks=2, tableau=(5,) * 10,
        sources=("PySolFC 3.6, Famous Fifty (game 683)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="waning-moon", title="Waning Moon", decks=2, tableau=(4,) * 13,
        sources=("PySolFC 3.6, Waning Moon (game 79)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="thirty-nine-steps", title="Thirty-Nine Steps", decks=2, tableau=(3,) * 13,
        sources=("PySolFC 3.6, Thirty-Nine Steps (game 940)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="express", title="Express", decks=3, tableau=(3,) * 14,
        sources=("PySolFC 3.6, Express (game 506)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="carnation", title="Carnation", decks=4, tableau=(3,) * 16,
        sources=("PySolFC 3.6, Carnation (game 514)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="squadron", title="Squadron", decks=2, tableau=(4,) * 10, cells=3, cells_filled=3,
        pysol_order=(10, 11, 12, *tuple(range(10)) * 4),
        sources=("PySolFC 3.6, Squadron (game 440)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="san-juan-hill", title="San Juan Hill", decks=2, tableau=(4,) * 10, aces_home=True,
        aliases=("Kettle Hill",), sources=("PySolFC 3.6, San Juan Hill (game 529)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="forty-and-eight", title="Forty and Eight", decks=2, tableau=(4,) * 8, passes=2,
        sources=("PySolFC 3.6, Forty and Eight (game 23)",), differs=(_FIRST_CARD, WORRIES),
    ),
    # Sequences in suit.
    Variant(
        name="lucas", title="Lucas", decks=2, tableau=(4,) * 13, moves="sequence",
        sources=("PySolFC 3.6, Lucas (game 125)",),
        differs=(
            _FIRST_CARD, WORRIES,
            "Solvitaire deals 13 piles of 3, Aces to the foundations, and moves one card.",
        ),
    ),
    Variant(
        name="napoleons-square", title="Napoleon's Square", decks=2, tableau=(4,) * 12, moves="sequence",
        sources=("PySolFC 3.6, Napoleon's Square (game 295)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="marie-rose", title="Marie Rose", decks=3, tableau=(5,) * 12, moves="sequence",
        sources=("PySolFC 3.6, Marie Rose (game 493)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="malmaison", title="Malmaison", decks=4, tableau=(8,) * 10, moves="sequence",
        sources=("PySolFC 3.6, Malmaison (game 848)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="interchange", title="Interchange", decks=2, tableau=(7,) * 7, spaces="kings", moves="sequence",
        face_down="rows 2, 4, 6",
        sources=("PySolFC 3.6, Interchange (game 574)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="unlimited", title="Unlimited", decks=2, tableau=(7,) * 7, spaces="kings", moves="sequence",
        face_down="rows 2, 4, 6", passes=0,
        sources=("PySolFC 3.6, Unlimited (game 575)",), differs=(_FIRST_CARD, WORRIES),
    ),
    # Alternate colors.
    Variant(
        name="maria", title="Maria", decks=2, tableau=(4,) * 9, build="alternate color",
        aliases=("Maria Luisa", "Thirty-Six Card Tableau"), sources=("PySolFC 3.6, Maria (game 73)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="streets", title="Streets", decks=2, tableau=(4,) * 10, build="alternate color",
        sources=("PySolFC 3.6, Streets (game 76)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="roosevelt", title="Roosevelt", decks=2, tableau=(4,) * 7, build="alternate color",
        sources=("PySolFC 3.6, Roosevelt (game 588)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="big-streets", title="Big Streets", decks=3, tableau=(4,) * 12, build="alternate color",
        sources=("PySolFC 3.6, Big Streets (game 503)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="number-ten", title="Number Ten", decks=2, tableau=(4,) * 10, build="alternate color",
        moves="sequence", face_down=2,
        sources=("PySolFC 3.6, Number Ten (game 70)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="number-twelve", title="Number Twelve", decks=3, tableau=(4,) * 12, build="alternate color",
        moves="sequence", face_down=2,
        sources=("PySolFC 3.6, Number Twelve (game 504)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="rank-and-file", title="Rank and File", decks=2, tableau=(4,) * 10, build="alternate color",
        moves="sequence", face_down=3,
        aliases=("Dress Parade",), sources=("PySolFC 3.6, Rank and File (game 71)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="emperor", title="Emperor", decks=2, tableau=(4,) * 10, build="alternate color", face_down=3,
        aliases=("Deauville",), sources=("PySolFC 3.6, Emperor (game 310)",),
        differs=(_FIRST_CARD, WORRIES, "Some programs move sequences, which makes it Rank and File."),
    ),
    Variant(
        name="thieves-of-egypt", title="Thieves of Egypt", decks=2, tableau=_PYRAMID, build="alternate color",
        spaces="kings", moves="sequence", passes=2,
        pysol_order=(*(pile for pile, size in enumerate(_PYRAMID) for _ in range(size - 1)), *range(10)),
        aliases=("Upside-Down Pyramid",), sources=("PySolFC 3.6, Thieves of Egypt (game 678)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    # Other suits, or any suit.
    Variant(
        name="indian", title="Indian", decks=2, tableau=(3,) * 10, build="other suit", face_down=1,
        sources=("PySolFC 3.6, Indian (game 69)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="midshipman", title="Midshipman", decks=2, tableau=(4,) * 9, build="other suit", face_down=2,
        sources=("PySolFC 3.6, Midshipman (game 74)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="napoleons-folly", title="Napoleon's Folly", decks=2, tableau=(4,) * 10, build="other suit",
        sources=("PySolFC 3.6, Napoleon's Folly (game 981)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="napoleons-exile", title="Napoleon's Exile", decks=2, tableau=(4,) * 10, build="any suit",
        sources=("PySolFC 3.6, Napoleon's Exile (game 198)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="double-rail", title="Double Rail", decks=2, tableau=(1,) * 5, build="any suit",
        moves="sequence",
        sources=("PySolFC 3.6, Double Rail (game 131)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="final-battle", title="Final Battle", decks=2, tableau=(1,) * 6, build="any suit",
        moves="sequence",
        sources=("PySolFC 3.6, Final Battle (game 528)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="single-rail", title="Single Rail", decks=1, tableau=(1,) * 4, build="any suit",
        moves="sequence",
        aliases=("Auxiliary Sequences",), sources=("PySolFC 3.6, Single Rail (game 199)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="triple-rail", title="Triple Rail", decks=3, tableau=(1,) * 9, build="any suit",
        moves="sequence",
        sources=("PySolFC 3.6, Triple Rail (game 818)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="waterloo", title="Waterloo", decks=2, tableau=(1,) * 6, build="any suit", moves="sequence",
        sequence="same suit", aces_home=True,
        sources=("PySolFC 3.6, Waterloo (game 540)",),
        differs=(_FIRST_CARD, WORRIES, "PySolFC deals some Aces onto foundations of other suits."),
    ),
    # Spaces filled from the waste, foundations in alternating colors.
    Variant(
        name="courtyard", title="Courtyard", decks=2, tableau=(1,) * 12, moves="sequence", fill="waste",
        sources=("PySolFC 3.6, Courtyard (game 110)",), differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="corona", title="Corona", decks=2, tableau=(3,) * 12, fill="waste",
        aliases=("Round Dozen",), sources=("PySolFC 3.6, Corona (game 196)",), differs=(_FIRST_CARD,),
    ),
    Variant(
        name="triple-line", title="Triple Line", decks=2, tableau=(3,) * 12, build="alternate color",
        moves="sequence", passes=2, fill="waste",
        sources=("PySolFC 3.6, Triple Line (game 197)",), differs=(_FIRST_CARD,),
    ),
    Variant(
        name="little-forty", title="Little Forty", decks=2, tableau=(4,) * 10, build="any suit",
        moves="sequence", sequence="same suit", draw=3, passes=4, fill="waste",
        sources=("PySolFC 3.6, Little Forty (game 115)",), differs=(_FIRST_THREE, WORRIES),
    ),
    Variant(
        name="zebra", title="Zebra", decks=2, tableau=(1,) * 8, build="alternate color", passes=2,
        aces_home=True, foundation_build="alternate color", fill="waste",
        sources=("PySolFC 3.6, Zebra (game 113)",), differs=(_FIRST_CARD,),
    ),
    Variant(
        name="red-and-black", title="Red and Black", decks=2, tableau=(1,) * 8, build="alternate color",
        moves="sequence", aces_home=True, foundation_build="alternate color",
        sources=("PySolFC 3.6, Red and Black (game 126)",), differs=(_FIRST_CARD, WORRIES),
    ),
    # Foundations from Two to Ace.
    Variant(
        name="deuces", title="Deuces", decks=2, tableau=(1,) * 10, base=2, aces_home=True,
        aliases=("Les Deux", "Twos"), sources=("PySolFC 3.6, Deuces (game 109)",),
        differs=(_FIRST_CARD, WORRIES),
    ),
    Variant(
        name="pluto", title="Pluto", decks=2, tableau=(1,) * 12, base=2,
        aliases=("Square",), sources=("PySolFC 3.6, Pluto (game 847)",), differs=(_FIRST_CARD, WORRIES),
    ),
    # FreeCell and relatives.
    Variant(
        name="freecell", title="FreeCell", decks=1, tableau=_FREECELL, cells=4, build="alternate color",
        moves="supermove",
        aliases=("Four Free",), sources=("PySolFC 3.6, FreeCell (game 8)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="freecell-two-cells", title="FreeCell (Two Cells)", decks=1, tableau=_FREECELL, cells=2,
        build="alternate color", moves="supermove",
        aliases=("FreeCell (2 Reserves)",), sources=("PySolFC 3.6, FreeCell (2 Reserves) (game 1900)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="freecell-no-cells", title="FreeCell (No Cells)", decks=1, tableau=_FREECELL,
        build="alternate color", moves="supermove",
        aliases=("FreeCell (No Reserve)",), sources=("PySolFC 3.6, FreeCell (No Reserve) (game 1901)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="relaxed-freecell", title="Relaxed FreeCell", decks=1, tableau=_FREECELL, cells=4,
        build="alternate color", moves="sequence",
        sources=("PySolFC 3.6, Relaxed FreeCell (game 5)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="forecell", title="ForeCell", decks=1, tableau=(6,) * 8, cells=4, cells_filled=4,
        build="alternate color", spaces="kings", moves="supermove",
        sources=("PySolFC 3.6, ForeCell (game 46)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="kingcell", title="KingCell", decks=1, tableau=_FREECELL, cells=4, build="any suit",
        spaces="kings", moves="supermove",
        sources=("PySolFC 3.6, KingCell (game 542)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="seven-by-four", title="Seven by Four", decks=1, tableau=(8, 8, 8, 7, 7, 7, 7), cells=4,
        build="alternate color", moves="supermove",
        sources=("PySolFC 3.6, Seven by Four (game 364)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="seven-by-five", title="Seven by Five", decks=1, tableau=(8, 8, 8, 7, 7, 7, 7), cells=5,
        build="alternate color", moves="supermove",
        sources=("PySolFC 3.6, Seven by Five (game 365)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="triple-freecell", title="Triple FreeCell", decks=3, tableau=(12,) * 13, cells=10,
        build="alternate color", moves="supermove",
        sources=("PySolFC 3.6, Triple FreeCell (game 265)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="cell-11", title="Cell 11", decks=3, tableau=(12, *(13,) * 10, 12), cells=11, cells_filled=2,
        build="alternate color", moves="supermove",
        sources=("PySolFC 3.6, Cell 11 (game 451)",),
        differs=(WORRIES, "PySolFC fills the first and the last cell at the deal; cells are alike."),
    ),
    Variant(
        name="big-cell", title="Big Cell", decks=3, tableau=(12,) * 13, cells=4, build="alternate color",
        moves="sequence",
        sources=("PySolFC 3.6, Big Cell (game 509)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="repair", title="Repair", decks=2, tableau=(10,) * 10, cells=4, cells_filled=4,
        build="alternate color", moves="sequence",
        sources=("PySolFC 3.6, Repair (game 448)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="bakers-game", title="Baker's Game", decks=1, tableau=_FREECELL, cells=4, moves="supermove",
        sources=("PySolFC 3.6, Baker's Game (game 45)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="bakers-game-king-only", title="King Only Baker's Game", decks=1, tableau=_FREECELL, cells=4,
        spaces="kings", moves="supermove",
        sources=("PySolFC 3.6, King Only Baker's Game (game 26)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="seahaven-towers", title="Seahaven Towers", decks=1, tableau=(5,) * 10, cells=4, cells_filled=2,
        spaces="kings", moves="supermove",
        aliases=("Sea Towers", "Tours du Alice", "Towers"),
        sources=("PySolFC 3.6, Seahaven Towers (game 9)",),
        differs=(WORRIES, "PySolFC fills the second and third cell at the deal; cells are alike."),
    ),
    Variant(
        name="relaxed-seahaven-towers", title="Relaxed Seahaven Towers", decks=1, tableau=(5,) * 10, cells=4,
        cells_filled=2, spaces="kings", moves="sequence",
        sources=("PySolFC 3.6, Relaxed Seahaven Towers (game 6)",),
        differs=(WORRIES, "PySolFC fills the second and third cell at the deal; cells are alike."),
    ),
    Variant(
        name="double-seahaven-towers", title="Double Seahaven Towers", decks=2, tableau=(7,) * 14, cells=8,
        cells_filled=6, spaces="kings", moves="supermove",
        aliases=("Ocean Towers",), sources=("PySolFC 3.6, Double Seahaven Towers (game 513)",),
        differs=(WORRIES, "PySolFC fills all but the first and the last cell at the deal; cells are alike."),
    ),
    Variant(
        name="double-eight-off", title="Double Eight Off", decks=2, tableau=(8,) * 12, cells=8,
        cells_filled=8, spaces="kings", moves="supermove",
        sources=("PySolFC 3.6, Double Eight Off (game 985)",),
        differs=(WORRIES,),
    ),
    Variant(
        name="penguin", title="Penguin", decks=1, tableau=(7,) * 7, cells=7, spaces="base - 1",
        moves="sequence", base="dealt",
        aliases=("Beak and Flipper",), sources=("PySolFC 3.6, Penguin (game 64)",),
    ),
    Variant(
        name="opus", title="Opus", decks=1, tableau=(7,) * 7, cells=5, spaces="base - 1", moves="sequence",
        base="dealt",
        sources=("PySolFC 3.6, Opus (game 427)",),
    ),
    # Klondike and relatives.
    Variant(
        name="klondike", title="Klondike", decks=1, tableau=tuple(range(1, 8)), build="alternate color",
        spaces="kings", moves="sequence", face_down=tuple(range(7)), passes=0, worrying_back=True,
        pysol_order=_triangle(7, from_right=True),
        aliases=("American Patience", "Classic Solitaire"), sources=("PySolFC 3.6, Klondike (game 2)",),
        differs=(_FIRST_CARD, _BACK_TO_SPACES),
    ),
    Variant(
        name="klondike-draw-3", title="Klondike (Draw 3)", decks=1, tableau=tuple(range(1, 8)),
        build="alternate color", spaces="kings", moves="sequence", face_down=tuple(range(7)), draw=3,
        passes=0, worrying_back=True, pysol_order=_triangle(7, from_right=True),
        sources=("PySolFC 3.6, Klondike (Draw 3) (game 18)",), differs=(_FIRST_THREE, _BACK_TO_SPACES),
    ),
    Variant(
        name="double-klondike", title="Double Klondike", decks=2, tableau=tuple(range(1, 10)),
        build="alternate color", spaces="kings", moves="sequence", face_down=tuple(range(9)), passes=0,
        worrying_back=True, pysol_order=_triangle(9),
        sources=("PySolFC 3.6, Double Klondike (game 21)",), differs=(_FIRST_CARD, _BACK_TO_SPACES),
    ),
    Variant(
        name="double-klondike-draw-3", title="Double Klondike (Draw 3)", decks=2, tableau=tuple(range(1, 10)),
        build="alternate color", spaces="kings", moves="sequence", face_down=tuple(range(9)), draw=3,
        passes=0, worrying_back=True, pysol_order=_triangle(9),
        sources=("PySolFC 3.6, Double Klondike (Draw 3) (game 28)",), differs=(_FIRST_THREE, _BACK_TO_SPACES),
    ),
    Variant(
        name="westcliff", title="Westcliff", decks=1, tableau=(3,) * 10, build="alternate color",
        moves="sequence", face_down=2,
        sources=("PySolFC 3.6, Westcliff (game 33)",), differs=(_FIRST_CARD,),
    ),
    Variant(
        name="thumb-and-pouch", title="Thumb and Pouch", decks=1, tableau=tuple(range(1, 8)),
        build="other suit", moves="sequence", face_down=tuple(range(7)), worrying_back=True,
        pysol_order=_triangle(7, from_right=True),
        sources=("PySolFC 3.6, Thumb and Pouch (game 58)",), differs=(_FIRST_CARD, _BACK_TO_SPACES),
    ),
    Variant(
        name="whitehead", title="Whitehead", decks=1, tableau=tuple(range(1, 8)), build="same color",
        moves="sequence", sequence="same suit", worrying_back=True, pysol_order=_triangle(7, from_right=True),
        sources=("PySolFC 3.6, Whitehead (game 67)",), differs=(_FIRST_CARD, _BACK_TO_SPACES),
    ),
    Variant(
        name="yukon", title="Yukon", decks=1, tableau=_YUKON, build="alternate color", spaces="kings",
        moves="any group", face_down=tuple(range(7)), pysol_order=_triangle(7, rows=4),
        sources=("PySolFC 3.6, Yukon (game 19)",),
    ),
    Variant(
        name="russian-solitaire", title="Russian Solitaire", decks=1, tableau=_YUKON, spaces="kings",
        moves="any group", face_down=tuple(range(7)), pysol_order=_triangle(7, rows=4),
        sources=("PySolFC 3.6, Russian Solitaire (game 20)",),
    ),
)  # fmt: skip
"""The published games."""


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
