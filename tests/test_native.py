"""The builder, on a package of one kernel."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import parse_wheel_filename

from native.platforms import PLATFORMS, platform_of
from solitaire_env.core.library import web_library

ROOT = Path(__file__).parents[1]
SOURCE = """
from typing import Annotated

from solitaire_env.core.native import Int64, inner, kernel


@inner
def larger(a, b):
    return max(a, b)


@kernel
def largest(numbers: Annotated[Int64, "n"]) -> int:
    best = numbers[0]
    for number in numbers:
        best = larger(best, number)
    return best
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_package(tmp_path / "here")


def write_package(folder: Path) -> Path:
    package = folder / "toy_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(SOURCE)
    return package


def start(package: Path, targets: str, out: Path, **names: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "native", package, targets, out],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{package.parent}", **names},
    )  # fmt: skip


def build(package: Path, targets: str, out: Path, **names: str) -> tuple[int, str]:
    with start(package, targets, out, **names) as process:
        _, errors = process.communicate()
    return process.returncode, errors


@pytest.mark.slow
def test_the_same_source_gives_the_same_bytes(package: Path, tmp_path: Path) -> None:
    elsewhere = write_package(tmp_path / "elsewhere")
    libraries = []
    for number, folder in enumerate((package, package, elsewhere)):
        out = tmp_path / str(number)
        out.mkdir()
        code, errors = build(folder, "linux-x86_64", out, PYTHONHASHSEED=str(number), NUMBA_OPT="1")
        assert code == 0, errors
        [library] = out.iterdir()
        libraries.append(library.read_bytes())
        assert library.name == f"linux-x86_64.{len(libraries[-1])}.so"
    assert libraries[0] == libraries[1] == libraries[2]
    assert str(tmp_path).encode() not in libraries[0]


def test_a_platform_without_kernels_is_one_sentence() -> None:
    with pytest.raises(ValueError, match="platform 'freebsd-amd64', allowed: linux-x86_64, ") as raised:
        platform_of("freebsd-amd64")
    assert len(str(raised.value).splitlines()) == 1
    for name, platform in PLATFORMS.items():
        assert platform_of(name) is platform


def test_an_unknown_target_is_one_sentence(package: Path, tmp_path: Path) -> None:
    code, errors = build(package, "linux-x86_64,amiga", tmp_path)
    assert code == 2
    assert "unknown target 'amiga', allowed: linux-x86_64, " in errors
    assert "Traceback" not in errors


def test_linux_wheels_are_installed_with_glibc_and_with_musl() -> None:
    for name, platform in PLATFORMS.items():
        *_, tags = parse_wheel_filename(f"solitaire_env-0.1.0-py3-none-{platform.tag}.whl")
        systems = {re.split(r"_?\d", tag.platform)[0] for tag in tags}
        if name.startswith("linux-"):
            assert systems == {"manylinux", "musllinux"}
        else:
            assert len(systems) == 1 and "linux" not in systems.pop()


def imports_of(module: bytes) -> set[str]:
    """The names that a WebAssembly module imports."""

    def number(at: int) -> tuple[int, int]:
        value, shift = 0, 0
        while True:
            value |= (module[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if module[at - 1] < 128:
                return value, at

    at = 8
    while module[at] != 2:  # the section of imports
        size, at = number(at + 1)
        at += size
    _, at = number(at + 1)
    count, at = number(at)
    names = set()
    for _ in range(count):
        size, at = number(at)
        size, at = number(at + size)
        names.add(module[at : at + size].decode())
        kind, at = module[at + size], at + size + 1
        flags, at = number(at)
        if kind == 2:  # a memory: its smallest size, and perhaps its largest
            for _ in range(1 + (flags & 1)):
                _, at = number(at)
    return names


def test_the_page_provides_what_the_kernels_import() -> None:
    script = ROOT / "solitaire_env" / "play" / "web" / "engine" / "machine.js"
    [provided] = re.findall(r"const env = \{(.*)\};", script.read_text())
    assert imports_of(web_library("solitaire_env").read_bytes()) == set(re.findall(r"(\w+):", provided))
