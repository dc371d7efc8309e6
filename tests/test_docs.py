"""The documentation: the index of games is up to date, examples print what they show, links work."""

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
GAMES = generate.REFERENCE / "games.md"
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *generate.DOCS.rglob("*.md"))
    if not {"_build", "games"} & set(path.parts)
)
WITH_EXAMPLES = [name for name in PAGES if ">>> " in (ROOT / name).read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    return generate.pages()


@pytest.fixture
def registered_games_removed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Examples register games; they are removed for the other tests."""
    known = set(gym.registry)
    monkeypatch.setattr(variants, "_ADDED", {})
    yield
    for name in set(gym.registry) - known:
        del gym.registry[name]


def test_the_index_of_the_games_is_up_to_date(generated: dict[Path, str]) -> None:
    assert GAMES.read_text(encoding="utf-8") == generated[GAMES], "run: python -m docs.generate"


def test_the_command_line_page_has_the_help_of_subcommands(generated: dict[Path, str]) -> None:
    page = generated[generate.REFERENCE / "command-line.md"]
    assert {"## agents", "### solitaire_env watch", "### agents train"} < set(page.splitlines())
    assert "usage: python -m agents.train" in page


def test_the_help_of_every_command_is_in_words(generated: dict[Path, str]) -> None:
    page = generated[generate.REFERENCE / "command-line.md"]
    raw = r"\{None\}|\{\{|\b(STR|INT|FLOAT|BOOL|NONETYPE)\b|\(default: (None|False|)\)|--(\S+\.)?no-|\[\[|``"
    assert not [line for line in page.splitlines() if re.search(raw, line) and "```" not in line]


@pytest.mark.usefixtures("registered_games_removed")
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_what_they_show(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_pages_and_headings(name: str, generated: dict[Path, str]) -> None:
    path = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        file, _, heading = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        if target.startswith("https://") or page.is_relative_to(generate.REFERENCE / "api"):
            continue
        assert page in generated or page.exists(), target
        if heading:
            text = generated[page] if page in generated else page.read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
            # As GitHub and MyST name them.
            assert heading in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, target


def test_every_file_names_the_same_version() -> None:
    for file, line in (("pyproject.toml", r'^version = "(.+)"$'), ("CITATION.cff", r"^version: (.+)$")):
        found = re.findall(line, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert found == [__version__], file
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {__version__} (" in changelog


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short_on_its_page_and_has_a_run(path: Path) -> None:
    """``make test-examples`` runs it, or a test of language agents does."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 150
    runs = (ROOT / ".ci" / "examples").read_text(encoding="utf-8")
    tests = "".join(test.read_text(encoding="utf-8") for test in (ROOT / "tests/language").glob("test_*.py"))
    run = re.search(rf"^run \S+ {path.stem} ", runs, flags=re.MULTILINE)
    assert run or re.search(rf"(from |/ \"){path.stem}\b", tests)
    assert f"examples/{path.name}\n" in (ROOT / "docs/how-to/examples.md").read_text(encoding="utf-8")
