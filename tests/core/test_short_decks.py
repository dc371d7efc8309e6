"""Packs of three to five ranks, played in every possible way by the engine and by the reference
implementation.

All positions that can be reached from a deal must be the same on both sides, with the same legal actions,
successors and status.
"""

from functools import cache, partial
from itertools import count, product
from typing import NamedTuple

import numpy as np
import pytest

from solitaire_env.core.layout import PLAYING, STUCK, WON, make_rules
from solitaire_env.core.perft import successors
from solitaire_env.notation import action_text, format_position, position_from_row
from solitaire_env.variants import Variant
from tests.counts import deal as reference_deal
from tests.counts import made
from tests.games import COMPILED, FURTHER, MIXES, dealt

SHAPES = (
    Variant("three-ranks", "Three Ranks", decks=1, tableau=(3, 3, 3), ranks=3),
    Variant("two-piles", "Two Piles", decks=1, tableau=(4, 3), ranks=3),
    Variant("two-decks", "Two Decks", decks=2, tableau=(8, 8, 8), ranks=3),
    Variant("a-cell", "A Cell", decks=1, tableau=(4, 4, 4), cells=1, cells_filled=1, ranks=4),
    Variant("two-cells", "Two Cells", decks=1, tableau=(5, 5, 5), cells=2, cells_filled=1, ranks=4),
    Variant("four-ranks", "Four Ranks", decks=1, tableau=(4, 4, 4, 4), ranks=4),
    Variant("five-ranks", "Five Ranks", decks=1, tableau=(4, 4, 4, 4), ranks=5),
    Variant("no-stock", "No Stock", decks=1, tableau=(7, 6, 6), cells=1, cells_filled=1, ranks=5),
)
VARIANTS = {
    f"{shape.name}, {build}, {spaces}, {moves}": shape.with_rules(build=build, spaces=spaces, moves=moves)
    for shape, build, spaces, moves in product(SHAPES, *MIXES)
} | FURTHER
STATUS = {PLAYING: "playing", WON: "won", STUCK: "stuck"}
MOST = 1000 if COMPILED else 60
"""Deals with more reachable positions are skipped."""


class View(NamedTuple):
    """The description of a position."""

    depth: int
    """Number of actions on the shortest line to it."""
    status: str
    leads_to: dict[str, str]
    """The text of the position after each legal action, by the action, in order."""


Space = dict[str, View]
"""All reachable positions, by text."""


def can_be_compared(variant: Variant, deal: int) -> bool:
    """Whether at most MOST positions can be reached from a deal."""
    rules = make_rules(variant)
    batch = dealt(variant, deal)
    seen = {batch.state.rows[0].tobytes()}
    level = batch.state.rows
    while len(level) and len(seen) <= MOST:
        coming = np.unique(np.concatenate([rows for _, _, rows in successors(rules, level)]), axis=0)
        level = coming[[row.tobytes() not in seen for row in coming]]
        seen.update(row.tobytes() for row in level)
    return len(seen) <= MOST


def explore_engine(variant: Variant, deal: int) -> Space:
    """All positions that can be reached from a deal, by the engine."""
    rules = make_rules(variant)
    texts = [action_text(variant, action) for action in range(rules.actions)]

    @cache
    def text(row: bytes) -> str:
        return format_position(position_from_row(variant, np.frombuffer(row, dtype=np.int8)))

    batch = dealt(variant, deal)
    found: Space = {}
    level = {text(batch.state.rows[0].tobytes()): batch.state.rows[0].copy()}
    depth = 0
    while level:
        leads_to: list[dict[str, str]] = [{} for _ in level]
        coming = {}
        for parents, actions, after in successors(rules, np.stack(list(level.values()))):
            for parent, action, row in zip(parents.tolist(), actions.tolist(), after, strict=True):
                leads_to[parent][texts[action]] = reached = text(row.tobytes())
                coming[reached] = row
        for (name, row), to in zip(level.items(), leads_to, strict=True):
            batch.set_row(0, row)
            found[name] = View(depth, STATUS[int(batch.state.status[0])], to)
        level = {name: row for name, row in coming.items() if name not in found}
        depth += 1
    return found


def explore_reference(variant: Variant, deal: int) -> Space:
    """All positions that can be reached from a deal, by the reference implementation."""
    game = reference_deal(variant, deal)
    found: Space = {}
    level = {game.text(): game}
    depth = 0
    while level:
        coming = {}
        for name, game in level.items():
            leads_to = {}
            moves = game.moves()
            for action, move in moves.items():
                with made(game, action, move):
                    leads_to[action] = reached = game.text()
                    if reached not in found and reached not in level and reached not in coming:
                        coming[reached] = game.copy()
            found[name] = View(depth, "playing" if moves else game.status(), leads_to)
        level = coming
        depth += 1
    return found


def compare(variant: Variant, deal: int) -> None:
    """Compare the reachable positions of a deal."""
    got, expected = explore_engine(variant, deal), explore_reference(variant, deal)
    where = f"{variant.name} ({variant.build}, {variant.spaces}, {variant.moves}), deal {deal}"
    for name, view in expected.items():
        assert name in got, f"position of {where} not reached:\n{name}"
        for word, one, other in zip(View._fields, view, got[name], strict=True):
            assert one == other, f"{word} of {where}, in\n{name}\nexpected: {one}\ngot: {other}"
    assert len(got) == len(expected), f"{len(got)} positions of {where} reached, expected {len(expected)}"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if place % 8 and name not in FURTHER else ())
        for place, name in enumerate(VARIANTS)
        if COMPILED or (place % 16 == 0 and name not in FURTHER)
    ],
)
def test_reachable_positions_are_the_same(name: str) -> None:
    variant = VARIANTS[name]
    compare(variant, next(filter(partial(can_be_compared, variant), count())))
