"""How Python calls compiled functions.

Functions that are compiled have one of two decorators: :func:`kernel` if Python calls them, :func:`inner` if
only kernels do. Nothing is compiled here: the builder (``native/`` in the repository) translates them to a
shared library, which is loaded at the first call (:mod:`solitaire_env.core.library`). The annotations of a
kernel declare its arguments, for the reader, the builder and the checks of each call:

============================================== ================================================
``n: int``, ``x: float``                       64 bits
``cards: Annotated[Int8, "n rules.row_size"]`` a C-contiguous array with this type and two axes
``state: State``                               a named tuple of such fields
============================================== ================================================

Axes with the same name have the same length in every argument of a call, ``_`` any length, a number that
length, ``rules.piles`` the length in that field of the argument ``rules``. Results are
``int``, ``float``, a tuple of them, or ``None``. Kernels allocate nothing and raise nothing: scratch arrays
are arguments. Elements of arrays of signed integers are read as 64-bit integers; no index counts from the end
of an array.

The environment variable ``SOLITAIRE_ENV_KERNELS`` chooses how kernels run: ``compiled`` (default),
``checked`` (compiled; an index outside its array is an IndexError), or ``python`` (not compiled).
"""

import ctypes
import hashlib
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import index
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np
import numpy.typing as npt

from solitaire_env.core.library import MODE, entry_point
from solitaire_env.core.threads import WORTH_SHARING, max_threads, share, threads_for
from solitaire_env.util.lazy import VARIANTS_KEPT, cached_property

Int8 = npt.NDArray[np.int8]
Int16 = npt.NDArray[np.int16]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt16 = npt.NDArray[np.uint16]
UInt64 = npt.NDArray[np.uint64]
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

Function = Callable[..., Any]


# ----------------------------------------------------------------------------------------- types


class ArrayType(NamedTuple):
    """An array argument: its dtype, and the names of its axes."""

    dtype: np.dtype[Any]
    axes: tuple[str, ...]

    def __str__(self) -> str:
        return f"a C-contiguous {self.dtype} array [{', '.join(self.axes)}]"


class TupleType(NamedTuple):
    """A named tuple argument: its class, and the type of each field."""

    cls: Any
    fields: tuple[tuple[str, Any], ...]


Type = ArrayType | TupleType | type[int] | type[float]


def type_of(annotation: Any) -> Type:
    """The type that an annotation declares."""
    if annotation in (int, float):
        return annotation  # type: ignore[no-any-return]
    if get_origin(annotation) is Annotated:
        array, axes = get_args(annotation)
        parameters = get_args(array)  # of the alias itself since numpy 2.5, of ndarray before
        dtype = parameters[0] if len(parameters) == 1 else get_args(parameters[1])[0]
        return ArrayType(np.dtype(dtype), tuple(axes.split()))
    hints = get_type_hints(annotation, include_extras=True)
    return TupleType(annotation, tuple((name, type_of(hints[name])) for name in annotation._fields))


class Signature(NamedTuple):
    """Names and types of a kernel's arguments, and the types of its results."""

    arguments: tuple[tuple[str, Type], ...]
    results: tuple[type, ...]


def signature_of(function: Function) -> Signature:
    """The arguments and results that a kernel's annotations declare."""
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    results = () if result is type(None) else get_args(result) or (result,)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Signature(tuple((name, type_of(hints[name])) for name in names), results)


def places(kind: Type) -> int:
    """Number of slots of an argument: one for a number; address and shape of an array."""
    if isinstance(kind, ArrayType):
        return 1 + len(kind.axes)
    if isinstance(kind, TupleType):
        return sum(places(field) for _, field in kind.fields)
    return 1


# ------------------------------------------------------------------------------------ decorators


compiler: Any = None
"""Set only by the builder, before it imports modules with kernels: what decorators call instead."""


def symbol_of(function: Function) -> str:
    """The name of a kernel's entry point."""
    return f"{function.__module__}.{function.__name__}".replace(".", "__")


def own_symbol(function: Function, rules: Any) -> str:
    """The name of a kernel's entry point for one game, in which the rules of the game are constants."""
    return f"{symbol_of(function)}{_OF}{_hash(rules)}"


@lru_cache(VARIANTS_KEPT)
def _hash(rules: Any) -> str:
    return hashlib.sha256(str(tuple(rules)).encode()).hexdigest()[:12]


def is_own(symbol: str) -> bool:
    """Whether an entry point is for one game only."""
    return _OF in symbol


_OF: Final = "__of__"


def inner(function: Function | None = None, *, inline: bool = True, wraps: bool = False) -> Any:
    """Declare a function that only compiled functions call. From Python it runs as plain Python.

    Parameters
    ----------
    inline
        False for large functions that are called rarely: there is less to compile.
    wraps
        Its arithmetic wraps at 64 bits. In plain Python, numpy would warn.
    """

    def declare(function: Function) -> Any:
        if compiler is not None:
            return compiler.inner(function, inline)
        return np.errstate(over="ignore")(function) if wraps else function

    return declare if function is None else declare(function)


