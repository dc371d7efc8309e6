"""The engine's kernels: the data that they derive from a position, and supermoves."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import card_name
from solitaire_env.core.deals import ordered_pack
from solitaire_env.core.native import widened
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.moves import worried_card
from solitaire_env.core.rules.state import make_state
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import format_position, parse_action, parse_position
from solitaire_env.testing import check_state
from solitaire_env.variants import Variant, get_variant
from tests.comparing import check_supermoves
from tests.games import ALL_GAMES
from tests.positions import cells, fill, run, spaces
from tests.reference import ReferenceRules

# ------------------------------------------------------------------------------- steps and states


def started(variant: Variant, size: int, deal: int = 0) -> Batch:
    batch = Batch(GameSpec(variant), size)
    batch.deal(np.arange(size), list(range(deal, deal + size)))
    return batch


def test_inactive_rows_do_not_change() -> None:
    batch = started(get_variant("busy-aces"), 4)
    before = batch.state.rows.copy()
    batch.events.advanced[:] = 1
    batch.step(np.zeros(4, dtype=np.int64), np.array([1, 0, 0, 1], dtype=np.int8))
    assert (batch.state.rows != before).any(axis=1).tolist() == [True, False, False, True]
    assert batch.events.advanced.tolist() == [1, 0, 0, 1]
    assert batch.steps.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("name", ["busy-aces", "klondike", "penguin"])
def test_place_sets_a_game_to_a_position_row(name: str) -> None:
    """For compiled callers: all arrays are those of the game."""
    batch = started(get_variant(name), 1, deal=5)
    state = make_state(batch.rules, 1)
    place(batch.rules, widened(state), 0, batch.state.rows[0].copy())
    for field, expected, got in zip(state._fields, batch.state, state, strict=True):
        np.testing.assert_array_equal(got, expected, field)


def test_stock_count_stops_at_127() -> None:
    """Eighty Thieves' stock of 128 does not fit an int8; the exact count follows from the cards seen."""
    batch = started(get_variant("eighty-thieves"), 1)
    counts = []
    for left in (128, 127, 126):
        counts.append(int(batch.state.rows[0, batch.rules.row_stock_count]))
        assert batch.state.stock[0] == left == format_position(batch.position(0)).splitlines()[1].count(" ")
        assert batch.position(0).hidden().stock == (1,) * left
        batch.step(np.array([0]), batch.everyone)
    assert counts == [127, 127, 126]


def test_a_waste_of_128_cards_is_counted() -> None:
    """The whole stock on the waste does not fit an int8 either."""
    batch = started(get_variant("eighty-thieves"), 1)
    cards = batch.position(0).stock[::-1]
    for _ in cards:
        batch.step(np.array([0]), batch.everyone)
    assert (batch.state.stock[0], batch.state.waste[0]) == (0, 128)
    assert batch.position(0).waste == cards
    assert check_state(batch) == []


@pytest.mark.parametrize(("name", "moved"), [("forty-thieves", ["QS"]), ("forty-bandits", ["QS", "JS"])])
def test_a_full_pile_takes_no_card(name: str, moved: list[str]) -> None:
    """No game leads there, but a position made by hand may. The card would overwrite the next pile."""
    variant = get_variant(name)
    pack = list(map(card_name, ordered_pack(variant).tolist()))
    for card in ("KS", *moved):
        pack.remove(card)
    for room, fits in ((len(moved) - 1, False), (len(moved), True)):
        others = iter(pack)
        piles = [[*islice(others, 15 - room), "KS"], moved, *(list(islice(others, 4)) for _ in range(8))]
        lines = [f"t{n}: {' '.join(pile)}" for n, pile in enumerate(piles, 1)]
        home = "foundations: C 0 0 D 0 0 H 0 0 S 0 0"
        waste, stock = " ".join(islice(others, 30)), " ".join(others)
        batch = Batch(GameSpec(variant), 1)
        batch.place(
            0,
            parse_position(
                "\n".join([f"variant: {name}", f"stock: {stock}", f"waste: {waste}", home, *lines])
            ),
        )
        assert bool(batch.state.mask[0, parse_action(variant, "t2>t1")]) == fits
        assert check_state(batch) == []


