"""Watching a policy: in a terminal and without one, and the files that are written."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solitaire_env import cli, render
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import evaluate
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import Session
from solitaire_env.play.watch import WatchedGame, watch_in_terminal, watch_in_window, write_video
from solitaire_env.transcripts import format_transcript, parse_transcript, replay
from solitaire_env.variants import get_variant
from tests.games import ONE_PER_RULE, PUBLISHED


class First:
    """The first legal action, with high probability; deterministic."""

    name = "first"
    deterministic = True

    def __init__(self, spec: GameSpec | None = None) -> None:
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


def watched(name: str, policy: Any, limit: int | None = None, **options: Any) -> WatchedGame:
    variant = get_variant(name)
    env = SolitaireEnv(variant, on_invalid="raise")
    env.reset(options=options)
    return WatchedGame(Session(env), None if policy is None else Adviser(policy, variant), limit)


@pytest.mark.parametrize("name", ONE_PER_RULE)
@pytest.mark.parametrize("policy", [First, Carrier])
def test_a_watched_game_equals_that_of_the_evaluation(name: str, policy: Any) -> None:
    if policy is Carrier and (PUBLISHED[name].moves != "one card" or not PUBLISHED[name].takes_supermoves):
        policy = First
    done = evaluate(policy(), name, [5], max_episode_steps=60, transcripts=True)
    game = watched(name, policy(), 60, deal=5)
    for turn in game.play():
        assert game.turns[-1] is turn
    assert format_transcript(game.transcript()) == done.transcripts[5]
    assert (game.session.result == "won", len(game.turns) <= 60) == (done.games[0].won, True)


def test_the_built_in_hints_play_too() -> None:
    game = watched("eights-down", None, deal=3)
    turns = list(game.play())
    assert game.name == "hints" and game.session.result == "stuck"
    assert all(turn.thought is None for turn in turns)
    assert game.summary() == f"Stuck after {len(turns)} moves, 2 of 52 cards home: no move is legal."
    assert len(list(replay(parse_transcript(format_transcript(game.transcript()))))) == len(turns)


def test_the_summary_says_how_the_game_ended() -> None:
    game = watched("busy-aces", First(), 5, deal=1)
    turns = game.play()
    next(turns)
    assert re.fullmatch(r"Stopped after 1 moves, \d of 104 cards home\.", game.summary())
    assert game.transcript().result == "truncated" and game.transcript().steps == 1
    list(turns)
    assert game.summary().startswith("Truncated after 5 moves") and game.summary().endswith(
        ": the step limit."
    )
    won = watched("eights-down", First(), position=ALMOST_WON)
    list(won.play())
    assert won.summary() == "Won in 2 moves." and won.transcript().deal is None
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


def test_each_move_has_its_frame_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, 80, 30)
    game = watched("eights-down", First(), 3, deal=1)
    watch_in_terminal(game, 2.0, lambda: "the\nboard")
    frames = terminal.frames()
    assert len(frames) == 4 and {len(frame) for frame in frames} == {6}
    assert frames[0] == ["first, move 0", "", "", "", "the", "board"]
    for number, (turn, frame) in enumerate(zip(game.turns, frames[1:], strict=True), 1):
        assert frame[0] == f"first, move {number}: {turn.played.words} ({turn.played.text})"
        assert frame[1].startswith(f"value 0.125; {turn.played.text} 90.0 %; ") and frame[3:] == [
            "",
            "the",
            "board",
        ]
    assert terminal.now == pytest.approx(50 + 4 / 2.0)
    assert terminal.out.getvalue().endswith("\033[?7h\033[?25h\033[?1049l")


def test_policies_without_thoughts_have_no_lines_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, 80, 30)
    watch_in_terminal(watched("eights-down", None, 1, deal=1), 1.0, lambda: "the\nboard")
    assert [frame[1:] for frame in terminal.frames()] == [["", "the", "board"]] * 2


def test_frames_are_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, 30, 8)
    game = watched("eights-down", First(), 1, deal=1)
    watch_in_terminal(game, 100.0, lambda: "\n".join(map(str, range(10))))
    first, second = terminal.frames()
    assert first == [
        "first, move 0",
        "",
        "",
        "",
        "0",
        "1",
        "2",
        "... 7 more lines: the terminal is too small",
    ]
    value, chances = second[1:3]
    assert value.startswith("value 0.125; ") and value.endswith("90.0 %;") and len(value) <= 30
    assert chances.endswith(" %;") and len(chances) <= 30, "broken between its parts"


def test_moves_after_a_slow_one_keep_their_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, 80, 30)

    class Slow(First):
        def __call__(self, observations: Any, masks: Any) -> Any:
            terminal.now += 3.0 if self.asked == 1 else 0.0
            return super().__call__(observations, masks)

    watch_in_terminal(watched("eights-down", Slow(), 4, deal=1), 1.0, lambda: "")
    assert terminal.slept[1:] == pytest.approx([1, 0, 1, 1, 1])


def run(monkeypatch: pytest.MonkeyPatch, *args: str | Path, code: int = 0) -> str:
    terminal = Terminal(monkeypatch, 80, 30)
    assert cli.main(["watch", *map(str, args)]) == code
    return terminal.out.getvalue()


def test_the_command_leaves_the_end_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    out = run(
        monkeypatch, "busy-aces", "--policy", "tests.play.test_watch:First", "--deal", "3", "--fps", "50"
    )
    rest = out[out.index("\033[?1049l") + len("\033[?1049l") :]
    assert rest.startswith("Busy Aces, deal 3, played by first.\n\n") and "\033[1m" in rest
    assert re.search(
        r"\n\nlast move: .*\n\n(Stuck|Truncated) after \d+ moves, \d+ of 104 cards home: .*\.\n$", rest
    )


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
    args = ("eights-down", "--policy", "tests.play.test_watch:Stopped", "--deal", "3", "--transcript", file)
    out = run(monkeypatch, *args, code=130)
    assert out.count("\033[?1049h") == out.count("\033[?1049l") == 1
    assert out.endswith("Stopped after 3 moves, 1 of 52 cards home.\n")
    transcript = parse_transcript(file.read_text())
    assert len(transcript.actions) == len(transcript.thoughts) == len(list(replay(transcript))) == 3


@pytest.mark.parametrize("terminal", [{"TERM": "dumb"}, {}])
def test_without_a_terminal_only_the_end_is_shown(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: dict[str, str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: bool(terminal))
    for name, value in terminal.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("nobody looks"))
    file = tmp_path / "game.txt"
    assert (
        cli.main(["watch", "eights-down", "--position", str(write(tmp_path)), "--transcript", str(file)]) == 0
    )
    out, err = capsys.readouterr()
    assert out.startswith("Eights Down, from a position, played by hints.\n\n") and "\033" not in out
    assert out.endswith("last move: KS home, from cell 3 (c3>f)\n\nWon in 2 moves.\n") and err == ""
    assert parse_transcript(file.read_text()).actions == ("t1>f", "c3>f")


def write(folder: Path) -> Path:
    file = folder / "position.txt"
    file.write_text(ALMOST_WON)
    return file


def test_supermoves_are_shown_card_by_card_or_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    args = ("forty-thieves", "--policy", "tests.play.test_watch:Carrier", "--deal", "3", "--fps", "1000")
    moves = {
        rule: run(monkeypatch, *args, *(("--moves", rule) if rule else ())).count(", move ")
        for rule in ("", "supermove")
    }
    assert moves[""] >= moves["supermove"] > 10


# ---------------------------------------------------------------------- in a window, in a video


def with_pictures(policy: Any, limit: int) -> WatchedGame:
    variant = get_variant("eights-down")
    env = SolitaireEnv(variant, on_invalid="raise", render_mode="rgb_array", render_size=(160, 120))
    env.reset(options={"deal": 3})
    return WatchedGame(Session(env), Adviser(policy, variant), limit)


@pytest.mark.parametrize("way", ["q", "cross"])
def test_a_window_stays_until_it_is_closed(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    pygame = pytest.importorskip("pygame")
    from solitaire_env.render.screen import Screen

    shown: list[bytes] = []
    show = Screen.show
    monkeypatch.setattr(
        Screen, "show", lambda self, picture: (shown.append(picture.tobytes()), show(self, picture))
    )
    events = Screen.events
    asked: list[int] = []

    def close_later(self: Any, patience: int = 0) -> Any:
        asked.append(patience)
        if len(shown) == 5 and asked[-3:] == [1000, 1000, 1000]:
            event = (
                pygame.event.Event(pygame.KEYDOWN, key=pygame.K_q)
                if way == "q"
                else pygame.event.Event(pygame.QUIT)
            )
            pygame.event.post(event)
        return events(self, min(patience, 1))

    monkeypatch.setattr(Screen, "events", close_later)
    game = with_pictures(First(), 4)
    watch_in_window(game, 1000.0)
    assert len(shown) == 5 and len(set(shown)) == 5, "the start and each move"
    assert len(game.turns) == 4 and asked.count(1000) >= 3


def test_closing_the_window_stops_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")

    class Closes(First):
        def __call__(self, observations: Any, masks: Any) -> Any:
            if self.asked == 2:
                pygame.event.post(pygame.event.Event(pygame.QUIT))
            return super().__call__(observations, masks)

    game = with_pictures(Closes(), 50)
    watch_in_window(game, 1000.0)
    assert len(game.turns) == 3 and game.summary().startswith("Stopped after 3 moves")


@pytest.mark.parametrize("kind", ["mp4", "gif"])
def test_a_video_has_a_picture_for_each_move(kind: str, tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    game = with_pictures(First(), 4)
    start = game.session.env.render()
    told: list[int] = []
    write_video(game, tmp_path / f"game.{kind}", 5.0, lambda: told.append(len(game.turns)))
    assert [path.name for path in tmp_path.iterdir()] == [f"game.{kind}"] and told == [1, 2, 3, 4]
    decoded = subprocess.run(
        [ffmpeg, "-i", tmp_path / f"game.{kind}", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True, check=True,
    )  # fmt: skip
    frames = np.frombuffer(decoded.stdout, np.uint8).reshape(-1, 120, 160, 3)
    assert len(frames) == 5 + 10 and b" 5 fps" in decoded.stderr
    assert np.abs(frames[0].astype(int) - start).mean() < 6
    assert np.abs(frames[-1].astype(int) - game.session.env.render()).mean() < 6


def test_the_command_writes_a_video(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("imageio_ffmpeg")
    args = ["watch", "eights-down", "--position", str(write(tmp_path)), "--video", str(tmp_path / "a.gif")]
    assert cli.main(args) == 0
    size = (tmp_path / "a.gif").stat().st_size
    ended, told = capsys.readouterr().out.splitlines()[-2:]
    assert ended == "Won in 2 moves."
    assert told == f"{tmp_path / 'a.gif'}: {size / 1000:,.0f} kB" and size > 1000


@pytest.mark.parametrize(
    ("missing", "args"),
    [
        ("pygame", ["--window"]),
        ("PIL", ["--video", "x.gif"]),
        ("imageio", ["--video", "x.gif"]),
        ("imageio_ffmpeg", ["--video", "x.mp4"]),
    ],
)
def test_missing_libraries_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str, args: list[str]
) -> None:
    monkeypatch.setattr(render, "find_spec", lambda name: None if name == missing else name)
    assert cli.main(["watch", "eights-down", "--deal", "1", *args]) == 2
    out, err = capsys.readouterr()
    assert (
        f'{missing}: pip install "solitaire-env[render]"' in err and out == "" and len(err.splitlines()) == 1
    )


@pytest.mark.parametrize("name", ["game.avi", "game", ".mp4"])
def test_other_file_names_are_refused_for_videos(
    capsys: pytest.CaptureFixture[str], name: str, tmp_path: Path
) -> None:
    pytest.importorskip("PIL")
    assert cli.main(["watch", "eights-down", "--deal", "1", "--video", str(tmp_path / name)]) == 2
    assert "allowed: a file name that ends in .mp4 or .gif" in capsys.readouterr().err and not list(
        tmp_path.iterdir()
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["busy-aces", "--fps", "0"], ["--fps is 0.0, allowed: more than 0, at most 1000"]),
        (["busy-aces", "--fps", "inf"], ["--fps is inf"]),
        (["busy-aces", "--window", "--video", "x.mp4"], ["--window and --video cannot be combined"]),
        (["busy-aces", "--policy", "greedi"], ["unknown policy 'greedi'", "module:Class"]),
        (["busy-aces", "--policy", "tests.play.test_watch:nothing"], ["cannot be loaded"]),
        (["eights-down", "--policy", "tests.play.test_watch:Single"], ["moves='one card'"]),
        (
            ["busy-aces", "--policy", "tests.play.test_watch:Nameless"],
            ["policy is 'a\\nb'", "a line of text"],
        ),
        (["pyramid"], ["unknown variant 'pyramid'"]),
        (["busy-aces", "--deal", "1", "--position", "x"], ["cannot be combined"]),
        (
            ["busy-aces", "--transcript", "no/such/x"],
            ["'no/such/x' cannot be written", "no folder 'no/such'"],
        ),
        (["busy-aces", "--video", "no/such/x.mp4"], ["'no/such/x.mp4' cannot be written"]),
    ],
)
def test_invalid_arguments_are_reported(
    capsys: pytest.CaptureFixture[str], args: list[str], words: list[str]
) -> None:
    assert cli.main(["watch", *args]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and all(word in err for word in words), err


class Single(First):
    moves = "one card"


class Nameless(First):
    name = "a\nb"
