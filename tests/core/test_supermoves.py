"""Supermoves as single moves, compared with a recursive implementation."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from solitaire_env.core import supermoves
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING, Action, action_layout, make_rules
from solitaire_env.core.rules.moves import decode_action
from solitaire_env.core.rules.state import State
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Build, SequenceBuild, Variant
from solitaire_env.policies.drawing import draw
from solitaire_env.testing import check_supermoves
from tests.conftest import Refuses
from tests.games import COMPILED, FURTHER, ODD, PLAYED
from tests.reference import builds

GAMES = {
    f"{name}, {build}": variant.with_rules(moves="supermove", build=build)
    for name, variant in (PLAYED | ODD | FURTHER).items()
    if variant.takes_supermoves
    for build in sorted({"same suit", variant.build})
    if not variant.wraps or build == "same suit"
}


@pytest.mark.parametrize("sequence", get_args(SequenceBuild))
@pytest.mark.parametrize("build", get_args(Build))
def test_sequences_are_built_card_by_card(build: Any, sequence: Any, refuses: Refuses) -> None:
    """A looser sequence is refused; every stricter one moves as single cards."""
    run = build if sequence == "as build" else sequence
    pairs = product(("4C", "4D", "4H", "4S"), ("5C", "5D", "5H", "5S"))
    looser = any(builds(card, onto, run) and not builds(card, onto, build) for card, onto in pairs)
    one_card = Variant("rules", "Rules", 1, (5,) * 4, cells=3, build=build, sequence=sequence, ranks=5)
    assert one_card.takes_supermoves != looser
    if looser:
        refuses(
            lambda: one_card.with_rules(moves="supermove"), "needs sequences", f"{build=}", f"{sequence=}"
        )
        return
    batch, random = Batch(GameSpec(one_card.with_rules(moves="supermove")), 8), np.random.default_rng(0)
    batch.deal(np.arange(8), list(range(8)))
    several = 0
    for step in range(40 if COMPILED else 3):
        several += check_supermoves(batch, step % 8)
        batch.step(draw(batch.state.mask, random.random(8)), batch.everyone)
    assert several or not COMPILED


def recursively(variant: Variant, state: State, row: int, number: int) -> list[int]:
    """The single moves of an action."""
    rules = make_rules(variant)
    layout = action_layout(supermoves.strict_variant(variant))
    action = action_layout(variant).decode(number)
    if action.kind not in ("tableau", "space"):
        return [layout.encode(action)]
    source, target, count = decode_action(rules, state, row, number)
    heights = state.heights[row].astype(int).tolist()
    cells = state.rows[row, rules.row_cells : rules.row_cells + rules.cells]
    empty_cells = np.flatnonzero(cells == 0).tolist()
    singles: list[int] = []

    def single(kind: Any, source: int, target: int = 0) -> None:
        singles.append(layout.encode(Action(kind, source, target)))
        if source < rules.piles:
            heights[source] -= 1

    def onto(source: int, target: int | None) -> int:
        if target is None:
            target = heights.index(0)
            single("space", source)
        else:
            single("tableau", source, target)
        heights[target] += 1
        return target

    def carry(count: int, source: int, target: int | None, between: int) -> int:
        most = len(empty_cells) + 1
        if count <= most:
            held = [rules.first_cell + cell for cell in empty_cells[: count - 1]]
            for _ in held:
                single("cell", source)
            target = onto(source, target)
            for cell in reversed(held):
                onto(cell, target)
            return target
        part = max(1, count - (most << (between - 1)))
        aside = carry(part, source, None, between - 1)
        target = carry(count - part, source, target, between - 1)
        return carry(part, aside, target, between - 1)

    to_space = action.kind == "space"
    carry(count, source, None if to_space else target, heights.count(0) - to_space)
    return singles


@pytest.mark.parametrize("name", GAMES)
def test_expansion_equals_the_recursion(name: str) -> None:
    """All legal actions of random games, one by one and together."""
    variant, size, random = GAMES[name], 8, np.random.default_rng(0)
    batch = Batch(GameSpec(variant), size)
    batch.deal(np.arange(size), list(range(size)))
    for _ in range(40 if COMPILED else 3):
        rows, actions = np.nonzero(batch.state.mask)
        playing = batch.state.status[rows] == PLAYING
        rows, actions = rows[playing], actions[playing]
        singles, counts = batch.expand_rows(rows, actions)
        assert singles.shape == (len(rows), counts.max(initial=0))
        for k, (row, action) in enumerate(zip(rows.tolist(), actions.tolist(), strict=True)):
            expected = recursively(variant, batch.state, row, action)
            assert singles[k, : counts[k]].tolist() == expected == batch.expand(row, action)
        batch.step(draw(batch.state.mask, random.random(size)), batch.everyone)


@cache
def count_singles(cards: int, most: int, between: int) -> int:
    """Number of single moves of a sequence, if ``most`` cards can be carried without spaces."""
    if cards <= most:
        return 2 * cards - 1
    part = max(1, cards - (most << (between - 1)))
    return 2 * count_singles(part, most, between - 1) + count_singles(cards - part, most, between - 1)


@cache
def count_tasks(cards: int, most: int, between: int) -> int:
    """Maximum number of parts that wait at a time."""
    if cards <= most:
        return 1
    part = max(1, cards - (most << (between - 1)))
    first, rest = count_tasks(part, most, between - 1), count_tasks(cards - part, most, between - 1)
    return max(2 + first, 1 + rest, first)


def test_scratch_arrays_fit_every_supermove() -> None:
    possible = [
        (cards, cells + 1, between)
        for cells in range(13)
        for between in range(30)
        for cards in range(1, 14)
        if cards <= (cells + 1) << between
    ]
    assert max(count_singles(*sizes) for sizes in possible) == supermoves.MOST_SINGLES
    assert max(count_tasks(*sizes) for sizes in possible) == supermoves.MOST_TASKS
