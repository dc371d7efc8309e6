"""What the inner loops of search call of the engine, and how they are compiled.

They call its compiled functions directly, so a node costs a copy of a row and a step, and no Python.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numba

from solitaire_env import engine
from solitaire_env.engine import _copy as copy
from solitaire_env.engine import _decode as decode
from solitaire_env.engine import _derive, _finish, _refresh_tight
from solitaire_env.engine import _step as step

__all__ = ["copy", "decode", "jit", "jit_inner", "stand", "step", "write"]


def _sources() -> str:
    """Says which engine and which search this code is compiled with."""
    folders = (Path(engine.__file__).parent, Path(__file__).parent)
    text = b"".join(path.read_bytes() for folder in folders for path in sorted(folder.glob("*.py")))
    return hashlib.sha256(text).hexdigest()[:12]


_SOURCES: Final = _sources()


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for one thread, the interpreter lock released.

    Numba's cache looks for changes in the function's own file alone. It knows a function by its name, so the
    name says what was compiled into it.
    """
    return _compiled(function)


def jit_inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for what compiled functions call for each move, and what makes no arrays.

    A call would copy all that a batch is told by, and count references to each of its arrays.
    """
    return _compiled(function, forceinline=True, _nrt=False)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    function.__qualname__ += f"_{_SOURCES}"
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(
        function
    )
    return compiled


@jit_inner
def write(row, target):  # type: ignore[no-untyped-def]
    """Write a row over another as long. An assignment would need memory, which ``jit_inner`` has none of."""
    for k in range(len(row)):
        target[k] = row[k]


@jit_inner
def stand(rules, state, b, row):  # type: ignore[no-untyped-def]
    """Make a game one that stands in a position, int8 ``[row_size]``."""
    write(row, state.rows[b])
    _derive(rules, state, b)
    _refresh_tight(rules, state, b)
    _finish(rules, state, b)
