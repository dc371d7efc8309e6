"""Damaged input for everything that reads texts and files: it is refused in a sentence, or read as valid."""

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.games import COMPILED

DAMAGE = settings(
    max_examples=200 if COMPILED else 30,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
"""The same examples in every run, however long each takes."""

ODD_WORDS = (
    *("", " ", "\n", "\r", "\0", "\x1b[31m", "\u2028", "\ud800"),
    *("é", ":", ",", "-", "--", "??", "'", "{", "]"),
    *("0", "-1", "1.5", "NaN", "1e999", "0x10", str(2**63), str(2**64), "9" * 5000, "\u0663", "\u00b2"),
    *("null", "true", "[" * 5000, "x" * 20_000),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 10**40, 10**5000, 1.5, float("nan"), float("inf"), "", "x", "x" * 20_000),
    *([], {}, [[]], [0] * 10_000, b"x", (), {1, 2}, object),
)

OWN = [Path(__file__).parents[1] / name for name in ("solitaire_env", "agents")]


@st.composite
def damaged_texts(draw: st.DrawFn, good: Sequence[str], words: Sequence[str] = ()) -> str:
    """One of some texts with parts of it removed, replaced by other words, or repeated."""
    text = draw(st.sampled_from(good))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.sampled_from((0, 1, 2, 10, 60))))
        new = draw(
            st.sampled_from((*words, *ODD_WORDS)) | st.text(max_size=3) | st.just(text[stop : stop + 20])
        )
        text = text[:start] + new + text[stop:]
    return text


@st.composite
def damaged_bytes(draw: st.DrawFn, good: Sequence[bytes]) -> bytes:
    """One of some files with parts of it removed or replaced."""
    data = bytearray(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)) | st.integers(0, min(len(data), 300)))
        data[start : start + draw(st.sampled_from((0, 1, 8, 300)))] = draw(st.binary(max_size=8))
    return bytes(data)


@st.composite
def damaged_records(draw: st.DrawFn, good: Sequence[Any]) -> Any:
    """Plain data with one value or key replaced, added or removed."""
    data = draw(st.sampled_from(good))
    other = st.sampled_from(ODD_VALUES) | st.sampled_from(ODD_WORDS) | st.integers(-5, 60)
    if isinstance(data, dict) and data and draw(st.integers(0, 9)):
        key = draw(st.sampled_from(list(data)))
        how = draw(st.sampled_from(("inside", "remove", "rename", "replace")))
        rest = {name: value for name, value in data.items() if name != key}
        if how == "remove":
            return rest
        if how == "rename":
            return {**rest, draw(st.sampled_from(ODD_WORDS)): data[key]}
        return {**data, key: draw(damaged_records([data[key]]) if how == "inside" else other)}
    if isinstance(data, list) and data and draw(st.integers(0, 9)):
        places = st.integers(0, len(data) - 1)
        place, source = draw(places), draw(places)
        new = draw(damaged_records([data[place]]) | st.just(data[source]))
        return [*data[:place], new, *data[place + draw(st.integers(0, 1)) :]]
    return draw(other)


def read_or_refused(
    read: Callable[[Any], Any], value: Any, errors: tuple[type[Exception], ...] = (ValueError, TypeError)
) -> Any:
    """The value that is read; None if it is refused, which the project itself must do, in one or two
    printable lines.
    """
    try:
        return read(value)
    except errors as error:
        message, raised_in = str(error), traceback.extract_tb(error.__traceback__)[-1].filename
        lines = message.splitlines()
        assert 1 <= len(lines) <= 2 and len(message) <= 600, message[:1000]
        assert all(map(str.isprintable, lines)), ascii(message)
        assert any(Path(raised_in).is_relative_to(folder) for folder in OWN), raised_in
        return None
