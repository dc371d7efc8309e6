"""The compiler gate: the only file that calls numba. Decorators, the cache of compiled code, and threads.

Numba's own cache looks at one file alone, the one that holds the function: an edit in another file that it calls, or
takes a constant from, would leave the old code in use. Here the stamp of a cached function covers every file that can
be compiled into it.
"""

import hashlib
import os
import re
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import numba
import numpy as np
from llvmlite import ir
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.extending import intrinsic

Kernel = Callable[..., Any]

_INTERPRETED: Final[bool] = numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # set by its name


class _Locator(_CacheLocator):
    """Where the compiled code of a function is kept, and the stamp of the sources that it was made from."""

    def __init__(self, py_func: Kernel, py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._package = py_func.__module__.partition(".")[0]
        folder = numba.config.CACHE_DIR  # type: ignore[attr-defined]  # set by its name
        self._path = (
            os.path.join(folder, self.get_suitable_cache_subpath(py_file))
            if folder
            else os.path.join(os.path.dirname(py_file), "__pycache__")
        )

    def get_cache_path(self) -> str:
        return self._path

    def get_source_stamp(self) -> str:
        return source_stamp(self._package)

    def get_disambiguator(self) -> str:
        return str(self._lineno)

    @classmethod
    def from_function(cls, py_func: Kernel, py_file: str) -> "_Locator":
        locator = cls(py_func, py_file)
        locator.ensure_cache_path()
        return locator


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Cache(FunctionCache):
    _impl_class = _CacheImpl


_PACKAGE: Final = Path(__file__).parents[1]
_COMPILED: Final = re.compile(rb"^@jit", re.MULTILINE)
"""Marks a file that holds compiled code."""


@cache
def source_stamp(package: str) -> str:
    """A hash of all files that can be compiled into a function of a top-level package.

    These are the core's files, all others of ``solitaire_env`` that hold compiled code, and those of the package
    itself.
    """
    core = sorted(Path(__file__).parent.glob("*.py"))
    folders = {_PACKAGE}
    module = sys.modules.get(package)
    if module is not None and module.__file__:
        folders.add(Path(module.__file__).parent)
    others = (path for folder in sorted(folders) for path in sorted(folder.rglob("*.py")) if path not in core)
    texts = [path.read_bytes() for path in core]
    texts += [text for path in others if _COMPILED.search(text := path.read_bytes())]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def _compile(function: Kernel, **options: Any) -> Kernel:
    compiled: Any = numba.njit(error_model="numpy", **options)(function)
    if not _INTERPRETED:
        compiled._cache = _Cache(function)  # what ``cache=True`` does, with our locator
    return compiled  # type: ignore[no-any-return]


def jit(function: Kernel) -> Kernel:
    """Compile what other compiled functions call, for one thread; Python must not call it: it would crash.

    ``_nrt=False``: kernels allocate nothing, so arrays need no reference counts; ``forceinline``: a call
    would copy the whole state tuple. Together they made a step ten times as fast. ``error_model="numpy"``: no
    check for a division by zero, all divisors are positive. No wrappers: those, by which Python and C call a
    function, took two fifths of the time that compiling takes.
    """
    return _compile(function, forceinline=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def jit_inline(function: Kernel) -> Kernel:
    """The same for what Python calls too."""
    return _compile(function, nogil=True, forceinline=True, _nrt=False)


def jit_called(function: Kernel) -> Kernel:
    """The same as ``jit`` for what is done seldom: a call of it is left a call, so there is less to compile."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def jit_kernel(function: Kernel) -> Kernel:
    """Compile what Python calls, for one thread; the interpreter lock is released while it runs."""
    return _compile(function, nogil=True, _nrt=False)


def jit_allocating(function: Kernel) -> Kernel:
    """The same for a kernel that makes arrays of its own."""
    return _compile(function, nogil=True)


def jit_wrapping(function: Kernel) -> Kernel:
    """The same as ``jit`` for sums and products that are meant to wrap at 64 bits: interpreted, numpy would warn."""
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
    spread = _compile(function, nogil=True, parallel=True)
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