@overload
def kernel(function: Function) -> "Kernel": ...
@overload
def kernel(*, fast: bool = False, part: int = 0) -> "Callable[[Function], Kernel]": ...
def kernel(function: Function | None = None, *, fast: bool = False, part: int = 0) -> Any:
    """Declare a compiled function that Python calls.

    Parameters
    ----------
    fast
        Sums may be reordered and fused with products, so the last bits of a result depend on the processor:
        for learning, never for replaying stored games.
    part
        Games that a thread takes at a time. The last two arguments of such a function are the first game and
        the end of a part; calls leave them out and share the parts between threads. The last argument of a
        call is an array with a row per game. A call returns the sum of the results of its parts.
    """

    def declare(function: Function) -> Any:
        return Kernel(function, part) if compiler is None else compiler.kernel(function, fast, part)

    return declare if function is None else declare(function)


def lowest_bit(bits: int) -> int:
    """The index of the lowest set bit of a nonzero int64; compiled, one machine instruction."""
    return (bits & -bits).bit_length() - 1


class _Widened(np.ndarray[Any, Any]):
    """An array in plain Python: as in compiled functions, elements are read as 64-bit integers."""

    def __getitem__(self, place: Any) -> Any:
        if type(place) is tuple or self.ndim == 1:
            try:
                return _ITEM(self, place)
            except (TypeError, ValueError):  # a part of the array
                pass
        return _PART(self, place)


_ITEM: Final = np.ndarray.item
_PART: Final = np.ndarray.__getitem__


def widened(value: Any) -> Any:
    """An argument of a kernel as plain Python needs it, to call functions that only kernels call."""
    if isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.signedinteger):
        return value.view(_Widened)
    return type(value)(*map(widened, value)) if isinstance(value, tuple) else value


# ----------------------------------------------------------------------------------------- calls


class Kernel:
    """A compiled function that Python calls."""

    def __init__(self, function: Function, part: int) -> None:
        self.function = function
        self.part = part
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        """The function's name."""
        return f"<kernel {self.function.__module__}.{self.function.__name__}>"

    def __call__(self, *arguments: Any) -> Any:
        """Check the arguments and call the function.

        Raises
        ------
        TypeError
            If an argument does not have the declared type.
        ValueError
            If the lengths of arrays do not match.
        """
        return self.bind(*arguments)()

    @cached_property
    def signature(self) -> Signature:
        """Arguments that a caller passes, and results."""
        declared = signature_of(self.function)
        return Signature(declared.arguments[:-2], declared.results) if self.part else declared

    def entry_point(self, rules: Any) -> Any:
        """The compiled function: that of the game with these rules, if there is one, or the general one."""
        package = self.function.__module__.partition(".")[0]
        own = None if rules is None else entry_point(package, own_symbol(self.function, rules))
        return own or entry_point(package, symbol_of(self.function))

    def bind(self, *arguments: Any) -> "Bound":
        """The function with its first arguments, checked and packed once; each call passes the others.

        If none are left, a call takes half a microsecond. The arrays may change their contents between calls.
        Two threads must not call it at the same time.
        """
        return Bound(self, arguments)


