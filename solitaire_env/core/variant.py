"""The rules of a game as data, in the words of card players.

The published games are rows of a table in :mod:`solitaire_env.variants`; legal moves are defined in
:mod:`solitaire_env.core.rules`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args, get_origin

from solitaire_env.core.cards import RANK_NAMES
from solitaire_env.util.arguments import check_kind
from solitaire_env.util.immutable import Immutable
from solitaire_env.util.messages import shown

Build = Literal["same suit", "alternate color", "any suit", "other suit", "same color"]
SequenceBuild = Literal["as build", "same suit", "alternate color", "any suit"]
FoundationBuild = Literal["same suit", "alternate color"]
Spaces = Literal["any", "kings", "none", "base - 1"]
Moves = Literal["one card", "supermove", "sequence", "any group"]
HOUSE_RULES: Final = {"build": get_args(Build), "spaces": get_args(Spaces), "moves": get_args(Moves)}
"""The fields that players may change in a published game, and their values."""
Fill = Literal["none", "waste"]

MAX_SOURCES: Final = 27
"""Piles, waste and cells together: the rules keep sets of them, and of four suits, in 31 bits."""
MAX_PILE: Final = 100
MAX_PILE_CAPACITY: Final = 127
MAX_DECKS: Final = 4
MAX_DRAW: Final = 3
MAX_PASSES: Final = 100
MAX_NAME: Final = 80
MAX_VERSION: Final = 999


@dataclass(frozen=True)
class Variant(Immutable):
    """The rules of one solitaire game.

    Every game has one foundation per suit and deck; it is won when all cards are there. Cards that are dealt
    neither to the tableau nor to cells or foundations form the stock, which is turned up to the waste.
    """

    name: str
    """Short name, lower case with hyphens: ``forty-thieves``."""
    title: str
    """Displayed name: ``Forty Thieves``."""
    decks: int
    """Packs of cards, 1..4."""
    tableau: tuple[int, ...]
    """Number of cards dealt to each tableau pile."""
    cells: int = 0
    """Number of cells; each holds one card."""
    cells_filled: int = 0
    """Number of cells, from the first, that receive a card at the deal."""
    build: Build = "same suit"
    """The cards that a tableau card takes: the next lower rank, in the same suit, in the other color, in any
    suit, in any suit but its own, or in the same color."""
    spaces: Spaces = "any"
    """The cards that fill an empty tableau pile: any, Kings only, none, or only the rank below the base."""
    moves: Moves = "one card"
    """The cards that move between tableau piles: one card; a sequence as long as single moves could carry it
    through empty cells and spaces (a supermove); any sequence; or any face-up card with all cards on it, in
    order or not."""
    sequence: SequenceBuild = "as build"
    """Building rule of sequences that move together, if it differs from ``build``; with supermoves it may
    only be stricter."""
    face_down: int | str | tuple[int, ...] = 0
    """The cards of each pile that are dealt face down: their number at the bottom, one for all piles or one
    for each; or rows, counted from the bottom, as text: ``"rows 2, 4, 6"``. The last card of a pile is always
    face up."""
    draw: int = 1
    """Number of cards turned from the stock to the waste at a time, 1..3."""
    passes: int = 1
    """Number of passes through the stock; 0 for no limit."""
    aces_home: bool = False
    """Whether the Aces, or the cards of the base rank, start on the foundations."""
    fill: Fill = "none"
    """``"waste"``: an empty pile is immediately filled with the last card of the waste; if the waste is
    empty, cards are drawn first."""
    foundation_build: FoundationBuild = "same suit"
    """Building rule of the foundations."""
    base: int | str = "ace"
    """Rank of the first card of each foundation: ``"ace"``, a number, or ``"dealt"`` for the rank of the
    first card of the deal, whose other copies then start on the foundations. With another base than the Ace
    foundations and tableau wrap: a King goes onto an Ace in the tableau, an Ace onto a King at home."""
    worrying_back: bool = False
    """Whether the last card of a foundation may go back onto a card of the tableau."""
    pysol_order: tuple[int, ...] = ()
    """The tableau pile (cells are counted after the piles) of each card in PySolFC's dealing order, if that
    is not row by row: only needed for PySolFC's deal numbers."""
    ranks: int = 13
    """Cards in a suit, Ace upwards. Fewer than 13 make short decks, which can be solved exhaustively."""
    sources: tuple[str, ...] = ()
    """Where these rules are published."""
    aliases: tuple[str, ...] = ()
    """Other names of the game."""
    differs: tuple[str, ...] = ()
    """Differences in other programs or books, a sentence each."""
    version: int = 0
    """Version of the game, the number in its id: it goes up when rules, action numbers, observations, rewards
    or deal numbers of the game change."""

    def __post_init__(self) -> None:
        self._check_texts()
        self._check_numbers()
        self._check_words()
        for wrong, what in _conflicts(self):
            if wrong:
                raise ValueError(f"variant {self.name!r}: {what}")

    def _check(self, ok: bool, field: str, allowed: str) -> None:
        if not ok:
            value = shown(getattr(self, field), 200)
            raise ValueError(f"variant {shown(self.name)}: {field} is {value}, allowed: {allowed}")

    def _check_texts(self) -> None:
        for field in ("name", "title"):
            text = getattr(self, field)
            ok = _is_line(text) and len(text) <= MAX_NAME and any(map(str.isalnum, text))
            self._check(ok, field, f"a line of text with a letter or digit, at most {MAX_NAME} characters")
        self._check(not set(self.name) & set(" :/\\"), "name", "text without spaces, colons or slashes")
        for field in ("sources", "aliases", "differs"):
            value = getattr(self, field)
            ok = isinstance(value, tuple) and all(map(_is_line, value))
            self._check(ok, field, "a tuple of texts, each a line")

    def _check_numbers(self) -> None:
        for field, low, high in (
            ("decks", 1, MAX_DECKS),
            ("cells", 0, MAX_SOURCES),
            ("cells_filled", 0, self.cells),
            ("ranks", 1, len(RANK_NAMES)),
            ("draw", 1, MAX_DRAW),
            ("passes", 0, MAX_PASSES),
            ("version", 0, MAX_VERSION),
        ):
            value = getattr(self, field)
            self._check(_is_whole(value, low, high), field, f"a whole number from {low} to {high}")
        sizes = self.tableau
        ok = isinstance(sizes, tuple) and all(_is_whole(size, 0, MAX_PILE) for size in sizes)
        allowed = f"a tuple of 1 to {MAX_SOURCES} pile sizes, 0 to {MAX_PILE} cards each"
        self._check(ok and 1 <= len(sizes) <= MAX_SOURCES, "tableau", allowed)
        allowed = "a whole number, one for each pile, each less than the cards of that pile, or text such as "
        self._check(self.face_down_rows is not None, "face_down", f"{allowed}'rows 2, 4, 6'")

    def _check_words(self) -> None:
        for field, words in _WORDS.items():
            value = getattr(self, field)
            self._check(isinstance(value, str) and value in words, field, ", ".join(map(repr, words)))
        for field in ("aces_home", "worrying_back"):
            self._check(isinstance(getattr(self, field), bool), field, "True or False")
        named = isinstance(self.base, str) and self.base in ("ace", "dealt")
        allowed = f"'ace', 'dealt', or a rank from 2 to {self.ranks}"
        self._check(named or _is_whole(self.base, 2, self.ranks), "base", allowed)
        dealt_to = [pile for pile, size in enumerate(self.tableau) for _ in range(size)]
        dealt_to += range(self.piles, self.piles + self.cells_filled)
        order = self.pysol_order
        self._check(
            isinstance(order, tuple)
            and all(_is_whole(place, 0, 2 * MAX_SOURCES) for place in order)
            and sorted(order) in ([], dealt_to),
            "pysol_order",
            "each pile as often as it gets a card at the deal, and each cell that is filled",
        )

    @property
    def cards(self) -> int:
        """Number of cards in play."""
        return 4 * self.ranks * self.decks

    @property
    def foundations(self) -> int:
        """Number of foundations: one per suit and deck."""
        return 4 * self.decks

    @property
    def piles(self) -> int:
        """Number of tableau piles."""
        return len(self.tableau)

    @property
    def stock(self) -> int:
        """Number of cards in the stock after the deal."""
        return self.cards - sum(self.tableau) - self.cells_filled - self.home_at_deal

    @property
    def home_at_deal(self) -> int:
        """Number of cards that the deal puts on the foundations."""
        return self.foundations * self.aces_home + (self.foundations - 1) * (self.base == "dealt")

    @property
    def pile_capacity(self) -> int:
        """Maximum number of cards in a tableau pile."""
        if self.moves == "any group":
            return self.cards
        # The last card dealt to a pile can start at most the rest of a sequence: without wrap nothing fits on
        # an Ace.
        dealt = max(*self.tableau, 1)
        if not self.wraps:
            return dealt + self.ranks - 1
        longest = self.ranks * self.decks if self.build == "same suit" else self.cards
        return min(dealt + longest - 1, self.cards)

    @property
    def wraps(self) -> bool:
        """Whether ranks continue from the King to the Ace."""
        return self.base != "ace"

    @property
    def run_build(self) -> str:
        """Building rule of sequences that move together, as a value of ``build``."""
        return self.build if self.sequence == "as build" else self.sequence

    @property
    def builds_sequences(self) -> bool:
        """Whether every sequence that moves together could be built card by card."""
        return _SUIT_PAIRS[self.run_build] <= _SUIT_PAIRS[self.build]

    @property
    def face_down_rows(self) -> tuple[frozenset[int], ...] | None:
        """For each pile, the places, from 0 at the bottom, of the cards that are dealt face down; None if
        ``face_down`` is invalid.
        """
        down, piles = self.face_down, self.tableau
        if isinstance(down, str):
            if not re.fullmatch(r"rows [1-9]\d?(, [1-9]\d?)*", down):
                return None
            rows = [int(row) - 1 for row in re.findall(r"\d+", down)]
            return tuple(frozenset(row for row in rows if row < size - 1) for size in piles)
        if isinstance(down, int):
            ok = _is_whole(down, 0, MAX_PILE)
            return tuple(frozenset(range(min(down, size - 1))) for size in piles) if ok else None
        if not isinstance(down, tuple) or len(down) != len(piles):
            return None
        if not all(_is_whole(n, 0, max(size - 1, 0)) for n, size in zip(down, piles, strict=True)):
            return None
        return tuple(frozenset(range(n)) for n in down)

    @property
    def hides_cards(self) -> bool:
        """Whether the deal puts cards face down on the tableau."""
        return any(self.face_down_rows or ())

    @property
    def counts_differ(self) -> bool:
        """Whether a player chooses how many cards move to a space."""
        return self.spaces != "none" and (
            self.moves == "any group" or (self.moves != "one card" and self.spaces == "any")
        )

    @property
    def takes_supermoves(self) -> bool:
        """Whether single moves can carry the game's sequences, so that ``moves="supermove"`` is a
        shortcut.
        """
        one_way = not self.wraps or (self.decks == 1 and self.run_build == "same suit")
        single = self.moves in ("one card", "supermove") and self.builds_sequences
        return single and self.fill == "none" and one_way

    def with_rules(
        self, *, build: Build | None = None, spaces: Spaces | None = None, moves: Moves | None = None
    ) -> "Variant":
        """The variant with other ``build``, ``spaces`` or ``moves``; None keeps a value."""
        rules: dict[str, Any] = {"build": build, "spaces": spaces, "moves": moves}
        return replace(self, **{field: word for field, word in rules.items() if word is not None})

    def describe(self) -> str:
        """The rules in English, written from the fields."""
        return "\n".join(_describe(self))


