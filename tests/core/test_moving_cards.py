"""Functions that only move cards have the same effect as a step."""

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import widened
from solitaire_env.core.rules.building import carry_limit, fills_space, fits, playable, sequence_length
from solitaire_env.core.rules.foundations import goes_home
from solitaire_env.core.rules.moves import decode, empty_cell, move_cards
from solitaire_env.core.rules.state import copy_cards
from solitaire_env.core.spec import GameSpec
from tests.games import ALL_GAMES, COMPILED, SAMPLED

CARDS = ("heights", "waste", "home", "spaces", "empty_cells", "next_home")
"""Arrays that follow from the cards and are updated as they move."""


def is_allowed(rules, state, b, source, target, count):  # type: ignore[no-untyped-def]
    """Whether the functions that say what fits allow a move from a pile, the waste or a cell."""
    card = playable(rules, state, b, source)
    deepest = card
    if source < rules.piles:
        if sequence_length(rules, state, b, source, state.heights[b, source]) < count:
            return False
        deepest = state.rows[b, source * rules.pile_capacity + state.heights[b, source] - count]
    if target < 0:
        return goes_home(state, b, card)
    if target >= rules.first_cell:
        return target == rules.first_cell + empty_cell(rules, state, b)
    to_space = state.heights[b, target] == 0
    if count > carry_limit(rules, state, b, int(to_space)):
        return False
    if to_space:
        return fills_space(rules, state, b, deepest)
    return fits(rules, deepest, playable(rules, state, b, target))


@pytest.mark.parametrize("name", SAMPLED)
def test_moved_cards_are_where_a_step_puts_them(name: str) -> None:
    variant = ALL_GAMES[name]
    batch = Batch(GameSpec(variant), 2)
    rules, state = batch.rules, batch.state
    random = np.random.default_rng(0)
    for deal in range(4 if COMPILED else 1):
        batch.deal(np.arange(2), [deal, deal])
        for _ in range(60):
            if state.status[0] != PLAYING:
                break
            action = int(random.choice(np.flatnonzero(state.mask[0])))
            state.rows[1] = state.rows[0]
            copy_cards(rules, widened(state), 0, 1)
            move = decode(rules, widened(state), 0, action)
            if rules.home_actions <= action < rules.worry_actions:
                assert is_allowed(rules, widened(state), 1, *move)
            move_cards(rules, widened(state), 1, action, *move)
            batch.step(np.array([action, 0]), np.array([1, 0], dtype=np.int8))
            visible = state.rows[:, : rules.row_stock]
            np.testing.assert_array_equal(visible[1], visible[0])
            for field in CARDS:
                values = getattr(state, field)
                np.testing.assert_array_equal(values[1], values[0], field)
