"""Watching a policy: in a terminal and without one, and the transcript that is written."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from solitaire_env import cli
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import new_session
from solitaire_env.play.watch import WatchedGame, watch_in_terminal
from solitaire_env.transcripts import format_transcript, parse_transcript, replay
from solitaire_env.variants import get_variant
from tests.play.policies import First

ALMOST_WON = """variant: eights-down
foundations: C 13 D 13 H 13 S 11
cells: -- -- KS -- -- -- -- --
t1: QS
""" + "".join(f"t{n}:\n" for n in range(2, 9))
# The first legal move takes QH to the other King, and back.
TO_AND_FRO = """variant: busy-aces
stock:
waste:
foundations: C 13 13 D 13 13 H 10 10 S 13 13
t1: JH KH QH
t2: JH KH
t3: QH
""" + "".join(f"t{n}:\n" for n in range(4, 13))


def watched(name: str, policy: Any = None, limit: int | None = None, **start: Any) -> WatchedGame:
    variant = get_variant(name)
    adviser = Adviser("greedy" if policy is None else policy, variant)
    return WatchedGame(new_session(variant, **start), adviser, limit)


def test_the_summary_says_how_the_game_ended() -> None:
    game = watched("busy-aces", First(), 5, deal=1)
    moves = game.play()
    next(moves)
    assert re.fullmatch(r"Stopped after 1 moves, \d of 104 cards home\.", game.summary())
    assert game.transcript().result == "truncated" and game.transcript().steps == 1
    list(moves)
    assert game.summary().startswith("Truncated after 5 moves") and "the step limit" in game.summary()
    won = watched("eights-down", First(), position=ALMOST_WON)
    list(won.play())
    assert won.summary() == "Won in 2 moves." and won.transcript().deal is None
    stuck = watched("eights-down", deal=0)
    assert not any(played.thought for played in stuck.play())
    assert stuck.summary().startswith("Stuck after ") and stuck.transcript().policy == "greedy"


def test_a_policy_that_would_cycle_is_stopped() -> None:
    circle = watched("busy-aces", First(), position=TO_AND_FRO)
    list(circle.play())
    assert circle.summary() == (
        "Truncated after 3 moves, 98 of 104 cards home: first repeated a position and would cycle."
    )
    assert circle.transcript().steps == 3328
    text = format_transcript(circle.transcript())
    assert format_transcript(parse_transcript(text)) == text


# ---------------------------------------------------------------------------------- in a terminal


class Terminal:
    """Replaces stdout and the clock; time passes while the command sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int, rows: int) -> None:
        self.now, self.slept = 50.0, [0.0]
        self.out = io.StringIO()
        monkeypatch.setattr(sys, "stdout", self.out)
        monkeypatch.setattr(self.out, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(shutil, "get_terminal_size", lambda **_: os.terminal_size((columns, rows)))
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


def test_each_move_has_its_frame_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, 80, 30)
    game = watched("eights-down", First(), 3, deal=1)
    watch_in_terminal(game, 2.0, lambda: "the\nboard")
    frames = terminal.frames()
    assert len(frames) == 4 and {len(frame) for frame in frames} == {5}
    assert frames[0] == ["first, move 0", "", "", "the", "board"]
    for number, (played, frame) in enumerate(zip(game.session.played, frames[1:], strict=True), 1):
        assert frame[0] == f"first, move {number}: {played.words} ({played.text})"
        assert frame[1].startswith(f"value 0.125; {played.text} 90.0 %; ")
        assert frame[2:] == ["", "the", "board"]
    assert terminal.now == pytest.approx(50 + 4 / 2.0)
    assert terminal.out.getvalue().endswith("\033[?7h\033[?25h\033[?1049l")


def test_frames_are_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, 30, 8)
    game = watched("eights-down", First(), 1, deal=1)
    watch_in_terminal(game, 100.0, lambda: "\n".join(map(str, range(10))))
    first, second = terminal.frames()
    assert first[3:] == ["0", "1", "2", "3", "... 6 more lines: the terminal is too small"]
    assert second[1].startswith("value 0.125; ")


def test_moves_after_a_slow_one_keep_their_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, 80, 30)

    class Slow(First):
        def __call__(self, observations: Any, masks: Any) -> Any:
            terminal.now += 3.0 if self.asked == 1 else 0.0
            return super().__call__(observations, masks)

    watch_in_terminal(watched("eights-down", Slow(), 4, deal=1), 1.0, lambda: "")
    assert terminal.slept[1:] == pytest.approx([1, 0, 1, 1, 1])


# ------------------------------------------------------------------------------------ the command


def test_stopping_restores_the_screen_and_keeps_the_game(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Stopped(First):
        def __call__(self, observations: Any, masks: Any) -> Any:
            if self.asked == 3:
                raise KeyboardInterrupt
            return super().__call__(observations, masks)

    monkeypatch.setitem(globals(), "Stopped", Stopped)
    file = tmp_path / "game.txt"
    terminal = Terminal(monkeypatch, 80, 30)
    policy = ["--policy", "tests.play.test_watch:Stopped"]
    assert cli.main(["watch", "eights-down", *policy, "--deal", "3", "--transcript", str(file)]) == 130
    out = terminal.out.getvalue()
    assert out.count("\033[?1049h") == out.count("\033[?1049l") == 1
    assert out[out.index("\033[?1049l") + 8 :].startswith("Eights Down, deal 3, played by first.\n\n")
    assert out.endswith("Stopped after 3 moves, 1 of 52 cards home.\n")
    transcript = parse_transcript(file.read_text())
    assert len(transcript.actions) == len(transcript.thoughts) == len(list(replay(transcript))) == 3


@pytest.mark.parametrize("terminal", [True, False])
def test_without_a_terminal_only_the_end_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("nobody looks"))
    start, file = tmp_path / "position.txt", tmp_path / "game.txt"
    start.write_text(ALMOST_WON)
    assert cli.main(["watch", "eights-down", "--position", str(start), "--transcript", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Eights Down, from a position, played by greedy.\n\n") and "\033" not in out
    assert out.endswith("last move: KS home, from cell 3 (c3>f)\n\nWon in 2 moves.\n") and err == ""
    assert parse_transcript(file.read_text()).actions == ("t1>f", "c3>f")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["busy-aces", "--fps", "0"], ["--fps is 0.0, allowed: more than 0, at most 1000"]),
        (["busy-aces", "--policy", "tests.play.policies:Nameless"], ["policy is 'a\\nb'", "a line of text"]),
        (["busy-aces", "--deal", "1", "--position", "x"], ["cannot be combined"]),
        (["busy-aces", "--transcript", "no/x"], ["'no/x' cannot be written", "no folder 'no'"]),
    ],
)
def test_invalid_arguments_are_reported(
    capsys: pytest.CaptureFixture[str], args: list[str], words: list[str]
) -> None:
    assert cli.main(["watch", *args]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and all(word in err for word in words), err
