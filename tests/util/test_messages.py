"""Values in error messages: one short line for any value."""

import ast
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from solitaire_env.util import messages
from solitaire_env.util.messages import one_line, say, shown
from tests.damage import ODD_VALUES


def test_any_value_fits_in_one_line() -> None:
    for value in (*ODD_VALUES, np.zeros((9, 9))):
        assert 0 < len(shown(value)) <= 80 and shown(value).isprintable(), type(value)


def test_long_values_are_shortened() -> None:
    assert shown("a" * 1000).startswith("'aaaa") and shown("a" * 1000).endswith("aaa'")
    assert shown([7] * 1000) == f"[{'7, ' * 25}7..."
    assert shown([[[[1]]]]) == "[[[...]]]"
    assert shown([10**5000]) == "[a number of 16610 bits]"


def test_control_characters_are_escaped() -> None:
    assert one_line("a\nb \x1b[31m c\ud800\u202e") == "a b \\x1b[31m c\\ud800\\u202e"
    assert one_line(ValueError("x" * 500)) == "x" * 197 + "..."


@pytest.mark.parametrize(("value", "said"), [(None, True), ("0", True), ("1", False)])
def test_notices_can_be_switched_off(
    value: str | None, said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SOLITAIRE_ENV_QUIET")
    if value is not None:
        monkeypatch.setenv("SOLITAIRE_ENV_QUIET", value)
    say("compiling")
    assert capsys.readouterr() == ("", "compiling\n" if said else "")


@pytest.mark.parametrize("stderr", [None, "closed"])
def test_a_notice_without_stderr_raises_no_error(stderr: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program without a console has none on Windows."""
    closed = io.StringIO()
    closed.close()
    monkeypatch.setenv("SOLITAIRE_ENV_QUIET", "0")
    monkeypatch.setattr(sys, "stderr", closed if stderr else None)
    say("compiling")


def texts_of(path: Path) -> list[str]:
    """The texts in a module, also its docstrings; of an f-string, the parts that do not change."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    formatted = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {part for values in formatted for part in values}
    plain = [[node] for node in nodes if isinstance(node, ast.Constant) and node not in parts]
    return [
        "".join(str(part.value) for part in values if isinstance(part, ast.Constant))
        for values in (*formatted, *plain)
    ]


def test_advice_that_needs_a_clone_says_so() -> None:
    """An installed package has neither ``agents`` nor a Makefile."""
    package = Path(messages.__file__).parents[1]
    needs_a_clone = re.compile(r"python\s+-m\s+agents|\bagents\.\w+\.|`make |pip install -e")
    advice = [text for path in package.rglob("*.py") for text in texts_of(path) if needs_a_clone.search(text)]
    # The library of kernels is built in a clone only.
    advice = [text for text in advice if "what the builder needs" not in text]
    assert len(advice) > 5
    assert [text for text in advice if not re.search(r"\bclone\b|\bcheckout\b", text)] == []
    # A package that the installed one can use is installed with its name.
    advice = [text for path in package.rglob("*.py") for text in texts_of(path) if "pip install" in text]
    assert all("solitaire-env[" in text or "-e '.[" in text for text in advice)
