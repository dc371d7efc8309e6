"""The shipped networks: house rules without a network are refused, and none needs torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies import shipped
from solitaire_env.policies.shipped import load_shipped
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import COMPILED
from tests.policies.model_folders import spec_of


def test_the_action_set_is_that_of_the_training() -> None:
    assert load_shipped(spec_of("busy-aces")).moves == "supermove"
    assert load_shipped(spec_of("busy-aces", "supermove")).moves == "supermove"
    assert load_shipped(spec_of("forty-bandits")).moves == "sequence"


@pytest.mark.parametrize("game", ["freecell", "busy-aces"])
def test_arrays_of_another_game_are_refused(game: str, refuses: Refuses) -> None:
    """Of another variant, and of the game without supermoves, which this policy was trained with."""
    batch = Batch(GameSpec(get_variant(game)), 1)
    batch.deal(np.zeros(1, dtype=np.int64), [0])
    policy = load_shipped(spec_of("busy-aces"))
    for call in (policy, policy.explain):
        refuses(partial(call, batch.observations(), batch.state.mask), "allowed for busy-aces", "257 and 315")


def test_house_rules_without_a_network_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    game = spec_of("eights-down")
    other = type(game)(game.variant.with_rules(spaces="any", moves="one card"))
    refuses(
        lambda: load_shipped(other),
        "'shipped' has no network for this game, only for busy-aces, eights-down", "agents.train",
    )  # fmt: skip
    for rule in ({"face_down": 2}, {"fill": "waste"}):
        changed = GameSpec(replace(get_variant("forty-bandits"), **rule))  # type: ignore[arg-type]
        refuses(lambda changed=changed: load_shipped(changed), "no network for this game")  # type: ignore[misc]
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
