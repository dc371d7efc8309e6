"""The compiler gate: the only file that calls numba. Decorators, the cache of compiled code, and threads.

A function is compiled at the first call for its arguments' types, and kept on disk; :mod:`code_cache` defines
where, and for which sources.
"""

import os
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.types import unliteral
from numba.extending import intrinsic

from solitaire_env.core.code_cache import Claim, CodeFiles, folders_of, stamp_of
from solitaire_env.util.cores import usable_cores
from solitaire_env.util.messages import quiet, say
from solitaire_env.util.progress import ProgressLine

Kernel = Callable[..., Any]

_INTERPRETED: Final[bool] = numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # set by its name

# ------------------------------------------------------------------------------ code kept on disk

_VERSIONS: Final = (numba.__version__, llvmlite.__version__, np.__version__, sys.version, sys.flags.optimize)
_SETTINGS: Final = (
    "BOUNDSCHECK",
    "DEBUG_ARRAY_OPT_RUNTIME",
    "DEBUG_NRT",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "ENABLE_PROFILING",
    "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_FLAGS",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "NRT_STATS",
    "OPT",
    "PARFOR_MAX_TUPLE_SIZE",
    "SLP_VECTORIZE",
    "USE_LEGACY_TYPE_SYSTEM",
)
"""Numba's settings that affect compiled code; not every version has all of them. Those that describe the
processor are in ``magic_tuple``."""


class _Cache(NullCache):  # pragma: no cover  # called as numba compiles
    """Finds and keeps the compiled code of one function; numba calls it."""

    def __init__(self, function: Kernel, options: dict[str, Any]) -> None:
        code = function.__code__
        self._function = (code.co_firstlineno, code.co_code, sorted(options.items()))
        self._files: CodeFiles | None = None
        self._claim: Claim | None = None
        file = os.path.abspath(code.co_filename)
        stamp = stamp_of(file)
        # The values that a closure captures are in no source file.
        if stamp is not None and function.__closure__ is None:
            chosen = numba.config.CACHE_DIR  # type: ignore[attr-defined]  # set by its name
            self._files = CodeFiles(file, stamp, function.__qualname__, chosen)

    @property
    def cache_path(self) -> str | None:
        """The folder for writing, or None."""
        folders = self._files.folders if self._files else None
        return str(folders.tried[-1].path) if folders and folders.writable else None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for a signature, or None.

        If another process compiles it, this call waits; after None this process has to compile it.
        """
        if self._files is None:
            return None
        target_context.refresh()  # rebuilding needs what was registered since the context was made
        key = self._key(signature, target_context.codegen())

        def build(content: bytes) -> Any:
            return CompileResult._rebuild(target_context, *pickle.loads(content))  # type: ignore[no-untyped-call]

        found = self._files.load(key, build)
        if found is None:
            self._claim = self._files.claim(key)
            found = self._files.load(key, build)  # another process may have compiled it by now
        if found is not None:
            self.release()
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled function, unless it contains addresses of this process."""
        if self._files is not None and not compiled.lifted and not compiled.library.has_dynamic_globals:
            content = dumps(compiled._reduce())  # type: ignore[no-untyped-call]
            self._files.save(self._key(signature, compiled.codegen), content)
        self.release()

    def release(self) -> None:
        """Allow other processes to compile the function, after this one has finished or given up."""
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    def _key(self, signature: Any, codegen: Any) -> str:
        """Everything that the compiled code depends on, besides the sources."""
        settings = [(name, getattr(numba.config, name, None)) for name in _SETTINGS]
        kinds, _ = normalize_signature(signature)  # type: ignore[no-untyped-call]
        # The text of a named tuple type lacks its fields, and its class may be in a file that no stamp
        # covers.
        fields = [getattr(kind, "fields", None) for kind in kinds]
        return repr((self._function, str(kinds), fields, codegen.magic_tuple(), settings, _VERSIONS))


