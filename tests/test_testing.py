"""The conformance suite passes every variant, and finds faults in a state."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from solitaire_env import testing
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import STUCK
from solitaire_env.env import SolitaireEnv
from solitaire_env.testing import check_state, check_variant
from solitaire_env.variants import get_variant
from solitaire_env.vector import SolitaireVectorEnv
from tests.games import ALL_GAMES, COMPILED, OPTIONS, PUBLISHED, SAMPLED, dealt


@pytest.mark.parametrize("name", SAMPLED)
def test_every_variant_passes(name: str) -> None:
    steps = 100 if name in PUBLISHED or name in OPTIONS else 30
    check_variant(ALL_GAMES[name], steps=steps if COMPILED else 10)


def other_card(batch: Batch) -> None:
    batch.state.rows[1, 0] = 4 if batch.state.rows[1, 0] != 4 else 8


def gap_in_pile(batch: Batch) -> None:
    batch.state.rows[1, [1, 6]] = batch.state.rows[1, [6, 1]]


@pytest.mark.parametrize(
    ("corrupt", "fault"),
    [
        (other_card, "cards: 2 copies of"),
        (gap_in_pile, "padding: there are gaps"),
        (lambda b: b.state.tops.__setitem__((1, 0), 4), "tops: [4, "),
        (lambda b: b.state.runs.__setitem__((1, 0), 6), "runs: [6, "),
        (lambda b: b.state.home.__setitem__(1, 1), "home: 1, a rebuild gives 0"),
        (lambda b: b.state.mask.__setitem__((1, 16), 0), "mask: t1>c is 0, a rebuild gives 1"),
        (lambda b: b.state.status.__setitem__(1, STUCK), "status: 2, a rebuild gives 0"),
    ],
)
def test_faults_are_named(corrupt: Callable[[Batch], Any], fault: str) -> None:
    batch = dealt(get_variant("eights-down"), 0, 1)
    assert check_state(batch) == []
    corrupt(batch)
    faults = check_state(batch)
    assert any(text.startswith(f"game 1: {fault}") for text in faults), faults
    assert not any(text.startswith("game 0") for text in faults)


def test_batches_and_environments_can_be_checked() -> None:
    env = gym.make("Solitaire/BusyAces-v0")
    vector = SolitaireVectorEnv("busy-aces", 2)
    env.reset(seed=0)
    vector.reset(seed=0)
    for games in (env, env.unwrapped, vector, vector.batch):
        assert check_state(games) == []
    vector.batch.state.home[1] = 5
    assert check_state(vector) == ["game 1: home: 5, a rebuild gives 0"]
    with pytest.raises(TypeError, match="games are a int, allowed: a Batch or a solitaire environment"):
        check_state(5)


def test_the_suite_finds_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has position text, and the expected and actual values."""

    def fails(target: object, name: str, value: object, message: str, steps: int = 20) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            with pytest.raises(AssertionError, match=message):
                check_variant(get_variant("eights-down"), steps=steps)

    info = SolitaireEnv._info
    fails(SolitaireEnv, "_info", lambda env: {**info(env), "x": np.random.rand()}, "info")
    text = "number of 't1>f'\nexpected: 1\ngot: 0"
    fails(testing, "action_text", lambda variant, number: "t1>f", text)
    state = r"faults of the state\nexpected: \[\]\ngot: [\s\S]*padding[\s\S]*variant: eights-down"
    fails(testing, "position_to_row", lambda position: np.zeros(3), state)
