"""Positions of the published games with the legal moves of PySolFC, see ``tests/oracles/family``."""

import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parent / "oracles" / "family" / "positions.jsonl"


class FamilyPosition(NamedTuple):
    """A position of PySolFC in our texts.

    Deal and step are PySolFC's, the legal actions are sorted, and one of them leads to the position `after`.
    """

    deal: int | str
    step: int
    position: str
    legal: list[str]
    move: str | None
    after: str


@cache
def family_positions() -> dict[str, list[FamilyPosition]]:
    """The positions of each game."""
    found = defaultdict(list)
    for line in map(json.loads, FILE.read_text(encoding="utf-8").splitlines()):
        lines = line["position"].split("|")
        changed = {text.partition(":")[0]: text for text in line.get("after", "").split("|")}
        after = "\n".join(changed.get(text.partition(":")[0], text) for text in lines)
        legal = line["legal"].split()
        found[line["game"]].append(
            FamilyPosition(line["deal"], line["step"], "\n".join(lines), legal, line.get("move"), after)
        )
    return found