_WORDS: Final = {
    field.name: get_args(field.type) for field in fields(Variant) if get_origin(field.type) is Literal
}
"""The values of fields that are words."""

_SUIT_PAIRS: Final = {
    "same suit": {"itself"},
    "same color": {"itself", "same color"},
    "alternate color": {"other color"},
    "other suit": {"same color", "other color"},
    "any suit": {"itself", "same color", "other color"},
}
"""The suits that go onto a card by each building rule: its own, its color's other one, the other color."""


def _conflicts(v: Variant) -> Iterator[tuple[bool, str]]:
    """Values that cannot be combined: whether they occur, and the error."""
    dealt = sum(v.tableau) + v.cells_filled + v.home_at_deal
    yield v.stock < 0, f"deals {dealt} cards of a deck of {v.cards}"
    yield v.fill == "waste" and not v.stock, "fill='waste' needs a stock"
    yield not v.stock and (v.draw, v.passes) != (1, 1), "there is no stock, so draw and passes must be 1"
    as_build = v.sequence == "as build"
    yield v.moves == "any group" and not as_build, "moves='any group' needs sequence='as build'"
    by_cards = f"needs sequences that build={v.build!r} allows card by card, not sequence={v.sequence!r}"
    yield v.moves == "supermove" and not v.builds_sequences, f"moves='supermove' {by_cards}"
    starts = v.tableau[0] > 0 and not v.aces_home
    yield v.base == "dealt" and not starts, "base='dealt' needs a card in t1, and aces_home=False"
    needs = "foundation_build='alternate color' needs base='ace' and worrying_back=False"
    yield v.foundation_build == "alternate color" and (v.wraps or v.worrying_back), needs
    sources = v.piles + (v.stock > 0) + v.cells
    yield sources > MAX_SOURCES, f"piles, waste and cells are {sources}, allowed: {MAX_SOURCES}"
    capacity = v.pile_capacity
    too_high = f"a pile could grow to {capacity} cards, allowed: {MAX_PILE_CAPACITY}"
    yield capacity > MAX_PILE_CAPACITY, too_high
    one_way = v.moves == "one card" or (v.decks == 1 and v.run_build == "same suit")
    needs = "needs one deck and sequences of the same suit; longer ones could go onto a card in two ways"
    yield v.wraps and not one_way, f"base={v.base!r} with moves={v.moves!r} {needs}"


