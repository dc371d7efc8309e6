"""The games: one line of data each, and how they are found by name.

A game is a :class:`~solitaire_env.core.variant.Variant`, a record of its rules. No other file names a game.
What may be done in a position is in :mod:`solitaire_env.core.engine`.
"""

from typing import Final

from solitaire_env.core.variant import Build, Moves, Spaces, Variant, variant_from_dict, variant_to_dict
from solitaire_env.util.messages import shown

__all__ = [
    "VARIANTS",
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

VARIANTS: Final[tuple[Variant, ...]] = (
    Variant(
        name="forty-thieves",
        title="Forty Thieves",
        decks=2,
        tableau=(4,) * 10,
        aliases=("Napoleon at St Helena", "Le Cadran"),
        sources=("PySolFC 3.6, Forty Thieves (game 13)", "Solvitaire, preset forty-thieves"),
        differs=("PySolFC starts with the first card of the stock already on the waste.",),
    ),
    Variant(
        name="eighty-thieves",
        title="Eighty Thieves",
        decks=4,
        tableau=(8,) * 10,
        sources=("PySolFC 3.6, Eighty Thieves (game 776)",),
        differs=("PySolFC starts with the first card of the stock already on the waste.",),
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
        differs=("PySolFC starts with the first card of the stock already on the waste.",),
    ),
    Variant(
        name="busy-aces",
        title="Busy Aces",
        decks=2,
        tableau=(1,) * 12,
        sources=("PySolFC 3.6, Busy Aces (game 80)",),
        differs=("PySolFC starts with the first card of the stock already on the waste.",),
    ),
)
"""The published games."""


_ADDED: dict[str, Variant] = {}


def known_variants() -> tuple[Variant, ...]:
    """The published games, then those that were added."""
    return (*VARIANTS, *_ADDED.values())


def add_variant(variant: Variant) -> None:
    """Make a game of one's own known by its name; another of that name is refused."""
    for known in known_variants():
        if known.name == variant.name and known != variant:
            raise ValueError(
                f"variant {variant.name!r} is known already, with other rules; choose another name"
            )
    if variant not in VARIANTS:
        _ADDED[variant.name] = variant


def get_variant(name: str) -> Variant:
    """The variant of that name, title or alias; case, spaces and hyphens do not matter.

    A name, letter by letter, goes before another game's title or alias.
    """
    if not isinstance(name, str):
        raise TypeError(f"variant is a {type(name).__name__}, allowed: a name, a title or an alias")

    def plain(text: str) -> str:
        return "".join(c for c in text.lower() if c.isalnum())

    wanted = plain(name)
    for variant in known_variants():
        if variant.name == name:
            return variant
    for variant in known_variants():
        if wanted and wanted in map(plain, (variant.name, variant.title, *variant.aliases)):
            return variant
    raise ValueError(f"unknown variant {shown(name)}, allowed: {', '.join(v.name for v in known_variants())}")
