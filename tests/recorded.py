"""The recorded games of ``tests/transcripts``, and the same as transcripts that can be exchanged."""

from __future__ import annotations

import re
from pathlib import Path

from solitaire_env.transcripts import Transcript
from tests.games import OPTIONS, PUBLISHED

FOLDER = Path(__file__).parent / "transcripts"
RECORDED = {**PUBLISHED, **OPTIONS}


def path_of(name: str) -> Path:
    """The file of a recorded game, by its name in ``RECORDED``."""
    return FOLDER / f"{name.replace(', ', '-').replace(' ', '-')}.txt"


def position_in(text: str) -> str:
    """The first position of a recorded game."""
    return text[text.index("variant:") : text.index("\nlegal:")]


def actions_in(text: str) -> list[str]:
    """The actions of a recorded game."""
    numbered = re.findall(r"^(\d+)\. (\S+) \(\d+\): ", text, re.M)
    assert [int(number) for number, _ in numbered] == [*range(1, len(numbered) + 1)]
    return [action for _, action in numbered]


def recorded_game(name: str, policy: str = "ada") -> Transcript:
    """A recorded game, by its name in ``RECORDED``."""
    text = path_of(name).read_text()
    deal = re.search(r"^deal: (\d+)$", text, re.M)
    ended = re.search(r"^result: (\w+), (\d+) cards home, (\d+) steps", text, re.M)
    assert deal is not None and ended is not None
    return Transcript(
        variant=RECORDED[name],
        policy=policy,
        deal=int(deal[1]),
        result=ended[1],  # type: ignore[arg-type]  # a word of theirs
        cards_home=int(ended[2]),
        steps=int(ended[3]),
        start=position_in(text),
        actions=tuple(actions_in(text)),
    )
