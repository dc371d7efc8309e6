"""A position as pixels, drawn with Pillow. The package contains the font and its license."""

from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import (
    DOWN,
    EMPTY,
    FACE_DOWN,
    RANK_NAMES,
    SUIT_SYMBOLS,
    is_red,
    rank_of,
    suit_of,
)
from solitaire_env.notation import Position
from solitaire_env.render import SIZE
from solitaire_env.render.board import CARD_HEIGHT, Label, lay_out

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    raise ImportError('pictures need PIL: pip install "solitaire-env[render]"') from error

FONT: Final = "DejaVuSansCondensed-Bold.ttf"

INDEX: Final = 0.26
"""Size of a card's rank and suit, in units of its width."""
_OUTSET: Final = 0.05
"""Distance of the line of a mark from its card, in units of the card's width."""
_SMOOTH: Final = 4
"""Scale factor for drawing smooth corners."""

# Colors.
TABLE: Final = "#1d5c43"
FACE: Final = "#fdfdf8"
DOWN_FACE: Final = "#b9c6e2"
"""Color of a face-down card that is known."""
EDGE: Final = "#6f7a74"
RED: Final = "#c01820"
BLACK: Final = "#161616"
BACK: Final = "#2c4f93"
BACK_LINES: Final = "#8fa9dc"
PLACE: Final = "#5f9a80"
EMPTY_PLACE: Final = "#195139"
CAPTION: Final = "#ffffff"
NAME: Final = "#c4dfd2"
MARK: Final = "#ffb400"
"""Of the last move."""

Rgb = npt.NDArray[np.uint8]


def render_rgb(position: Position, size: tuple[int, int] = SIZE, **marks: Any) -> Rgb:
    """The picture of a position, uint8 ``[height, width, 3]``.

    Parameters
    ----------
    size
        Width and height in pixels.
    marks
        As in :func:`~solitaire_env.render.board.lay_out`.
    """
    board = lay_out(position, aspect=size[1] / size[0], **marks)
    scale = size[0] / board.width
    width = max(4, round(scale))
    image = Image.new("RGB", size, TABLE)

    def paste(part: Image.Image, x: float, y: float, outset: int = 0) -> None:
        image.paste(part, (round(x * scale) - outset, round(y * scale) - outset), part)

    for spot in board.spots:
        paste(card_image(spot.card, width, spot.suit, spot.other, spot.corner), spot.x, spot.y)
        if spot.mark == "origin":
            paste(_frame(width, _height(width), 0.05), spot.x, spot.y, _outset(width))
    for frame in board.frames:
        paste(_frame(width, round(frame.height * scale), 0.09), frame.x, frame.y, _outset(width))
    pen = ImageDraw.Draw(image)
    for label in board.labels:
        _write(pen, label, scale)
    return np.asarray(image).copy()


@lru_cache(maxsize=1024)
def card_image(
    card: int, width: int, suit: int | None = None, other: int = EMPTY, corner: float = 1.0
) -> Image.Image:
    """A card of a given width in pixels, its back, or an empty place (of a suit); RGBA.

    Parameters
    ----------
    other
        Another card that it may be.
    corner
        Size of its rank and suit in the corner, relative to the usual size.
    """
    if card == EMPTY:
        place = _rounded((width, _height(width)), EMPTY_PLACE, PLACE)
        if suit is not None:
            _symbol(place, SUIT_SYMBOLS[suit], PLACE, 0.6, 0.7)
        return place
    if card == FACE_DOWN:
        return _back(width)
    face = _rounded((width, _height(width)), DOWN_FACE if card & DOWN else FACE, EDGE)
    color, symbol = RED if is_red(card) else BLACK, SUIT_SYMBOLS[suit_of(card)]
    if other != EMPTY:
        symbol += SUIT_SYMBOLS[suit_of(other)]
    _symbol(face, symbol, color, 0.72 / len(symbol), 0.9)
    rank = RANK_NAMES[rank_of(card & ~DOWN) - 1].replace("T", "10")
    ImageDraw.Draw(face).text(
        (0.07 * width, 0.035 * width), rank + symbol, color, _font(corner * INDEX * width), anchor="lt"
    )
    return face


def _back(width: int) -> Image.Image:
    back = _rounded((width, _height(width)), FACE, EDGE)
    border = max(1, round(0.07 * width))
    inside = width - 2 * border, back.height - 2 * border
    inner, shape = _rounded(inside, BACK, BACK), _rounded(inside, BACK, BACK)
    pen = ImageDraw.Draw(inner)
    gap = max(3, width // 8)
    for x in range(-inner.height, inner.width, gap):
        pen.line((x, 0, x + inner.height, inner.height), BACK_LINES)
        pen.line((x + inner.height, 0, x, inner.height), BACK_LINES)
    back.paste(inner, (border, border), shape)
    return back


@lru_cache(maxsize=256)
def _frame(width: int, height: int, thick: float) -> Image.Image:
    """The mark around cards of a given width in pixels, or around a place; ``thick`` in card widths."""
    out = 2 * _outset(width)
    return _rounded((width + out, height + out), f"{MARK}00", MARK, thick)


def _outset(width: int) -> int:
    return max(1, round(_OUTSET * width))


def _height(width: int) -> int:
    return round(CARD_HEIGHT * width)


def _rounded(size: tuple[int, int], fill: str, edge: str, thick: float = 0.018) -> Image.Image:
    """A card's shape with smooth corners; RGBA. ``thick`` is the width of the edge, in card widths."""
    large = size[0] * _SMOOTH
    image = Image.new("RGBA", (large, size[1] * _SMOOTH), f"{edge[:7]}00")
    ImageDraw.Draw(image).rounded_rectangle(
        (0, 0, image.width - 1, image.height - 1),
        radius=0.1 * large,
        fill=fill,
        outline=edge,
        width=max(_SMOOTH, round(thick * large)),
    )
    return image.reduce(_SMOOTH)


def _symbol(image: Image.Image, symbol: str, color: str, size: float, y: float) -> None:
    width = image.width
    ImageDraw.Draw(image).text((width / 2, y * width), symbol, color, _font(size * width), anchor="mm")


@lru_cache(maxsize=64)
def _font(size: float) -> ImageFont.FreeTypeFont:
    """The font in a given size in pixels."""
    # The same layout engine whether or not Raqm is installed.
    file = BytesIO((files(__package__) / "fonts" / FONT).read_bytes())
    return ImageFont.truetype(file, max(1, round(size)), layout_engine=ImageFont.Layout.BASIC)


def _write(pen: ImageDraw.ImageDraw, label: Label, scale: float) -> None:
    """Draw a label, smaller or cut off if it would be too long."""
    width, size, text = label.width * scale, 0.8 * label.height * scale, label.text
    length = _font(size).getlength(text)
    if length > width:
        size = max(0.7 * size, size * width / length)
    font = _font(size)
    while text and font.getlength(text + "…" * (text != label.text)) > width:
        text = text[:-1]
    text += "…" * (text != label.text)
    pen.text(
        (label.x * scale, (label.y + label.height / 2) * scale),
        text,
        CAPTION if label.strong else NAME,
        font,
        anchor="lm",
    )
