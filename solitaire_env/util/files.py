"""Text and JSON files, written atomically."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solitaire_env.util.messages import one_line


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` create a file next to ``path``, then rename it to ``path``."""
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(data, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; errors name the file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({one_line(error)})") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: contains a {type(data).__name__}, allowed: an object")
    return data


def model_folder(path: Path) -> Path:
    """The model folder of a run folder; other folders are returned unchanged."""
    inner = path / "model"
    return inner if inner.is_dir() else path
