"""The layout of a picture of a position, in units of a card's width.

From top to bottom: a caption; the foundations; stock, waste and cells, if any; the tableau; a note. Piles are
compressed if they would not fit, so nothing is ever outside. A picture scales the layout to its pixels.
"""

from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

from solitaire_env.core.cards import EMPTY, FACE_DOWN, RANK_NAMES
from solitaire_env.core.layout import make_rules
from solitaire_env.core.position import Pile, Position
from solitaire_env.notation import Move
from solitaire_env.util.arguments import check_kind

CARD_HEIGHT: Final = 1.4
PITCH: Final = 1.12
"""Minimum distance between piles."""
WIDE: Final = 1.3
"""Maximum distance between piles."""
FANNED: Final = 0.62
"""Visible part of a covered card of the waste."""
LOOSE: Final = 0.36
"""Visible part of a covered card of the tableau, if there is enough room."""
TIGHT: Final = 0.29
"""The same if the tallest pile with reserved room is full: the rank and suit."""
TALLEST: Final = 20
"""Number of cards with reserved room in a pile; with more, it is compressed further."""
BACK: Final = 0.4
"""Visible part of a covered card without a face, relative to that of others."""

_MARGIN: Final = 0.2
_FEWEST_COLUMNS: Final = 8
_CAPTION: Final = 0.34
_LABEL: Final = 0.24
_ABOVE: Final = _LABEL + 0.06
"""Distance from the top of a label to the pile below; the line of a mark lies between them."""
_CAPTION_TOP: Final = 0.08
_FOUNDATIONS_TOP: Final = _CAPTION_TOP + _CAPTION + 0.06
_MIDDLE_TOP: Final = _FOUNDATIONS_TOP + CARD_HEIGHT + _LABEL + 0.1
_ROW: Final = CARD_HEIGHT + _LABEL + 0.1
_BELOW: Final = _CAPTION + 0.16

Mark = Literal["", "moved", "origin"]
"""``moved``: a card of the last move; ``origin``: the place that it left."""


class Spot(NamedTuple):
    """A card, or a place for one."""

    pile: str
    """``t1``.., ``waste``, ``c1``.., ``stock`` or ``foundations``."""
    depth: int
    """0 for the bottom card of the pile; for foundations, the index of the foundation."""
    card: int
    """EMPTY for a place without a card, FACE_DOWN for a back; with the bit DOWN, a face-down card that is
    known."""
    x: float
    """Left edge."""
    y: float
    """Upper edge."""
    mark: Mark = ""
    suit: int | None = None
    """Suit of an empty foundation."""
    other: int = EMPTY
    """The other possible card on a foundation of alternating colors: the number of cards defines the rank and
    the color of the last one, not its suit."""
    corner: float = 1.0
    """Size of its rank and suit in the corner: smaller in a pile that is compressed further than TIGHT."""


class Frame(NamedTuple):
    """The mark of the last move around a card, or a run of cards that overlap."""

    x: float
    """Left edge of the cards."""
    y: float
    """Upper edge of the first."""
    height: float


class Label(NamedTuple):
    """A line of text."""

    text: str
    x: float
    """Left edge."""
    y: float
    """Upper edge."""
    width: float
    """Maximum length of the text."""
    height: float
    strong: bool = False
    """A caption, not a pile's name."""


class Board(NamedTuple):
    """The contents of a picture."""

    width: float
    height: float
    spots: tuple[Spot, ...]
    """Lower ones first."""
    frames: tuple[Frame, ...]
    """Around the cards of the last move."""
    labels: tuple[Label, ...]


def headline(position: Position, deal: int | str | None = None) -> str:
    """The game and its progress: ``Busy Aces, deal 7: 12 of 104 cards home``; with the rank of the first card
    of the foundations if that is not the Ace.
    """
    v = check_kind("position", position, Position).variant
    home = sum(map(sum, position.foundations))
    base = f", base {RANK_NAMES[position.base_rank - 1].replace('T', '10')}" if v.wraps else ""
    return f"{v.title}{'' if deal is None else f', deal {deal}'}: {home} of {v.cards} cards home{base}"


