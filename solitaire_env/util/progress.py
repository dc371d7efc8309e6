"""Progress of a command: a live line on stderr in a terminal, elsewhere an occasional line."""

import os
import shutil
import sys
import time
from collections.abc import Callable

CLEAR = "\r\033[2K"
EVERY_S = 60.0
"""Seconds between lines if stderr is no terminal; a terminal's line is updated twice a second."""

Text = str | Callable[[], str]
"""A text, or a function that makes it, called only when it is shown."""


class ProgressLine:
    """Shows progress and the remaining time.

    Parameters
    ----------
    quiet
        Show nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._every = 0.5 if self.live else EVERY_S
        self._next = time.monotonic() + (0.0 if self.live else EVERY_S)
        self._began: tuple[float, float] | None = None
        self._shown = False

    def show(self, text: Text) -> None:
        """Show a text if the last one is old enough; a terminal cuts it to its width."""
        now = time.monotonic()
        if self.quiet or now < self._next:
            return
        self._next = now + self._every
        line = _as_text(text)
        if self.live:
            line = CLEAR + line[: shutil.get_terminal_size().columns - 1]
        print(line, end="" if self.live else "\n", file=sys.stderr, flush=True)
        self._shown = self.live

    def count(self, done: float, total: float, text: Text) -> None:
        """Show a text and the remaining time, from the progress since the first call."""
        now = time.monotonic()
        began, before = self._began = self._began or (now, done)

        def with_time() -> str:
            if done <= before or now < began + 1:
                return _as_text(text)
            return f"{_as_text(text)}, {clock((now - began) * (total - done) / (done - before))} left"

        self.show(with_time)

    def close(self) -> None:
        """Clear a terminal's line. The next count starts again."""
        self._began = None
        if self._shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)
            self._shown = False


def _as_text(text: Text) -> str:
    return text if isinstance(text, str) else text()


def bar(share: float) -> str:
    """A bar for a share, 0 to 1: ``[#####...............]  25 %``."""
    share = min(1.0, max(0.0, share))
    full = int(20 * share)
    return f"[{'#' * full:.<20}] {100 * share:3.0f} %"


def clock(seconds: float) -> str:
    """Seconds as ``4:05`` or ``1:02:03``."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
