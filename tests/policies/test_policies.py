"""The policies that need no training."""

from __future__ import annotations

import re

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Build
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import evaluate
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.greedy import Greedy
from solitaire_env.policies.linear import has_weights
from solitaire_env.policies.random import Random
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import COMPILED, PUBLISHED
from tests.positions import fill
from tests.reference import GAMES, ReferenceRules

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


KLONDIKE = {
    "a whole sequence before a card home": ("foundations: H 2|t1: 4S|t2: ... (9C) 3H", "t2>t1"),
    "the waste before a card home": ("foundations: H 2|t1: 4S|waste: 3H", "w>t1"),
    "a card home first if lower ones are home": ("foundations: C 2 H 2 S 2|t1: 4S|waste: 3H", "w>f"),
    "a Two home first": ("foundations: H 1|t1: 3S|waste: 2H", "w>f"),
    "a card home before drawing": ("stock: ...|foundations: H 2|t1: ... (9C) 3H", "t1>f"),
    "the pile with the most face-down cards": ("t1: 8H|t2: (9C) 7S|t3: (2C) (2S) 7C|t4: 8D 7H", "t3>t1"),
    "a King off a face-down card to a space": ("stock: ...|t1:|t2: (2C) KS QH", "t2>s"),
    "back from home for a sequence": ("stock: ...|foundations: H 5|t1: 6S|t2: (9C) 4S", "fH>t1"),
    "back from home for the waste": ("stock: ...|foundations: H 5|t1: 6S|waste: 4S", "fH>t1"),
    "not back from home for a part": ("stock: ...|foundations: H 5|t1: 6S|t2: 6C 5D 4S", "draw"),
    "not back from home for nothing": ("stock: ...|foundations: H 5|t1: 6S|t2: (4S) 9C", "draw"),
    "a part that frees a card": ("stock: ...|foundations: H 7|t1: (2C) 8H 7S|t2: 8D", "t1>t2"),
    "not a part that frees none": ("stock: ...|foundations: H 6|t1: (2C) 8H 7S|t2: 8D", "draw"),
    "a redeal last": ("waste: ... 9C|t1: 6S", "redeal"),
}


@pytest.mark.parametrize(("partial", "move"), KLONDIKE.values(), ids=KLONDIKE)
def test_greedy_plays_klondike_in_the_expected_order(partial: str, move: str) -> None:
    env = SolitaireEnv("klondike")
    shown = fill(f"variant: klondike|{re.sub('[()]', '', partial)}", ReferenceRules.of(env.variant))
    for card in re.findall(r"\((..)\)", partial):
        shown = shown.replace(card, f"({card})")
    observation, info = env.reset(options={"position": shown})
    action = Greedy(env.game)(observation[None], info["action_mask"][None])[0]
    assert env.action_text(int(action)) == move


@pytest.mark.parametrize("name", ["klondike", "whitehead", "double-klondike"])
@pytest.mark.parametrize("build", [None, "same suit"])
def test_greedy_worries_back_only_a_card_that_another_can_be_placed_on(
    name: str, build: Build | None
) -> None:
    spec = GameSpec(get_variant(name).with_rules(build=build))
    batch, player = Batch(spec, 8), Greedy(spec)
    batch.deal(np.arange(8), range(8))
    first, piles, worried = batch.rules.worry_actions, batch.rules.piles, 0
    for _ in range(400 if COMPILED else 30):
        going = (batch.state.status == PLAYING).astype(np.int8)
        masks = batch.state.mask.copy()
        chosen = player(batch.observations(), masks)
        batch.step(np.where(going, chosen, 0), going)
        for game in np.flatnonzero((chosen >= first) & (going == 1) & masks[:, :first].any(axis=1)):
            target = (chosen[game] - first) % piles
            moves = [spec.actions.decode(int(action)) for action in np.flatnonzero(batch.state.mask[game])]
            assert any(move.kind == "tableau" and move.target == target for move in moves)
            worried += 1
    assert (worried > 0) == (build is None) or not COMPILED


@pytest.mark.skipif(not COMPILED, reason="takes minutes interpreted")
@pytest.mark.parametrize(("name", "percent"), [("klondike", 50), ("klondike-draw-3", 14)])
def test_greedy_wins_as_many_games_as_an_experienced_player(name: str, percent: int) -> None:
    assert evaluate("greedy", name, range(1000, 2000)).summary.win_rate >= percent / 100


def test_greedy_requires_card_observations(refuses: Refuses) -> None:
    refuses(lambda: Greedy(BUSY_ACES.view(observation="features")), "greedy", "'cards'", "'features'")
