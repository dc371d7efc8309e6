"""The wheel, installed alone in a new environment, plays the shipped policies without torch."""

import json
import os
import subprocess
import sys
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from agents.results.stored import read_abouts, read_rows
from solitaire_env.policies.shipped import FAMILY, shipped_games

PROJECT = Path(__file__).parents[1]
DEALS = 4

PLAY = """
import json, sys
from importlib.util import find_spec
import solitaire_env
assert find_spec("torch") is None and find_spec("agents") is None
for game in json.load(sys.stdin):
    policy = solitaire_env.load_policy("shipped", game["name"])
    played = solitaire_env.evaluate(policy, game["name"], [row["deal"] for row in game["rows"]]).games
    for row, game_played in zip(game["rows"], played, strict=True):
        got = game_played.won, game_played.cards_home, game_played.steps
        assert got == (row["won"], row["cards_home"], row["steps"]), (game["name"], row, got)
    print(game["name"], policy.name, len(played))
"""

SEARCH = """
import json, sys
import solitaire_env
for game in json.load(sys.stdin):
    policy = solitaire_env.load_policy("search", game["name"], **game["budget"])
    [played] = solitaire_env.evaluate(policy, game["name"], [game["row"]["deal"]]).games
    names = "won", "cards_home", "steps"
    assert [getattr(played, name) for name in names] == [game["row"][name] for name in names], game
    print(game["name"], policy.name)
assert "torch" not in sys.modules
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, PROJECT)
    [path] = folder.glob("*.whl")
    return path


def environment() -> dict[str, str]:
    """Variables of a process that does not see the project folder."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def run(*command: object, given: str = "", cwd: Path | None = None, **names: str) -> str:
    """The stdout of a command, with some environment variables; its errors are shown if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        input=given, cwd=cwd, env=environment() | names, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_the_wheel_contains_the_weights_without_training_records(wheel: Path) -> None:
    weights = "solitaire_env/policies/weights/"
    names = {
        name.removeprefix(weights) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(weights)
    }
    files = ("model.json", "model.safetensors")
    assert names == {
        "linear.json",
        *(f"{game}/{file}" for game in (*shipped_games(), FAMILY) for file in files),
    }
    assert wheel.stat().st_size < 3_000_000


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel alone, in a folder with another letter."""
    folder = tmp_path_factory.mktemp("umgebung-ä")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    constraints = PROJECT / "constraints.txt"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, wheel)
    return python


@pytest.mark.slow
def test_plays_the_stored_games_without_torch(python: Path, tmp_path: Path) -> None:
    rows = read_rows("leaderboard")
    games = [{"name": name, "rows": rows[f"{name}/shipped"][:DEALS]} for name in shipped_games()]
    printed = run(python, "-c", PLAY, given=json.dumps(games), cwd=tmp_path)
    assert printed.splitlines() == [f"{name} shipped {DEALS}" for name in shipped_games()]


@pytest.mark.slow
def test_searches_the_stored_games_without_torch(python: Path, tmp_path: Path) -> None:
    """By a network, and in Klondike by trees."""
    entries = "busy-aces/32", "klondike-draw-3/4000"
    rows, abouts = read_rows("search"), read_abouts("search")
    games = [
        {"name": entry.partition("/")[0], "row": rows[entry][0], "budget": abouts[entry].budget}
        for entry in entries
    ]
    printed = run(python, "-c", SEARCH, given=json.dumps(games), cwd=tmp_path)
    assert printed.splitlines() == [f"{entry.partition('/')[0]} search" for entry in entries]


@pytest.mark.slow
def test_serve_answers(python: Path, tmp_path: Path) -> None:
    """The page, and a hint of the policy."""
    words = ("-m", "solitaire_env", "serve", "--port", "0", "--policy", "shipped")
    server = subprocess.Popen(
        [str(python), *words], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        home = server.stdout.readline().split("/ ")[0]

        def ask(path: str, body: dict[str, object] | None = None) -> bytes:
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(home + path, data, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=120) as answer:
                return bytes(answer.read())

        assert b"<title>" in ask("/")
        assert ask("/engine.wasm").startswith(b"\0asm")
        assert "shipped" in ask("/api/policies", {"game": "busy-aces"}).decode()
        assert json.loads(ask("/api/hint", {"game": "busy-aces", "deal": 7, "policy": "shipped"}))["action"]
    finally:
        server.terminate()
        server.communicate(timeout=30)


FROZEN = """
import gymnasium as gym
import solitaire_env
for name in ("Solitaire/Klondike-v0", "Solitaire/Family-v0"):
    env = gym.make(name)
    _, info = env.reset(seed=0)
    env.step(info["action_mask"].argmax())
assert gym.make_vec("Solitaire/Klondike-v0", num_envs=2).reset(seed=0)[0].shape[0] == 2
print(solitaire_env.evaluate("shipped", "busy-aces", range(2)).summary.games)
"""


@pytest.mark.slow
def test_a_program_that_pyinstaller_freezes_plays(python: Path, tmp_path: Path) -> None:
    run(python, "-m", "pip", "install", "--quiet", "pyinstaller")
    (tmp_path / "program.py").write_text(FROZEN)
    run(python, "-m", "PyInstaller", "--log-level", "WARN", "program.py", cwd=tmp_path)
    assert run(tmp_path / "dist" / "program" / "program", cwd=tmp_path) == "2\n"
