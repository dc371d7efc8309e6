"""The compiler gate: new code after any edit, damaged and missing files, the notice, threads."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from solitaire_env.core import (
    code_cache,
    get_num_threads,
    jit_kernel,
    max_threads,
    set_num_threads,
    typed_once,
)
from solitaire_env.core.code_cache import Folders
from tests.games import COMPILED

ROOT = Path(__file__).parents[2]
compiled = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def run(script: str, folder: Path, check: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a new process that imports from a folder and compiles for one thread."""
    environ = {"PYTHONPATH": str(folder), "SOLITAIRE_ENV_QUIET": "1", "NUMBA_CACHE_DIR": "", **environ}
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=check,
    )


@compiled
def test_read_only_arrays_have_no_code_of_their_own() -> None:
    """Users pass views, and compiling takes up to minutes."""

    def total(numbers):  # type: ignore[no-untyped-def]
        return numbers.sum()

    numbers = np.arange(3)
    for kinds in ((False, True), (True, False)):
        kernel = jit_kernel(total)
        call = typed_once(kernel)
        for writable in kinds:
            numbers.setflags(write=writable)
            assert call(numbers) == 3
        [signature] = kernel.signatures  # type: ignore[attr-defined]
        assert signature[0].mutable


# ---------------------------------------------------------------------------- an edit is seen

CALLS = {
    "solitaire_env/core/layout.py": "solitaire_env/core/engine.py",
    "solitaire_env/core/engine.py": "solitaire_env/move_features/moves.py",
    "solitaire_env/move_features/dig_outs.py": "solitaire_env/move_features/positions.py",
    "solitaire_env/move_features/autoplay.py": "agents/search/rollouts.py",
    "agents/search/positions.py": "agents/search/rollouts.py",
}
"""Files of the project, each with another file that calls its kernels or uses a constant of it."""

CALLED = (
    "from solitaire_env.core._jit import jit_inline\n@jit_inline\ndef probe_{n}(x):\n    return x + {value}\n"
)
CALLER = (
    "from solitaire_env.core._jit import jit_kernel\n"
    "from {module} import {name}\n"
    "@jit_kernel\n"
    "def call_{n}(x):\n"
    "    return {code}\n"
)


