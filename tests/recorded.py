"""The recorded games under ``tests/transcripts/``, as actions to play."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "transcripts"


def recorded_game(name: str) -> tuple[int, list[str]]:
    """Deal number and action texts of a published game that was recorded to its end."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    deal = re.search(r"^deal: (\d+)$", text, flags=re.MULTILINE)
    assert deal is not None
    return int(deal[1]), re.findall(r"^\d+\. (\S+) ", text, flags=re.MULTILINE)
