"""The notebook in the docs, run anew, shows what was saved; ``python -m tests.test_notebook`` saves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def run() -> Any:
    """The notebook with the outputs of a new kernel."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output.data.pop("text/plain", None)  # the address of an object
    return notebook


def shown(notebook: Any) -> list[Any]:
    """What each cell shows, but for pixels, which another Pillow may draw otherwise."""
    return [
        [
            output.get("text") or {kind: text for kind, text in output.data.items() if "image/" not in kind}
            for output in cell.get("outputs", [])
        ]
        for cell in notebook.cells
    ]


def pictures(notebook: Any) -> int:
    return sum(
        "image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])
    )


def test_the_notebook_shows_what_it_was_saved_with() -> None:
    saved = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(saved)
    ran = run()
    assert shown(ran) == shown(saved)
    assert sum("<svg" in str(outputs) for outputs in shown(saved)) >= 2
    assert pictures(ran) == pictures(saved) >= 1


if __name__ == "__main__":
    nbformat.write(run(), NOTEBOOK)