def module_name(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


@compiled
@pytest.mark.proof
def test_an_edit_in_another_file_recompiles(tmp_path: Path) -> None:
    """Numba's own cache would use the old code. Kernels are appended to copies of the real files."""
    for package in ("solitaire_env", "agents"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    texts = {}
    lines = []
    for n, (called, caller) in enumerate(CALLS.items()):
        constant = called.endswith("layout.py")
        name, code = (f"PROBE_{n}", f"x + PROBE_{n}") if constant else (f"probe_{n}", f"probe_{n}(x)")
        texts[called] = f"PROBE_{n} = {{value}}\n" if constant else CALLED.replace("{n}", str(n))
        with open(tmp_path / caller, "a") as file:
            file.write(CALLER.format(module=module_name(called), name=name, code=code, n=n))
        lines.append(f"from {module_name(caller)} import call_{n}")
        lines.append(f"print(call_{n}(0), sum(call_{n}.stats.cache_misses.values()))")
    originals = {called: (tmp_path / called).read_text() for called in CALLS}

    def write(called: str, value: int) -> None:
        (tmp_path / called).write_text(originals[called] + texts[called].format(value=value))

    def results() -> list[list[int]]:
        said = run("\n".join(lines), tmp_path).stdout.splitlines()
        return [list(map(int, line.split())) for line in said]

    for called in CALLS:
        write(called, 1)
    assert results() == [[1, 1]] * len(CALLS)
    assert results() == [[1, 0]] * len(CALLS), "compiled code is kept"
    for n, called in enumerate(CALLS):
        write(called, 2)
        values = [value for value, _ in results()]
        assert values == [2] * (n + 1) + [1] * (len(CALLS) - n - 1), called


def kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    """The jitted functions of a file."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id.startswith("jit") for mark in node.decorator_list)
    ]


def not_stamped(file: Path) -> list[str]:
    """Names that the kernels of a file use from files of the project that its stamp does not cover."""
    tree = ast.parse(file.read_text())
    origin = {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    folder, in_package = code_cache._top(str(file.parent))
    core = Path(code_cache.__file__).parent
    covered = {**code_cache._digests(core.parent, True), **code_cache._digests(folder, in_package)}
    found = []
    for kernel in kernels(tree):
        for name in {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name)} & set(origin):
            module = origin[name]
            path = ROOT.joinpath(*module.split("."))
            files = {str(path.with_suffix(".py")), str(path / "__init__.py")}
            if module.split(".")[0] in ("solitaire_env", "agents") and not files & set(covered):
                found.append(f"{file}, {kernel.name}: {name} from {module}")
    return found


def test_stamps_cover_all_files_that_kernels_use() -> None:
    files = [path for package in ("solitaire_env", "agents") for path in (ROOT / package).rglob("*.py")]
    with_kernels = [path for path in files if kernels(ast.parse(path.read_text()))]
    assert len(with_kernels) > 5
    assert [fault for path in with_kernels for fault in not_stamped(path)] == []


def test_the_stamp_check_finds_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(
        "from solitaire_env.registration import LIMIT\n"
        "from solitaire_env.core.layout import WON\n"
        "from solitaire_env.core import jit\n"
        "@jit\ndef kernel(x): return x + LIMIT + WON\n"
    )
    assert [fault.rpartition(": ")[2] for fault in not_stamped(file)] == [
        "LIMIT from solitaire_env.registration"
    ]


def test_only_the_gate_imports_numba() -> None:
    for folder in ("solitaire_env", "agents", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            imported = {
                name.split(".")[0]
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Import | ast.ImportFrom)
                for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else
                             [alias.name for alias in node.names])
            }  # fmt: skip
            gate = path == ROOT / "solitaire_env" / "core" / "_jit.py"
            assert bool({"numba", "llvmlite"} & imported) == gate, path


# ------------------------------------------------------------------------------ compiled code on disk

KERNELS = """
import numpy as np
from solitaire_env.core import jit, jit_kernel, jit_parallel, prange

LIMIT = 3

@jit
def _inner(x):
    return x + LIMIT

@jit_kernel
def kernel(x):
    return _inner(x)

@jit_kernel
def read(values, place):
    return values[place]

@jit_parallel
def double(values):
    for n in prange(len(values)):
        values[n] *= 2
"""


class Kernels:
    """A file of kernels, imported repeatedly as new processes would do."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "kernels.py"
        self.file.write_text(KERNELS)
        self.cache = folder / "__pycache__"

    def load(self, new_process: bool = True) -> ModuleType:
        if new_process:
            code_cache._edited.clear()
            for function in (code_cache._digests, code_cache._stamp, code_cache.folders_of):
                function.cache_clear()
        spec = spec_from_file_location("kernels", self.file)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = before
        return module

    def misses(self, module: ModuleType) -> int:
        return sum(module.kernel.stats.cache_misses.values())

    def files(self) -> list[Path]:
        return sorted(self.cache.rglob("*"))


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernels:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(code_cache, "_edited", set())
    monkeypatch.setattr(Folders, "_reported", False)
    folder = tmp_path / "source"
    folder.mkdir()
    return Kernels(folder)


@compiled
def test_compiled_code_is_kept(ours: Kernels) -> None:
    first = ours.load()
    assert (first.kernel(1), ours.misses(first)) == (4, 1)
    names = [path.name.split(".")[:2] for path in ours.files()]
    assert names == [["kernels", "_inner"], ["kernels", "kernel"]]
    assert first.kernel.stats.cache_path == str(ours.cache)
    second = ours.load()
    assert (second.kernel(1), ours.misses(second)) == (4, 0)
    assert (second.kernel(1.5), ours.misses(second)) == (4.5, 1)
    assert len(ours.files()) == 4


@compiled
def test_both_versions_of_a_parallel_kernel_are_kept(ours: Kernels) -> None:
    import numpy as np

    for misses in (1, 0):
        double = ours.load().double
        for kernel in (double.alone, double.spread):
            values = np.arange(3)
            kernel(values)
            assert values.tolist() == [0, 2, 4]
            assert sum(kernel.stats.cache_misses.values()) == misses


@compiled
def test_constant_arguments_share_compiled_code(ours: Kernels) -> None:
    """Numba alone would compile ``_inner`` for 1, for 2 and for a variable."""
    ours.file.write_text(KERNELS.replace("return _inner(x)", "return _inner(1) + _inner(2) + _inner(x)"))
    module = ours.load()
    assert module.kernel(4) == 4 + 5 + 7
    assert len(module._inner.overloads) == 1


@compiled
def test_flags_are_compiled_for_each_constant(ours: Kernels) -> None:
    text = KERNELS.replace("return _inner(x)", "return _inner(1) + _inner(2) + _inner(x)")
    gate = "from solitaire_env.core._jit import jit_flagged"
    ours.file.write_text(text.replace("@jit\ndef _inner", f"{gate}\n@jit_flagged\ndef _inner"))
    module = ours.load()
    assert module.kernel(4) == 4 + 5 + 7
    assert len(module._inner.overloads) == 3


@compiled
def test_an_edit_is_used_in_the_same_process(ours: Kernels) -> None:
    """A notebook reloads a file. Nothing is kept then: the process may have old code of other files."""
    assert ours.load().kernel(1) == 4
    before = ours.files()
    ours.file.write_text(KERNELS.replace("LIMIT = 3", "LIMIT = 4"))
    for _ in range(2):
        module = ours.load(new_process=False)
        assert (module.kernel(1), ours.misses(module)) == (5, 1)
    assert ours.files() == before
    module = ours.load()
    assert (module.kernel(1), ours.misses(module)) == (5, 1)
    assert len(ours.files()) == 2 and not set(ours.files()) & set(before)


@compiled
def test_numba_settings_have_separate_code(ours: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """One folder may have code with bounds checks and code without."""
    import numpy as np

    for _ in range(2):
        monkeypatch.setattr(numba.config, "BOUNDSCHECK", None)
        assert ours.load().read(np.arange(2), 1) == 1
        monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
        with pytest.raises(IndexError):
            ours.load().read(np.arange(2), 9)
    assert len(ours.files()) == 2


@compiled
def test_a_closure_is_not_kept(ours: Kernels) -> None:
    """The values that it captures are in no source file."""
    ours.file.write_text(
        "from solitaire_env.core import jit_kernel\n"
        "def make(n):\n    @jit_kernel\n    def kernel(x):\n        return x + n\n    return kernel\n"
    )
    module = ours.load()
    assert [module.make(n)(1) for n in (1, 2)] == [2, 3]
    assert ours.files() == []


@compiled
@pytest.mark.parametrize("content", [b"", b"\x80", b"garbage" * 100], ids=["empty", "cut", "garbage"])
def test_damaged_files_are_replaced(ours: Kernels, content: bytes) -> None:
    ours.load().kernel(1)
    for path in ours.files():
        path.write_bytes(content)
    for misses in (1, 0):
        module = ours.load()
        assert (module.kernel(1), ours.misses(module)) == (4, misses)


@compiled
@pytest.mark.parametrize("content", ["whatever", (1, 2), tuple(range(9))], ids=repr)
def test_a_file_with_other_content_is_replaced(
    ours: Kernels, content: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is complete, but its content is no compiled function."""
    import pickle

    from solitaire_env.core import _jit

    with monkeypatch.context() as patch:
        patch.setattr(_jit, "dumps", lambda _: pickle.dumps(content))
        ours.load().kernel(1)
    for misses in (1, 0):
        module = ours.load()
        assert (module.kernel(1), ours.misses(module)) == (4, misses)


@compiled
def test_kernels_work_if_no_folder_is_writable(
    ours: Kernels, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One notice reports it."""
    blocked = tmp_path / "file"
    blocked.touch()
    ours.cache.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(code_cache, "_temporary_folder", lambda: blocked)
    monkeypatch.setenv("SOLITAIRE_ENV_QUIET", "0")
    module = ours.load()
    assert module.kernel(1) == 4 and module.kernel.stats.cache_path is None
    assert module.read.stats.cache_path is None and module.kernel(1.5) == 4.5
    said = capsys.readouterr().err
    assert said.count("compiled code is not kept: cannot write to") == 1


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from kernels import kernel
print(kernel(1))
"""


@compiled
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_an_incomplete_file_is_removed(tmp_path: Path) -> None:
    """The process may write 1,000 bytes per file."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    places = {name: str(tmp_path / name) for name in ("XDG_CACHE_HOME", "TMPDIR", "NUMBA_CACHE_DIR")}
    for place in places.values():
        Path(place).mkdir()
    done = run(
        LIMITED, tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}", SOLITAIRE_ENV_QUIET="0", **places
    )
    assert done.stdout == "4\n"
    assert done.stderr.count("compiled code is not kept") == 1 and "File too large" in done.stderr
    assert [
        path for path in tmp_path.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    ] == []


@compiled
def test_only_one_of_several_processes_compiles(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    script = "from kernels import kernel; print(kernel(1), sum(kernel.stats.cache_misses.values()))"
    environ = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    together = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    said = [process.communicate()[0] for process in together]
    assert [process.returncode for process in together] == [0] * 3
    assert {line.split()[0] for line in said} == {"4"}
    if sys.platform != "win32":  # there each compiles for itself
        assert sorted(line.split()[1] for line in said) == ["0", "0", "1"]
    assert run(script, tmp_path, **environ).stdout == "4 0\n"
    assert len([path for path in (tmp_path / "cache").rglob("*") if path.is_file()]) == 2


# ----------------------------------------------------------------------------------------- notice

NOTICED = """
import numba
from kernels import kernel, read
numba.njit(lambda x: x)(1)
print(kernel(1))
numba.njit(lambda x: x + 1)(1)
import numpy as np
read(np.arange(3), 1)
"""


@compiled
def test_compiling_is_reported_in_one_line(tmp_path: Path) -> None:
    """The function, the number of functions and the folder; functions of other libraries are not reported."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    environ = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "SOLITAIRE_ENV_QUIET": ""}
    said = run(NOTICED, tmp_path, **environ).stderr
    expected = (
        f"solitaire-env: compiling kernels.kernel, about 2 functions, kept in {tmp_path / '__pycache__'}"
    )
    assert said == f"{expected} ...\n"
    shutil.rmtree(tmp_path / "__pycache__")
    assert run(NOTICED, tmp_path, PYTHONPATH=environ["PYTHONPATH"], SOLITAIRE_ENV_QUIET="1").stderr == ""


@compiled
def test_parts_are_not_counted_but_their_callees_are(tmp_path: Path) -> None:
    text = KERNELS.replace("import jit,", "import jit, jit_part,").replace(
        "return _inner(x)", "return _part(x)"
    )
    part = "@jit_part\ndef _part(x):\n    return _inner(x)\n\n"
    head = "@jit_kernel\ndef kernel"
    (tmp_path / "kernels.py").write_text(text.replace(head, part + head))
    environ = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "SOLITAIRE_ENV_QUIET": ""}
    done = run("from kernels import kernel; print(kernel(1))", tmp_path, **environ)
    assert done.stdout == "4\n" and "compiling kernels.kernel, about 2 functions," in done.stderr


@compiled
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_a_terminal_shows_a_live_line(tmp_path: Path) -> None:
    """It shows the progress, and is cleared at the end."""
    import pty

    (tmp_path / "kernels.py").write_text(KERNELS)
    ours, theirs = pty.openpty()
    environ = {
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "SOLITAIRE_ENV_QUIET": "0",
        "NUMBA_CACHE_DIR": "",
        "TERM": "xterm",
        "COLUMNS": "100",
    }
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(
            [sys.executable, "-c", NOTICED],
            cwd=tmp_path,
            env={**os.environ, **environ},
            stdout=output,
            stderr=theirs,
            check=True,
        )
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    shown = [text for text in said.split("\r\033[2K") if text]
    assert shown[0] == "solitaire-env: compiling, 0 of about 2 functions (kernels.kernel)"
    assert said.endswith("\r\033[2K") and "\n" not in said


# ---------------------------------------------------------------------------------------- threads


@pytest.fixture
def limit() -> Any:
    before = get_num_threads()
    yield before
    set_num_threads(before)


def test_the_number_of_threads_is_set_and_checked(limit: int, refuses: Callable[..., None]) -> None:
    assert 1 <= limit <= max_threads()
    set_num_threads(1)
    assert get_num_threads() == numba.get_num_threads() == 1
    for count in (0, max_threads() + 1):
        refuses(
            lambda count=count: set_num_threads(count), f"threads is {count}, allowed: 1 to {max_threads()}"
        )
