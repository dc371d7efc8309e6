"""The wheel, installed alone in an empty environment, plays the shipped policies without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from itertools import islice
from pathlib import Path

import pytest

from solitaire_env.policies.shipped import shipped_games

PROJECT = Path(__file__).parents[1]
STORED = PROJECT / "results" / "leaderboard"
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
        told = game_played.won, game_played.cards_home, game_played.steps
        assert told == (row["won"], row["cards_home"], row["steps"]), (game["name"], row, told)
    print(game["name"], policy.name, len(played))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, PROJECT)
    [path] = folder.glob("*.whl")
    return path


def run(*command: object, given: str = "", cwd: Path | None = None) -> str:
    """What a command prints; its errors are shown if it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        input=given, cwd=cwd, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_holds_the_weights_and_not_how_they_were_trained(wheel: Path) -> None:
    weights = "solitaire_env/policies/weights/"
    names = {
        name.removeprefix(weights) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(weights)
    }
    files = ("model.json", "model.safetensors")
    assert names == {"linear.json", *(f"{game}/{file}" for game in shipped_games() for file in files)}
    assert wheel.stat().st_size < 3_000_000


@pytest.mark.slow
def test_plays_the_stored_games_without_torch(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(python, "-m", "pip", "install", "--quiet", "--constraint", PROJECT / "constraints.txt", wheel)
    games = []
    for name in shipped_games():
        with (STORED / name / "shipped.jsonl").open(encoding="utf-8") as file:
            games.append({"name": name, "rows": [json.loads(line) for line in islice(file, DEALS)]})
    printed = run(python, "-c", PLAY, given=json.dumps(games), cwd=tmp_path)
    assert printed.splitlines() == [f"{name} shipped {DEALS}" for name in shipped_games()]