def code_folder() -> Path:  # pragma: no cover  # called in worker processes
    """The folder with the compiled code of the core.

    Raises
    ------
    OSError
        If nothing is compiled, or no folder is writable.
    """
    if _INTERPRETED:
        raise OSError("nothing is compiled, because NUMBA_DISABLE_JIT is set")
    folders = folders_of(
        Path(os.path.abspath(__file__)).parent,
        numba.config.CACHE_DIR,  # type: ignore[attr-defined]  # set by its name
    )
    if not folders.writable:
        tried = ", ".join(str(folder.path) for folder in folders.tried)
        raise OSError(f"compiled code cannot be kept: cannot write to {tried}")
    return folders.tried[-1].path


def _compile(function: Kernel, for_each_constant: bool = False, **options: Any) -> Kernel:
    compiled: Any = numba.njit(error_model="numpy", **options)(function)
    if not _INTERPRETED:  # pragma: no cover
        compiled._cache = _Cache(function, options)  # like ``cache=True``, with our own files
        if not for_each_constant:
            _compile_once_for_constants(compiled)
    return compiled  # type: ignore[no-any-return]


def _compile_once_for_constants(compiled: Any) -> None:  # pragma: no cover  # called as numba compiles
    """Compile a function once for constant and variable arguments.

    Numba would compile the function, and all functions that it calls, again for each constant: ``step`` for
    rows 0, 1 and 2 of a search took a third of the whole compile time. Inlined code is still optimized for
    the constant.
    """
    of_types = compiled.get_call_template
    plain: Callable[[Any], Any] = unliteral

    def get_call_template(args: Any, kws: Any) -> Any:
        return of_types([plain(kind) for kind in args], {name: plain(kind) for name, kind in kws.items()})

    compiled.get_call_template = get_call_template


# ------------------------------------------------------------------------------------- decorators


