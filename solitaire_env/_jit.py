"""All that the package asks of numba: the jit decorators, and how many threads a step takes.

``cache=True`` keeps compiled code on disk. Numba hashes only the file that holds the function, hence the rule
of the house: a jitted function calls jitted functions of its own file only, and takes no constant from
elsewhere that could ever change.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numba

Kernel = Callable[..., Any]


def jit(function: Kernel) -> Kernel:
    """Compile for one thread; the interpreter lock is released while it runs.

    ``_nrt=False``: kernels allocate nothing, so arrays need no reference counts; ``forceinline``: a call
    would copy the whole state tuple. Together they made a step ten times as fast. ``error_model="numpy"``: no
    check for a division by zero, all divisors are positive.
    """
    return numba.njit(  # type: ignore[call-overload, no-any-return]  # _nrt has no annotation
        cache=True, nogil=True, error_model="numpy", forceinline=True, _nrt=False
    )(function)


def jit_parallel(function: Kernel) -> Kernel:
    """Compile with ``numba.prange`` loops spread over the threads (``NUMBA_NUM_THREADS``)."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)(function)


prange = numba.prange

GAMES_PER_THREAD: Final = 256
"""A step of fewer games takes less time than waking a thread for them."""


@contextmanager
def threads_for(games: int) -> Iterator[None]:
    """Let kernels use no more threads than so many games are worth, and no more than the caller's limit."""
    limit = numba.get_num_threads()
    numba.set_num_threads(min(limit, max(1, games // GAMES_PER_THREAD)))
    try:
        yield
    finally:
        numba.set_num_threads(limit)