class Bound:
    """A kernel with its first arguments."""

    def __init__(self, kernel: Kernel, arguments: Sequence[Any]) -> None:
        self._kernel = kernel
        self._arguments = arguments  # keeps the arrays alive
        self._lengths: dict[str, int] = {}
        types = kernel.signature.arguments
        self._left = types[len(arguments) :]
        if len(arguments) > len(types):
            raise self._wrong_number(arguments)
        packed = _pack_all(kernel, types[: len(arguments)], arguments, self._lengths)
        self._packed = len(packed)
        self._status = self._packed + sum(places(kind) for _, kind in self._left)
        results = kernel.signature.results
        # After the arguments: status; then the results, or what `_set_regions` sets.
        more = 5 + max_threads() if kernel.part else len(results)
        self._slots: Any = (ctypes.c_int64 * (self._status + 1 + more))(*packed)
        self._results = tuple(
            (ctypes.c_double if kind is float else ctypes.c_int64).from_buffer(
                self._slots, 8 * (self._status + 1 + place)
            )
            for place, kind in enumerate(() if kernel.part else results)
        )
        self._rows = 0
        if not self._left:
            self._set_rows(arguments)
        if MODE != "python":
            bound = dict(zip((name for name, _ in types), arguments, strict=False))
            self._call = partial(kernel.entry_point(bound.get("rules")), self._slots)

    def __call__(self, *others: Any) -> Any:
        """Check the other arguments, and call the function."""
        if len(others) != len(self._left):
            raise self._wrong_number((*self._arguments, *others))
        if others:
            packed = _pack_all(self._kernel, self._left, others, dict(self._lengths))
            self._slots[self._packed : self._status] = packed
            self._set_rows(others)
        if MODE == "python":
            part = (0, self._rows) if self._kernel.part else ()
            return self._kernel.function(*map(widened, (*self._arguments, *others)), *part)
        threads = 1
        if self._rows >= WORTH_SHARING:
            threads = threads_for(self._rows)
            self._set_regions(threads)
        elif self._rows:  # no game of the only region is taken, and the sum of the results is 0
            self._slots[self._status + 5] = self._slots[self._status + 6] = 0
        share(self._call, threads) if threads > 1 else self._call()
        if MODE == "checked" and self._slots[self._status]:
            self._slots[self._status] = 0
            raise IndexError(f"{self._kernel}: an index is outside its array")
        if self._kernel.part and self._kernel.signature.results:
            return self._slots[self._status + 5 + threads]
        if not self._results:
            return None
        if len(self._results) == 1:
            return self._results[0].value
        return tuple(result.value for result in self._results)

    def _set_rows(self, arguments: Sequence[Any]) -> None:
        """Set the number of games of a kernel that threads share: the length of its last argument."""
        if self._kernel.part:
            self._rows = self._slots[self._status + 1] = len(arguments[-1])
            self._set_regions(1)

    def _set_regions(self, threads: int) -> None:
        """Divide the games into a region for each thread: number and length of regions, the number of threads
        that have begun, the games of each region that are taken, and the sum of the results.
        """
        first = self._status + 2
        length = -(self._rows // -threads)
        self._slots[first : first + 4 + threads] = (threads, length, 0, *[0] * threads, 0)

    def _wrong_number(self, given: Sequence[Any]) -> TypeError:
        """The error for too few or too many arguments."""
        names = [name for name, _ in self._kernel.signature.arguments]
        return TypeError(
            f"{self._kernel}: {len(given)} arguments, allowed: {len(names)} ({', '.join(names)})"
        )


def _pack_all(
    kernel: Kernel, arguments: Sequence[tuple[str, Type]], values: Sequence[Any], lengths: dict[str, int],
    of: str = "",
) -> list[int]:  # fmt: skip
    """The contents of the slots of some arguments, or of the fields of a named tuple (then ``of`` is its name
    and a dot). ``lengths`` are those of the axes known before; new ones are added.
    """
    slots: list[int] = []
    for (name, kind), value in zip(arguments, values, strict=True):
        if isinstance(kind, ArrayType):
            _check_array(kernel, of + name, kind, value, lengths)
            slots.append(_address(value))
            slots += value.shape
        elif isinstance(kind, TupleType):
            slots += _pack_tuple(kernel, of + name, kind, value, lengths)
        elif kind is int:
            try:
                slots.append(index(value))
            except TypeError:
                raise _wrong_type(kernel, of + name, value, "an int") from None
        else:
            slots.append(_BITS.unpack(_FLOAT.pack(value))[0])
    return slots


def _pack_tuple(kernel: Kernel, name: str, kind: TupleType, value: Any, lengths: dict[str, int]) -> list[int]:
    """The contents of the slots of a named tuple."""
    if not isinstance(value, kind.cls):
        raise _wrong_type(kernel, name, value, f"a {kind.cls.__name__}")
    if name != "rules":
        return _pack_all(kernel, kind.fields, value, lengths, f"{name}.")
    numbers, fields = _pack_rules(value)
    lengths |= fields
    return numbers


def _wrong_type(kernel: Kernel, name: str, value: Any, allowed: object) -> TypeError:
    return TypeError(f"{kernel}: {name} is a {type(value).__name__}, allowed: {allowed}")


@lru_cache(VARIANTS_KEPT)
def _pack_rules(rules: Any) -> tuple[list[int], dict[str, int]]:
    """The contents of the slots of a game's rules, whole numbers, and the lengths that they declare."""
    return list(rules), {f"rules.{field}": length for field, length in rules._asdict().items()}


def _address(array: Any) -> int:
    """The address of an array's first element."""
    if array.size and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # five times as fast as the other
    return int(array.ctypes.data)


_BITS: Final = struct.Struct("q")
_FLOAT: Final = struct.Struct("d")


def _check_array(kernel: Kernel, name: str, kind: ArrayType, value: Any, lengths: dict[str, int]) -> None:
    """Raise an error if an argument is not an array of the declared type and lengths."""
    if not isinstance(value, np.ndarray):
        raise _wrong_type(kernel, name, value, kind)
    if value.dtype != kind.dtype or value.ndim != len(kind.axes) or not value.flags.c_contiguous:
        order = "" if value.flags.c_contiguous else ", not C-contiguous"
        raise TypeError(f"{kernel}: {name} is {value.dtype} {list(value.shape)}{order}, allowed: {kind}")
    for axis, length in zip(kind.axes, value.shape, strict=True):
        known = lengths.get(axis)
        if known is None and axis != "_":
            known = lengths[axis] = int(axis) if axis.isdecimal() else length
        if known != length and axis != "_":
            raise ValueError(
                f"{kernel}: {name} has {length} {axis}, allowed: {known}, as in the other arguments"
            )