def _is_whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _is_line(text: object) -> bool:
    return isinstance(text, str) and text.isprintable()


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_SUITS: Final = {
    "same suit": "in the same suit",
    "alternate color": "in the other color",
    "any suit": "in any suit",
    "other suit": "in any other suit",
    "same color": "in the same color",
}


def _faces(v: Variant) -> str:
    if not v.hides_cards:
        return "all face up"
    if isinstance(v.face_down, str):
        return f"{v.face_down} from the bottom face down"
    if isinstance(v.face_down, int):
        return f"the lowest {_plural(v.face_down, 'card')} of each face down"
    if all(down == max(size - 1, 0) for down, size in zip(v.face_down, v.tableau, strict=True)):
        return "all but the last of each face down"
    return f"the lowest {', '.join(map(str, v.face_down))} face down"


def _foundations(v: Variant, highest: str) -> str:
    suits = {"same suit": "in suit", "alternate color": "in alternating colors"}[v.foundation_build]
    start = {
        "ace": f"from Ace to {highest}",
        "dealt": "from the base, which is the rank of the first card of the deal, "
        f"through {highest} and Ace; the other cards of that rank start there",
    }.get(str(v.base))
    if start is None:
        start = f"from {RANK_NAMES[int(v.base) - 1]} through {highest} and Ace"
    if v.aces_home:
        start += f"; the {'Aces' if v.base == 'ace' else f'{RANK_NAMES[int(v.base) - 1]}s'} start there"
    stay = (
        "The last card of a foundation may go back onto a card of the tableau."
        if v.worrying_back
        else "Cards on a foundation stay there."
    )
    return (
        f"Foundations: {v.foundations}, built up {suits} {start}. {stay} "
        "The game is won when all cards are there."
    )


