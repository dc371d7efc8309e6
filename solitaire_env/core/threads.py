"""Threads: kernels release the interpreter lock, so Python threads run them in parallel, each on a part of
the games.

The caller takes part, and never waits for a thread that has not begun: on a busy machine it does all the work
itself.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads of this process besides the caller's; they are started when needed."""
    return ThreadPoolExecutor(max(1, max_threads() - 1), "solitaire-env")


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has no fork
    # The threads of the parent do not exist in the child.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def threads_for(games: int) -> int:
    """Number of threads that a number of games is worth."""
    return 1 if games < WORTH_SHARING else min(games // GAMES_PER_THREAD, get_num_threads())


def share(call: Callable[[], object], threads: int) -> None:
    """Call a function in up to ``threads`` threads, at least in this one; wait for all that have begun.

    The other threads make no use of further ones.
    """
    over = threading.Event()

    def take_part() -> None:
        if not over.is_set():
            _here.limit = 1
            call()

    helpers = []
    try:
        # No thread can be started, or the interpreter is about to end.
        with suppress(RuntimeError):
            for _ in range(threads - 1):
                helpers.append(_pool().submit(take_part))
        call()
    finally:
        over.set()
        for helper in helpers:
            if not helper.cancel():
                helper.result()


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
