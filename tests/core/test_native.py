"""Calls of compiled functions: what is checked, how arguments are packed, and the library that is loaded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solitaire_env.core import library, make_rules
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.moves import decode_action
from solitaire_env.core.rules.state import State
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import dealt

ROOT = Path(__file__).parents[2]
RULES = make_rules(get_variant("busy-aces"))


def two_games() -> tuple[State, np.ndarray]:
    batch = dealt(get_variant("busy-aces"), 0, 1)
    return batch.state, np.arange(2)


# ----------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"row": 1.5}, ("row is a float", "an int")),
        ({"state": (1, 2)}, ("state is a tuple", "a State")),
        ({"state": two_games()[0]._replace(home=[1, 2])}, ("state.home is a list", "int64 array [batch]")),
        ({"state": two_games()[0]._replace(home=np.zeros(2, dtype=np.int8))}, ("int8 [2]", "int64 array")),
        ({"state": two_games()[0]._replace(home=np.zeros((2, 1), dtype=np.int64))}, ("int64 [2, 1]",)),
        ({"state": two_games()[0]._replace(home=np.zeros(4, dtype=np.int64)[::2])}, ("not C-contiguous",)),
        ({"state": two_games()[0]._replace(home=np.zeros(3, dtype=np.int64))}, ("3 batch", "allowed: 2")),
        ({"rules": make_rules(get_variant("eights-down"))}, ("rules.row_size, allowed",)),
    ],
)
def test_wrong_arguments_are_refused(refuses: Refuses, change: dict[str, object], words: tuple[str]) -> None:
    arguments = {"rules": RULES, "state": two_games()[0], "row": 0, "action": 0} | change
    refuses(lambda: decode_action(*arguments.values()), "decode_action", *words)


def test_the_number_of_arguments_is_checked(refuses: Refuses) -> None:
    refuses(lambda: derive_rows(RULES), "1 arguments, allowed: 3 (rules, state, rows)")


# ------------------------------------------------------------------------------------------ calls


def test_a_bound_kernel_sees_changes_of_its_arrays() -> None:
    state, rows = two_games()
    derive = derive_rows.bind(RULES, state, rows)
    state.rows[1] = state.rows[0]
    derive()
    for name, array in zip(state._fields, state, strict=True):
        np.testing.assert_array_equal(array[1], array[0], name)


@pytest.mark.slow
def test_an_index_outside_an_array_is_an_error_if_checked() -> None:
    """In a process of its own, which builds the library with checks once."""
    code = (
        "import numpy as np\n"
        "from solitaire_env.core import make_rules, make_state\n"
        "from solitaire_env.core.rules.derive import derive_rows\n"
        "from solitaire_env.variants import get_variant\n"
        "rules = make_rules(get_variant('busy-aces'))\n"
        "try: derive_rows(rules, make_state(rules, 2), np.array([2]))\n"
        "except IndexError as error: print(error)\n"
    )
    environ = {**os.environ, "SOLITAIRE_ENV_KERNELS": "checked"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert "derive_rows: an index is outside its array" in done.stdout.replace(">", "")


# ---------------------------------------------------------------------------------------- library


def copy_of_the_checkout(folder: Path) -> Path:
    """The package and a builder that only notes that it ran."""
    shutil.copytree(ROOT / "solitaire_env", folder / "solitaire_env", ignore=shutil.ignore_patterns("*.pyc"))
    (folder / "native").mkdir()
    (folder / "native" / "__init__.py").touch()
    built = library._built(ROOT / "solitaire_env", library.targets()[0])
    (folder / "native" / "__main__.py").write_text(
        "import shutil, sys, time, pathlib\n"
        "pathlib.Path('built').open('a').write('x')\n"
        "time.sleep(0.2)\n"
        f"shutil.copy({str(built)!r}, sys.argv[3])\n"
    )
    return folder


STEP = "import gymnasium, solitaire_env; gymnasium.make('Solitaire/BusyAces-v0').reset(seed=0)"


def run(folder: Path, code: str = STEP, **environ: str) -> subprocess.CompletedProcess[str]:
    environ = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(folder), **environ}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=os.environ | environ, capture_output=True, text=True
    )


posix = pytest.mark.skipif(sys.platform != "linux", reason="the folder is named otherwise")


@posix
def test_an_edit_is_built_once(tmp_path: Path) -> None:
    """By one of several processes; files without kernels do not count."""
    folder = copy_of_the_checkout(tmp_path)
    environ = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(folder)}
    together = [
        subprocess.Popen([sys.executable, "-c", STEP], cwd=folder, env=os.environ | environ) for _ in range(3)
    ]
    assert [process.wait(100) for process in together] == [0, 0, 0]
    assert (folder / "built").read_text() == "x"
    with (folder / "solitaire_env" / "cli.py").open("a") as file:
        file.write("# an edit\n")
    assert run(folder).returncode == 0
    assert (folder / "built").read_text() == "x"
    with (folder / "solitaire_env" / "core" / "cards.py").open("a") as file:
        file.write("# an edit\n")
    done = run(folder, SOLITAIRE_ENV_QUIET="")
    assert (folder / "built").read_text() == "xx"
    assert done.stderr.splitlines()[0] == (
        "solitaire-env: building the kernels of solitaire_env, about a minute ..."
    )


def cut(path: Path, size: int) -> None:
    """Make a file shorter; a new one, as another process may have loaded it."""
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole[:size])


CUTS = {"to nothing": 0, "to its head": 64, "to half": 100_000, "by a byte": -1}


@posix
def test_a_library_that_was_cut_is_built_again(tmp_path: Path) -> None:
    """Linux ends a process that uses what is missing."""
    folder = copy_of_the_checkout(tmp_path)
    assert run(folder).returncode == 0
    for count, size in enumerate(CUTS.values(), 2):
        [path] = (folder / "cache").rglob("*.so")
        whole = path.read_bytes()
        cut(path, size)
        done = run(folder)
        assert done.returncode == 0, done.stderr
        assert (folder / "built").read_text() == "x" * count and path.read_bytes() == whole
        # Others cannot write to it.
        assert not path.parent.stat().st_mode & 0o077


def installed(folder: Path) -> tuple[Path, Path]:
    """A copy of the package with its library, as a wheel installs it."""
    copy_of_the_checkout(folder)
    shutil.rmtree(folder / "native")
    built = library._built(ROOT / "solitaire_env", library.targets()[0])
    compiled = folder / "solitaire_env" / "compiled"
    compiled.mkdir()
    return folder, Path(shutil.copy(built, compiled))


@posix
@pytest.mark.parametrize("how", [*CUTS, "to zeros"])
def test_a_damaged_installed_library_is_an_error_that_names_it(how: str, tmp_path: Path) -> None:
    folder, path = installed(tmp_path)
    if how in CUTS:
        cut(path, CUTS[how])
    else:
        path.write_bytes(bytes(path.stat().st_size))
    done = run(folder)
    assert done.returncode == 1
    last, says = done.stderr.splitlines()[-1], "is damaged" if how in CUTS else "cannot be loaded: "
    assert last.startswith(f"ImportError: {path} {says}")
    assert "install solitaire_env again" in last or how not in CUTS


@posix
def test_a_frozen_program_without_its_library_says_how_to_freeze_it(tmp_path: Path) -> None:
    folder, path = installed(tmp_path)
    frozen = f"import sys; sys.frozen = True; {STEP}"
    cut(path, -1)  # a tool has signed it again
    done = run(folder, frozen)
    assert done.returncode == 0, done.stderr
    path.unlink()
    last = run(folder, frozen).stderr.splitlines()[-1]
    assert "lacks the files of solitaire_env/compiled" in last and "PyInstaller" in last
    assert "from a checkout" not in last


def test_without_a_description_of_the_processor_code_for_all_of_its_kind_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hidden(path: Path, *_: object, **__: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(library, "this_platform", lambda: "linux-x86_64")
    monkeypatch.setattr(Path, "read_text", hidden)
    assert library.targets.__wrapped__() == ("linux-x86_64",)


@posix
def test_a_failed_build_is_one_sentence(tmp_path: Path) -> None:
    folder = copy_of_the_checkout(tmp_path)
    (folder / "native" / "__main__.py").write_text("raise ModuleNotFoundError(\"No module named 'numba'\")")
    done = run(folder)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: the kernels of solitaire_env have changed and could not be built")
    assert "No module named 'numba'" in last and "make env" in last


@posix
def test_without_a_library_and_a_builder_the_error_says_what_to_do(tmp_path: Path) -> None:
    folder = copy_of_the_checkout(tmp_path)
    shutil.rmtree(folder / "native")
    assert "SOLITAIRE_ENV_KERNELS=python" in run(folder).stderr.splitlines()[-1]
    assert run(folder, SOLITAIRE_ENV_KERNELS="python").returncode == 0
    done = run(folder, SOLITAIRE_ENV_KERNELS="fast")
    assert "allowed: 'compiled', 'checked', 'python'" in done.stderr.splitlines()[-1]
