"""Entry points: for each kernel a function ``void name(int64_t *slots)``.

It reads the arguments from consecutive slots, calls the kernel, and writes the status and the results to the
slots that follow, see :mod:`solitaire_env.core.native`.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.ir.instructions import CallInstr
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.np import numpy_support

from native.numba_changes import INT64, module
from solitaire_env.core import native


def numba_type(kind: native.Type) -> Any:
    """The numba type of an argument or result."""
    if isinstance(kind, native.ArrayType):
        return types.Array(numpy_support.from_dtype(kind.dtype), len(kind.axes), "C")
    if isinstance(kind, native.TupleType):
        return types.NamedTuple([numba_type(field) for _, field in kind.fields], kind.cls)
    return {int: types.int64, float: types.float64, bool: types.boolean}[kind]


class _Slots:
    """Generates code that reads consecutive slots.

    Parameters
    ----------
    rules
        The rules of a game: constants, whose slots are not read.
    """

    def __init__(self, context: Any, builder: Any, pointer: Any, rules: Any) -> None:
        self.context, self.builder, self.pointer = context, builder, pointer
        self.next = 0
        self.rules = rules

    def address(self, place: int) -> Any:
        return self.builder.gep(self.pointer, [INT64(place)])

    def read(self) -> Any:
        self.next += 1
        return self.builder.load(self.address(self.next - 1))

    def value(self, kind: native.Type) -> Any:
        """The value of an argument, in numba's representation."""
        context, builder = self.context, self.builder
        if self.rules is not None and isinstance(kind, native.TupleType) and kind.cls is type(self.rules):
            self.next += len(self.rules)
            return context.make_tuple(builder, numba_type(kind), [INT64(number) for number in self.rules])
        if isinstance(kind, native.TupleType):
            parts = [self.value(field) for _, field in kind.fields]
            return context.make_tuple(builder, numba_type(kind), parts)
        if not isinstance(kind, native.ArrayType):
            raw = self.read()
            return builder.bitcast(raw, ir.DoubleType()) if kind is float else raw
        of_type = numba_type(kind)
        data = builder.inttoptr(self.read(), context.get_data_type(of_type.dtype).as_pointer())
        model = context.data_model_manager[of_type]
        return model.contiguous(builder, data, [self.length(axis) for axis in kind.axes])

    def length(self, axis: str) -> Any:
        """The length of an axis; a constant if it is a number, or a field of constant rules."""
        length = self.read()
        if axis.isdecimal():
            return INT64(int(axis))
        if self.rules is not None and axis.startswith("rules."):
            return INT64(getattr(self.rules, axis.removeprefix("rules.")))
        return length


def add_entry_point(
    symbol: str, function: Callable[..., Any], compiled: Any, part: int, rules: Any = None
) -> None:
    """Add the entry point of a kernel.

    Parameters
    ----------
    rules
        The game, if the entry point is for one game only: LLVM then compiles the kernel once more,
        for its numbers.
    """
    context = cpu_target.target_context
    signature = native.signature_of(function)
    entry = ir.Function(module, ir.FunctionType(ir.VoidType(), [INT64.as_pointer()]), symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    slots = _Slots(context, builder, entry.args[0], rules)
    arguments = signature.arguments[:-2] if part else signature.arguments
    values = [slots.value(kind) for _, kind in arguments]
    status = slots.next

    def call(values: list[Any]) -> Any:
        callee = cgutils.get_or_insert_function(
            module, context.call_conv.get_function_type(compiled.fndesc.restype, compiled.fndesc.argtypes),
            compiled.fndesc.mangled_name,
        )  # fmt: skip
        state, result = context.call_conv.call_function(
            builder, callee, compiled.fndesc.restype, compiled.fndesc.argtypes, values
        )
        if rules is not None:
            inline_calls(entry, {compiled.fndesc.mangled_name})
        with builder.if_then(state.is_error, likely=False):
            builder.store(builder.sext(state.code, INT64), slots.address(status))
        return result

    if part:
        total = builder.add(builder.load(slots.address(status + 2)), INT64(status + 5))

        def play(start: Any, end: Any) -> None:
            result = call([*values, start, end])
            if signature.results:
                builder.atomic_rmw("add", builder.gep(slots.pointer, [total]), result, "monotonic")

        _add_loop(builder, slots, status, part, play)
        return
    result = call(values)
    of_result = signature.results
    parts = (
        [result] if len(of_result) == 1 else [builder.extract_value(result, n) for n in range(len(of_result))]
    )
    for n, (value, kind) in enumerate(zip(parts, of_result, strict=True)):
        if kind is float:
            value = builder.bitcast(value, INT64)
        builder.store(value, slots.address(status + 1 + n))
    builder.ret_void()


def inline_calls(function: ir.Function, names: set[str]) -> None:
    """Have LLVM inline the calls of some functions in a function."""
    for block in function.blocks:
        for instruction in block.instructions:
            if isinstance(instruction, CallInstr) and instruction.callee.name in names:
                instruction.attributes.add("alwaysinline")


def _add_loop(builder: Any, slots: _Slots, status: int, part: int, play: Callable[[Any, Any], None]) -> None:
    """Threads take parts of the rows until none is left.

    Each begins with a region of its own, as a rule the same in every call, whose rows are in its caches; then
    it takes what is left of the others. Slots after the status: number of rows, number of regions, rows of a
    region, threads that have begun, for each region the rows that are taken, and the sum of the results.
    """
    rows, regions, length = (builder.load(slots.address(status + 1 + n)) for n in range(3))
    begun, counters = slots.address(status + 4), slots.address(status + 5)
    first = builder.atomic_rmw("add", begun, INT64(1), "monotonic")
    before = builder.block
    enter, take, some, leave, end = (
        builder.append_basic_block(name) for name in ("enter", "take", "some", "leave", "end")
    )
    builder.branch(enter)

    builder.position_at_end(enter)
    turn = builder.phi(INT64)
    turn.add_incoming(INT64(0), before)
    region = builder.urem(builder.add(first, turn), regions)
    base = builder.mul(region, length)
    stop = builder.add(base, length)
    stop = builder.select(builder.icmp_signed("<", stop, rows), stop, rows)
    counter = builder.gep(counters, [region])
    builder.branch(take)

    builder.position_at_end(take)
    start = builder.add(base, builder.atomic_rmw("add", counter, INT64(part), "monotonic"))
    builder.cbranch(builder.icmp_signed("<", start, stop), some, leave)

    builder.position_at_end(some)
    after = builder.add(start, INT64(part))
    play(start, builder.select(builder.icmp_signed("<", after, stop), after, stop))
    builder.branch(take)

    builder.position_at_end(leave)
    following = builder.add(turn, INT64(1))
    turn.add_incoming(following, leave)
    builder.cbranch(builder.icmp_signed("<", following, regions), enter, end)
    builder.position_at_end(end)
    builder.ret_void()
