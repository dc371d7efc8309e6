"""``python -m agents COMMAND``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.__main__ import COMMANDS, main


def test_without_a_command_the_usage_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert not out and all(f"  {name}" in err for name in COMMANDS)
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == err


def test_an_unknown_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderbord"]) == 2
    assert "error: unknown command 'leaderbord'" in capsys.readouterr().err


def run_module(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``python -m`` with a module; those in a folder can be imported, ``sitecustomize`` at the start."""
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=root,
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{root}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


HIDES = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name == {package!r} else find(name, *more)
"""


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("pydantic", "agents.evaluate --policy greedy --env busy-aces --deals 0:1"),
        ("pydantic", "agents tune configs/default.yaml --study study.log"),
        ("torch", "agents.train configs/default.yaml"),
        ("torch", "agents tune configs/default.yaml --study study.log"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDES.format(package=package))
    done = run_module(command, tmp_path)
    assert done.returncode == 2 and not done.stdout
    [error] = done.stderr.splitlines()
    assert f"needs {package}, which is not installed; in a clone" in error
    assert error.endswith("pip install -e '.[train]'")


INTERRUPTS = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def find_spec(name, *more):
    if name == {module!r}:
        raise KeyboardInterrupt
    return find(name, *more)
PathFinder.find_spec = find_spec
"""


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("agents evaluate --help", "gymnasium"),
        ("agents tune --help", "pydantic"),
        *((f"agents.{name} --help", "tyro") for name in ("evaluate", "solve", "train", "commands.plot")),
        ("agents.evaluate --policy search --env klondike --deals 0:1", "solitaire_env.search.tree_player"),
        ("solitaire_env list", "numpy"),
        ("solitaire_env list", "tyro"),
    ],
)
def test_ctrl_c_while_a_command_is_imported_ends_it_with_a_sentence(
    command: str, module: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS.format(module=module))
    done = run_module(command, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nInterrupted.\n")


def test_other_programs_keep_their_traces(tmp_path: Path) -> None:
    """Importing the package changes nothing in programs that are not ours."""
    for text, words in (("raise KeyboardInterrupt", "KeyboardInterrupt"), ("1 / 0", "ZeroDivisionError")):
        (tmp_path / "theirs.py").write_text(f"import agents, solitaire_env\n{text}\n")
        done = run_module("theirs", tmp_path)
        assert done.returncode not in (0, 130) and "Traceback (most recent call last):\n" in done.stderr
        assert words in done.stderr and "Interrupted." not in done.stderr
    fails = INTERRUPTS.format(module="tyro").replace("KeyboardInterrupt", "ZeroDivisionError")
    (tmp_path / "sitecustomize.py").write_text(fails)
    assert "Traceback" in run_module("agents.evaluate", tmp_path).stderr, "other errors have a trace"
