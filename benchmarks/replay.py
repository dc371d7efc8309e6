"""One pass of recorded actions for each game, in two processes, for ``benchmarks.instructions``.

::

    python -m benchmarks.replay record FOLDER    choose actions, write them there
    python -m benchmarks.replay count FOLDER     replay them under callgrind

A separate module, since every import takes fifty times as long under callgrind.
"""

import ctypes
import gc
import mmap
import sys
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import GAMES
from solitaire_env import Variant, get_variant
from solitaire_env.core import library
from solitaire_env.registration import step_limit
from solitaire_env.vector import SolitaireVectorEnv

NUM_ENVS: Final = 512
CALLS: Final = 200
"""Calls of ``step`` in a pass."""


def make(variant: Variant) -> SolitaireVectorEnv:
    """The vector environment whose steps are counted."""
    return SolitaireVectorEnv(variant, NUM_ENVS, max_episode_steps=step_limit(variant), copy=False)


def record(folder: Path) -> None:
    """Write random legal actions for each game, int64 ``[calls, games]``."""
    from benchmarks.speed import Recording

    for variant in map(get_variant, GAMES):
        np.save(folder / f"{variant.name}.npy", Recording(make(variant), CALLS).actions)


class Callgrind:
    """Requests to callgrind from the program that it runs; without callgrind they do nothing.

    Valgrind recognizes a request by a sequence of instructions that changes nothing (valgrind.h): rdi rotated
    by 128 bits in all, then rbx exchanged with itself. C has a macro for it; here it is a function of
    x86-64 machine code.
    """

    START_INSTRUMENTATION, STOP_INSTRUMENTATION, DUMP_STATS_AT = (0x43540000 + n for n in (4, 5, 3))

    def __init__(self) -> None:
        code = bytes.fromhex(
            "4889f8 31d2"  # mov rax, rdi: the request and its arguments; xor edx, edx: the answer
            "48c1c703 48c1c70d 48c1c73d 48c1c733 4887db"  # rol rdi, 3; 13; 61; 51; xchg rbx, rbx
            "c3"  # ret
        )
        self._memory = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

    def __call__(self, request: int, text: str = "") -> None:
        argument = ctypes.create_string_buffer(text.encode())
        self._call((ctypes.c_uint64 * 6)(request, ctypes.addressof(argument)))


def count(folder: Path) -> None:
    """Play the recorded actions; callgrind writes its counts after each game."""
    callgrind = Callgrind()
    for variant in map(get_variant, GAMES):
        calls = list(np.load(folder / f"{variant.name}.npy"))
        env = make(variant)
        env.reset(seed=0)
        env.step(calls[0])  # loads the kernels
        env.reset(seed=0)
        gc.collect()
        callgrind(callgrind.START_INSTRUMENTATION)
        for actions in calls:
            env.step(actions)
        callgrind(callgrind.STOP_INSTRUMENTATION)
        callgrind(callgrind.DUMP_STATS_AT, variant.name)


if __name__ == "__main__":
    library.targets = lambda: ("linux-x86_64",)  # type: ignore[assignment] # as every processor runs it
    {"record": record, "count": count}[sys.argv[1]](Path(sys.argv[2]))
