"""All that the package asks of numba: the jit decorators, calls of kernels, and how many threads they take.

``cache=True`` keeps compiled code on disk. Numba hashes only the file that holds the function, hence the rule
of the house: a jitted function calls jitted functions of its own file only, and takes no constant from
elsewhere that could ever change.
"""

import os
import sys
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numba
import numpy as np
from llvmlite import ir
from numba.core import event
from numba.extending import intrinsic

Kernel = Callable[..., Any]

_INTERPRETED: Final[bool] = numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # set by its name


def jit(function: Kernel) -> Kernel:
    """Compile what other compiled functions call, for one thread; Python must not call it: it would crash.

    ``_nrt=False``: kernels allocate nothing, so arrays need no reference counts; ``forceinline``: a call
    would copy the whole state tuple. Together they made a step ten times as fast. ``error_model="numpy"``: no
    check for a division by zero, all divisors are positive. No wrappers: those, by which Python and C call a
    function, took two fifths of the time that compiling takes.
    """
    return numba.njit(  # type: ignore[call-overload, no-any-return]  # not all have annotations
        cache=True,
        error_model="numpy",
        forceinline=True,
        _nrt=False,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)


def jit_called(function: Kernel) -> Kernel:
    """The same for what is done seldom: a call of it is left a call, so there is less to compile."""
    return numba.njit(  # type: ignore[call-overload, no-any-return]
        cache=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)


def jit_kernel(function: Kernel) -> Kernel:
    """Compile what Python calls, for one thread; the interpreter lock is released while it runs."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)  # type: ignore


def jit_wrapping(function: Kernel) -> Kernel:
    """The same for sums and products that are meant to wrap at 64 bits: interpreted, numpy would warn."""
    return jit(np.errstate(over="ignore")(function) if _INTERPRETED else function)


prange = numba.prange


GAMES_PER_THREAD: Final = 256
"""A step of fewer games takes less time than waking a thread for them."""


class _Pool:
    """Whether numba's threads may be used now: never after a fork, and by one Python thread at a time.

    Who may not use them steps in its own thread. GNU OpenMP's threads do not survive a fork: numba ends a
    child that enters a parallel loop (SIGTERM), and a grandchild would wait for ever. Numba's own threads,
    which it takes where there is no OpenMP, abort the process when two Python threads enter at once.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.forked = False

    def after_fork(self) -> None:
        self.forked = True


_pool: Final = _Pool()
if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has no fork
    os.register_at_fork(after_in_child=_pool.after_fork)


class ParallelKernel:
    """A kernel with ``numba.prange`` loops, compiled twice: for one thread, and to be spread over several.

    A call takes as many threads as its games are worth, and no more than the caller's limit
    (``NUMBA_NUM_THREADS``, ``numba.set_num_threads``). Few games never start a thread.

    Parameters
    ----------
    alone, spread
        The two. Their last argument is an array with a row a game.
    """

    def __init__(self, alone: Kernel, spread: Kernel) -> None:
        self.alone = alone
        self.spread = spread

    def __call__(self, *args: Any) -> Any:
        worth = len(args[-1]) // GAMES_PER_THREAD
        if worth < 2:
            return self.alone(*args)
        most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set by its name
        if most < 2 or _pool.forked or not _pool.lock.acquire(blocking=False):
            return self.alone(*args)
        try:
            limit = numba.get_num_threads()
            if limit == 1:
                return self.alone(*args)
            if limit <= worth:
                return self.spread(*args)
            numba.set_num_threads(worth)
            try:
                return self.spread(*args)
            finally:
                numba.set_num_threads(limit)
        finally:
            _pool.lock.release()


def jit_parallel(function: Kernel) -> ParallelKernel:
    """Compile a kernel for one thread and for several; its last argument is an array with a row a game."""
    # Numba's cache knows a function by its name and line, whatever it is compiled for.
    alone = FunctionType(function.__code__, function.__globals__, f"{function.__name__}_alone")
    alone.__qualname__ = f"{function.__qualname__}_alone"
    spread = numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)(function)
    return ParallelKernel(jit_kernel(alone), spread)


def _count_trailing_zeros(_: Any, bits: Any) -> Any:  # pragma: no cover  # called as numba compiles
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return bits(bits), generate


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


lowest_bit: Kernel = _lowest_bit if _INTERPRETED else intrinsic(_count_trailing_zeros)
"""The number of the lowest bit that is set in an int64 which is not 0: one machine instruction."""


def typed_once(kernel: Kernel) -> Kernel:
    """The kernel, its arguments' types looked at in the first call only.

    All kernels have one signature, and to find it out again takes numba 1-4 us a call. The caller answers for
    the types: the same in every call, arrays C-contiguous.
    """
    if isinstance(kernel, ParallelKernel):
        return ParallelKernel(typed_once(kernel.alone), typed_once(kernel.spread))
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


class _Notice(event.Listener):
    """Says once, on stderr, that compiling has begun: it takes seconds, and what it makes is kept on disk."""

    def on_start(self, event_: Any) -> None:
        """Numba starts to compile a function, of ours or another's."""
        if str(event_.data["dispatcher"].__module__).startswith("solitaire_env."):
            event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]
            print("solitaire-env: compiling the engine, once for this machine ...", file=sys.stderr)

    def on_end(self, event_: Any) -> None:
        """Numba has compiled a function."""


_notice: Final = _Notice()
event.register("numba:compile", _notice)  # type: ignore[no-untyped-call]
