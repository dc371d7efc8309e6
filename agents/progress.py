"""A live line on stderr in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable

CLEAR = "\r\033[2K"


class ProgressLine:
    """Says how far a command is.

    Parameters
    ----------
    quiet
        Says nothing.
    every
        Seconds between lines where stderr is no terminal; a terminal's line is renewed twice a second.
    """

    def __init__(self, quiet: bool = False, every: float = 60.0) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty()
        self._every = 0.5 if self.live else every
        self._next = time.monotonic() + (0.0 if self.live else every)
        self._shown = False

    def show(self, text: Callable[[], str]) -> None:
        """Show a text, which is made only when it is time for it."""
        now = time.monotonic()
        if self.quiet or now < self._next:
            return
        self._next = now + self._every
        print(
            f"{CLEAR}{text()}" if self.live else text(),
            end="" if self.live else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._shown = self.live

    def close(self) -> None:
        """Clear a terminal's line."""
        if self._shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)
            self._shown = False


def clock(seconds: float) -> str:
    """Seconds as ``4:05`` or ``1:02:03``."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
