"""Threads: kernels release the interpreter lock, so Python threads run them in parallel, each on a part of
the games.

The caller takes part, and never waits for a thread that has not begun: on a busy machine it does all the work
itself.
"""

import os
import threading
from _thread import get_ident, start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, wraps
from queue import SimpleQueue
from typing import Any, Final, TypeVar, cast

from solitaire_env.util.cores import usable_cores
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number

Part = TypeVar("Part")
Result = TypeVar("Result")

GAMES_PER_THREAD: Final = 1024
"""Games per thread: fewer are stepped about as fast as a sleeping thread wakes, some 40 microseconds."""
WORTH_SHARING: Final = 2 * GAMES_PER_THREAD
"""Fewer games are not shared between threads."""


class _Here(threading.local):
    """What each Python thread may use."""

    limit: int | None = None


_here: Final = _Here()


@cache
def max_threads() -> int:
    """The maximum number of threads: ``SOLITAIRE_ENV_THREADS``, by default the number of cores that this
    process may use (:func:`solitaire_env.util.cores.usable_cores`).
    """
    given = os.environ.get("SOLITAIRE_ENV_THREADS", "")
    if given and not (given.isdecimal() and 0 < int(given) < 1000):
        raise ValueError(f"SOLITAIRE_ENV_THREADS is {given!r}, allowed: a whole number from 1 to 999")
    return int(given) if given else usable_cores()


def get_num_threads() -> int:
    """The maximum number of threads of kernels that this Python thread calls."""
    return max_threads() if _here.limit is None else _here.limit


def set_num_threads(count: int) -> None:
    """Set the maximum number of threads of kernels that this Python thread calls.

    Raises
    ------
    ValueError
        Unless the count is 1 to :func:`max_threads`.
    """
    number = whole_number(count)
    if number is None or not 1 <= number <= max_threads():
        raise ValueError(f"the number of threads is {shown(count)}, allowed: 1 to {max_threads()}")
    _here.limit = number


Method = TypeVar("Method", bound=Callable[..., Any])

Running = dict[str, list[int]]
"""The thread that runs methods of an object, if any does."""


def in_one_thread(method: Method) -> Method:
    """Let one thread at a time run the methods of an object that are declared so.

    The object has ``_running``. A thread that calls such a method while another runs one gets a RuntimeError;
    it does not wait. The methods may call each other.
    """

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        mine = [get_ident()]
        running = self._running.setdefault("thread", mine)
        if running != mine:
            raise RuntimeError(
                "another thread plays these games, allowed: one at a time; "
                "make an environment for each thread"
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            if running is mine:
                self._running.clear()

    return cast(Method, guarded)


class _Job:
    """A call that several threads make at the same time, each once.

    Ctrl-C raises an exception between any two instructions of the main thread, which could leave a lock of
    Python's locked. So there are none, only a dict, a set and a queue; :meth:`wait` may be called again.
    """

    def __init__(self, call: Callable[[], object], helpers: int) -> None:
        self.call = call
        self.begun: dict[int, bool] = {}
        """Whether a helper has begun; the first value set stays."""
        self.ended: set[int] = set()
        self.ends: SimpleQueue[None] = SimpleQueue()
        """An entry after each new one of ``ended``."""
        self.helpers = helpers

    def help(self, helper: int) -> None:
        """Make the call as a helper, unless the caller has ended."""
        if self.begun.setdefault(helper, True):
            try:
                _here.limit = 1
                self.call()
            finally:
                self.ended.add(helper)
                self.ends.put(None)

    def wait(self) -> None:
        """Wait for the helpers that have begun; the others do not begin any more."""
        for helper in range(self.helpers):
            while self.begun.setdefault(helper, False) and helper not in self.ended:
                self.ends.get()


@cache
def _helpers() -> "SimpleQueue[tuple[_Job, int]]":
    """The work of this process's threads besides the caller's, which are started here."""
    work: SimpleQueue[tuple[_Job, int]] = SimpleQueue()

    def help_for_ever() -> None:
        while True:
            job, helper = work.get()
            job.help(helper)
            del job  # it keeps the arrays of its call

    # No thread can be started, or the interpreter is about to end: the caller does all the work.
    with suppress(RuntimeError):
        for _ in range(max(1, max_threads() - 1)):
            start_new_thread(help_for_ever, ())
    return work


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has no fork
    # The threads of the parent do not exist in the child.
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def threads_for(games: int) -> int:
    """Number of threads that a number of games is worth."""
    return 1 if games < WORTH_SHARING else min(games // GAMES_PER_THREAD, get_num_threads())


def share(call: Callable[[], object], threads: int) -> None:
    """Call a function in up to ``threads`` threads, at least in this one; wait for all that have begun.

    The other threads make no use of further ones.
    """
    job = _Job(call, threads - 1)
    interrupt: KeyboardInterrupt | None = None
    try:
        for helper in range(threads - 1):
            _helpers().put((job, helper))
        call()
    finally:
        while True:
            try:
                job.wait()
                break
            except KeyboardInterrupt as error:
                # Raised only after the helpers have left the arrays of the call.
                interrupt = error
        if interrupt is not None:
            raise interrupt


def run_parts(call: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Call a function with each of some parts, on as many threads as kernels may use; the results in order.

    The calling thread takes parts as well. The first error that a call raises is raised here, after all calls
    that had started have ended.
    """
    results: dict[int, Result] = {}
    errors: list[BaseException] = []
    left = enumerate(parts)

    def take_parts() -> None:
        try:
            for place, part in left:
                results[place] = call(part)
        except BaseException as error:
            errors.append(error)

    share(take_parts, min(get_num_threads(), len(parts)))
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(parts))]


def split_evenly(count: int, smallest: int) -> Iterator[slice]:
    """Divide ``count`` games into two slices for each thread that kernels may use, none much below
    ``smallest`` games; at least one slice.
    """
    pieces = max(1, min(2 * get_num_threads(), count // smallest))
    for piece in range(pieces):
        yield slice(count * piece // pieces, count * (piece + 1) // pieces)
