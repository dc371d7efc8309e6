"""The rollout lookahead, compared with a slow version that plays the linear policy."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import autoplay_safe_moves, has_safe_moves
from solitaire_env.move_features.columns import NUM_DIG, NUM_LOOKAHEAD, NUM_MOVE, NUM_PLAIN
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies.linear import Linear, weights_for
from solitaire_env.variants import Variant
from tests.games import ALL_GAMES, COMPILED, ODD, OPTIONS, PUBLISHED
from tests.move_features.test_moves import played, playing

Array = npt.NDArray[Any]

SUITED = {
    name: variant
    for name, variant in (PUBLISHED | OPTIONS | ODD).items()
    if has_safe_moves(variant) and not variant.hides_cards and variant.fill == "none"
}
"""Games that build in suit and in which only a draw turns a card up."""
LIMIT = 5


def slowly(variant: Variant, row: Array, action: int, linear: Linear) -> tuple[Array, int, int]:
    """The observation that the linear policy reaches, the number of moves, and the number of cards that went
    home.
    """
    batch = Batch(GameSpec(variant), 1)
    batch.set_row(0, row)
    before = int(batch.state.home[0])
    draws = batch.rules.home_actions
    if action >= batch.rules.has_stock:
        batch.step(np.array([action]), batch.everyone)
    made = 0
    while True:
        while (safe := autoplay_safe_moves(batch.rules, batch.state.rows, batch.state.mask))[0] >= 0:
            batch.step(safe, batch.everyone)
            if batch.state.status[0] != PLAYING:
                break
        if made == LIMIT or batch.state.status[0] != PLAYING:
            break
        chosen = linear(batch.observations(), batch.state.mask)
        if chosen[0] < draws:  # or a redeal
            break
        batch.step(chosen, batch.everyone)
        made += 1
    return batch.observations()[0].copy(), made, int(batch.state.home[0]) - before


@pytest.mark.parametrize("name", SUITED)
@pytest.mark.parametrize("reachability", [0, 2] if COMPILED else [2])
def test_the_lookahead_follows_the_linear_policy(name: str, reachability: int) -> None:
    variant = SUITED[name]
    spec = GameSpec(variant)
    weights = weights_for(variant.name, stock=variant.stock > 0)
    linear = Linear(spec, weights)
    plain = MoveReader(spec, 1, reachability)
    reader = MoveReader(spec, 1, reachability, LIMIT)
    width = NUM_PLAIN + reachability + NUM_LOOKAHEAD
    assert reader.sizes[1] - plain.sizes[1] == width
    ends_reader = MoveReader(spec, 0, reachability)
    for steps in (0, 12, 60):
        batch = played(variant, steps, 8)
        rows, observations, masks = playing(batch)
        if len(rows) == 0:
            continue
        seen = plain.read(observations, masks)
        longer = reader.read(observations, masks, weights)
        np.testing.assert_array_equal(longer.moves[:, :-width], seen.moves)
        np.testing.assert_array_equal(longer.positions[:, :-width], seen.positions)
        games = np.concatenate((seen.games, np.arange(len(rows))))
        actions = np.concatenate((seen.actions, np.full(len(rows), -1)))
        counted = [
            slowly(variant, batch.state.rows[rows[game]], int(action), linear)
            for game, action in zip(games, actions, strict=True)
        ]
        lookaheads = np.array([[made / LIMIT, home / 13] for _, made, home in counted], dtype=np.float32)
        ends = ends_reader.read_positions(np.array([end for end, _, _ in counted]))
        expected = np.concatenate((ends, lookaheads), 1)
        np.testing.assert_array_equal(longer.moves[:, -width:], expected[: len(seen.games)])
        np.testing.assert_array_equal(longer.positions[:, -width:], expected[len(seen.games) :])


def test_finished_games_have_no_lookahead() -> None:
    """Their masks are all ones."""
    spec = GameSpec(ALL_GAMES["busy-aces"])
    won = np.zeros((1, spec.observation_size), dtype=np.int8)
    won[0, spec.slices["foundations"]] = 13
    reader = MoveReader(spec, 1, 0, LIMIT)
    seen = reader.read(won, np.ones((1, spec.num_actions), dtype=np.int8), np.ones(NUM_MOVE))
    end = NUM_PLAIN + NUM_DIG
    assert (seen.moves[:, NUM_MOVE:] == seen.positions).all()
    assert (seen.positions[:, end : end + NUM_PLAIN] == seen.positions[:, :NUM_PLAIN]).all()
    assert (seen.positions[:, -NUM_LOOKAHEAD:] == 0).all()