def _stock(v: Variant) -> str:
    at_a_time = ("one", "two", "three")[v.draw - 1]
    times = {
        0: "any number of times: when the stock is empty, the waste is turned over",
        1: "once: there is no redeal",
    }.get(v.passes, f"{v.passes} times: when the stock is empty, the waste is turned over")
    return (
        f"Stock: {_plural(v.stock, 'card')}, turned up to the waste {at_a_time} at a time, {times}. "
        "The last card of the waste is playable."
    )


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
    lines.append(f"Tableau: {_plural(v.piles, 'pile')} of {each}, {_faces(v)}.")
    if v.cells:
        filled = f", the first {v.cells_filled} of them filled at the deal" if v.cells_filled else ""
        lines.append(f"Cells: {v.cells}, one card each{filled}. Any card may go to an empty cell.")
    lines.append(_foundations(v, highest))
    if v.stock:
        lines.append(_stock(v))
    end = f"A {highest} goes onto an Ace." if v.wraps else "No card goes onto an Ace."
    lines.append(f"Building: on the tableau, down by one, {_SUITS[v.build]}. {end}")
    capacity = "empty cells + 1"
    if v.spaces == "any":
        capacity = f"({capacity}) x 2 for each space other than the target"
    runs = "" if v.sequence == "as build" else f" A sequence is {_SUITS[v.sequence]}."
    lines.append(
        {
            "one card": "Moves: one card at a time.",
            "supermove": "Moves: a sequence moves as one if single cards could carry it: "
            f"at most {capacity}.{runs}",
            "sequence": f"Moves: any sequence at the end of a pile moves as one, whole or in part.{runs}",
            "any group": "Moves: any face-up card moves with all cards on it, in order or not.",
        }[v.moves]
    )
    below = {"ace": highest, "dealt": "card of the rank below the base"}.get(
        str(v.base), RANK_NAMES[int(v.base) - 2] if v.base not in ("ace", "dealt") else ""
    )
    leader = {"kings": highest, "base - 1": below}.get(v.spaces)
    led = {"one card": "", "any group": ", with the cards on it,"}.get(
        v.moves, ", or the sequence that it leads,"
    )
    if leader:
        lines.append(f"Spaces: only a {leader}{led} may fill an empty pile.")
    elif v.spaces == "any":
        lines.append(f"Spaces: any card{' or sequence' if v.counts_differ else ''} may fill an empty pile.")
    else:
        lines.append("Spaces: an empty pile stays empty.")
    if v.fill == "waste":
        lines.append(
            "Filling: a pile that becomes empty immediately gets the last card of the waste; if the waste is "
            "empty, cards are drawn first."
        )
    lines.extend(f"Differs: {sentence}" for sentence in v.differs)
    lines.extend(f"Source: {source}" for source in v.sources)
    return lines


def variant_to_dict(variant: Variant) -> dict[str, Any]:
    """Plain data (JSON-able) for :func:`variant_from_dict`."""
    check_kind("variant", variant, Variant)
    out = {field.name: getattr(variant, field.name) for field in fields(variant)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in out.items()}


def rules_to_dict(variant: Variant) -> dict[str, Any]:
    """The fields that decide how a game is dealt and played, as plain data. Two variants with the same ones
    are one game with two names.
    """
    names = ("name", "title", "aliases", "sources", "differs", "pysol_order", "version")
    return {key: value for key, value in variant_to_dict(variant).items() if key not in names}


def variant_from_dict(data: dict[str, Any]) -> Variant:
    """The variant from plain data; missing and unknown fields raise an error."""
    if not isinstance(data, dict):
        raise TypeError(f"variant fields are a {type(data).__name__}, allowed: a dict")
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    try:
        return Variant(**values)
    except TypeError:  # a field is missing or unknown
        allowed = ", ".join(field.name for field in fields(Variant))
        raise ValueError(f"variant fields are {shown(list(data))}, allowed: {allowed}") from None
