"""Threads: kernels that release the interpreter lock run in parallel, each on a part of the games.

For kernels too large to be compiled a second time with a parallel loop (``jit_parallel``).
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from solitaire_env.core._jit import get_num_threads, set_num_threads

Part = TypeVar("Part")
Result = TypeVar("Result")


class _Workers:
    """The worker threads, created on first use; a forked process creates its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.here = threading.local()
        self.pool: ThreadPoolExecutor | None = None
        self.size = 0

    def get(self, size: int) -> ThreadPoolExecutor:
        """A pool of at least ``size`` threads."""
        with self.lock:
            if self.pool is None or self.size < size:
                if self.pool is not None:
                    self.pool.shutdown(wait=False)
                self.pool = ThreadPoolExecutor(size, "solitaire-env", self._begin)
                self.size = size
            return self.pool

    def _begin(self) -> None:
        self.here.helping = True
        set_num_threads(1)

    def after_fork(self) -> None:  # pragma: no cover  # called in a forked process
        """Drop the threads of the parent, which do not exist in this process."""
        self.__init__()  # type: ignore[misc]


_workers: Final = _Workers()
if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has no fork
    os.register_at_fork(after_in_child=_workers.after_fork)


def run_parts(call: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Call a function with each of some parts, on as many threads as kernels may use; the results in order.

    The calling thread takes parts as well. Nested calls run in their own thread. The first error that a
    call raises is raised here, after all calls that had started have ended.
    """
    helpers = min(get_num_threads(), len(parts)) - 1
    if helpers < 1 or getattr(_workers.here, "helping", False):
        return [call(part) for part in parts]
    results: dict[int, Result] = {}
    left = enumerate(parts)

    def take_parts() -> None:
        for place, part in left:
            results[place] = call(part)

    pool = _workers.get(helpers)
    others = [pool.submit(take_parts) for _ in range(helpers)]
    _workers.here.helping = True
    try:
        take_parts()
    finally:
        _workers.here.helping = False
        # Calls of other threads must end before their arrays are used again.
        errors = [other.exception() for other in others if not other.cancel()]
    for error in errors:
        if error is not None:  # pragma: no branch
            raise error  # pragma: no cover  # whether this thread has it varies
    return [results[place] for place in range(len(parts))]


def split_evenly(count: int, smallest: int) -> Iterator[slice]:
    """Divide ``count`` games into two slices for each thread that kernels may use, none much below
    ``smallest`` games; at least one slice.
    """
    pieces = max(1, min(2 * get_num_threads(), count // smallest))
    for piece in range(pieces):
        yield slice(count * piece // pieces, count * (piece + 1) // pieces)
