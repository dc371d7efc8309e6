"""The engine's kernels: the data that they derive from a position, and supermoves."""

from itertools import islice

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import card_name
from solitaire_env.core.deals import ordered_pack
from solitaire_env.core.layout import WON, make_rules
from solitaire_env.core.native import widened
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.moves import worried_card
from solitaire_env.core.rules.state import make_events, make_state
from solitaire_env.core.rules.step import step_legal
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import format_position, parse_action, parse_position
from solitaire_env.testing import check_state
from solitaire_env.variants import get_variant
from tests.games import ALL_GAMES, dealt
from tests.positions import run


def test_inactive_rows_do_not_change() -> None:
    batch = dealt(get_variant("busy-aces"), *range(4))
    before = batch.state.rows.copy()
    batch.events.advanced[:] = 1
    batch.step(np.zeros(4, dtype=np.int64), np.array([1, 0, 0, 1], dtype=np.int8))
    assert (batch.state.rows != before).any(axis=1).tolist() == [True, False, False, True]
    assert batch.events.advanced.tolist() == [1, 0, 0, 1]
    assert batch.steps.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("name", ["busy-aces", "klondike", "penguin"])
def test_place_sets_a_game_to_a_position_row(name: str) -> None:
    """For compiled callers: all arrays are those of the game."""
    batch = dealt(get_variant(name), 5)
    state = make_state(batch.rules, 1)
    place(batch.rules, widened(state), 0, batch.state.rows[0].copy())
    for field, expected, got in zip(state._fields, batch.state, state, strict=True):
        np.testing.assert_array_equal(got, expected, field)


@pytest.mark.parametrize("name", ["busy-aces", "klondike", "penguin"])
def test_a_legal_step_is_the_same_without_its_check(name: str) -> None:
    """For compiled callers that take actions from the mask; a finished game stays as it is."""
    batch, rules = dealt(get_variant(name), 5), make_rules(get_variant(name))
    state, events = make_state(rules, 1), make_events(1)
    random = np.random.default_rng(0)
    place(rules, widened(state), 0, batch.state.rows[0].copy())
    for _ in range(40):
        chosen = int(random.choice(np.flatnonzero(batch.state.mask[0])))
        batch.step(np.array([chosen]), batch.everyone)
        step_legal(rules, widened(state), widened(events), 0, chosen)
        for ours, checked in zip((*state, *events), (*batch.state, *batch.events), strict=True):
            np.testing.assert_array_equal(ours, checked)
    state.status[0] = WON
    before = state.rows.copy()
    step_legal(rules, widened(state), widened(events), 0, chosen)
    np.testing.assert_array_equal(state.rows, before)


def test_stock_count_stops_at_127() -> None:
    """Eighty Thieves' stock of 128 does not fit an int8; the exact count follows from the cards seen."""
    batch = dealt(get_variant("eighty-thieves"), 0)
    counts = []
    for left in (128, 127, 126):
        counts.append(int(batch.state.rows[0, batch.rules.row_stock_count]))
        assert batch.state.stock[0] == left == format_position(batch.position(0)).splitlines()[1].count(" ")
        assert batch.position(0).hidden().stock == (1,) * left
        batch.step(np.array([0]), batch.everyone)
    assert counts == [127, 127, 126]


def test_a_waste_of_128_cards_is_counted() -> None:
    """The whole stock on the waste does not fit an int8 either."""
    batch = dealt(get_variant("eighty-thieves"), 0)
    cards = batch.position(0).stock[::-1]
    for _ in cards:
        batch.step(np.array([0]), batch.everyone)
    assert (batch.state.stock[0], batch.state.waste[0]) == (0, 128)
    assert batch.position(0).waste == cards
    assert check_state(batch) == []


def test_a_card_worries_back_only_onto_a_pile_with_room() -> None:
    variant = get_variant("klondike")
    pack = list(map(card_name, ordered_pack(variant).tolist()))
    for card in ["8D", *run("7C", 7).split()]:
        pack.remove(card)
    for room in (0, 1):
        others = iter(pack)
        lines = [f"t1: {' '.join(islice(others, 18 - room))} 8D"]
        lines += [f"t{n}: {' '.join(islice(others, 1 + (room and n == 2)))}" for n in (2, 3)]
        lines += [f"t{n}:" for n in (4, 5, 6, 7)]
        head = ["variant: klondike", f"stock: {' '.join(others)}", "waste:", "redeals: -"]
        batch = Batch(GameSpec(variant), 1)
        text = "\n".join([*head, "foundations: C 7 D 0 H 0 S 0", *lines])
        batch.place(0, parse_position(text))
        assert bool(batch.state.mask[0, parse_action(variant, "fC>t1")]) == bool(room)
        if room:
            assert card_name(worried_card(batch.rules, batch.state, 0, 0, 0)) == "7C"
        assert check_state(batch) == []


def test_a_group_does_not_move_within_its_pile() -> None:
    """Its last card takes a deeper one, but the pile has no action onto itself."""
    batch = Batch(GameSpec(ALL_GAMES["groups-and-stock"]), 1)
    variant = batch.variant
    lines = ["variant: groups-and-stock", "stock:", "waste: 2D", "redeals: 1"]
    lines += ["foundations: C 0 D 1 H 3 S 3", "t1: 3C", "t2: 3D", "t3: AC 2C"]
    batch.place(0, parse_position("\n".join(lines), variant))
    batch.step(np.array([parse_action(variant, "t3>t1")]), batch.everyone)
    assert not batch.events.invalid[0]
    assert batch.state.mask[0, parse_action(variant, "w>t2")]
    assert check_state(batch) == []
