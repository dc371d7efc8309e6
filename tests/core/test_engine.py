"""The engine's kernels: how they are compiled, and the data that they derive from a position."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from solitaire_env.core import layout
from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import card_name
from solitaire_env.core.deals import ordered_pack
from solitaire_env.core.layout import STUCK, WON, make_rules
from solitaire_env.core.rules.moves import decode_action
from solitaire_env.core.rules.state import copy_rows, make_state
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import format_position, parse_action, parse_position
from solitaire_env.testing import check_state, check_supermoves
from solitaire_env.variants import Variant, get_variant
from tests.games import ALL_GAMES, COMPILED
from tests.positions import cells, fill, run, spaces
from tests.reference import ReferenceRules

# ------------------------------------------------------------------------------ how it is compiled


def compiled(tree: ast.Module, decorator: str = "kernel|inner") -> set[str]:
    """The names of the functions in a file that are compiled."""
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(re.fullmatch(rf"({decorator})(\(.*\))?", ast.unparse(mark)) for mark in node.decorator_list)
    }


def project_files() -> dict[str, ast.Module]:
    """All files of the package and of agents, by the names of their modules."""
    root = Path(str(layout.__file__)).parents[2]
    paths = [path for folder in ("solitaire_env", "agents") for path in (root / folder).rglob("*.py")]
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text()
        )
        for path in paths
    }


def calls_from_python(tree: ast.Module, own: set[str], inner: set[str]) -> list[str]:
    """Uses of ``inner`` in a file outside of compiled functions; ``own`` are names defined in the file."""
    full = {name.rpartition(".")[2]: name for name in own}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            full |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    found = []
    for node in tree.body:
        if getattr(node, "name", None) in compiled(tree):
            continue
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                found.append(full.get(each.id, ""))
            elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
                found.append(f"{full.get(each.value.id, '')}.{each.attr}")
    return [name for name in found if name in inner]


def inner_functions(module: str, tree: ast.Module) -> set[str]:
    """The full names of the functions in a file that only compiled functions call."""
    return {f"{module}.{name}" for name in compiled(tree, "inner")}


def test_python_calls_only_kernels() -> None:
    """Python would run a function that only compiled functions call as plain Python, slowly."""
    files = project_files()
    inner = {name for module, tree in files.items() for name in inner_functions(module, tree)}
    assert "solitaire_env.core.rules.step.step" in inner
    # The core exports its kernels under shorter names.
    inner |= {f"solitaire_env.core.{name.rpartition('.')[2]}" for name in inner if ".core." in name}
    for module, tree in files.items():
        assert calls_from_python(tree, inner_functions(module, tree), inner) == [], module


def test_the_check_of_calls_finds_a_fault() -> None:
    tree = ast.parse(
        """
