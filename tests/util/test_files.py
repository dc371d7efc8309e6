"""JSON files whose errors name the file, and the model folder of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from solitaire_env.util.files import model_folder, read_json, write_json
from tests.conftest import Refuses


def test_json_files_round_trip(tmp_path: Path) -> None:
    write_json(tmp_path / "data.json", {"a": [1, None]})
    assert read_json(tmp_path / "data.json") == {"a": [1, None]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "contains a list, allowed: an object"),
    ],
    ids=["missing", "cut off", "nested", "a list"],
)
def test_invalid_files_raise_an_error(text: str | None, words: str, tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "data.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    refuses(lambda: read_json(path), str(path), words)


def test_a_run_folder_gives_its_model_folder(tmp_path: Path) -> None:
    assert model_folder(tmp_path) == tmp_path
    (tmp_path / "model").mkdir()
    assert model_folder(tmp_path) == tmp_path / "model"
