"""Every example is short, and ``make test-examples`` runs it."""

from __future__ import annotations

import re

import pytest

from docs.generate import DOCS, EXAMPLES

RUNS = (DOCS.parent / ".ci" / "examples").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_has_a_run(path) -> None:  # type: ignore[no-untyped-def]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 150
    assert re.search(rf"^run \S+ {path.stem} ", RUNS, flags=re.MULTILINE)


def test_every_run_names_an_example() -> None:
    assert set(re.findall(r"^run \S+ (\w+)", RUNS, flags=re.MULTILINE)) == {path.stem for path in EXAMPLES}
