"""The record of a game's rules, in the words that card players use.

The published games are lines of data in :mod:`solitaire_env.variants`; what may be done in a position is in
:mod:`solitaire_env.core.engine`.
"""

from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, Final, Literal, get_args

from solitaire_env.core.cards import RANK_NAMES
from solitaire_env.util.messages import shown

Build = Literal["same suit", "alternate color", "any suit"]
Spaces = Literal["any", "kings", "none"]
Moves = Literal["one card", "supermove", "sequence"]

MAX_PILES: Final = 32
MAX_PILE: Final = 100
MAX_CELLS: Final = 32
MAX_DECKS: Final = 4
MAX_NAME: Final = 80


@dataclass(frozen=True)
class Variant:
    """The rules of one solitaire game.

    Every game has one foundation a suit and deck, built up in suit from the Ace; it is won when all cards are
    there. Cards that are dealt neither to the tableau nor to the cells form the stock, which is turned up to
    the waste one card at a time, once.
    """

    name: str
    """Short name, lower case with hyphens: ``forty-thieves``."""
    title: str
    """The name that people read: ``Forty Thieves``."""
    decks: int
    """Packs of cards, 1..4."""
    tableau: tuple[int, ...]
    """Number of cards dealt to each tableau pile, all face up."""
    cells: int = 0
    """Places that hold a single card each."""
    cells_filled: int = 0
    """The first so many cells receive a card at the deal."""
    build: Build = "same suit"
    """What a card on the tableau takes: the next lower rank, in the same suit, in the other color, or in any
    suit."""
    spaces: Spaces = "any"
    """What fills an empty tableau pile: any card, Kings only, or nothing."""
    moves: Moves = "one card"
    """What moves between tableau piles: one card; a sequence as long as single moves could carry it through
    empty cells and spaces (a supermove); or any sequence."""
    ranks: int = 13
    """Cards in a suit, Ace upwards. Fewer than 13 make short decks, which can be solved exhaustively."""
    sources: tuple[str, ...] = ()
    """Where these rules are published."""
    aliases: tuple[str, ...] = ()
    """Other names of the same game."""
    differs: tuple[str, ...] = ()
    """Where other programs or books differ, a sentence each."""

    def __post_init__(self) -> None:
        def check(ok: bool, field: str, allowed: str) -> None:
            if not ok:
                value = shown(getattr(self, field), 200)
                raise ValueError(f"variant {shown(self.name)}: {field} is {value}, allowed: {allowed}")

        for field in ("name", "title"):
            text = getattr(self, field)
            ok = _is_line(text) and len(text) <= MAX_NAME and any(map(str.isalnum, text))
            check(ok, field, f"a line of text with a letter or digit, at most {MAX_NAME} characters")
        check(not set(self.name) & set(" :/\\"), "name", "text without spaces, colons or slashes")
        for field, low, high in (
            ("decks", 1, MAX_DECKS),
            ("cells", 0, MAX_CELLS),
            ("ranks", 1, len(RANK_NAMES)),
        ):
            value = getattr(self, field)
            check(type(value) is int and low <= value <= high, field, f"a whole number from {low} to {high}")
        check(
            isinstance(self.tableau, tuple)
            and 1 <= len(self.tableau) <= MAX_PILES
            and all(type(size) is int and 0 <= size <= MAX_PILE for size in self.tableau),
            "tableau",
            f"a tuple of 1 to {MAX_PILES} pile sizes, 0 to {MAX_PILE} cards each",
        )
        check(
            type(self.cells_filled) is int and 0 <= self.cells_filled <= self.cells,
            "cells_filled",
            f"a whole number from 0 to the number of cells, {self.cells}",
        )
        for field, words in (("build", Build), ("spaces", Spaces), ("moves", Moves)):
            value = getattr(self, field)
            ok = isinstance(value, str) and value in get_args(words)
            check(ok, field, ", ".join(map(repr, get_args(words))))
        for field in ("sources", "aliases", "differs"):
            value = getattr(self, field)
            check(
                isinstance(value, tuple) and all(map(_is_line, value)), field, "a tuple of texts, each a line"
            )
        if self.stock < 0:
            dealt = sum(self.tableau) + self.cells_filled
            raise ValueError(f"variant {self.name!r}: deals {dealt} cards of a deck of {self.cards}")

    @property
    def cards(self) -> int:
        """Number of cards in play."""
        return 4 * self.ranks * self.decks

    @property
    def foundations(self) -> int:
        """Number of foundations: one a suit and deck."""
        return 4 * self.decks

    @property
    def piles(self) -> int:
        """Number of tableau piles."""
        return len(self.tableau)

    @property
    def stock(self) -> int:
        """Number of cards in the stock after the deal."""
        return self.cards - sum(self.tableau) - self.cells_filled

    @property
    def counts_differ(self) -> bool:
        """Whether a player chooses how many cards of a sequence go to a space."""
        return self.moves != "one card" and self.spaces == "any"

    def with_rules(
        self, *, build: Build | None = None, spaces: Spaces | None = None, moves: Moves | None = None
    ) -> "Variant":
        """The variant with other ``build``, ``spaces`` or ``moves``; those given as None stay as they are."""
        rules: dict[str, Any] = {"build": build, "spaces": spaces, "moves": moves}
        return replace(self, **{field: word for field, word in rules.items() if word is not None})

    def describe(self) -> str:
        """The rules in English, written from the fields."""
        return "\n".join(_describe(self))


