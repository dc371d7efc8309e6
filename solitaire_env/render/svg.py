"""A position as SVG: one self-contained picture for a notebook or a page, with the fonts of the viewer."""

from html import escape
from typing import Any

from solitaire_env.core.cards import (
    DOWN,
    EMPTY,
    FACE_DOWN,
    RANK_NAMES,
    SUIT_SYMBOLS,
    card_name,
    is_red,
    rank_of,
    suit_of,
)
from solitaire_env.notation import Position
from solitaire_env.render import colors
from solitaire_env.render.board import CARD_HEIGHT, Board, Frame, Label, Spot, headline, lay_out, redeals_left

_UNIT = 100
"""A card's width in the picture's own units; whole numbers keep it short."""
_FONT = "DejaVu Sans Condensed,Noto Sans,Segoe UI,Helvetica,Arial,sans-serif"


def render_svg(position: Position, width: int = 720, **marks: Any) -> str:
    """The picture of a position as an ``<svg>`` element.

    Parameters
    ----------
    width
        Width in pixels if there is enough room; on a narrower page it shrinks.
    marks
        As in :func:`~solitaire_env.render.board.lay_out`.
    """
    board = lay_out(position, **marks)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(board.width)} {_n(board.height)}" '
            f'width="{width}" style="max-width:100%;height:auto" role="img" '
            f'font-family="{_FONT}" font-weight="bold">',
            f"<title>{escape(sentence(position))}</title>",
            f'<rect width="100%" height="100%" rx="12" fill="{colors.TABLE}"/>',
            *_draw(board),
            "</svg>",
        ]
    )


def sentence(position: Position) -> str:
    """The position as text for screen readers: ``Busy Aces: 0 of 104 cards home. Stock: 92 cards. ...``."""
    v = position.variant

    def names(cards: tuple[int, ...]) -> str:
        turned = sum(card == FACE_DOWN for card in cards)
        seen = " ".join(card_name(card) for card in cards if card != FACE_DOWN)
        return ", ".join(filter(None, [f"{turned} face down" if turned else "", seen])) or "empty"

    parts = [headline(position)]
    if v.stock:
        left = "".join(f", {text}" for text in [redeals_left(position)] if text)
        parts += [f"Stock: {len(position.stock)} cards{left}", f"Waste: {names(position.waste)}"]
    if v.cells:
        parts.append(f"Cells: {names(tuple(card for card in position.cells if card != EMPTY))}")
    parts += [f"Pile {number}: {names(pile)}" for number, pile in enumerate(position.tableau, 1)]
    return f"{'. '.join(parts)}."


def _draw(board: Board) -> list[str]:
    return [*map(_spot, board.spots), *map(_frame, board.frames), *map(_label, board.labels)]


def _n(length: float) -> int:
    return round(length * _UNIT)


def _box(x: float, y: float, fill: str, stroke: str, thick: int, height: float = CARD_HEIGHT) -> str:
    return (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_UNIT}" height="{_n(height)}" rx="10" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="{thick}"/>'
    )


def _text(x: float, y: float, size: float, color: str, text: str, anchor: str = "") -> str:
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="{color}"{anchor}>{escape(text)}</text>'
    )


def _spot(spot: Spot) -> str:
    x, y, card = spot.x, spot.y, spot.card
    if card == EMPTY:
        parts = [_box(x, y, colors.EMPTY_PLACE, colors.PLACE, 2)]
        if spot.suit is not None:
            parts.append(_text(x + 0.5, y + 0.9, 0.55, colors.PLACE, SUIT_SYMBOLS[spot.suit], "middle"))
    elif card == FACE_DOWN:
        parts = [
            _box(x, y, colors.FACE, colors.EDGE, 2),
            f'<rect x="{_n(x + 0.08)}" y="{_n(y + 0.08)}" width="84" height="124" rx="7" '
            f'fill="{colors.BACK}" stroke="{colors.BACK_LINES}" stroke-width="5"/>',
        ]
    else:
        color, symbol = colors.RED if is_red(card) else colors.BLACK, SUIT_SYMBOLS[suit_of(card)]
        if spot.other != EMPTY:
            symbol += SUIT_SYMBOLS[suit_of(spot.other)]
        rank = RANK_NAMES[rank_of(card & ~DOWN) - 1].replace("T", "10")
        face = colors.DOWN_FACE if card & DOWN else colors.FACE
        parts = [_box(x, y, face, colors.EDGE, 2), _corner(spot, color, rank + symbol)]
        if not spot.covered:
            parts.append(_text(x + 0.5, y + 1.15, 0.7 / len(symbol), color, symbol, "middle"))
    if spot.mark == "origin":
        parts.append(_box(x, y, "none", colors.MARK, 5))
    return "".join(parts)


def _corner(spot: Spot, color: str, text: str) -> str:
    return _text(spot.x + 0.06, spot.y + 0.235 * spot.corner, 0.26 * spot.corner, color, text)


def _frame(frame: Frame) -> str:
    return _box(frame.x, frame.y, "none", colors.MARK, 10, frame.height)


def _label(label: Label) -> str:
    color = colors.CAPTION if label.strong else colors.NAME
    # Fonts differ in width; no font takes more than six tenths of the size per letter on average.
    size = min(0.75 * label.height, label.width / (0.6 * max(1, len(label.text))))
    return _text(label.x, label.y + 0.78 * label.height, size, color, label.text)