def redeals_left(position: Position) -> str:
    """The number of redeals left: ``2 redeals left``; empty in games with one pass."""
    v = position.variant
    if v.passes == 1:
        return ""
    if v.passes == 0:
        return "any number of redeals"
    return f"{position.redeals or 'no'} redeal{'' if position.redeals == 1 else 's'} left"


def lay_out(
    position: Position,
    *,
    move: Move | None = None,
    caption: str | None = None,
    note: str = "",
    aspect: float = 0.75,
) -> Board:
    """The board of a position.

    Parameters
    ----------
    move
        The last move: its cards, and the place that they left, are marked.
    caption
        Text at the top, by default the :func:`headline`.
    note
        Text at the bottom.
    aspect
        Height divided by width.
    """
    v = check_kind("position", position, Position).variant
    columns = max(v.piles, _FEWEST_COLUMNS)
    width = (columns - 1) * PITCH + 1 + 2 * _MARGIN
    # The same for all positions of a game, so that nothing moves between pictures.
    extent = (min(make_rules(v).pile_capacity, TALLEST) - 1) * TIGHT
    top = _MIDDLE_TOP + (_ROW if v.stock or v.cells else 0)
    height = top + CARD_HEIGHT + extent + _BELOW
    width, height = max(width, height / aspect), max(height, width * aspect)
    pitch = min(WIDE, (width - 2 * _MARGIN - 1) / (columns - 1))
    left = (width - 1 - (columns - 1) * pitch) / 2
    right = width - left

    left_from = move.source if move is not None else ""

    spots, labels = _middle(position, left, right, pitch, left_from)
    spots += _foundations(position, left, right, pitch)
    for number, pile in enumerate(position.tableau):
        name, x = f"t{number + 1}", left + number * pitch
        spots += _column(pile, name, x, top, height - _BELOW, left_from)
        labels.append(Label(name, x, top - _ABOVE, 1, _LABEL))
    text = headline(position) if caption is None else caption
    labels.append(Label(text, left, _CAPTION_TOP, right - left, _CAPTION, strong=True))
    labels.append(Label(note, left, height - _CAPTION - 0.08, right - left, _CAPTION, strong=True))
    gave = (left_from, foundation_left(position, move))
    marked = _marked(spots, moved_cards(position, move), gave)
    labels = [label for label in labels if label.text]
    return Board(width, height, tuple(marked), tuple(_frames(marked)), tuple(labels))


def moved_cards(position: Position, move: Move | None) -> set[tuple[str, int]]:
    """The places of the cards of the last move: pile and depth, as in a :class:`Spot`."""
    if move is None:
        return set()
    card, target = move.cards[-1], move.target
    if target == "stock":
        return set()
    if target == "foundations":
        tops, takes = position.home_tops(), position.home_takes()
        # The first that took the card has it. With alternating colors two may be equal: then the last.
        first = next((number for number, cards in enumerate(takes) if card in cards), len(takes))
        return {(target, max(number for number, cards in enumerate(tops[:first]) if card in cards))}
    if target[0] == "c":
        return {(target, 0)}
    size = len(position.waste if target == "waste" else position.tableau[int(target[1:]) - 1])
    return {(target, depth) for depth in range(size - len(move.cards), size)}


def foundation_left(position: Position, move: Move | None) -> int | None:
    """The foundation that the last move took a card from, None if there is none."""
    if move is None or move.source != "foundations":
        return None
    return next(number for number, cards in enumerate(position.home_takes()) if move.cards[-1] in cards)


def _foundations(position: Position, left: float, right: float, pitch: float) -> list[Spot]:
    tops = position.home_tops()
    places = enumerate(zip(tops, _row(len(tops), left, right, pitch), strict=True))
    spots = []
    for number, (cards, x) in places:
        card, other, *_ = (*cards, EMPTY, EMPTY)
        suit = number // position.variant.decks
        spots.append(Spot("foundations", number, card, x, _FOUNDATIONS_TOP, suit=suit, other=other))
    # If they overlap, no empty one hides a card.
    return sorted(spots, key=lambda spot: spot.card != EMPTY)


