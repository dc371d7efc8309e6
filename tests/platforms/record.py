"""Record calls of kernels: their slots, and their arrays before and after.

All numbers in a record are int64, and byte strings are filled up to a multiple of eight bytes. A call is:

- the name of the entry point, as length and bytes;
- the number of slots, and the slots before and after;
- the number of arrays; for each the slot of its address, its size in bytes, the size of the floats in it that
  may differ in their last bits (0 for none), and its contents before and after.
"""

import ctypes
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from solitaire_env import VARIANTS, SolitaireVectorEnv, evaluate
from solitaire_env.core import native, set_num_threads

GAMES = ("forty-thieves", "busy-aces", "eights-down", "freecell", "klondike", "yukon")
FIRST_CALLS = 4
"""Of each kernel these are recorded, then the 8th, 16th, 32nd, ..."""


def _arrays(kinds: Any, slot: int = 0) -> Iterator[tuple[int, native.ArrayType]]:
    for _, kind in kinds:
        if isinstance(kind, native.ArrayType):
            yield slot, kind
        elif isinstance(kind, native.TupleType):
            yield from _arrays(kind.fields, slot)
        slot += native.places(kind)


def _bytes(content: bytes) -> bytes:
    return content + bytes(-len(content) % 8)


class Recorder:
    """Replaces :func:`solitaire_env.core.native.entry_point`."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self.calls = Counter[str]()
        self.entry_point = native.entry_point

    def __call__(self, package: str, symbol: str) -> Any:
        call = self.entry_point(package, symbol)
        module, _, name = symbol.rpartition("__")
        module, name = (module[:-1], f"_{name}") if module.endswith("_") else (module, name)
        kernel = getattr(import_module(module.replace("__", ".")), name)
        arrays = list(_arrays(kernel.signature.arguments))

        def record(slots: Any) -> None:
            self.calls[symbol] += 1
            count = self.calls[symbol]
            if count > FIRST_CALLS and count & (count - 1):
                call(slots)
                return
            before, contents = list(slots), [self._content(slots, *each) for each in arrays]
            call(slots)
            self._int(len(symbol))
            self.out.write(_bytes(symbol.encode()))
            self._int(len(before), *before, *slots, len(arrays))
            for (slot, kind), content in zip(arrays, contents, strict=True):
                floats = kind.dtype.itemsize if kind.dtype.kind == "f" else 0
                self._int(slot, len(content), floats)
                self.out.write(_bytes(content) + _bytes(self._content(slots, slot, kind)))

        return record

    def _int(self, *numbers: int) -> None:
        self.out.write(struct.pack(f"<{len(numbers)}q", *numbers))

    @staticmethod
    def _content(slots: Any, slot: int, kind: native.ArrayType) -> bytes:
        size = kind.dtype.itemsize
        for axis in range(len(kind.axes)):
            size *= slots[slot + 1 + axis]
        return ctypes.string_at(slots[slot], size)


def play() -> None:
    """Call the kernels of the package."""
    rng = np.random.default_rng(0)
    for name in GAMES:
        env = SolitaireVectorEnv(name, 24)
        _, infos = env.reset(seed=1)
        for _ in range(130):
            masks = infos["action_mask"]
            _, _, _, _, infos = env.step((masks * rng.random(masks.shape)).argmax(1))
        env.close()
    for name in ("linear", "greedy", "random"):
        for game in GAMES[1:4]:
            evaluate(name, game, range(3))
    evaluate("shipped", "busy-aces", range(3))


if __name__ == "__main__":
    set_num_threads(1)
    with Path(sys.argv[1]).open("wb") as file:
        native.entry_point = recorder = Recorder(file)
        play()
    print(f"{len(VARIANTS)} games; {len(recorder.calls)} kernels, {sum(recorder.calls.values())} calls")
    print("\n".join(sorted(recorder.calls)))
