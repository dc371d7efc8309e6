"""The container image: no root rights, a read-only file system, nothing to compile."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from pathlib import Path

import pytest

from agents.reports.stored import read_rows
from tests.container.image import PROJECT, Image

pytestmark = pytest.mark.external
DEALS = 10

WRITE = """
import os, tempfile, solitaire_env
print(os.getuid(), os.getgid(), os.getgroups())
for place in ("/", "/tmp", "/opt", "/dev", "/usr", os.path.dirname(solitaire_env.__file__)):
    try:
        open(os.path.join(place, "file"), "w")
        print("written", place)
    except OSError as error:
        print(place, error.strerror)
try:
    tempfile.gettempdir()
except FileNotFoundError:
    print("no temporary folder")
"""
PLAY = f"""
import gymnasium as gym
import json, solitaire_env
from importlib.util import find_spec
assert find_spec("torch") is None and find_spec("agents") is None
for name in ("random", "greedy", "linear"):
    solitaire_env.evaluate(name, "eights-down", range(2))
for observation in ("cards", "features"):
    envs = gym.make_vec("Solitaire/FortyThieves-v0", num_envs=1024, observation=observation)
    envs.step(envs.reset()[1]["action_mask"].argmax(axis=1))
for game in solitaire_env.evaluate("shipped", "busy-aces", range({DEALS})).games:
    print(json.dumps([game.deal, game.won, game.cards_home, game.steps]))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    assert os.geteuid() == 0, "run as root: the image is built in a mount namespace of its own"
    return Image(tmp_path_factory.mktemp("image"))


def test_the_file_system_is_read_only(image: Image) -> None:
    output, errors, code = image.run(["python", "-c", WRITE])
    assert (errors, code) == ("", 0)
    lines = output.splitlines()
    assert lines[0] == "65534 65534 []" and lines[-1] == "no temporary folder"
    assert len(lines) == 8
    assert {line.split(maxsplit=1)[1] for line in lines[1:-1]} == {"Read-only file system"}


def test_stored_games_are_played_without_a_compiler(image: Image) -> None:
    """A notice on stderr would report that something is compiled."""
    output, errors, code = image.run(["python", "-c", PLAY])
    assert (errors, code) == ("", 0)
    rows = read_rows("leaderboard")["busy-aces/shipped"][:DEALS]
    expected = [[row[key] for key in ("deal", "won", "cards_home", "steps")] for row in rows]
    assert [json.loads(line) for line in output.splitlines()] == expected


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["list"], "busy-"),
        (["watch", "eights-down", "--policy", "shipped", "--deal", "7"], "deal 7, played by shipped."),
    ],
)
def test_commands_run_in_the_image(image: Image, command: list[str], words: str) -> None:
    output, errors, code = image.run([*image.entrypoint, *command])
    assert (errors, code) == ("", 0) and words in output


def test_the_server_answers_requests(image: Image) -> None:
    """With the image's own command, on a free port."""
    process = image.start([*image.entrypoint, *image.command, "--port", "0"])
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        port = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/ until Ctrl-C\n", first)
        assert port, (first, process.stderr and process.stderr.read())
        with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/", timeout=30) as page:
            assert b"<title>" in page.read()
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert errors.splitlines() == ["warning: everyone who can reach 0.0.0.0 can play and run the policies"]


def test_the_build_context_contains_only_the_package() -> None:
    """.dockerignore leaves only the package and the files that build it."""
    lines = (PROJECT / ".dockerignore").read_text(encoding="utf-8").split()
    assert lines[0] == "*" and lines[-1] == "**/__pycache__"
    assert all(Path(PROJECT, line[1:]).exists() for line in lines[1:-1])
