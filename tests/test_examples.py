"""Every example is short and on the page of examples, and ``make test-examples`` runs or tests it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
RUNS = (ROOT / ".ci" / "examples").read_text(encoding="utf-8")
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "language").glob("test_*.py"))
PAGE = (ROOT / "docs" / "how-to" / "examples.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_has_a_run(path) -> None:  # type: ignore[no-untyped-def]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 150
    run = re.search(rf"^run \S+ {path.stem} ", RUNS, flags=re.MULTILINE)
    assert run or re.search(rf"(from |/ \"){path.stem}\b", TESTS)
    assert f"examples/{path.name}\n" in PAGE
