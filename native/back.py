"""The back end: optimizes the code for each platform, and links a shared library."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from llvmlite import binding

from solitaire_env.core.native import is_own
from solitaire_env.util.cores import usable_cores

binding.initialize_all_targets()
binding.initialize_all_asmprinters()


OBJECTS: Final = "kernels.o"
"""In the command of a linker, the object files."""


class Target(NamedTuple):
    """A platform that libraries are built for."""

    triple: str
    cpu: str
    suffix: str
    linker: tuple[str, ...]
    """How this target is linked for any machine of its kind. Zig has the C libraries of all of them."""


def _zig(target: str, *options: str) -> tuple[str, ...]:
    command = (sys.executable, "-m", "ziglang", "cc", "-target", target, OBJECTS, "-shared", "-s")
    return (*command, *options)


def _linux(machine: str, cpu: str) -> Target:
    linker = _zig(f"{machine}-linux-gnu.2.17", "-lm", "-Wl,-z,defs,--build-id=none")
    return Target(f"{machine}-unknown-linux-gnu", cpu, ".so", linker)


def _macos(machine: str, cpu: str) -> Target:
    linker = _zig(f"{machine}-macos.11.0", "-Wl,-install_name,kernels")
    return Target(f"{machine}-apple-macosx11.0.0", cpu, ".dylib", linker)


def _zig_wasm(*options: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "ziglang", "wasm-ld", OBJECTS, *options)


_WASM: Final = (
    "--no-entry --export-dynamic --export=__heap_base --import-memory --allow-undefined --strip-all"
)
TARGETS: Final = {
    "linux-x86_64": _linux("x86_64", "x86-64"),
    "linux-x86_64-v3": _linux("x86_64", "x86-64-v3"),
    "linux-arm64": _linux("aarch64", "generic"),
    "macos-arm64": _macos("aarch64", "apple-m1"),
    "macos-x86_64": _macos("x86_64", "x86-64"),
    "windows-x86_64": Target("x86_64-pc-windows-gnu", "x86-64", ".dll", _zig("x86_64-windows-gnu")),
    "wasm32": Target("wasm32-unknown-unknown", "generic", ".wasm", _zig_wasm(*_WASM.split())),
}


GAMES_TOGETHER: Final = 25
"""Number of games whose own entry points are optimized together."""


def emit(text: str, entry_points: list[str], target: Target) -> list[bytes]:
    """Optimize and translate the code for a target; object files, made on all cores.

    Parameters
    ----------
    text
        LLVM assembly.
    entry_points
        The functions that are kept. A page loads the general ones only.
    """
    own = [name for name in entry_points if is_own(name)]
    parts = [[name for name in entry_points if not is_own(name)]]
    if target.suffix != ".wasm":
        parts += [own[first : first + GAMES_TOGETHER] for first in range(0, len(own), GAMES_TOGETHER)]
    work = [(text, part, target) for part in parts]
    if len(parts) == 1 or usable_cores() == 1:
        return [_emit(*part) for part in work]
    with multiprocessing.Pool(min(len(parts), usable_cores())) as pool:
        return pool.starmap(_emit, work, chunksize=1)


def _emit(text: str, entry_points: list[str], target: Target) -> bytes:
    """An object file in which everything but the entry points is internal: what is not used is left out."""
    machine = binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, opt=3, reloc="pic", codemodel="default"
    )
    module = binding.parse_assembly(text)
    module.verify()
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    keep = set(entry_points)
    for function in module.functions:
        if not function.is_declaration and function.name not in keep:
            function.linkage = "internal"
        elif not function.is_declaration and target.suffix == ".dll":
            function.storage_class = "dllexport"
    for variable in module.global_variables:
        variable.linkage = "internal"
    options = binding.create_pipeline_tuning_options(speed_level=3)
    # This WebAssembly has no vectors, and a page loads what is unrolled too.
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = target.suffix != ".wasm"
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    made: bytes = machine.emit_object(module)
    return made


def link(object_files: list[bytes], target: Target, portable: bool) -> bytes:
    """Link object files; the shared library.

    Parameters
    ----------
    portable
        For any machine of the target's kind; otherwise for this machine, if it has a C compiler.
    """
    command = target.linker
    if target.suffix == ".wasm":
        if shutil.which("wasm-ld"):
            command = ("wasm-ld", *target.linker[4:])
    elif not portable and shutil.which("cc"):
        command = ("cc", *target.linker[6:])
    with tempfile.TemporaryDirectory() as folder:
        # The same names each time: a linker may put them into the library.
        names = [f"kernels{number}.o" for number in range(len(object_files))]
        for name, content in zip(names, object_files, strict=True):
            Path(folder, name).write_bytes(content)
        words = [part for word in command for part in (names if word == OBJECTS else [word])]
        library = Path(folder, f"kernels{target.suffix}")
        done = subprocess.run(
            [*words, "-o", library.name], cwd=folder, capture_output=True, text=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(command[:4])} failed: {done.stderr}")
        return library.read_bytes()
