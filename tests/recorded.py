"""The games of ``tests/transcripts`` as transcripts that can be exchanged."""

from __future__ import annotations

import re

from solitaire_env.transcripts import Transcript
from tests.test_transcripts import DEALS, RECORDED, actions_in, path_of, position_in


def recorded_game(name: str) -> Transcript:
    """A recorded game, by its name in ``RECORDED``."""
    text = path_of(name).read_text()
    ended = re.search(r"^result: (\w+), (\d+) cards home, (\d+) steps", text, re.M)
    assert ended is not None
    return Transcript(
        variant=RECORDED[name],
        policy="ada",
        deal=DEALS[name],
        result=ended[1],  # type: ignore[arg-type]  # a word of theirs
        cards_home=int(ended[2]),
        steps=int(ended[3]),
        start=position_in(text),
        actions=tuple(actions_in(text)),
    )
