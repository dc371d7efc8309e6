"""The shared libraries with the compiled kernels: which one is loaded, and in a checkout, when it is built.

An installed package contains its library. In a checkout the library is built when it is first needed and
after each edit of a file that may be compiled into it, and is kept in a folder of the user. The name of a
library contains its size: one that was cut is not loaded, because Linux would end the process without a word.
"""

import ctypes
import hashlib
import importlib
import os
import platform
import re
import subprocess
import sys
import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from solitaire_env.util.files import locked
from solitaire_env.util.lazy import VARIANTS_KEPT
from solitaire_env.util.messages import one_line, say

_MODES: Final = ("compiled", "checked", "python")
MODE: Final = os.environ.get("SOLITAIRE_ENV_KERNELS", "compiled")
"""How kernels run, see :mod:`solitaire_env.core.native`."""
if MODE not in _MODES:
    raise ValueError(f"SOLITAIRE_ENV_KERNELS is {MODE!r}, allowed: {', '.join(map(repr, _MODES))}")

FROZEN: Final = getattr(sys, "frozen", False)
"""Whether this is a program of PyInstaller or a similar tool. Such tools may sign libraries: sizes change."""
WEB: Final = "wasm32"
"""The target for web pages, the same for all platforms."""
BUILD_TIMEOUT_S: Final = 900.0
"""Seconds to wait for another process that builds the same library."""

# What x86-64-v3 needs beyond x86-64, as Linux names it.
_V3: Final = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_SYSTEMS: Final = {"linux": "linux", "darwin": "macos", "win32": "windows"}
_MACHINES: Final = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}


def this_platform() -> str:
    """The name of the platform that this process runs on."""
    system = _SYSTEMS.get(sys.platform, sys.platform)
    machine = _MACHINES.get(platform.machine().lower(), platform.machine())
    return f"{system}-{machine}"


@cache
def targets() -> tuple[str, ...]:
    """Names of the targets whose code this processor runs, the fastest first."""
    base = this_platform()
    if base == "linux-x86_64":
        try:
            described = Path("/proc/cpuinfo").read_text()
        except OSError:  # a container may hide it
            return (base,)
        flags = re.search(r"^flags\s*:(.*)", described, flags=re.MULTILINE)
        if flags and set(flags[1].split()) >= _V3:
            return f"{base}-v3", base
    return (base,)


@cache
def load(package: str) -> ctypes.CDLL:
    """The library with the kernels of a package.

    Raises
    ------
    ImportError
        If there is none for this platform, and it cannot be built; if it is damaged or cannot be loaded.
    """
    found = _find(package, targets())
    if found is None:
        advice = "install it from a checkout, or set SOLITAIRE_ENV_KERNELS=python, which is slow"
        if FROZEN:
            advice = (
                f"this frozen program lacks the files of {package}/compiled, which an installed package has: "
                "freeze it where the package is installed, not in a checkout; PyInstaller then adds them"
            )
        raise ImportError(f"{package} has no compiled code for {targets()[-1]}; {advice}")
    try:
        return ctypes.CDLL(str(found))
    except OSError as error:
        raise ImportError(f"{found} cannot be loaded: {one_line(error)}") from None


def web_library(package: str) -> Path:
    """The file with the kernels of a package as WebAssembly.

    Raises
    ------
    ImportError
        If there is none, and it cannot be built.
    """
    found = _find(package, (WEB,))
    if found is None:
        raise ImportError(f"{package} has no compiled code for {WEB}; install it from a checkout")
    return found


def _find(package: str, allowed: tuple[str, ...]) -> Path | None:
    """The library of a package for the first of these targets that it has; in a checkout, that of the
    first.
    """
    folder = Path(os.path.abspath(str(importlib.import_module(package).__file__))).parent
    for target in allowed:
        for path in _files(folder / "compiled", target):
            if _is_cut(path) and not FROZEN:
                size = path.stat().st_size
                raise ImportError(f"{path} is damaged: it has {size} bytes; install {package} again")
            return path
    if (folder.parent / "native" / "__main__.py").is_file():
        return _built(folder, allowed[0])
    return None


