"""The documentation: generated pages are up to date, examples print what they show, links lead to pages."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import gymnasium as gym
import pytest

from agents.__main__ import COMMANDS
from docs import generate, sources
from solitaire_env import __version__, cli, variants

ROOT = generate.DOCS.parent
GENERATED = generate.pages()
PAGES = sorted(path for path in generate.DOCS.rglob("*.md") if "_build" not in path.parts)


def name_of(page: Path) -> str:
    """The name of a page within the docs."""
    return page.relative_to(generate.DOCS).as_posix()


@pytest.fixture
def registered_games_removed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Examples register games; they are removed for the other tests."""
    known = set(gym.registry)
    monkeypatch.setattr(variants, "_ADDED", {})
    yield
    for name in set(gym.registry) - known:
        del gym.registry[name]


@pytest.mark.parametrize("path", GENERATED, ids=name_of)
def test_generated_pages_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == GENERATED[path], "run: python -m docs.generate"


@pytest.mark.parametrize("folder", ["reference/games", "reference/api", "how-to/examples"])
def test_a_folder_of_generated_pages_has_no_other_page(folder: str) -> None:
    assert set((generate.DOCS / folder).iterdir()) < set(GENERATED)


def test_every_page_is_in_one_toctree() -> None:
    toctree = re.compile(r"```{toctree}\n(.*?)```", flags=re.DOTALL)
    listed = [
        path.parent / f"{entry}.md"
        for path in PAGES
        for entries in toctree.findall(path.read_text(encoding="utf-8"))
        for entry in entries.splitlines()
        if entry and not entry.startswith(":")
    ]
    assert sorted(listed) == [path for path in PAGES if path != generate.DOCS / "index.md"]


def test_the_four_sections_have_an_index_page() -> None:
    sections = {path.name for path in generate.DOCS.iterdir() if (path / "index.md").is_file()}
    assert sections == {"tutorials", "how-to", "reference", "explanation"}


def test_the_api_has_every_public_module_except_the_commands() -> None:
    documented = {module for modules in sources.api_modules().values() for module in modules}
    assert {"solitaire_env.env", "solitaire_env.core.rules.moves", "agents.networks.features"} < documented
    assert not {name for name in documented if name.startswith(sources.COMMANDS) or "._" in name}


def test_the_command_line_page_has_every_command() -> None:
    page = (generate.DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^```{command-help} (.+)$", page, flags=re.MULTILINE))
    commands = {f"solitaire_env {get_args(kind)[0].__name__.lower()}" for kind in get_args(cli.Command)} | {
        f"agents {name}" for name in COMMANDS
    }
    assert commands <= shown


@pytest.mark.usefixtures("registered_games_removed")
@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_examples_print_what_they_show(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_to_pages_and_headings(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        file, _, heading = target.partition("#")
        page = path.parent / file if file else path
        assert page.is_file(), target
        if heading:
            headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
            # As GitHub and MyST name them.
            assert heading in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, target


def test_every_file_names_the_same_version() -> None:
    for file, line in (("pyproject.toml", r'^version = "(.+)"$'), ("CITATION.cff", r"^version: (.+)$")):
        found = re.findall(line, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert found == [__version__], file
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {__version__} (" in changelog
