"""The front end: numba translates the kernels of packages to LLVM assembly, which is not optimized.

Numba would optimize every function, and each again in each of its callers; here all code is optimized
once, by :mod:`native.back`. Each kernel gets an entry point, see :mod:`native.entry_points`.
"""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from native.entry_points import add_entry_point, inline_calls, numba_type
from native.games import KERNELS, games
from native.numba_changes import module
from solitaire_env.core import native


@intrinsic
def _count_trailing_zeros(_: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return bits(bits), generate


class Compiler:
    """What the decorators of :mod:`solitaire_env.core.native` call while the builder runs."""

    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self.kernels: dict[str, tuple[Any, Callable[..., Any], int]] = {}
        self.dispatchers: list[tuple[Any, bool]] = []

    def inner(self, function: Callable[..., Any], inline: bool) -> Any:
        return self._compile(function, inline and not self.checked)

    def kernel(self, function: Callable[..., Any], fast: bool, part: int) -> Any:
        # "contract" and "reassoc": sums may be reordered and fused with products.
        dispatcher = self._compile(
            function, False, fastmath={"contract", "nsz", "reassoc"} if fast else False
        )
        self.kernels[native.symbol_of(function)] = (dispatcher, function, part)
        return dispatcher

    def inline_rules(self) -> None:
        """Have the rules inlined into each other.

        Games then play at twice the speed. Elsewhere LLVM decides: all inlined, the library was a quarter
        larger and no faster.
        """
        compiled = [
            (each.fndesc, inline) for of, inline in self.dispatchers for each in of.overloads.values()
        ]
        inlined = {described.mangled_name for described, inline in compiled if inline}
        for described, _ in compiled:
            if described.modname.startswith("solitaire_env.core."):
                inline_calls(module.get_global(described.mangled_name), inlined)

    def _compile(self, function: Callable[..., Any], inline: bool, **options: Any) -> Any:
        dispatcher = numba.njit(
            error_model="numpy", boundscheck=self.checked, _nrt=False,
            no_cpython_wrapper=True, no_cfunc_wrapper=True, **options,
        )(function)  # fmt: skip
        # Otherwise numba translates it again for each constant argument, with all that it calls.
        of_types = dispatcher.get_call_template
        dispatcher.get_call_template = lambda arguments, named: of_types(
            [types.unliteral(kind) for kind in arguments],
            {name: types.unliteral(kind) for name, kind in named.items()},
        )
        self.dispatchers.append((dispatcher, inline))
        return dispatcher


def find_modules(folder: Path) -> list[str]:
    """The modules of a package that define compiled functions."""
    decorated = re.compile(r"^@(kernel|inner)\b", re.MULTILINE)
    return [
        ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        for path in sorted(folder.rglob("*.py"))
        if decorated.search(path.read_text(encoding="utf-8"))
    ]


@global_compiler_lock
def translate(folder: Path, checked: bool = False) -> tuple[str, list[str]]:
    """All kernels of a package, in LLVM assembly, and the names of their entry points."""
    compiler = native.compiler = Compiler(checked)
    native.lowest_bit = _count_trailing_zeros
    for name in find_modules(folder):
        importlib.import_module(name)
    # Kernels of other packages are in the libraries of these packages.
    ours = {s: k for s, k in sorted(compiler.kernels.items()) if s.startswith(folder.name)}
    names = list(ours)
    for symbol, (dispatcher, function, part) in ours.items():
        signature = native.signature_of(function)
        argument_types = tuple(numba_type(kind) for _, kind in signature.arguments)
        dispatcher.compile(argument_types)
        compiled = dispatcher.overloads[argument_types]
        _check_results(symbol, signature.results, compiled.fndesc.restype)
        add_entry_point(symbol, function, compiled, part)
        if symbol in KERNELS and not checked:
            for rules in games():
                own = native.own_symbol(function, rules)
                add_entry_point(own, function, compiled, part, rules)
                names.append(own)
    compiler.inline_rules()
    return str(module), names


def _check_results(symbol: str, declared: tuple[type, ...], found: Any) -> None:
    """Raise an error if a kernel does not return what its annotations declare."""
    given = [] if found == types.none else list(found) if isinstance(found, types.BaseTuple) else [found]
    if [numba_type(kind) for kind in declared] != given:
        raise TypeError(f"{symbol} returns {found}, its annotation says {declared or None}")
