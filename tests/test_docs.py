"""The documentation: generated pages are up to date, examples give what they show, pages are reached."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import pytest

from docs import generate
from solitaire_env import __version__, variants

ROOT = generate.DOCS.parent
PAGES = sorted(path for path in generate.DOCS.rglob("*.md") if "_build" not in path.parts)


@pytest.fixture
def own_games_forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Examples register games; other tests shall not meet them."""
    known = set(gym.registry)
    monkeypatch.setattr(variants, "_ADDED", {})
    yield
    for name in set(gym.registry) - known:
        del gym.registry[name]


@pytest.mark.parametrize("path", generate.pages(), ids=lambda path: path.name)
def test_generated_pages_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generate.pages()[path], "run: python -m docs.generate"


@pytest.mark.parametrize("folder", ["games", "examples"])
def test_no_generated_page_is_left_over(folder: str) -> None:
    assert set((generate.DOCS / folder).iterdir()) < set(generate.pages())


@pytest.mark.usefixtures("own_games_forgotten")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_examples_give_what_they_show(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        file, _, heading = target.partition("#")
        page = path.parent / file if file else path
        assert page.is_file(), target
        if heading:
            headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert heading in {h.lower().replace(" ", "-") for h in headings}, target


def test_every_file_names_the_same_version() -> None:
    for file, line in (("pyproject.toml", r'^version = "(.+)"$'), ("CITATION.cff", r"^version: (.+)$")):
        found = re.findall(line, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert found == [__version__], file
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {__version__} (" in changelog
