"""The examples are short, run by ``make test-examples``, and learn to play."""

from __future__ import annotations

import re

import pytest

from docs.generate import DOCS, EXAMPLES

RUNS = (DOCS.parent / ".ci" / "examples").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_short_and_run(path) -> None:  # type: ignore[no-untyped-def]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 150
    assert re.search(rf"^run \S+ {path.stem} ", RUNS, flags=re.MULTILINE)


def test_all_that_is_run_is_there() -> None:
    assert set(re.findall(r"^run \S+ (\w+)", RUNS, flags=re.MULTILINE)) == {path.stem for path in EXAMPLES}
