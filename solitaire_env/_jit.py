"""All that the package asks of numba: the jit decorators, calls of kernels, and how many threads they take.

``cache=True`` keeps compiled code on disk. Numba hashes only the file that holds the function, hence the rule
of the house: a jitted function calls jitted functions of its own file only, and takes no constant from
elsewhere that could ever change.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np
from llvmlite import ir
from numba.core import event
from numba.extending import intrinsic

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


def jit_wrapping(function: Kernel) -> Kernel:
    """The same for sums and products that are meant to wrap at 64 bits: interpreted, numpy would warn."""
    return jit(np.errstate(over="ignore")(function) if numba.config.DISABLE_JIT else function)


def jit_parallel(function: Kernel) -> Kernel:
    """Compile with ``numba.prange`` loops spread over the threads (``NUMBA_NUM_THREADS``)."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)(function)


prange = numba.prange


def _count_trailing_zeros(_: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return bits(bits), generate


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


lowest_bit: Kernel = _lowest_bit if numba.config.DISABLE_JIT else intrinsic(_count_trailing_zeros)
"""The number of the lowest bit that is set in an int64 which is not 0: one machine instruction."""


def typed_once(kernel: Kernel) -> Kernel:
    """The kernel, its arguments' types looked at in the first call only.

    All kernels have one signature, and to find it out again takes numba 1-4 us a call. The caller answers for
    the types: the same in every call, arrays C-contiguous.
    """
    compiled: Kernel | None = None

    def call(*args: Any) -> Any:
        nonlocal compiled
        if compiled is not None:
            return compiled(*args)
        result = kernel(*args)
        overloads = getattr(kernel, "overloads", None)  # none when interpreted
        compiled = next(iter(overloads.values())).entry_point if overloads else kernel
        return result

    return call


GAMES_PER_THREAD: Final = 256
"""A step of fewer games takes less time than waking a thread for them."""


def call_threaded(games: int, kernel: Kernel, *args: Any) -> Any:
    """Call a kernel with no more threads than so many games are worth, and no more than the caller's limit."""
    limit = numba.get_num_threads()
    threads = min(limit, max(1, games // GAMES_PER_THREAD))
    if threads == limit:
        return kernel(*args)
    numba.set_num_threads(threads)
    try:
        return kernel(*args)
    finally:
        numba.set_num_threads(limit)


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no annotations
    """Says once, on stderr, that compiling has begun: it takes seconds, and what it makes is kept on disk."""

    def on_start(self, event_: Any) -> None:
        """Numba starts to compile a function, of ours or another's."""
        if str(event_.data["dispatcher"].__module__).startswith("solitaire_env."):
            event.unregister("numba:compile", self)
            print("solitaire-env: compiling the engine, once for this machine ...", file=sys.stderr)

    def on_end(self, event_: Any) -> None:
        """Numba has compiled a function."""


event.register("numba:compile", _Notice())
