"""``python -m native.wheels``: the sdist and all wheels, built on one machine into ``dist``, each checked.

The kernels are translated once. Needs build, hatchling, lief and ziglang (``make wheels``).
"""

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

import lief

from native.platforms import PLATFORMS

# Functions of the C library that kernels call; on Windows, what Zig links to start a library.
_FUNCTIONS: Final = {
    "exp",
    "log",
    "memcpy",
    "memmove",
    "memset",
    "bzero",
    "memset_pattern16",
    "dyld_stub_binder",
}
_NEEDED: Final = re.compile(
    r"libc\.so\.6|libm\.so\.6|/usr/lib/libSystem\.B\.dylib|kernels|(kernel32|api-ms-win-crt-[a-z0-9-]*)\.dll",
    re.IGNORECASE,
)
_GLIBC: Final = (2, 17)
_MAX_SIZE: Final = 6_000_000


def main() -> None:
    """Build and check."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        targets = ",".join(target for platform in PLATFORMS.values() for target in platform.targets)
        command = [sys.executable, "-m", "native", "solitaire_env", targets, folder, "--portable"]
        subprocess.run(command, cwd=root, check=True)
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", root / "dist"]
        subprocess.run([*build, "--sdist"], cwd=root, check=True, stdout=subprocess.DEVNULL)
        for name in PLATFORMS:
            names = {"SOLITAIRE_ENV_PLATFORM": name, "SOLITAIRE_ENV_LIBRARIES": folder}
            subprocess.run(
                [*build, "--wheel"],
                cwd=root,
                check=True,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **names},
            )
            check(root / "dist", name)


def check(dist: Path, platform: str) -> None:
    """Raise an error if a wheel could fail on its platform; print what it has."""
    tag, targets = PLATFORMS[platform]
    (wheel,) = dist.glob(f"*-py3-none-{tag}.whl")
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if name.startswith("solitaire_env/compiled/")]
        size = sum(each.file_size for each in archive.infolist())
        found = sorted(Path(name).stem for name in libraries)
        if found != sorted(targets):
            raise ValueError(f"{wheel.name} has libraries for {found}, allowed: {list(targets)}")
        if size > _MAX_SIZE:
            raise ValueError(f"{wheel.name} has {size:,} bytes when unpacked, allowed: {_MAX_SIZE:,}")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, {size:,} unpacked")
        for name in libraries:
            print(f"  {Path(name).name}: {check_library(archive.read(name))}")


def check_library(content: bytes) -> str:
    """Raise an error if a library needs what its platform may not have; its size, and what it needs."""
    library: Any = lief.parse(content)
    needed = sorted({getattr(each, "name", each) for each in library.libraries})
    functions = sorted({each.name.lstrip("_") for each in library.imported_functions})
    wrong = [name for name in needed if not _NEEDED.fullmatch(name)]
    if not isinstance(library, lief.PE.Binary):
        wrong += [name for name in functions if name not in _FUNCTIONS]
    if isinstance(library, lief.ELF.Binary):
        versions = {
            each.name for of in library.symbols_version_requirement for each in of.get_auxiliary_symbols()
        }
        wrong += [name for name in versions if tuple(map(int, re.findall(r"\d+", name)))[:2] > _GLIBC]
        functions += sorted(versions)
    entry_points = [each.name for each in library.exported_functions if "solitaire_env__" in each.name]
    if wrong or not entry_points:
        raise ValueError(f"a library needs {wrong}, and has {len(entry_points)} entry points")
    return f"{len(content):,} bytes, {len(entry_points)} entry points, needs {', '.join(needed + functions)}"


if __name__ == "__main__":
    main()
