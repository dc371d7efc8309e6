"""``python -m agents COMMAND``."""

from __future__ import annotations

from importlib import import_module

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
