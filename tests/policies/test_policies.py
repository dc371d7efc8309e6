"""The policies that need no training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import evaluate
from solitaire_env.notation import format_position
from solitaire_env.policies.drawing import draw, draw_legal
from solitaire_env.policies.greedy import LAST, Greedy
from solitaire_env.policies.random import Random
from solitaire_env.variants import VARIANTS, Variant, get_variant
from tests.conftest import Refuses
from tests.games import COMPILED, SHORT, has_basic_rules
from tests.policies.slow_greedy import SlowGreedy
from tests.positions import fill
from tests.reference import GAMES

ACTION_SETS = {
    f"{variant.name}, {moves}": variant.with_rules(moves=moves)
    for variant in VARIANTS[:5]
    for moves in ("one card", "supermove", "sequence")
}
OTHER_BUILDS = {
    name: get_variant(name) for name in ("streets", "freecell", "napoleons-exile", "kingcell", "squadron")
}
IN_SUIT = {
    name: variant
    for name, variant in SHORT.items()
    if variant.build == "same suit" and has_basic_rules(variant)
}
PLAYED = {**ACTION_SETS, **OTHER_BUILDS, **IN_SUIT}
DEALS = range(50 if COMPILED else 4)


@pytest.mark.parametrize("policy", [Greedy, Random])
@pytest.mark.parametrize("name", ACTION_SETS)
def test_actions_are_legal(name: str, policy: Any) -> None:
    """The evaluation would raise an error for an illegal one."""
    evaluate(policy(GameSpec(ACTION_SETS[name])), ACTION_SETS[name], DEALS, max_episode_steps=300)


@pytest.mark.parametrize("name", ACTION_SETS)
def test_greedy_beats_random(name: str) -> None:
    variant = ACTION_SETS[name]
    spec = GameSpec(variant)
    limit = None if COMPILED else 200
    random, greedy = (
        evaluate(policy, variant, DEALS, max_episode_steps=limit).summary
        for policy in (Random(spec), Greedy(spec))
    )
    assert greedy.cards_home > random.cards_home
    assert greedy.wins >= random.wins


@pytest.mark.parametrize("name", PLAYED)
def test_greedy_undoes_a_move_only_if_no_other_is_legal(name: str) -> None:
    """Where a position repeats, only moves that undo others were left in between."""
    variant = PLAYED[name]
    policy, slow = Greedy(GameSpec(variant)), SlowGreedy(GameSpec(variant))
    rows = np.arange(20)
    batch = Batch(GameSpec(variant), len(rows))
    batch.deal(rows, rows.tolist())
    stood: list[dict[bytes, int]] = [{} for _ in rows]
    undone = np.full(len(rows), -1)
    for step in range(300):
        playing = batch.state.status == 0
        if not playing.any():
            break
        observations = batch.observations()
        actions = policy(observations, batch.state.mask)
        undone[slow.scores(observations.astype(np.int64))[rows, actions] <= LAST] = step
        for row in rows[playing].tolist():
            before = stood[row].get(observations[row].tobytes(), step)
            assert before == step or undone[row] >= before, format_position(batch.position(row))
            stood[row][observations[row].tobytes()] = step
        batch.step(actions, playing.astype(np.int8))


@pytest.mark.parametrize(
    "build",
    [
        "same suit",
        *(pytest.param(build, marks=pytest.mark.slow) for build in ("alternate color", "any suit")),
    ],
)
@pytest.mark.parametrize("name", PLAYED)
def test_greedy_equals_its_definition(name: str, build: Any) -> None:
    """In positions that it reaches when some of its moves are replaced by random ones."""
    for spaces in ("any", "kings"):
        check_greedy(PLAYED[name].with_rules(build=build, spaces=spaces))


def check_greedy(variant: Variant) -> None:
    spec = GameSpec(variant)
    policy, slow = Greedy(spec), SlowGreedy(spec)
    random = np.random.default_rng(0)
    batch = Batch(spec, 16)
    batch.deal(np.arange(16), list(range(16)))
    for _ in range(50 if COMPILED else 5):
        observations, masks = batch.observations().copy(), batch.state.mask.copy()
        actions = policy(observations, masks)
        playing = batch.state.status == PLAYING
        np.testing.assert_array_equal(actions[playing], slow(observations, masks)[playing])
        others = draw(masks, random.random(16))
        batch.step(np.where(random.random(16) < 0.6, actions, others), batch.everyone)


@pytest.mark.parametrize("size", [5, 31, 32, 33, 64, 171])
def test_legal_actions_are_drawn_as_with_equal_weights(size: int) -> None:
    random = np.random.default_rng(size)
    masks = (random.random((500, size)) < 0.1).astype(np.int8)
    masks[np.arange(500), random.integers(size, size=500)] = 1
    uniforms = random.random(500)
    uniforms[:50], uniforms[50:100] = 0.0, 1 - 2.0**-53
    np.testing.assert_array_equal(draw_legal(masks, uniforms), draw(masks, uniforms))
    np.testing.assert_array_equal(draw_legal(masks != 0, uniforms), draw(masks, uniforms))
    assert draw_legal(masks[:0], uniforms[:0]).shape == (0,)


PREFERENCES = {
    "home before all else": ("busy-aces", "t1: AC|t2: KH|t3: QH", "t1>f"),
    "the lowest first": ("busy-aces", "foundations: C 3 0 D 0 0 H 0 0 S 0 0|t1: 4C|t2: AD", "t2>f"),
    "onto a pile before drawing": ("busy-aces", "stock: ...|t1: KH|t2: QH|t3..t12: **", "t2>t1"),
    "not off a card on which it lies well": (
        "forty-thieves",
        "stock: ...|waste: 3C|t1: 9H 8H|t2: 9H",
        "draw",
    ),
    "a short pile to a space": ("forty-thieves", "stock: ...|t1:|t2: KH 9C|t3..t10: ... **", "t2>s"),
    "from the waste onto a pile": (
        "forty-thieves",
        "stock: ...|waste: ... QH|t1: ... KH|t2..t10: ... **",
        "w>t1",
    ),
    "to a cell from above an Ace": (
        "eights-down",
        "cells: -- ** ** ** ** ** ** **|t1: ... 9H AC KC|t2: ... AD KD 5S|t3..t8: ... **",
        "t1>c",
    ),
}


@pytest.mark.parametrize(("variant", "partial", "move"), PREFERENCES.values(), ids=PREFERENCES)
def test_greedy_prefers_the_expected_move(variant: str, partial: str, move: str) -> None:
    env = SolitaireEnv(variant)
    observation, info = env.reset(options={"position": fill(f"variant: {variant}|{partial}", GAMES[variant])})
    policy = Greedy(env.game)
    assert env.action_text(int(policy(observation[None], info["action_mask"][None])[0])) == move


def test_greedy_wins_as_often_as_measured() -> None:
    """Shares of games won on deals 0-199, measured once, to detect a loss."""
    for name, moves, least in (
        ("busy-aces", "supermove", 0.5),
        ("busy-aces", None, 0.2),
        ("eights-down", None, 0.25),
    ):
        variant = get_variant(name).with_rules(moves=moves)
        assert evaluate(Greedy(GameSpec(variant)), variant, range(200)).summary.win_rate >= least, name


def test_random_is_reproducible_and_uniform() -> None:
    masks = np.zeros((4000, 7), dtype=np.int8)
    masks[:, [1, 4, 6]] = 1
    spec = GameSpec(get_variant("busy-aces"))
    first, again, other = (Random(spec, seed)(None, masks) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    counts = np.bincount(first, minlength=7)
    assert counts[[0, 2, 3, 5]].sum() == 0 and (abs(counts[[1, 4, 6]] - 4000 / 3) < 150).all()


def test_greedy_plays_single_rows_the_same() -> None:
    variant = get_variant("eights-down")
    batch = Batch(GameSpec(variant), 8)
    batch.deal(np.arange(8), range(8))
    policy = Greedy(GameSpec(variant))
    together = policy(batch.observations(), batch.state.mask)
    alone = [policy(batch.observations()[k : k + 1], batch.state.mask[k : k + 1])[0] for k in range(8)]
    assert together.tolist() == alone


BUSY_ACES = GameSpec(get_variant("busy-aces"))


def test_greedy_requires_card_observations(refuses: Refuses) -> None:
    refuses(lambda: Greedy(BUSY_ACES.seen(observation="features")), "greedy", "'cards'", "'features'")