def file_name(target: str, library: bytes, suffix: str) -> str:
    """The name of the file with a library, which contains its size."""
    return f"{target}.{len(library)}{suffix}"


def _files(folder: Path, target: str) -> list[Path]:
    """The libraries for a target in a folder."""
    return list(folder.glob(f"{target}.*.*"))


def _is_cut(path: Path) -> bool:
    """Whether a library is shorter than its name says. Tools that repack libraries may make it longer."""
    return path.stat().st_size < int(path.name.split(".")[1])


@lru_cache(16 * VARIANTS_KEPT)
def entry_point(package: str, symbol: str) -> Any:
    """The function of a library that a kernel calls; None if it has no such function."""
    entry = getattr(load(package), symbol, None)
    if entry is not None:
        entry.restype = None
    return entry


def stamp(folder: Path, target: str | None = None) -> str:
    """A hash of all that the library of a package is made from: the files of folders with kernels, which may
    hold constants of theirs, and the builder.
    """
    target = target or targets()[0]
    digest = hashlib.sha256(f"{_mode(target)} {target}".encode())
    packages = {folder, Path(os.path.abspath(__file__)).parents[1]}
    for path in sorted(path for package in packages for path in sources(package)):
        digest.update(f"{path.name} ".encode() + path.read_bytes())
    for path in sorted((folder.parent / "native").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def sources(folder: Path) -> list[Path]:
    """The Python files of a package's folders with kernels."""
    texts = {path: path.read_bytes() for path in folder.rglob("*.py")}
    folders = {
        path.parent for path, text in texts.items() if re.search(rb"^@(kernel|inner)\b", text, re.MULTILINE)
    }
    return [path for path in texts if path.parent in folders]


def _mode(target: str) -> str:
    """How kernels run that are built for a target."""
    return "compiled" if target == WEB else MODE


def _built(folder: Path, target: str) -> Path:
    """The library of a package in a checkout; built if the sources have changed."""
    try:
        libraries = _private_folder(f"{folder.name}-{target}-{_mode(target)}-{stamp(folder, target)}")
    except OSError as error:
        raise ImportError(f"the kernels of {folder.name} cannot be kept: {error}") from None

    def whole() -> list[Path]:
        return [path for path in _files(libraries, target) if not _is_cut(path)]

    found = whole()
    if not found:
        with locked(libraries, BUILD_TIMEOUT_S):
            found = whole()  # another process may have built it meanwhile
            if not found:
                _build(folder, target, libraries)
                found = whole()
    return found[0]


def _build(folder: Path, target: str, libraries: Path) -> None:
    """Build a library in another process."""
    began = time.perf_counter()
    say(f"solitaire-env: building the kernels of {folder.name}, about a minute ...")
    options = ["--checked"] if _mode(target) == "checked" else []
    done = subprocess.run(
        [sys.executable, "-m", "native", str(folder), target, str(libraries), *options],
        cwd=folder.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        last = one_line((done.stderr.strip() or "no reason given").splitlines()[-1])
        raise ImportError(
            f"the kernels of {folder.name} have changed and could not be built ({last}); "
            "`make env` installs what the builder needs"
        )
    say(f"solitaire-env: built in {time.perf_counter() - began:.0f} s, kept in {libraries}")


def _private_folder(name: str) -> Path:
    """A folder of this user for a library, which others must not be able to write: it is executed."""
    system = {"win32": os.environ.get("LOCALAPPDATA"), "darwin": "~/Library/Caches"}
    home = system.get(sys.platform) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(home).expanduser() / "solitaire-env"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid"):  # pragma: no branch  # on Windows it is in the user's profile
        status = folder.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise PermissionError(f"{folder} can be written by others, allowed: a folder of this user only")
    (folder / name).mkdir(exist_ok=True, mode=0o700)
    return folder / name
