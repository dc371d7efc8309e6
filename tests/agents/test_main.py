"""``python -m agents COMMAND``."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from agents.__main__ import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_main_and_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(import_module(COMMANDS[name][0]).main)
    with pytest.raises(SystemExit):
        main([name, "--help"])
    out = capsys.readouterr().out
    assert "usage: python -m agents" in out


def test_without_a_command_the_usage_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert not out and all(f"  {name}" in err for name in COMMANDS)
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == err


def test_an_unknown_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderbord"]) == 2
    assert "error: unknown command 'leaderbord'" in capsys.readouterr().err


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
        ("torch", "solitaire_env watch busy-aces --policy search"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package: str, command: str, tmp_path: Path) -> None:
    """Python runs a module ``sitecustomize`` at its start; this one hides the package."""
    (tmp_path / "sitecustomize.py").write_text(HIDES.format(package=package))
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=root,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and not done.stdout
    [error] = done.stderr.splitlines()
    assert f"needs {package}, which is not installed; in a clone" in error
    assert error.endswith("pip install -e '.[train]'")
