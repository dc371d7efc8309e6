"""The shipped networks: each plays its stored games; house rules without a network are refused."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import solitaire_env
from agents.reports.stored import Rows, read_rows
from solitaire_env.evaluation import evaluate
from solitaire_env.policies import shipped
from solitaire_env.policies.network import CompiledNetwork
from solitaire_env.policies.shipped import load_shipped, shipped_games
from tests.conftest import Refuses
from tests.games import COMPILED
from tests.policies.model_folders import spec_of


@cache
def leaderboard_rows() -> dict[str, Rows]:
    return read_rows("leaderboard")


@pytest.mark.skipif(not COMPILED, reason="takes minutes interpreted")
@pytest.mark.parametrize("game", shipped_games())
def test_shipped_policies_play_the_stored_games(game: str) -> None:
    stored = leaderboard_rows()[f"{game}/shipped"][:12]
    policy = solitaire_env.load_policy("shipped", game)
    assert isinstance(policy, CompiledNetwork) and policy.name == "shipped"
    games = evaluate(policy, game, [row["deal"] for row in stored]).games
    assert [(game.won, game.cards_home, game.steps) for game in games] == [
        (row["won"], row["cards_home"], row["steps"]) for row in stored
    ]


def test_the_action_set_is_that_of_the_training() -> None:
    assert load_shipped(spec_of("busy-aces")).moves == "supermove"
    assert load_shipped(spec_of("busy-aces", "supermove")).moves == "supermove"
    assert load_shipped(spec_of("forty-bandits")).moves == "sequence"


def test_house_rules_without_a_network_are_refused(refuses: Refuses) -> None:
    game = spec_of("eights-down")
    other = type(game)(game.variant.with_rules(spaces="any", moves="one card"))
    refuses(
        lambda: load_shipped(other),
        "'shipped' has no network for this game, only for busy-aces, eights-down", "agents.train",
    )  # fmt: skip


def test_the_error_without_any_network_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path)
    refuses(lambda: load_shipped(spec_of("busy-aces")), "none yet")


@pytest.mark.skipif(not COMPILED, reason="takes minutes interpreted")
def test_shipped_policies_need_no_torch() -> None:
    script = (
        "import sys; sys.modules['torch'] = None; import solitaire_env; from solitaire_env import evaluate; "
        "print(len(evaluate(solitaire_env.load_policy('shipped', 'eights-down'), 'eights-down', [0]).games))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.stdout == "1\n", run.stderr
