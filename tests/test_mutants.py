"""The list of mutants fits the source, and the script reports the result of each."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests import mutants
from tests.conftest import Refuses
from tests.mutants import ROOT, Mutant, listed, main, mutated, run_stage

ADD = """
def add(a, b):
    return a + b
"""


@pytest.mark.slow
def test_every_mutant_changes_its_file() -> None:
    """Each old text is in its file, and no two mutants are the same."""
    mutants_ = listed()
    sources = {file: (ROOT / file).read_text() for file in {mutant.file for mutant in mutants_}}
    changed = [mutated(sources[mutant.file], mutant) for mutant in mutants_]
    assert len(set(changed)) == len(changed)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a - b", "a", ["'a - b' is not in add.py"]),
        ("a + b", "(a + b)", ["f: '(a + b)' changes nothing in add.py"]),
    ],
)
def test_mutants_that_do_not_fit_raise_an_error(
    old: str, new: str, words: list[str], refuses: Refuses
) -> None:
    refuses(lambda: mutated(ADD, Mutant("sums", "add.py", "f", old, new)), *words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("def test_it(): pass", ""),
        ("def test_it(): assert 2 == 3, 'two\\nlines'", "test_add.py::test_it - AssertionError: two"),
        ("raise ValueError('no sum')", "test_add.py - ValueError: no sum"),
        (
            "def test_it(): wait()\ndef wait():\n    while True: pass",
            "no end in test_add.py, wait called by test_add.py, test_it",
        ),
    ],
)
def test_a_run_gives_the_first_failure(
    test: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "TEST_SECONDS", 0.5)
    (tmp_path / "test_add.py").write_text(test)
    assert run_stage(tmp_path, ["test_add.py"]) == (outcome, "no end" in outcome)


@pytest.mark.slow
def test_a_run_without_a_failing_test_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="pytest failed without a failing test"):
        run_stage(tmp_path, ["test_missing.py"])


@pytest.mark.slow
def test_a_run_that_takes_too_long_counts_as_failed(tmp_path: Path) -> None:
    (tmp_path / "test_add.py").write_text("import time\ntime.sleep(60)")
    assert run_stage(tmp_path, ["test_add.py"], seconds=1) == ("no end within 1 s", True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "failed", "said"),
    [
        (
            [],
            1,
            "2 mutants; without one all tests pass in\n"
            "sums: adds twice\n"
            "    tests/test_add.py::test_add - assert 4 == 3\n"
            "sums: adds b first, and half of it\n"
            "    SURVIVED\n\n"
            "2 mutants: 1 killed, 1 survived; 1 left out;\n"
            "       1 tests/test_add.py\n",
        ),
        (["--only", "twice"], 0, "1 mutants: 1 killed, 0 survived; 0 left out;"),
        (["--equivalent", "--jobs", "2"], 0, "sums: adds b first\n    SURVIVED\n"),
    ],
)
def test_the_script_reports_each_mutant(
    arguments: list[str],
    failed: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The whole script, with a project of two files and a test that sees little."""
    (tmp_path / "add.py").write_text(ADD)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_add.py").write_text(
        "from add import add\ndef test_add():\n    assert add(1, 2) == 3\n"
    )
    faults = [
        ("adds twice", "a + b", "a + a + b"),
        ("adds b first, and half of it", "a + b", "b // 2 + a + 1"),
        ("adds b first", "a + b", "b + a", "Addition commutes."),
    ]
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "listed", lambda: [Mutant("sums", "add.py", *fault) for fault in faults])
    monkeypatch.setattr(mutants, "copy_project", lambda folder: shutil.copytree(tmp_path, folder))
    assert main(arguments) == failed
    assert said in re.sub(r" \d+ s$", "", capsys.readouterr().out, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_unchanged_tests_must_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "copy_project", lambda folder: folder.mkdir())
    monkeypatch.setattr(mutants, "run_tests", lambda folder: mutants.Outcome("test_it - wrong"))
    assert main([]) == 1
