"""Threads: kernels release the interpreter lock, so Python threads run them in parallel, each on a part of
the games.

A waiting helper sleeps, and the caller never waits for a helper that has not begun: on a busy machine it does
all the work itself.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, TypeVar

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


class _Job:
    """A call that several threads take part in."""

    def __init__(self, call: Callable[[], object], helpers: int) -> None:
        self.call = call
        self.wanted = helpers
        """Number of helpers that may still begin."""
        self.running = 0
        self.ended: threading.Lock | None = None


class _Helpers:
    """Sleeping threads that take part in the call of one thread at a time."""

    def __init__(self) -> None:
        self.claim = threading.Lock()
        self.lock = threading.Lock()
        self.wake = threading.Semaphore(0)
        self.size = 0
        self.job: _Job | None = None

    def share(self, call: Callable[[], object], threads: int) -> bool:
        """Call a function in several threads; False if the helpers are busy, and nothing was called."""
        if not self.claim.acquire(blocking=False):
            return False
        try:
            while self.size < threads - 1:
                threading.Thread(target=self._help, name="solitaire-env", daemon=True).start()
                self.size += 1
            job = self.job = _Job(call, threads - 1)
            self.wake.release(threads - 1)
            try:
                call()
            finally:
                with self.lock:
                    self.job = None
                    if job.running:
                        job.ended = threading.Lock()
                        job.ended.acquire()
                if job.ended is not None:
                    job.ended.acquire()
        finally:
            self.claim.release()
        return True

    def _help(self) -> None:
        while True:
            self.wake.acquire()
            with self.lock:
                job = self.job
                if job is None or job.wanted == 0:  # the caller has done it all, or others help
                    continue
                job.wanted -= 1
                job.running += 1
            job.call()
            with self.lock:
                job.running -= 1
                if job.running == 0 and job.ended is not None:
                    job.ended.release()


_helpers = _Helpers()


def threads_for(games: int) -> int:
    """Number of threads that a number of games is worth."""
    return 1 if games < WORTH_SHARING else min(games // GAMES_PER_THREAD, get_num_threads())


def share(call: Callable[[], object], threads: int) -> None:
    """Call a function in up to ``threads`` threads, at least in this one; wait for all that have begun."""
    if threads < 2 or not _helpers.share(call, threads):
        call()


def _after_fork() -> None:  # pragma: no cover  # called in a forked process
    """The threads of the parent do not exist in this process: start others when needed."""
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork)


def run_parts(call: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Call a function with each of some parts, on as many threads as kernels may use; the results in order.

    The calling thread takes parts as well. Nested calls run in their own thread. The first error that a
    call raises is raised here, after all calls that had started have ended.
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