def _is_line(text: object) -> bool:
    return isinstance(text, str) and text.isprintable()


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _describe(v: Variant) -> list[str]:
    lines = [v.title, "=" * len(v.title), ""]
    if v.aliases:
        lines.append(f"Also called {', '.join(v.aliases)}.")
    highest = "King" if v.ranks == 13 else RANK_NAMES[v.ranks - 1]
    short = "" if v.ranks == 13 else f", Ace to {highest} only"
    lines.append(f"Cards: {_plural(v.decks, 'deck')}, {v.cards} cards{short}.")
    sizes = sorted(set(v.tableau))
    each = (
        f"{_plural(sizes[0], 'card')} each" if len(sizes) == 1 else f"{', '.join(map(str, v.tableau))} cards"
    )
    lines.append(f"Tableau: {_plural(v.piles, 'pile')} of {each}, all face up.")
    if v.cells:
        filled = f", the first {v.cells_filled} filled at the deal" if v.cells_filled else ""
        lines.append(f"Cells: {v.cells}, one card each{filled}. Any card may go to an empty cell.")
    lines.append(
        f"Foundations: {v.foundations}, built up in suit from Ace to {highest}. "
        "Cards on a foundation stay there. The game is won when all cards are there."
    )
    if v.stock:
        lines.append(
            f"Stock: {_plural(v.stock, 'card')}, turned up to the waste one at a time, once: "
            "there is no redeal. The last card of the waste is playable."
        )
    suits = {
        "same suit": "in the same suit",
        "alternate color": "in the other color",
        "any suit": "whatever the suit",
    }[v.build]
    lines.append(f"Building: on the tableau, down by one, {suits}. Nothing goes onto an Ace.")
    capacity = "empty cells + 1"
    if v.spaces == "any":
        capacity = f"({capacity}) x 2 for each space, the target not counted"
    lines.append(
        {
            "one card": "Moves: one card at a time.",
            "supermove": "Moves: a sequence moves as one if single cards could carry it: "
            f"at most {capacity}.",
            "sequence": "Moves: any sequence at the end of a pile moves as one, whole or in part.",
        }[v.moves]
    )
    lines.append(
        {
            "any": "Spaces: any card"
            + (" or sequence" if v.counts_differ else "")
            + " may fill an empty pile.",
            "kings": f"Spaces: only a {highest}"
            + ("" if v.moves == "one card" else ", or the sequence that it leads,")
            + " may fill an empty pile.",
            "none": "Spaces: an empty pile stays empty.",
        }[v.spaces]
    )
    lines.extend(f"Differs: {sentence}" for sentence in v.differs)
    lines.extend(f"Source: {source}" for source in v.sources)
    return lines


def variant_to_dict(variant: Variant) -> dict[str, Any]:
    """Plain data (JSON-able) from which :func:`variant_from_dict` makes the variant again."""
    out = {field.name: getattr(variant, field.name) for field in fields(variant)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in out.items()}


def variant_from_dict(data: dict[str, Any]) -> Variant:
    """The variant from plain data, unknown keys refused."""
    if not isinstance(data, dict):
        raise TypeError(f"variant fields are a {type(data).__name__}, allowed: a dict")
    allowed = [field.name for field in fields(Variant)]
    unknown = [key for key in data if key not in allowed]
    if unknown:
        raise ValueError(f"unknown variant fields {shown(unknown)}, allowed: {', '.join(allowed)}")
    missing = [f.name for f in fields(Variant) if f.default is MISSING and f.name not in data]
    if missing:
        raise ValueError(f"variant fields {missing} are missing")
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return Variant(**values)
