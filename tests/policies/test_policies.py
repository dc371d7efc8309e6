"""The policies that need no training."""

from __future__ import annotations

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.loading import load_policy
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.greedy import Greedy
from solitaire_env.policies.linear import has_weights
from solitaire_env.policies.random import Random
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import COMPILED, PUBLISHED
from tests.positions import fill
from tests.reference import GAMES

BUSY_ACES = GameSpec(get_variant("busy-aces"))


def test_the_weights_of_the_linear_policy_are_for_the_rules_that_they_were_fitted_to() -> None:
    """Games that build otherwise have the same features."""
    fitted = ["busy-aces", "eights-down", "eighty-thieves", "forty-bandits", "forty-thieves"]
    assert sorted(name for name, game in PUBLISHED.items() if has_weights(GameSpec(game))) == fitted
    assert not has_weights(GameSpec(get_variant("forty-thieves").with_rules(build="any suit")))


def test_draw_follows_the_weights() -> None:
    weights = np.array([[0.0, 1.0, 3.0, 0.0, 4.0, 0.0]])
    for chance, action in ((0.0, 1), (0.1249, 1), (0.125, 2), (0.499, 2), (0.5, 4), (1 - 2**-53, 4)):
        assert draw(weights, np.array([chance])).tolist() == [action]
    ones = np.ones((300, 300), dtype=np.int8)
    assert draw(ones, (np.arange(300) + 0.5) / 300).tolist() == [*range(300)]


def test_random_is_reproducible_and_uniform() -> None:
    masks = np.zeros((4000, 7), dtype=np.int8)
    masks[:, [1, 4, 6]] = 1
    first, again, other = (Random(BUSY_ACES, seed)(masks, masks) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    counts = np.bincount(first, minlength=7)
    assert counts[[0, 2, 3, 5]].sum() == 0 and (abs(counts[[1, 4, 6]] - 4000 / 3) < 150).all()


PREFERENCES = {
    "home before all else": ("busy-aces", "t1: AC|t2: KH|t3: QH", "t1>f"),
    "the lowest first": ("busy-aces", "foundations: C 3 0 D 0 0 H 0 0 S 0 0|t1: 4C|t2: AD", "t2>f"),
    "onto a pile before drawing": ("busy-aces", "stock: ...|t1: KH|t2: QH|t3..t12: **", "t2>t1"),
    "a short pile to a space": ("forty-thieves", "stock: ...|t1:|t2: KH 9C|t3..t10: ... **", "t2>s"),
    "to a cell from above an Ace": (
        "eights-down", "cells: -- ** ** ** ** ** ** **|t1: ... 9H AC KC|t2: ... AD KD 5S|t3..t8: ... **",
        "t1>c",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("variant", "partial", "move"), PREFERENCES.values(), ids=PREFERENCES)
def test_greedy_prefers_the_expected_move(variant: str, partial: str, move: str) -> None:
    env = SolitaireEnv(variant)
    observation, info = env.reset(options={"position": fill(f"variant: {variant}|{partial}", GAMES[variant])})
    action = Greedy(env.game)(observation[None], info["action_mask"][None])[0]
    assert env.action_text(int(action)) == move


@pytest.mark.parametrize("name", ["klondike", "whitehead", "double-klondike"])
def test_greedy_never_worries_back_nor_redeals_first(name: str) -> None:
    batch, player = Batch(GameSpec(get_variant(name)), 8), load_policy("greedy", name)
    batch.deal(np.arange(8), range(8))
    for _ in range(100 if COMPILED else 30):
        going = (batch.state.status == PLAYING).astype(np.int8)
        chosen = player(batch.observations(), batch.state.mask)
        worries = batch.rules.worry_actions
        others = batch.state.mask[:, :worries].any(axis=1)
        assert (chosen[others & (going == 1)] < worries).all()
        batch.step(np.where(going, chosen, 0), going)


def test_greedy_requires_card_observations(refuses: Refuses) -> None:
    refuses(lambda: Greedy(BUSY_ACES.view(observation="features")), "greedy", "'cards'", "'features'")
