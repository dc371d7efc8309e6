"""Placeholder until the merge."""

from typing import Any


def load_network(folder: Any, spec: Any, name: Any = None) -> Any:
    raise ValueError("merge")


def playable(folder: Any) -> bool:
    return True