from solitaire_env import core
from solitaire_env.core import step as play
@inner
def _mine(x): return core.decode(x)
def plain(x): return _mine(x) + play(x) + core.copy(x) + other.copy(x)
"""
    )
    inner = {"a._mine", "solitaire_env.core.step", "solitaire_env.core.copy"}
    assert sorted(calls_from_python(tree, {"a._mine"}, inner)) == sorted(inner)


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


def test_rows_are_independent() -> None:
    """A batch plays each game like a batch of one."""
    variant = get_variant("forty-bandits")
    together, alone = started(variant, 5), [started(variant, 1, deal) for deal in range(5)]
    rng = np.random.default_rng(0)
    for _ in range(50):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in together.state.mask])
        together.step(actions, together.everyone)
        for row, batch in enumerate(alone):
            batch.step(actions[row : row + 1], batch.everyone)
            for one, other in zip(batch.state, together.state, strict=True):
                np.testing.assert_array_equal(one[0], other[row])


@pytest.mark.parametrize("name", ["eights-down", "forty-bandits", "short-4, any suit, any, supermove"])
def test_copying_a_game_copies_every_array(name: str) -> None:
    rules = make_rules(ALL_GAMES[name])
    state = make_state(rules, 5)
    for array in state:
        array[:] = np.resize(np.arange(127), array.shape)
    sources, targets = np.array([0, 2, 2]), np.array([3, 1, 4])
    expected = [array.copy() for array in state]
    for array in expected:
        array[targets] = array[sources]
    copy_rows(rules, state, sources, targets)
    for field, array, right in zip(state._fields, state, expected, strict=True):
        np.testing.assert_array_equal(array, right, err_msg=field)


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


@pytest.mark.parametrize("pile", range(10))
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


@pytest.mark.parametrize("length", [1, 2, 3, 12])
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


MOVES = {
    # Sources are t1.. from 0, then the waste, then the cells; so are targets, and home is -1.
    "eights-down": {
        f"{cells(5)} | t1: 4H 9S 8S 7S | t2: KD TS | foundations: C 3 | t3: 4D 4C": {
            "t1>t2": (0, 1, 3),
            "t3>f": (2, -1, 1),
        },
        "cells: 5D -- KS -- -- -- -- -- | t1: 4H | t5: | t6:": {"t1>c": (0, 9, 1), "c3>s": (10, 4, 1)},
    },
    "forty-bandits": {
        "t1: 4H 9S 8S 7S | t2: TS | t3: 2D 8S | t4: | stock: 5H | waste: ... 9S": {
            "draw": (10, 10, 1),
            "w>t2": (10, 1, 1),
            "t1>t3": (0, 2, 1),
            "t1x2>s": (0, 3, 2),
        },
        "foundations: C 2 | waste: ... 3C": {"w>f": (10, -1, 1)},
    },
}


@pytest.mark.parametrize("name", MOVES)
def test_decode_gives_source_target_and_count(name: str) -> None:
    """Each action in its own game of a batch."""
    variant = get_variant(name)
    batch = Batch(GameSpec(variant), len(MOVES[name]))
    for row, partial in enumerate(MOVES[name]):
        batch.place(
            row, parse_position(fill(f"variant: {name}|{partial}", ReferenceRules.of(variant)), variant)
        )
    for row, moves in enumerate(MOVES[name].values()):
        for text, move in moves.items():
            action = parse_action(variant, text)
            assert batch.state.mask[row, action], text
            assert decode_action(batch.rules, batch.state, row, action) == move, text


@pytest.mark.parametrize("name", ["busy-aces", "eights-down"])
def test_a_finished_game_does_not_change(name: str) -> None:
    variant = get_variant(name)
    batch = Batch(GameSpec(variant), 1)
    rules = ReferenceRules.of(variant)
    won = "foundations: C all D all H all S all|t1..:"
    stuck = f"cells: {'** ' * 8}" if variant.cells else "waste: ... KC"
    for partial, status in ((won, WON), (stuck, STUCK)):
        batch.place(0, parse_position(fill(f"variant: {name}|{partial}", rules), variant))
        assert batch.state.status[0] == status
        assert batch.state.mask.all()
        before = batch.state.rows.copy()
        for action in range(batch.rules.actions):
            batch.step(np.array([action]), batch.everyone)
            assert batch.terminated[0] and not batch.truncated[0] and batch.rewards[0] == 0
        np.testing.assert_array_equal(batch.state.rows, before)


# -------------------------------------------------------------------------------------- supermoves


@pytest.mark.parametrize("onto", ["pile", "space"])
@pytest.mark.parametrize(
    ("name", "filled_by", "empty", "free"),
    [
        *(("forty-thieves", "any", 0, free) for free in range(5)),
        *(("busy-aces", "kings", 0, free) for free in range(2)),
        *(("eights-down", "any", empty, free) for empty in range(5 if COMPILED else 2) for free in range(4)),
        *(
            ("eights-down", "kings", empty, free)
            for empty in range(8 if COMPILED else 3)
            for free in range(3)
        ),
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
