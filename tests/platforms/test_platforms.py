"""Libraries for other processors repeat recorded calls of all kinds of kernels, equal to the last byte."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.external
FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
TARGETS = ("linux-x86_64", "linux-x86_64-v3", "linux-arm64", "windows-x86_64", "wasm32")
COMPILERS = {
    "linux-x86_64": "x86_64-linux-gnu", "linux-x86_64-v3": "x86_64-linux-gnu",
    "linux-arm64": "aarch64-linux-gnu.2.17", "windows-x86_64": "x86_64-windows-gnu",
}  # fmt: skip
RUNNERS = {"linux-arm64": ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], "windows-x86_64": ["wine"]}


def _run(*command: object, **names: str) -> str:
    done = subprocess.run(
        [str(each) for each in command], cwd=ROOT, capture_output=True, text=True, env={**os.environ, **names}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries")
    _run(sys.executable, "-m", "native", "solitaire_env", ",".join(TARGETS), folder, "--portable")
    return folder


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory, libraries: Path) -> Path:
    """Calls of the library for x86-64, which a copy of the package has as an installed one does."""
    folder = tmp_path_factory.mktemp("record")
    shutil.copytree(ROOT / "solitaire_env", folder / "solitaire_env")
    (folder / "solitaire_env" / "compiled").mkdir()
    (library,) = libraries.glob("linux-x86_64.*")
    shutil.copy(library, folder / "solitaire_env" / "compiled")
    path = folder / "calls"
    _run(sys.executable, FOLDER / "record.py", path, PYTHONPATH=str(folder))
    return path


def _repeat(target: str, libraries: Path, record: Path, tmp_path: Path, *compiler: str) -> tuple[int, str]:
    (library,) = libraries.glob(f"{target}.*")
    if target == "wasm32":
        command = ["node", FOLDER / "play.mjs"]
    else:
        program = tmp_path / "play.exe"
        math = [] if target.startswith("windows") else ["-lm", "-ldl"]
        target_options = compiler or (COMPILERS[target],)
        zig = [sys.executable, "-m", "ziglang", "cc", "-O1", "-target", *target_options]
        _run(*zig, FOLDER / "play.c", "-o", program, *math)
        command = [*RUNNERS.get(target, []), program]
    names = {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, record, library], capture_output=True, text=True, env={**os.environ, **names}
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_another_processor_computes_the_same(target, libraries, record, tmp_path):
    code, text = _repeat(target, libraries, record, tmp_path)
    assert code == 0, text


@pytest.mark.parametrize("target", ["linux-x86_64", "linux-x86_64-v3"])
def test_the_library_for_linux_also_runs_with_musl(target, libraries, record, tmp_path):
    """The C library of Alpine; Debian's package ``musl`` has its loader."""
    code, text = _repeat(target, libraries, record, tmp_path, "x86_64-linux-musl", "-dynamic")
    assert code == 0, text


def _first_result(record):
    """The place of the first array after the first call, see record.py."""

    def number(at):
        return int.from_bytes(record[at : at + 8], "little")

    at = 8 + -(number(0) // -8) * 8
    at += 8 + 16 * number(at)  # the slots before and after
    size = number(at + 16)  # after the number of arrays, and the slot of the first
    return at + 32 + -(size // -8) * 8


@pytest.mark.parametrize("target", TARGETS)
def test_a_difference_is_found(target, libraries, record, tmp_path):
    changed = bytearray(record.read_bytes())
    changed[_first_result(changed)] ^= 64
    wrong = tmp_path / "wrong"
    wrong.write_bytes(changed)
    code, text = _repeat(target, libraries, wrong, tmp_path)
    assert code == 1
    assert "differ" in text