def jit(function: Kernel) -> Kernel:
    """Compile a function that only compiled functions call, for one thread; Python must not call it.

    ``_nrt=False``: kernels allocate nothing, so arrays need no reference counts; ``forceinline``: a call
    would copy the whole state tuple. Together they made a step ten times as fast. ``error_model="numpy"``: no
    check for division by zero, all divisors are positive. No wrappers for calls from Python and C: they took
    two fifths of the compile time. A call from Python would crash.
    """
    return _compile(function, forceinline=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def jit_inline(function: Kernel) -> Kernel:
    """The same for functions that Python also calls."""
    return _compile(function, nogil=True, forceinline=True, _nrt=False)


def jit_flagged(function: Kernel) -> Kernel:
    """The same as ``jit``, compiled once for each value of a constant argument: for flags in hot code.

    In a step it saves up to 2 % of the instructions.
    """
    return _compile(
        function, for_each_constant=True,
        forceinline=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True,
    )  # fmt: skip


def jit_called(function: Kernel) -> Kernel:
    """The same as ``jit`` for rare calls: they are not inlined, so there is less to compile."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def jit_part(function: Kernel) -> Kernel:
    """The same as ``jit`` for functions with few callers: they are always part of their callers.

    Numba optimizes everything that a function calls again within that function. So each level of calls above
    a large function takes its compile time again; a level of this kind does not.
    """
    return _compile(function, inline="always", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def jit_kernel(function: Kernel) -> Kernel:
    """Compile a function that Python calls, for one thread; it runs without the interpreter lock."""
    return _compile(function, nogil=True, _nrt=False)


def jit_allocating(function: Kernel) -> Kernel:
    """The same for a kernel that allocates arrays."""
    return _compile(function, nogil=True)


# A dict, not a set: its text is part of the cache key, and the order of a set varies.
_FAST: Final = {"contract": True, "nsz": True, "reassoc": True}


def jit_fast(function: Kernel) -> Kernel:
    """The same as ``jit_kernel``, but sums may be reordered and fused with products.

    The last bits of a result then depend on the processor: for learning, never for replaying stored games.
    """
    return _compile(function, nogil=True, _nrt=False, fastmath=_FAST)


def jit_wrapping(function: Kernel) -> Kernel:
    """The same as ``jit`` for arithmetic that wraps at 64 bits: interpreted, numpy would warn."""
    return jit(np.errstate(over="ignore")(function) if _INTERPRETED else function)


prange = numba.prange


# ---------------------------------------------------------------------------------------- threads

GAMES_PER_THREAD: Final = 256
"""Games per thread: stepping fewer takes less time than waking a thread."""


_CORES: Final = sys.maxsize if os.environ.get("NUMBA_NUM_THREADS") else usable_cores()
"""More threads would wait for each other. Numba ignores the CPU quota of a container."""


def max_threads() -> int:
    """The maximum number of threads of kernels: ``NUMBA_NUM_THREADS``, by default the number of cores that
    this process may use (:func:`solitaire_env.util.cores.usable_cores`).
    """
    return min(int(numba.config.NUMBA_NUM_THREADS), _CORES)  # type: ignore[attr-defined]  # set by its name


def get_num_threads() -> int:
    """The maximum number of threads of kernels that this Python thread calls."""
    return min(int(numba.get_num_threads()), _CORES)


def set_num_threads(count: int) -> None:
    """Set the maximum number of threads of kernels that this Python thread calls.

    Raises
    ------
    ValueError
        Unless the count is 1 to :func:`max_threads`.
    """
    if not 1 <= count <= max_threads():
        raise ValueError(
            f"the number of threads is {count}, allowed: 1 to {max_threads()} (NUMBA_NUM_THREADS)"
        )
    numba.set_num_threads(count)


class _Pool:
    """Whether numba's threads may be used now: never after a fork, and by one Python thread at a time.

    Otherwise the calling thread does the work alone. GNU OpenMP's threads do not survive a fork: numba ends a
    child that enters a parallel loop (SIGTERM), and a grandchild would wait forever. Numba's own threads,
    used where there is no OpenMP, abort the process when two Python threads enter at the same time.
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
    """A kernel with ``numba.prange`` loops, compiled twice: for one thread, and for several.

    A call uses one thread per ``GAMES_PER_THREAD`` games, up to the caller's limit (``NUMBA_NUM_THREADS``,
    ``numba.set_num_threads``). Few games never start a thread.

    Parameters
    ----------
    alone, spread
        The two versions. Their last argument is an array with a row per game.
    """

    def __init__(self, alone: Kernel, spread: Kernel) -> None:
        self.alone = alone
        self.spread = spread

    def __call__(self, *args: Any) -> Any:
        worth = len(args[-1]) // GAMES_PER_THREAD
        if worth < 2:
            return self.alone(*args)
        if max_threads() < 2 or _pool.forked or not _pool.lock.acquire(blocking=False):
            return self.alone(*args)
        try:
            limit = numba.get_num_threads()
            threads = min(limit, worth, _CORES)
            if threads == 1:
                return self.alone(*args)
            if threads == limit:
                return self.spread(*args)
            numba.set_num_threads(threads)
            try:
                return self.spread(*args)
            finally:
                numba.set_num_threads(limit)
        finally:
            _pool.lock.release()


def jit_parallel(function: Kernel) -> ParallelKernel:
    """Compile a kernel for one thread and for several; its last argument is an array with a row per game."""
    # Numba's cache identifies a function by its name and line only, not by the options.
    alone = FunctionType(function.__code__, function.__globals__, f"{function.__name__}_alone")
    alone.__qualname__ = f"{function.__qualname__}_alone"
    spread = _compile(function, nogil=True, parallel=True)
    return ParallelKernel(jit_kernel(alone), spread)


# ---------------------------------------------------------------------------------- fast calls


def _count_trailing_zeros(_: Any, bits: Any) -> Any:  # pragma: no cover  # called as numba compiles
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return bits(bits), generate


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


lowest_bit: Kernel = _lowest_bit if _INTERPRETED else intrinsic(_count_trailing_zeros)
"""The index of the lowest set bit of a nonzero int64: one machine instruction."""


def _writable(argument: Any) -> Any:
    return np.require(argument, requirements="W") if isinstance(argument, np.ndarray) else argument


def typed_once(kernel: Kernel) -> Kernel:
    """The kernel, with its argument types checked in the first call only.

    All kernels have one signature, and finding it again takes numba 1-4 us a call. The caller guarantees the
    types: the same in every call, arrays C-contiguous. An array that the kernel only reads may be read-only.
    """
    if isinstance(kernel, ParallelKernel):
        return ParallelKernel(typed_once(kernel.alone), typed_once(kernel.spread))
    compiled: Kernel | None = None

    def call(*args: Any) -> Any:
        nonlocal compiled
        if compiled is not None:
            return compiled(*args)
        # Read-only arrays have another type, for which numba would compile the kernel again.
        result = kernel(*map(_writable, args))
        overloads = getattr(kernel, "overloads", None)  # none when interpreted
        compiled = next(iter(overloads.values())).entry_point if overloads else kernel
        return result

    return call


# ----------------------------------------------------------------------------------------- notice


class _Notice(event.Listener):  # pragma: no cover  # called as numba compiles
    """Reports on stderr which functions are being compiled, which takes seconds, and the progress.

    On a terminal a live line, cleared at the end; elsewhere one line per process. ``SOLITAIRE_ENV_QUIET=1``
    switches it off.
    """

    def __init__(self) -> None:
        self._line: ProgressLine | None = None
        self._name = ""
        self._depth = 0
        self._done = self._total = 0
        self.callback: Callable[[], object] | None = None
        """Called after each function."""

    def on_start(self, event_: Any) -> None:
        """Numba starts to compile a function that Python called, or one that it needs."""
        dispatcher = event_.data["dispatcher"]
        if not _is_ours(dispatcher):
            return
        if self._depth == 0:
            self._name = f"{dispatcher.__module__.rpartition('.')[2]}.{dispatcher.__qualname__}"
            self._total = self._done + _count_uncompiled(dispatcher)
        self._depth += 1
        self._show(dispatcher)

    def on_end(self, event_: Any) -> None:
        """Numba has compiled a function."""
        dispatcher = event_.data["dispatcher"]
        if not _is_ours(dispatcher):
            return
        self._done += 1
        self._depth -= 1
        # Otherwise it is released when the code is kept. Numba 0.68 reports "failed" for successful events.
        if tuple(event_.data["args"]) not in dispatcher.overloads:
            dispatcher._cache.release()
        if self.callback is not None:
            self.callback()
        if self._line is not None and self._depth == 0:
            self._line.close()

    def _show(self, dispatcher: Any) -> None:
        if quiet():
            return
        first = self._line is None
        if self._line is None:
            self._line = ProgressLine()
        if self._line.live:
            # Some functions are compiled for two types of cards: the count stops, and never exceeds the
            # total.
            done = f"{min(self._done, self._total - 1)} of about {self._total} functions"
            self._line.show(f"solitaire-env: compiling, {done} ({self._name})")
        elif first:
            folder = dispatcher._cache.cache_path
            kept = f"kept in {folder}" if folder else "not kept for the next start"
            say(f"solitaire-env: compiling {self._name}, about {self._total} functions, {kept} ...")


def on_compiled(call: Callable[[], object]) -> None:  # pragma: no cover  # called in worker processes
    """Call a function after each function of ours that this process compiles."""
    _notice.callback = call


def _is_ours(dispatcher: Any) -> bool:  # pragma: no cover
    return isinstance(getattr(dispatcher, "_cache", None), _Cache)


def _count_uncompiled(dispatcher: Any) -> int:  # pragma: no cover
    """Number of functions of ours that a function calls, itself included, that are not compiled yet.

    Functions of :func:`jit_part` are never compiled on their own, but their callees are.
    """
    found, left = set(), [dispatcher]
    while left:
        called = left.pop()
        found.add(called)
        variables = called.py_func.__globals__
        for name in _names(called.py_func.__code__):
            other = variables.get(name)
            if hasattr(other, "py_func") and _is_ours(other) and not other.overloads and other not in found:
                left.append(other)
    return sum(called.targetoptions.get("inline") != "always" for called in found)


def _names(code: CodeType) -> set[str]:  # pragma: no cover
    """The names that a function uses, including those in its comprehensions."""
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)


_notice: Final = _Notice()
event.register("numba:compile", _notice)  # type: ignore[no-untyped-call]
