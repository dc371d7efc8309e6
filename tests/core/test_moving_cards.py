"""Functions that only move cards have the same effect as a step."""

from __future__ import annotations

import numpy as np
import pytest

from solitaire_env.core import engine
from solitaire_env.core.batch import Batch
from solitaire_env.core.engine import (
    carry,
    carry_limit,
    copy_cards,
    decode,
    empty_cell,
    fills_space,
    fits,
    goes_home,
    playable,
    send_home,
    sequence_length,
    to_cell,
)
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from tests.games import EACH, EVERY

CARDS = ("heights", "waste", "home", "spaces", "empty_cells", "next_home")
"""Arrays that follow from the cards and are updated as they move."""


def move_cards(rules, state, b, action, allowed):  # type: ignore[no-untyped-def]
    """Play an action of game 0 in row ``b``; write to ``allowed`` whether the rules allow it, except in
    varied games.
    """
    source, target, count = decode(rules, state, 0, action)
    if rules.varied:
        engine.move_cards(rules, state, b, action)
        return
    card = playable(rules, state, b, source)
    deepest = card
    if source < rules.piles:
        allowed[0] = sequence_length(rules, state, b, source, int(state.heights[b, source])) >= count
        end = source * rules.pile_capacity + int(state.heights[b, source])
        deepest = int(state.rows[b, end - count])
    if target < 0:
        allowed[1] = goes_home(state, b, card)
        send_home(rules, state, b, source, card)
    elif target >= rules.first_cell:
        allowed[1] = target == rules.first_cell + empty_cell(rules, state, b)
        to_cell(rules, state, b, source, target - rules.first_cell, card)
    else:
        to_space = int(int(state.heights[b, target]) == 0)
        if to_space:
            allowed[1] = fills_space(rules, state, b, deepest)
        else:
            allowed[1] = fits(rules, deepest, playable(rules, state, b, target))
        allowed[2] = count <= carry_limit(rules, state, b, to_space)
        carry(rules, state, b, source, target, count, card)


def copy_row(rules, state, source, target):  # type: ignore[no-untyped-def]
    copy_cards(rules, state, source, target)
    if rules.varied:
        # A move of a varied game also reads these.
        for place in range(rules.row_stock, rules.row_size):
            state.rows[target, place] = state.rows[source, place]
        for place in range(rules.sources):
            state.tops[target, place] = state.tops[source, place]
        for pile in range(rules.piles):
            state.takes[target, pile] = state.takes[source, pile]


@pytest.mark.parametrize("name", EACH)
def test_moved_cards_are_where_a_step_puts_them(name: str) -> None:
    variant = EVERY[name]
    batch = Batch(GameSpec(variant), 2)
    rules, state = batch.rules, batch.state
    random = np.random.default_rng(0)
    for deal in range(4):
        batch.deal(np.arange(2), [deal, deal])
        for _ in range(60):
            if state.status[0] != PLAYING:
                break
            action = int(random.choice(np.flatnonzero(state.mask[0])))
            copy_row(rules, state, 0, 1)
            moves = action >= rules.home_actions or bool(rules.varied)
            if moves:
                allowed = np.ones(3, dtype=np.int64)
                move_cards(rules, state, 1, action, allowed)
                assert allowed.all()
            batch.step(np.array([action, 0]), np.array([1, 0], dtype=np.int8))
            if moves:
                visible = state.rows[:, : rules.row_stock]
                np.testing.assert_array_equal(visible[1], visible[0])
                for field in CARDS:
                    values = getattr(state, field)
                    np.testing.assert_array_equal(values[1], values[0], field)
