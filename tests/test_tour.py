"""``examples/tour.ipynb``: its cells run in order, as a notebook runs them, with fewer deals."""

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[1] / "examples" / "tour.ipynb"
CELLS: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
CODE = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]


def test_the_notebook_runs_and_shows_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for number, code in enumerate(CODE):
        exec(compile(code.replace("range(100)", "range(10)"), f"tour.ipynb, cell {number}", "exec"), names)
    out = capsys.readouterr().out
    assert "3 of 95 actions are legal" in out and out.count("of 10 games, ") == 4
    assert names["game"]._repr_png_().startswith(b"\x89PNG")
    assert [line.get_ydata()[0] for line in names["axes"].lines[::2]] == list(names["played"])
    names["plt"].close(names["figure"])


def test_the_first_cell_installs_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    installs: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: installs.append(command))
    exec(CODE[0], {})
    assert not installs
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    exec(CODE[0], {})
    [command] = installs
    assert command[1:4] == ["-m", "pip", "install"] and "solitaire-env" in command[-1]


def test_the_notebook_has_no_stored_output_and_is_in_the_docs() -> None:
    assert len(CELLS) == 10 and not any(cell.get("outputs") for cell in CELLS)
    assert "(../../examples/tour.ipynb)" in (PATH.parents[1] / "docs/how-to/examples.md").read_text("utf-8")
