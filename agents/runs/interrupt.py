"""End a training at the first Ctrl-C without losing what was learned."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupt:
    """Whether the user has requested the end."""

    requested = False


@contextmanager
def first_interrupt(*others: signal.Signals) -> Iterator[Interrupt]:
    """Take the first Ctrl-C, and the signals ``others``, as a request to end after the current step.

    A second Ctrl-C raises KeyboardInterrupt as usual. All handlers are restored at the end. In another thread
    than the main one, which receives all signals, nothing is changed.
    """
    interrupt = Interrupt()

    def request(*_: Any) -> None:
        interrupt.requested = True
        signal.signal(signal.SIGINT, before[signal.SIGINT])

    is_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, *others) if is_main else ()
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        for number in before:
            signal.signal(number, request)
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
