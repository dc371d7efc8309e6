"""All commands, also those of ``agents``, with standard streams that are closed, full or of any encoding."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.__main__ import COMMANDS
from agents.__main__ import main as agents_main
from solitaire_env.cli import main as cli_main
from solitaire_env.util.command_line import run_command

ROOT = Path(__file__).parents[1]
WORDS = ("list", "rules", "show", "play", "watch", "replay", "serve", "site", "perft")
LINES: list[tuple[Callable[[list[str]], int], list[str]]] = [
    *((cli_main, [word, "--help"]) for word in WORDS),
    *((agents_main, [name, "--help"]) for name in COMMANDS),
    (cli_main, ["--help"]),
    (agents_main, ["--help"]),
    (agents_main, []),
    (agents_main, ["leaderbord"]),
    (agents_main, ["train"]),
    (agents_main, ["evaluate", "--polcy"]),
    (cli_main, ["--version"]),
    (cli_main, ["list"]),
    (cli_main, ["rules", "klondike"]),
    (cli_main, ["show", "klondike"]),
    (cli_main, ["show", "klondyke"]),
    (cli_main, ["show", "日本", "--deal", "♠\udcff"]),
    (cli_main, ["play", "klondike", "--deal", "1"]),
    (cli_main, ["watch", "busy-aces", "--deal", "1"]),
]
EVERY_LINE = pytest.mark.parametrize(
    ("main", "words"),
    LINES,
    ids=lambda value: " ".join(value) if isinstance(value, list) else value.__module__,
)


def status_of(main: Callable[[list[str]], int], words: list[str]) -> int:
    """The exit status, also if the parser ends the program."""
    try:
        return main(words)
    except SystemExit as end:
        return int(end.code or 0)


@EVERY_LINE
def test_closed_streams_change_no_exit_status(
    main: Callable[[list[str]], int],
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Python has None for a stream that is closed."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    expected = status_of(main, words)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert status_of(main, words) == expected


@EVERY_LINE
@pytest.mark.parametrize("encoding", ["ascii", "cp932"])
def test_every_encoding_can_print_every_output(
    main: Callable[[list[str]], int], words: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("♠\n".encode()), encoding=encoding))
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding=encoding) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    assert status_of(main, words) in (0, 2)
    texts = [stream.buffer.getvalue().decode(encoding) for stream in streams.values()]
    assert any(texts) and "Traceback" not in "".join(texts)


@pytest.mark.parametrize(
    ("command", "status", "error"),
    [
        ("-m solitaire_env list >&-", 0, ""),
        ("-m solitaire_env show klondyke >&- 2>&-", 2, ""),
        ("-m solitaire_env play klondike <&- >&-", 0, ""),
        ("-m agents leaderbord 2>&-", 2, ""),
        ("-m agents.evaluate --policy greedy --env klondike --deals 0:2 2>&-", 0, ""),
        ("-m solitaire_env list >/dev/full", 2, "No space left on device"),
        ("-m solitaire_env show klondyke 2>/dev/full", 2, ""),
    ],
)
def test_no_command_needs_the_streams_of_a_shell(command: str, status: int, error: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} {command}"], cwd=ROOT, text=True, capture_output=True, check=False,
        env=os.environ | {"PYTHONUNBUFFERED": ""},
    )  # fmt: skip
    assert done.returncode == status
    assert len(done.stderr.splitlines()) == bool(error) and error in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    ["solitaire_env rules forty-thieves", "agents.evaluate --policy greedy --env klondike --deals 0:2"],
)
def test_a_closed_pipe_ends_a_command_quietly(command: str, unbuffered: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", *command.split()], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 141


def test_errors_and_interrupts_have_a_status_and_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    def raises(error: BaseException) -> Callable[[], int]:
        def run() -> int:
            raise error

        return run

    cases: list[tuple[BaseException, int, str]] = [
        (ValueError("x is 1"), 2, "error: x is 1\n"),
        (OSError("full"), 2, "error: full\n"),
        (MemoryError("16 GiB"), 2, "error: 16 GiB\n"),
        (ImportError("needs a"), 2, "error: needs a\n"),
        (KeyboardInterrupt(), 130, "\nInterrupted.\n"),
    ]
    for error, status, text in cases:
        assert run_command(raises(error)) == status
        assert capsys.readouterr() == ("", text)
    assert run_command(raises(KeyboardInterrupt()), lambda: "") == 130
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ZeroDivisionError):
        run_command(raises(ZeroDivisionError()))
