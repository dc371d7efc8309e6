"""The count of phrases to avoid."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import phrases


def test_phrases_are_found_in_texts_and_not_in_code(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text('"""Goes\non."""\ntold = 1  # so\n# far\nf"{told} at " "once"\n', encoding="utf-8")
    found = sorted(phrases.find(code))
    assert found == [
        (1, "go on", "Goes on"),
        (3, "so many, so much, so far", "so far"),
        (5, "at once", "at once"),
    ]
    page = tmp_path / "page.md"
    page.write_text("It stands for\na draw. What a\nposition is.\n", encoding="utf-8")
    assert list(phrases.find(page)) == [(2, "What ... is", "What a position is")]


def test_too_many_phrases_are_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("At once, by chance, at once.\n", encoding="utf-8")
    monkeypatch.setattr(phrases, "ROOT", tmp_path)
    monkeypatch.setattr(phrases, "files", lambda: [page])
    monkeypatch.setattr(phrases, "ALLOWED", 3)
    assert phrases.main() is None
    assert capsys.readouterr().out.splitlines()[0].split(maxsplit=1) == ["2", "at once"]
    monkeypatch.setattr(phrases, "ALLOWED", 2)
    assert phrases.main("--list") is not None
    assert "page.md:1: by chance" in capsys.readouterr().out