@pytest.mark.parametrize("pile", [0, 9])
def test_a_pile_that_may_get_full_is_flagged(pile: int) -> None:
    """A pile with one card more below its sequence than was dealt to it; until the next deal."""
    batch = started(get_variant("forty-thieves"), 1)
    assert batch.state.crowded[0] == 0
    lines = format_position(batch.position(0)).splitlines()
    lines[1], _, card = lines[1].rpartition(" ")
    line = next(n for n, line in enumerate(lines) if line.startswith(f"t{pile + 1}:"))
    lines[line] += f" {card}"
    batch.place(0, parse_position("\n".join(lines)))
    assert batch.state.crowded[0] == 1
    assert check_state(batch) == []
    batch.deal(np.array([0]), [1])
    assert batch.state.crowded[0] == 0
    assert check_state(batch) == []


@pytest.mark.parametrize("length", [1, 12])
@pytest.mark.parametrize("below", [3, 4])
def test_a_pile_has_room_for_every_sequence(below: int, length: int) -> None:
    """On three cards, one fewer than are dealt, every sequence has room; on four it may not."""
    variant = get_variant("forty-thieves")
    pack = list(map(card_name, ordered_pack(variant).tolist()))
    sequence = run("KS", length).split()
    for card in sequence:
        pack.remove(card)
    others = iter(pack)
    piles = [[*islice(others, below), *sequence], *(list(islice(others, 4)) for _ in range(9))]
    lines = [f"t{n}: {' '.join(pile)}" for n, pile in enumerate(piles, 1)]
    home = "foundations: C 0 0 D 0 0 H 0 0 S 0 0"
    waste, stock = " ".join(islice(others, 30)), " ".join(others)
    batch = Batch(GameSpec(variant), 1)
    batch.place(
        0,
        parse_position(
            "\n".join(["variant: forty-thieves", f"stock: {stock}", f"waste: {waste}", home, *lines])
        ),
    )
    assert batch.state.crowded[0] == (below > 3)
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


# -------------------------------------------------------------------------------------- supermoves


@pytest.mark.parametrize("onto", ["pile", "space"])
@pytest.mark.parametrize(
    ("name", "filled_by", "empty", "free"),
    [
        *(("forty-thieves", "any", 0, free) for free in range(4)),
        *(("eights-down", "any", empty, free) for empty in (0, 1, 3) for free in range(3)),
        *(("eights-down", "kings", empty, free) for empty in (0, 2, 5) for free in range(2)),
    ],
)
def test_supermoves_equal_single_moves(name: str, filled_by: str, empty: int, free: int, onto: str) -> None:
    """Up to the capacity, with the same resulting position."""
    variant = replace(get_variant(name), spaces=filled_by, moves="supermove")  # type: ignore[arg-type]
    rules = ReferenceRules.of(variant)
    batch = Batch(GameSpec(variant), 1)
    several = set()
    for length in range(1, 13):
        cards = run("QS" if onto == "pile" else "KS", length)
        pile = "2H KS" if onto == "pile" else "2H 4D"
        places = [spaces(free), cells(empty) if variant.cells else "waste: ... KC"]
        try:
            text = fill("|".join([f"variant: {name}", f"t1: 4H {cards}", f"t2: {pile}", *places]), rules)
        except ValueError:
            break  # no place is left for the rest of the pack
        batch.place(0, parse_position(text, variant))
        assert check_state(batch) == []
        several.add(check_supermoves(batch, 0))
    capacity = (empty + 1) * (2 ** max(0, free - (onto == "space")) if filled_by == "any" else 1)
    possible = onto == "pile" or free > 0
    assert (max(several) > 0) == (possible and capacity > 1)
