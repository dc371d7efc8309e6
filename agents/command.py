"""How every command of ``agents`` ends."""

import sys
from collections.abc import Callable


def run_command(run: Callable[[], int], stopped: str | Callable[[], str] = "stopped") -> int:
    """Run a command; its exit status.

    A mistake of the user's is told in a sentence, not as a trace, with status 2; Ctrl-C gives 130.

    Parameters
    ----------
    stopped
        What is said at Ctrl-C; a function where that hangs on how far the command has come.
    """
    try:
        return run()
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{stopped if isinstance(stopped, str) else stopped()}", file=sys.stderr)
        return 130
