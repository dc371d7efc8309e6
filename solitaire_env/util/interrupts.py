"""Ctrl-C outside a command, such as while its modules are imported: a sentence instead of a trace."""

import sys
from types import TracebackType
from typing import Final

PACKAGES: Final = ("solitaire_env", "agents")
"""The packages with commands."""


def expect_interrupts() -> None:
    """Let Ctrl-C end this program with a sentence and status 130 if it is ``python -m`` of one of them.

    ``solitaire_env`` calls this before it imports anything large, which takes most of a second.
    """
    # Python names the program so while it looks for the module.
    if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].partition(".")[0] in PACKAGES:
        sys.excepthook = _report


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("\nInterrupted.", file=sys.stderr)
    raise SystemExit(130)