def _middle(
    position: Position, left: float, right: float, pitch: float, left_from: str
) -> tuple[list[Spot], list[Label]]:
    """Stock and waste from the left, cells up to the right edge; their labels."""
    y = _MIDDLE_TOP
    spots: list[Spot] = []
    labels: list[Label] = []
    x, end = left, right
    if position.cells:
        start = (left + right) / 2 if position.variant.stock else left
        edges = _row(len(position.cells), start, right, pitch)
        for number, (card, edge) in enumerate(zip(position.cells, edges, strict=True), 1):
            spots.append(Spot(f"c{number}", 0, card, edge, y))
            labels.append(Label(f"c{number}", edge, y - _ABOVE, 1, _LABEL))
        end = start - (pitch - 1)
    if position.variant.stock:
        count = len(position.stock)
        spots.append(Spot("stock", max(0, count - 1), FACE_DOWN if count else EMPTY, x, y))
        labels.append(Label(f"stock {count}", x, y - _ABOVE, pitch - 0.04, _LABEL))
        fan = _fan(position.waste, x + pitch, end, left_from)
        spots += fan
        size, shown = len(position.waste), sum(spot.card != EMPTY for spot in fan)
        text = f"waste {size}" if shown == size else f"waste {size}, the last {shown}"
        if redeals := redeals_left(position):
            text += f"; {redeals}"
        labels.append(Label(text, x + pitch, y - _ABOVE, end - x - pitch, _LABEL))
    return spots, labels


def _fan(waste: Pile, x: float, end: float, left_from: str) -> list[Spot]:
    """The last cards of the waste, as many as fit."""
    empty = left_from == "waste" or not waste
    shown = min(len(waste), max(1, 1 + int((end - x - 1) / FANNED) - empty))
    first = len(waste) - shown
    spots = [Spot("waste", len(waste), EMPTY, x + shown * FANNED, _MIDDLE_TOP)] if empty else []
    for place, card in enumerate(waste[first:]):
        spots.append(Spot("waste", first + place, card, x + place * FANNED, _MIDDLE_TOP))
    return spots


def _column(pile: Pile, name: str, x: float, top: float, bottom: float, left_from: str) -> list[Spot]:
    """A tableau pile, with the place that the last move left below its last card."""
    empty = left_from == name or not pile
    shares = [BACK if card == FACE_DOWN else 1.0 for card in pile]
    below = sum(shares) if empty else sum(shares[:-1])
    step = min(LOOSE, (bottom - CARD_HEIGHT - top) / max(1, below))
    corner = min(1.0, round(step / TIGHT + 0.005, 2))
    edges = [top + sum(shares[:depth]) * step for depth in range(len(pile) + 1)]
    spots = [Spot(name, len(pile), EMPTY, x, edges[-1])] if empty else []
    for depth, card in enumerate(pile):
        spots.append(Spot(name, depth, card, x, edges[depth], corner=corner))
    return spots


def _row(count: int, x: float, right: float, pitch: float) -> list[float]:
    """Left edges of ``count`` cards in a row, ``pitch`` apart, or less if there is not enough room."""
    step = min(pitch, (right - x - 1) / max(1, count - 1))
    return [x + place * step for place in range(count)]


def _marked(
    spots: Sequence[Spot], moved: Collection[tuple[str, int]], gave: tuple[str, int | None]
) -> list[Spot]:
    """The spots with their marks; ``gave`` is the pile that the last move left, and the foundation index."""

    def mark(spot: Spot) -> Mark:
        if (spot.pile, spot.depth) in moved:
            return "moved"
        left = spot.pile == gave[0] and gave[1] in (None, spot.depth)
        turned = spot.pile[0] == "t" and spot.card == FACE_DOWN
        return "origin" if left and spot.card in (EMPTY, FACE_DOWN) and not turned else ""

    return [spot._replace(mark=mark(spot)) for spot in spots]


def _frames(spots: Sequence[Spot]) -> list[Frame]:
    """The frames of the cards of the last move, one for all cards of a tableau pile."""
    moved = [spot for spot in spots if spot.mark == "moved"]
    if moved and moved[0].pile[0] == "t":
        first, last = moved[0], moved[-1]
        return [Frame(first.x, first.y, last.y + CARD_HEIGHT - first.y)]
    return [Frame(spot.x, spot.y, CARD_HEIGHT) for spot in moved]
