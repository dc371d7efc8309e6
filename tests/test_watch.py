"""Watching a policy: in a terminal, where there is none, and what is written of the game."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solitaire_env import cli
from solitaire_env.advice import Adviser
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import evaluate
from solitaire_env.session import Session
from solitaire_env.transcripts import format_transcript, parse_transcript, replay
from solitaire_env.variants import get_variant
from solitaire_env.watch import Watched, watch_in_terminal
from tests.games import PUBLISHED


class First:
    """The first legal action, of which it is sure; it has no memory."""

    name = "first"
    memoryless = True

    def __init__(self, layout: dict[str, Any] | None = None) -> None:
        self.asked = 0

    def __call__(self, observations: Any, masks: Any) -> Any:
        self.asked += 1
        return masks.argmax(1)

    def explain(self, observations: Any, masks: Any) -> Any:
        chances = np.zeros(masks.shape, np.float32)
        chances[0, masks[0].argmax()] = 0.9
        chances[0, np.flatnonzero(masks[0])[1:]] += np.float32(0.1) / max(1, masks.sum() - 1)
        return chances, np.array([0.125])


class Carrier(First):
    """The last legal action, among supermoves."""

    moves = "supermove"

    def __call__(self, observations: Any, masks: Any) -> Any:
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(1)


def watched(name: str, policy: Any, limit: int | None = None, **options: Any) -> Watched:
    variant = get_variant(name)
    env = SolitaireEnv(variant, on_invalid="raise")
    env.reset(options=options)
    return Watched(Session(env), None if policy is None else Adviser(policy, variant), limit)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("policy", [First, Carrier])
def test_a_game_is_played_as_the_evaluation_plays_it(name: str, policy: Any) -> None:
    if policy is Carrier and PUBLISHED[name].moves != "one card":
        policy = First
    done = evaluate(policy(), name, [5], max_episode_steps=60, transcripts=True)
    game = watched(name, policy(), 60, deal=5)
    for turn in game.play():
        assert game.turns[-1] is turn
    assert format_transcript(game.transcript()) == done.transcripts[5]
    assert (game.result == "won", len(game.turns) <= 60) == (done.games[0].won, True)


def test_the_hints_play_too() -> None:
    game = watched("eights-down", None, deal=3)
    turns = list(game.play())
    assert game.name == "hints" and game.result == "stuck" and all(turn.thought is None for turn in turns)
    assert game.summary() == f"Stuck after {len(turns)} moves, 2 of 52 cards home: no move is legal."
    assert len(list(replay(parse_transcript(format_transcript(game.transcript()))))) == len(turns)


def test_how_it_ended() -> None:
    game = watched("busy-aces", First(), 5, deal=1)
    turns = game.play()
    next(turns)
    assert re.fullmatch(r"Stopped after 1 moves, \d of 104 cards home\.", game.summary())
    assert game.transcript().result == "truncated" and game.transcript().steps == 1
    list(turns)
    assert game.summary().startswith("Cut off after 5 moves") and game.summary().endswith(": the step limit.")
    won = watched("eights-down", First(), position=ALMOST_WON)
    list(won.play())
    assert won.summary() == "Won in 2 moves." and won.transcript().deal is None
    circle = watched("busy-aces", First(), position=TO_AND_FRO)
    list(circle.play())
    assert circle.summary() == (
        "Cut off after 2 moves, 86 of 104 cards home: a position has come back, first would go in a circle."
    )
    assert circle.transcript().steps == 3328
    assert parse_transcript(format_transcript(circle.transcript())) == circle.transcript()


ALMOST_WON = """variant: eights-down
foundations: C 13 D 13 H 13 S 11
cells: -- -- KS -- -- -- -- --
t1: QS
""" + "".join(f"t{n}:\n" for n in range(2, 9))
# Only QH goes to and fro between the Kings; every space is filled.
TO_AND_FRO = ""


# ---------------------------------------------------------------------------------- in a terminal


class Terminal:
    """Stands in for stdout and for time, which passes while the command sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int, rows: int) -> None:
        self.now, self.slept = 50.0, [0.0]
        self.out = io.StringIO()
        monkeypatch.setattr(sys, "stdout", self.out)
        monkeypatch.setattr(self.out, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, rows)))
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)
        monkeypatch.setenv("TERM", "xterm")

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def frames(self) -> list[list[str]]:
        """The lines of each frame on the other screen."""
        text = self.out.getvalue()
        inside = text[text.index("\033[?1049h") : text.index("\033[?1049l")]
        frames = [frame.split("\033[J")[0] for frame in inside.split("\033[H")[1:]]
        return [[line.removesuffix("\033[K") for line in frame.split("\r\n")] for frame in frames]
