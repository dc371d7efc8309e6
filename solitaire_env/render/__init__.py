"""Pictures of a position: as text, as SVG, as pixels, in a window."""

from contextlib import suppress
from importlib.util import find_spec
from operator import index
from typing import Any, Final, Literal, NamedTuple, get_args

from solitaire_env.core.layout import PLAYING
from solitaire_env.core.rules.state import State
from solitaire_env.notation import Move, Position, action_text, describe_action, move_of
from solitaire_env.util.arguments import check_choice, check_kind
from solitaire_env.util.messages import shown
from solitaire_env.variants import Variant

RenderMode = Literal["ansi", "ascii", "rgb_array", "human"]
VectorRenderMode = Literal["ansi", "ascii", "rgb_array"]
TEXT_MODES: Final = ("ansi", "ascii")
RENDER_MODES: Final = get_args(RenderMode)
VECTOR_RENDER_MODES: Final = get_args(VectorRenderMode)
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


def check_render_mode(mode: Any, allowed: tuple[str, ...] = RENDER_MODES) -> str | None:
    """Check the render mode: None or an allowed one whose libraries are installed."""
    check_choice("render_mode", mode, (None, *allowed))
    if mode not in (None, *TEXT_MODES):
        need("PIL", f"render_mode={mode!r}")
    if mode == "human":
        need("pygame", f"render_mode={mode!r}")
    return None if mode is None else str(mode)


def check_render_size(size: Any) -> tuple[int, int]:
    """Check width and height of a picture in pixels."""
    with suppress(TypeError, ValueError):
        width, height = map(index, size)
        if min(width, height) >= SMALLEST and max(width, height) <= LARGEST:
            return width, height
    raise ValueError(
        f"render_size is {shown(size)}, allowed: (width, height), {SMALLEST} to {LARGEST} pixels each"
    )


def need(module: str, what: str) -> None:
    """Raise an error if a library of the ``render`` extra is not installed."""
    if find_spec(module) is None:
        raise ImportError(f'{what} needs {module}: pip install "solitaire-env[render]"')


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
    """A position as text (:data:`TEXT_MODES`) or as pixels, uint8 ``[height, width, 3]`` (other modes)."""
    check_choice("mode", mode, RENDER_MODES)
    words, move = (None, None) if last is None else check_kind("last", last, LastMove)
    if mode in TEXT_MODES:
        from solitaire_env.render.ansi import render_ansi

        return render_ansi(position, words, symbols=False if mode == "ascii" else None, move=move)
    from solitaire_env.render.board import headline
    from solitaire_env.render.picture import render_rgb

    return render_rgb(
        position, check_render_size(size), move=move, caption=headline(position, deal), note=words or ""
    )


def _in_notebook(position: Position) -> str:
    """The board as SVG."""
    from solitaire_env.render.svg import render_svg

    return render_svg(position)


setattr(Position, "_repr_html_", _in_notebook)  # noqa: B010  # the core knows nothing of pictures
