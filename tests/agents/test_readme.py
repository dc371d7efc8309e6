"""What the README and the how-to guides show, runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GUIDES = [
    ROOT / "docs" / "how-to" / f"{name}.md" for name in ("load-pretrained", "evaluate", "other-libraries")
]
"""Guides whose examples need torch, or are too long for a doctest."""


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_the_readme_is_at_most_two_screens() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120 and len(text.split()) <= 800


@pytest.mark.parametrize("page", [README, *GUIDES], ids=lambda page: page.stem)
def test_every_python_block_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = python_blocks(page)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    printed = capsys.readouterr().out
    assert ("Forty Thieves" in printed) == (page == README) and "cards home" in printed
