"""Values in error messages; notices on stderr."""

import contextlib
import os
import reprlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2
        self.maxstring = self.maxother = self.maxlong = 60
        self.maxlist = self.maxtuple = self.maxdict = 40

    def repr_int(self, x: Any, level: int) -> str:
        # Python refuses to write thousands of digits.
        return super().repr_int(x, level) if x.bit_length() < 1000 else f"a number of {x.bit_length()} bits"


_SHORT = _Short()


def shown(value: object, size: int = 80) -> str:
    """Any value in one line of at most ``size`` characters: its ``repr`` if that is short."""
    return one_line(_SHORT.repr(value), size)


def one_line(text: object, size: int = 200) -> str:
    """A text, such as another library's error, in one line of at most ``size`` characters."""
    line = " ".join(str(text).split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return line if len(line) <= size else f"{line[: size - 3]}..."


def one_of_many(value: object, names: Mapping[str, str], what: str) -> str:
    """The allowed names for an unknown one, too many for a line: the closest, and where to find all.

    Parameters
    ----------
    names
        Allowed spellings, each with the name to suggest.
    what
        What they name: ``games``.
    """
    answers = {name.lower(): answer for name, answer in names.items()}
    close = get_close_matches(str(value)[:80].lower(), answers, n=5)
    meant = list(dict.fromkeys(answers[name] for name in close))[:3]
    nearest = f"; closest: {', '.join(meant)}" if meant else ""
    count = len(set(names.values()))
    return f"allowed: one of the {count} {what} that python -m solitaire_env list shows{nearest}"


def text_table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1) -> str:
    """Rows as lines, columns after the first ``texts`` right-aligned; a row that is a text is a heading."""
    lines = [
        row if isinstance(row, str) else ["-" if entry is None else str(entry) for entry in row]
        for row in (head, *rows)
    ]
    columns = zip(*(line for line in lines if not isinstance(line, str)), strict=True)
    widths = [max(map(len, column)) for column in columns]
    written = []
    for line in lines:
        if isinstance(line, str):
            written.append(line)
        else:
            cells = [*map(str.ljust, line[:texts], widths), *map(str.rjust, line[texts:], widths[texts:])]
            written.append("  ".join(cells).rstrip())
    return "\n".join(written)


def not_installed(what: str, package: str | None) -> str:
    """The error of a missing package, with the command that installs it in a clone of the repository."""
    return (
        f"{what} needs {package}, which is not installed; in a clone of the repository: "
        "pip install -e '.[train]'"
    )


def quiet() -> bool:
    """Whether notices are off: ``SOLITAIRE_ENV_QUIET`` is set and not 0, or there is no stderr."""
    no_stderr = getattr(sys, "stderr", None) is None  # a program without a console on Windows
    return no_stderr or os.environ.get("SOLITAIRE_ENV_QUIET", "0") not in ("", "0")


def say(notice: str) -> None:
    """Print a notice on stderr, unless notices are off; never raises an error, even if stderr is closed."""
    if not quiet():
        with contextlib.suppress(OSError, ValueError):
            print(notice, file=sys.stderr, flush=True)
