"""Changes to numba: one LLVM module for all functions, nothing optimized, fewer arguments."""

from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils, codegen, cpu, types
from numba.core.datamodel import models, register_default
from numba.core.typing import arraydecl
from numba.np import arrayobj, numpy_support

INT64: Final = ir.IntType(64)
module: Final = ir.Module("kernels")
"""All functions that are translated."""


class _Library(codegen.JITCodeLibrary):
    """Puts all functions into one module.

    Numba's own class has a module for each, and links and optimizes all that a function calls, again in each
    caller.
    """

    def __init__(self, owner: Any, name: str) -> None:
        codegen.CodeLibrary.__init__(self, owner, name)

    def create_ir_module(self, name: str) -> Any:
        return module

    def add_ir_module(self, module: Any) -> None: ...

    def add_linking_library(self, library: Any) -> None: ...

    def finalize(self) -> None:
        self._finalized = True


codegen.JITCPUCodegen._library_class = _Library
# Numba uses it as the key of a function: a new built-in method each time.
cpu.CPUContext.get_executable = lambda *_: [].append
# No addresses of this process: all constant arrays become part of the code. Nothing uses those of functions.
cpu.CPUContext.allow_dynamic_globals = False
cpu.CPUContext.add_dynamic_addr = lambda *_, **__: ir.Constant(ir.IntType(8).as_pointer(), None)


# ----------------------------------------------------------------------------------- data models


_structs: Final[dict[tuple[Any, ...], Any]] = {}


class _Named:
    """Structures whose types have names in LLVM assembly; otherwise each line would repeat all fields."""

    def get_value_type(self) -> Any:
        return self._named(super().get_value_type())  # type: ignore[misc]

    def get_data_type(self) -> Any:
        return self._named(super().get_data_type())  # type: ignore[misc]

    def _named(self, literal: Any) -> Any:
        elements = tuple(literal.elements)
        if elements not in _structs:
            _structs[elements] = module.context.get_identified_type(f"struct{len(_structs)}")
            _structs[elements].set_body(*elements)
        return _structs[elements]


@register_default(types.NamedTuple)
class _TupleModel(_Named, models.TupleModel):
    pass


@register_default(types.Array)
class _ArrayModel(_Named, models.ArrayModel):
    """Passes C-contiguous arrays as address and shape; numba passes seven parts."""

    def get_argument_type(self) -> Any:
        whole = super().get_argument_type()
        return (whole[4], whole[5]) if self._fe_type.layout == "C" else whole

    def as_argument(self, builder: Any, value: Any) -> Any:
        whole = super().as_argument(builder, value)
        return (whole[4], whole[5]) if self._fe_type.layout == "C" else whole

    def from_argument(self, builder: Any, value: Any) -> Any:
        if self._fe_type.layout != "C":
            return super().from_argument(builder, value)
        return self.contiguous(builder, *value)

    def contiguous(self, builder: Any, data: Any, shape: Sequence[Any]) -> Any:
        """The value of a C-contiguous array."""
        item_size = INT64(numpy_support.as_dtype(self._fe_type.dtype).itemsize)
        strides = [item_size]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        items = shape[0]
        for length in shape[1:]:
            items = builder.mul(items, length)
        parts = {
            "nitems": items, "itemsize": item_size, "data": data, "shape": cgutils.pack_array(builder, shape),
            "strides": cgutils.pack_array(builder, strides),
        }  # fmt: skip
        value = ir.Constant(self.get_value_type(), None)
        for name, part in parts.items():
            value = self.set(builder, value, part, name)
        return value


# ------------------------------------------------------------------------------- elements of arrays


_type_of_item: Final = arraydecl.GetItemBuffer.generic
_item: Final = arrayobj._getitem_array_generic


def _wide_type_of_item(self: Any, args: Any, kws: Any) -> Any:
    """Small integers are read as int64, so sums and shifts of them do not overflow."""
    found = _type_of_item(self, args, kws)
    if found is not None and isinstance(found.return_type, types.Integer) and found.return_type.signed:
        return found.replace(return_type=types.int64)
    return found


def _wide_item(
    context: Any, builder: Any, return_type: Any, array_type: Any, array: Any, index_types: Any, indices: Any
) -> Any:
    narrow = array_type.dtype if isinstance(return_type, types.Integer) else return_type
    value = _item(context, builder, narrow, array_type, array, index_types, indices)
    return value if narrow == return_type else context.cast(builder, value, narrow, return_type)


arraydecl.GetItemBuffer.generic = _wide_type_of_item
arrayobj._getitem_array_generic = _wide_item
# No index counts from the end of an array: nothing is added to a negative one.
arrayobj.fix_integer_index = lambda context, builder, index_type, index, _: context.cast(
    builder, index, index_type, types.intp if index_type.signed else types.uintp
)
