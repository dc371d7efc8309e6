"""The shipped networks: every game has one, and none needs torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies.policy import view_of
from solitaire_env.policies.shipped import load_family, load_shipped, shipped_games
from solitaire_env.variants import get_variant, known_variants
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


def test_games_without_a_network_of_their_own_have_that_of_all_games() -> None:
    """House rules make another game."""
    for variant in (
        *known_variants(),
        get_variant("eights-down").with_rules(spaces="any", moves="one card"),
        replace(get_variant("forty-bandits"), face_down=2),
        replace(get_variant("forty-bandits"), fill="waste"),
    ):
        spec = GameSpec(variant)
        played = load_shipped(spec)
        assert played.name == ("shipped" if variant in map(get_variant, shipped_games()) else "family")
        assert load_family(spec).name == "family"
        batch = Batch(view_of(played, spec), 1)
        batch.deal(np.zeros(1, dtype=np.int64), [0])
        [action] = played(batch.observations(), batch.state.mask)
        assert batch.state.mask[0, action]


@pytest.mark.skipif(not COMPILED, reason="takes minutes interpreted")
def test_shipped_policies_need_no_torch() -> None:
    script = (
        "import sys; sys.modules['torch'] = None; import solitaire_env; from solitaire_env import evaluate; "
        "print(len(evaluate(solitaire_env.load_policy('shipped', 'eights-down'), 'eights-down', [0]).games))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.stdout == "1\n", run.stderr
