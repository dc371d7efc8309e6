"""The progress line, in a terminal and in a log file."""

import io
import os
import sys
import time

import pytest

from solitaire_env.util.progress import CLEAR, ProgressLine, clock


class Clock:
    """A clock that the tests advance; and the text written to stderr."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
        self.now = 100.0
        self.err = io.StringIO()
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(self.err, "isatty", lambda: terminal, raising=False)
        monkeypatch.setattr(sys, "stderr", self.err)
        monkeypatch.setenv("COLUMNS", "40")
        monkeypatch.setenv("TERM", "xterm")

    def said(self) -> str:
        text = self.err.getvalue()
        self.err.seek(0)
        self.err.truncate()
        return text


def test_a_terminal_has_one_line_that_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, terminal=True)
    line = ProgressLine()
    line.show("first")
    line.show(lambda: pytest.fail("it is too early"))
    assert clock.said() == f"{CLEAR}first"
    clock.now += 0.6
    line.show(lambda: "x" * 100)
    assert clock.said() == CLEAR + "x" * 39, "a line that is broken in two is not cleared"
    line.close()
    line.close()
    assert clock.said() == CLEAR


def test_a_file_has_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, terminal=False)
    line = ProgressLine()
    for second in range(130):
        clock.now = 100.0 + second
        line.count(second, 260, f"playing, {second} of 260")
    line.close()
    assert clock.said() == "playing, 60 of 260, 3:20 left\nplaying, 120 of 260, 2:20 left\n"


def test_the_remaining_time_counts_from_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, terminal=True)
    line = ProgressLine()
    line.count(50, 100, "a")
    clock.now += 10
    line.count(50, 100, "b")
    clock.now += 10
    line.count(60, 100, "c")
    line.close()
    clock.now += 10
    line.count(1, 3, "d")
    clock.now += 30
    line.count(2, 3, "e")
    assert clock.said().split(CLEAR) == ["", "a", "b", "c, 1:20 left", "", "d", "e, 0:30 left"]


def test_a_dumb_terminal_gets_lines_like_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch, terminal=True)
    monkeypatch.setitem(os.environ, "TERM", "dumb")
    assert not ProgressLine().live


def test_clock_formats_seconds() -> None:
    assert [clock(s) for s in (-1, 59.6, 3599, 3661)] == ["0:00", "1:00", "59:59", "1:01:01"]
