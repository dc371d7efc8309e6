"""JSON files, and where a model lies."""

import json
from pathlib import Path
from typing import Any

from solitaire_env.files import write_text
from solitaire_env.messages import one_line


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file, whole or not at all."""
    write_text(path, json.dumps(data, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object of a JSON file; an error names the file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({one_line(error)})") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: holds {type(data).__name__}, allowed: an object")
    return data


def model_folder(path: Path) -> Path:
    """The model folder of a run folder; a model folder, or what else it is, itself."""
    inner = path / "model"
    return inner if inner.is_dir() else path
