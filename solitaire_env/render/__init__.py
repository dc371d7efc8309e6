"""Pictures of a position: as text and as pixels."""

from contextlib import suppress
from importlib.util import find_spec
from io import BytesIO
from operator import index
from typing import Any, Final, Literal, NamedTuple, get_args

from solitaire_env.core.layout import PLAYING
from solitaire_env.core.rules.state import State
from solitaire_env.notation import Move, Position, action_text, describe_action, move_of
from solitaire_env.util.arguments import check_choice, check_kind
from solitaire_env.util.messages import shown
from solitaire_env.variants import Variant

RenderMode = Literal["ansi", "rgb_array"]
RENDER_MODES: Final = get_args(RenderMode)
RENDER_FPS: Final = 4

SIZE: Final = (800, 600)
"""Width and height of a picture in pixels."""
SMALLEST, LARGEST = 64, 4096
"""Pixels, either way."""


class LastMove(NamedTuple):
    """The last action in a picture."""

    words: str
    move: Move | None
    """None for an illegal action."""


def check_render_mode(mode: Any) -> str | None:
    """Check the render mode: None or one whose libraries are installed."""
    check_choice("render_mode", mode, (None, *RENDER_MODES))
    if mode == "rgb_array" and not _has_pillow():
        raise ImportError("render_mode='rgb_array' needs PIL: pip install \"solitaire-env[render]\"")
    return None if mode is None else str(mode)


def _has_pillow() -> bool:
    return find_spec("PIL") is not None


def check_render_size(size: Any) -> tuple[int, int]:
    """Check width and height of a picture in pixels."""
    with suppress(TypeError, ValueError):
        width, height = map(index, size)
        if min(width, height) >= SMALLEST and max(width, height) <= LARGEST:
            return width, height
    raise ValueError(
        f"render_size is {shown(size)}, allowed: (width, height), {SMALLEST} to {LARGEST} pixels each"
    )


def last_move(variant: Variant, state: State, row: int, number: int) -> LastMove:
    """The description of an action that is about to be played."""
    text = action_text(variant, number)
    if state.status[row] != PLAYING or not state.mask[row, number]:
        return LastMove(f"{text}, which is not legal", None)
    words = describe_action(variant, state, row, number)
    return LastMove(f"{words} ({text})", move_of(variant, state, row, number))


def render(
    mode: str,
    position: Position,
    last: LastMove | None = None,
    deal: int | str | None = None,
    size: tuple[int, int] = SIZE,
) -> Any:
    """A position as text (``ansi``) or as pixels, uint8 ``[height, width, 3]`` (``rgb_array``)."""
    check_choice("mode", mode, RENDER_MODES)
    words, move = (None, None) if last is None else check_kind("last", last, LastMove)
    if mode == "ansi":
        from solitaire_env.render.ansi import render_ansi

        return render_ansi(position, words, move=move)
    from solitaire_env.render.board import headline
    from solitaire_env.render.picture import render_rgb

    return render_rgb(
        position, check_render_size(size), move=move, caption=headline(position, deal), note=words or ""
    )


def render_png(
    position: Position, last: LastMove | None = None, deal: int | str | None = None
) -> bytes | None:
    """A position as a PNG file, for a notebook; None without Pillow."""
    if not _has_pillow():
        return None
    from PIL import Image

    file = BytesIO()
    Image.fromarray(render("rgb_array", position, last, deal)).save(file, "PNG")
    return file.getvalue()


setattr(Position, "_repr_png_", render_png)  # noqa: B010  # the core knows nothing of pictures
