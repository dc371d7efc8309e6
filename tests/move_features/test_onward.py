"""Where moves lead on to, against the same played slowly on the engine by the linear policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch as th

from agents.config import make_config
from agents.learners.factory import make_model
from agents.learners.pqn import PQN
from agents.learners.training_env import make_env
from agents.networks import MovesNetwork
from solitaire_env import get_variant
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING, make_rules
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import policy_layout
from solitaire_env.move_features.moves import (
    NUM_MOVE,
    NUM_PLAIN,
    look,
    look_at_positions,
    moves_of,
    sure_homes,
)
from solitaire_env.move_features.onward import Onward, num_onward, variant_of
from solitaire_env.policies.linear import Linear, weights_for, weights_of
from solitaire_env.variants import VARIANTS, Variant
from tests.games import ALL, ODD, OPTIONS
from tests.move_features.test_moves import played, playing

Array = npt.NDArray[Any]

SUITED = {
    name: variant
    for name, variant in ({variant.name: variant for variant in VARIANTS} | OPTIONS | ODD).items()
    if variant.build == "same suit"
}
LIMIT = 5


@pytest.mark.parametrize("name", ALL)
def test_games_of_their_layouts(name: str) -> None:
    """All that a position and its actions are told by is the same."""
    variant = ALL[name]
    rules = make_rules(variant)
    again = make_rules(variant_of(policy_layout(variant)))
    assert again._replace(build=rules.build, cells_filled=rules.cells_filled) == rules


def slowly(variant: Variant, row: Array, action: int, linear: Linear) -> tuple[Array, int, int]:
    """The observation that the linear policy comes to, in how many moves, and how many cards went home."""
    batch = Batch(GameSpec(variant), 1)
    batch.set_row(0, row)
    before = int(batch.state.home[0])
    draws = variant.stock > 0
    if action >= draws:
        batch.step(np.array([action]), batch.everyone)
    made = 0
    while True:
        while (sure := sure_homes(batch.observations(), batch.state.mask, linear.table))[0] >= 0:
            batch.step(sure, batch.everyone)
            if batch.state.status[0] != PLAYING:
                break
        if made == LIMIT or batch.state.status[0] != PLAYING:
            break
        chosen = linear(batch.observations(), batch.state.mask)
        if chosen[0] < draws:
            break
        batch.step(chosen, batch.everyone)
        made += 1
    return batch.observations()[0].copy(), made, int(batch.state.home[0]) - before


@pytest.mark.parametrize("name", SUITED)
@pytest.mark.parametrize("reach", [0, 2])
def test_follows_the_linear_policy(name: str, reach: int) -> None:
    variant = SUITED[name]
    layout = policy_layout(variant)
    moves = moves_of(layout)
    weights = weights_for(variant.name, stock=variant.stock > 0)
    linear = Linear(layout, weights)
    onward = Onward(layout, moves, LIMIT, reach)
    width = num_onward(reach)
    for steps in (0, 12, 60):
        batch = played(variant, steps, 8)
        rows, observations, masks = playing(batch)
        if len(rows) == 0:
            continue
        seen = look(observations, masks, moves, digs=1, reach=reach)
        longer = onward.lengthen(seen, observations, weights)
        assert longer.moves.shape[1] - seen.moves.shape[1] == width
        games = np.concatenate((seen.games, np.arange(len(rows))))
        actions = np.concatenate((seen.actions, np.full(len(rows), -1)))
        ends, ways = onward.follow(observations, games, actions, weights)
        for k, (game, action) in enumerate(zip(games, actions, strict=True)):
            end, made, home = slowly(variant, batch.state.rows[rows[game]], int(action), linear)
            np.testing.assert_array_equal(ends[k], end)
            assert ways[k] == pytest.approx([made / LIMIT, home / 13])
        read = np.concatenate((look_at_positions(ends, moves, 0, reach), ways), 1)
        np.testing.assert_array_equal(longer.moves[:, -width:], read[: len(seen.games)])
        np.testing.assert_array_equal(longer.positions[:, -width:], read[len(seen.games) :])
        assert read.shape[1] == width == NUM_PLAIN + reach + 2


def test_finished_games_go_nowhere() -> None:
    """All their actions pass for legal."""
    variant = ALL["busy-aces"]
    layout = policy_layout(variant)
    onward = Onward(layout, moves_of(layout), LIMIT)
    won = np.zeros((1, layout["size"]), dtype=np.int8)
    first, end = layout["slices"]["foundations"]
    won[0, first:end] = 13
    actions = np.arange(layout["actions"])
    ends, ways = onward.follow(won, np.zeros_like(actions), actions, np.ones(NUM_MOVE))
    assert (ends == won).all() and (ways == 0).all()


@th.no_grad()
def test_networks_without_weights_go_nowhere() -> None:
    network = MovesNetwork(GameSpec(get_variant("busy-aces")), (8,), 8, 1, onward=3)
    observations = played(ALL["busy-aces"], 10, 4).observations()
    positions = network.look(observations, np.zeros((4, 0), dtype=np.int8)).positions
    assert (positions[:, -2] == 0).all()


@pytest.mark.training
@pytest.mark.parametrize("learner", ["ppo", "pqn"])
def test_training_begins_with_the_linear_policy(learner: str) -> None:
    """And neither changes its weights nor forgets them in what it keeps."""
    sizes = {"hidden": [8], "width": 8, "onward": 3, "reach": 1}
    given = {"num_envs": 8, "n_steps": 16, "batch_size": 32, **sizes}
    config = make_config({"env": "forty-bandits", "learner": learner, **given}, "test")
    env = make_env(config)
    model = make_model(config, env)
    weights = th.from_numpy(weights_of(policy_layout("forty-bandits"))).float()
    assert weights.abs().sum() > 0
    model.learn(8 * 16)
    kept = model.average.module if isinstance(model, PQN) else model.policy.network
    assert isinstance(kept, MovesNetwork) and (kept.habit == weights).all()
