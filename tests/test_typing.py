"""A type checker knows the allowed words of arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

GOOD = """
import numpy as np
from solitaire_env import SolitaireEnv, SolitaireVectorEnv, get_variant
from solitaire_env.core import GameSpec, Settings
from solitaire_env.registration import resolve_variant
from solitaire_env.sb3 import SolitaireVecEnv

SolitaireEnv("busy-aces", spaces="kings", build="any suit", moves="supermove", observation="features")
SolitaireEnv(information="thoughtful", reward="win", on_invalid="raise", stall_limit=3, render_mode="ansi")
SolitaireVectorEnv(3, mask_dtype="bool", reward="progress+win", autoreset_mode="SameStep", render_mode="ansi")
SolitaireVecEnv("busy-aces", 2, max_episode_steps="registered", observation="cards", stall_limit=None)
resolve_variant("busy-aces", spaces="none")
variant = get_variant("busy-aces").with_rules(moves="one card")
GameSpec(variant, Settings(information="player")).seen(moves="supermove")
"""

BAD = """
from solitaire_env import SolitaireEnv, SolitaireVectorEnv, get_variant
from solitaire_env.core import GameSpec, Settings
from solitaire_env.core.rewards import get_reward
from solitaire_env.registration import resolve_variant
from solitaire_env.sb3 import SolitaireVecEnv

SolitaireEnv(spaces="queens")
SolitaireEnv(build="by color")
SolitaireEnv(observation="pixels")
SolitaireEnv(mask_dtype="float32")
SolitaireVectorEnv(information="all")
SolitaireVectorEnv(autoreset_mode="Never")
SolitaireVectorEnv(render_mode="human")
SolitaireVecEnv("busy-aces", on_invalid="ignore")
SolitaireVecEnv("busy-aces", max_episode_steps="never")
SolitaireVecEnv("busy-aces", wings=2)
Settings(reward="points")
resolve_variant("busy-aces", spaces="queens")
get_variant("busy-aces").with_rules(decks=2)
GameSpec(get_variant("busy-aces")).seen(observation="pixels")
get_reward("points")
"""


@pytest.mark.slow
def test_mypy_finds_wrong_words(tmp_path: Path) -> None:
    """Every line of the wrong program is an error, and no line of the correct one."""
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(GOOD)
    bad.write_text(BAD)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), good, bad]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    assert not [line for line in lines if "good.py" in line]
    wrong = {int(line.split(":")[1]) for line in lines if "bad.py" in line and "error" in line}
    calls = {number for number, line in enumerate(BAD.splitlines(), 1) if line and line[:4] != "from"}
    assert wrong == calls
