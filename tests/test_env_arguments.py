"""Arguments that environments accept, and our own errors for the others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import solitaire_env
from solitaire_env.core.position import FACE_DOWN
from solitaire_env.env import SolitaireEnv
from solitaire_env.testing import expect_results
from solitaire_env.util.messages import shown
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses

BUSY = "solitaire_env:Solitaire/BusyAces-v0"


def started(**arguments: Any) -> SolitaireEnv:
    env = SolitaireEnv("busy-aces", **arguments)
    env.reset(options={"deal": 7})
    return env


@pytest.mark.parametrize("number", [2**64 - 1, 2**63, 171])
@pytest.mark.parametrize("on_invalid", ["noop", "raise", "terminate"])
def test_the_error_shows_the_action_that_was_passed(number: int, on_invalid: Any, refuses: Refuses) -> None:
    """Not its lowest 64 bits."""
    refuses(lambda: started(on_invalid=on_invalid).step(np.uint64(number)), f"action {number} ", "0..170")
    envs = SolitaireVectorEnv(2, "busy-aces", on_invalid=on_invalid)
    envs.reset(seed=0)
    actions = np.array([0, number], dtype=np.uint64)
    refuses(lambda: envs.step(actions), f"action {number} ", "0..170")


@pytest.mark.parametrize("code", [128, -129, 2**62, -(2**63)], ids=shown)
def test_codes_beyond_a_byte_raise_an_error(code: int, refuses: Refuses) -> None:
    """Without counting up to them."""
    env = started()
    observation = env.step(0)[0].astype(np.int64)
    for entry in (0, env.observation_layout["foundations"].start, len(observation) - 1):
        wrong = observation.copy()
        wrong[entry] = code
        refuses(lambda wrong=wrong: env.decode_observation(wrong), f"code {code}, allowed: 0 to 127")


def test_a_state_with_a_hidden_stock_raises_an_error(refuses: Refuses) -> None:
    env = started()
    saved = env.get_state()
    stock = env.batch.rules.row_stock
    saved["row"][stock:] = [FACE_DOWN if code else 0 for code in saved["row"][stock:]]
    refuses(lambda: env.set_state(saved), "state is not possible", "face-down")


def options_of(start: str) -> dict[str, Any]:
    if start == "name":
        pytest.importorskip("pysol_cards")
    env = started()
    env.step(0)
    return {
        "number": {"deal": 7},
        "name": {"deal": "ms:617"},
        "hidden position": {"position": env.position(hidden=True)},
    }[start]


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("start", ["number", "name", "hidden position"])
def test_rows_may_start_in_different_ways(start: str, mode: AutoresetMode) -> None:
    """Gymnasium's vector environment accepts the infos, and the native one has the same."""
    options = options_of(start)
    arguments: dict[str, Any] = {"max_episode_steps": 2}
    theirs = SyncVectorEnv([lambda: gym.make(BUSY, **arguments)] * 2, autoreset_mode=mode)
    ours = gym.make_vec(BUSY, num_envs=2, autoreset_mode=mode, **arguments)
    expected: Any = theirs.reset(seed=3)
    expect_results("at reset", expected, ours.reset(seed=3))
    for row in (1, 0):
        mask = np.arange(2) == row
        expected, got = (
            envs.reset(options={**options, "reset_mask": mask.copy()}) for envs in (theirs, ours)
        )
        expect_results("at reset of one", expected, got)
        for step in range(3):
            if mode is AutoresetMode.DISABLED and step == 2:
                expected, got = (envs.reset(seed=4) for envs in (theirs, ours))
            else:
                expected, got = (envs.step(np.zeros(2, dtype=np.int64)) for envs in (theirs, ours))
            expect_results(f"at step {step}", expected, got)
            for info in (expected[-1], got[-1]):
                assert info["deal"].dtype == np.int64 and info["_deal"].all()


def test_dir_lists_the_public_names() -> None:
    """Including those that are loaded on first use."""
    names = dir(solitaire_env)
    assert set(solitaire_env.__all__) <= set(names)
    assert not {"import_module", "os", "Any", "TYPE_CHECKING"} & set(names)
    for name in names:
        assert getattr(solitaire_env, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'wings'"):
        _ = solitaire_env.wings  # type: ignore[attr-defined]


EXTRAS = ("stable_baselines3", "torch", "PIL", "pygame", "imageio", "imageio_ffmpeg", "moviepy", "yaml",
          "pysol_cards", "starlette", "uvicorn", "pydantic", "scipy", "matplotlib", "rich")  # fmt: skip

WITHOUT_EXTRAS = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    sys.modules[name] = None
import solitaire_env
for module in pkgutil.walk_packages(solitaire_env.__path__, "solitaire_env.", onerror=lambda name: None):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            print(module.name, type(error).__name__, error)
"""


def test_modules_without_their_libraries_say_what_to_install() -> None:
    """Every module of the package can be imported, or names the extra with the missing library."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *EXTRAS]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    lacking = dict(line.split(" ", 1) for line in lines)
    for name, message in lacking.items():
        assert message.startswith("ImportError ") and 'pip install "solitaire-env[' in message, (
            name,
            message,
        )
    assert "stable_baselines3" in lacking["solitaire_env.sb3"] and "[train]" in lacking["solitaire_env.sb3"]
    assert "[render]" in lacking["solitaire_env.render.picture"]
    assert "[web]" in lacking["solitaire_env.play.server"]
