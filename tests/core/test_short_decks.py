"""Packs of three to five ranks, played in every possible way by the engine and by the reference
implementation.

All positions that can be reached from a deal must be the same on both sides, with the same legal actions,
successors and status. So must be the length of the shortest line to a win, if there is one.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import count, product
from typing import NamedTuple

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAY, PLAYING, make_rules
from solitaire_env.core.perft import successors
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.state import State, make_events, make_state
from solitaire_env.core.rules.step import step_rows
from solitaire_env.core.shuffle import make_deals
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import action_text, format_position, position_from_row
from solitaire_env.variants import Variant
from tests.counts import deal as reference_deal
from tests.counts import made
from tests.games import COMPILED, FURTHER, MIXES

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
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.array([0]), [deal])
    seen = {batch.state.rows[0].tobytes()}
    level = batch.state.rows
    while len(level) and len(seen) <= MOST:
        coming = np.unique(np.concatenate([rows for _, _, rows in successors(rules, level)]), axis=0)
        level = coming[[row.tobytes() not in seen for row in coming]]
        seen.update(row.tobytes() for row in level)
    return len(seen) <= MOST


def explore_engine(variant: Variant, deal: int) -> Space:
    """All positions that can be reached from a deal.

    Raises
    ------
    AssertionError
        If the incrementally updated state differs from a rebuild from the position.
    """
    rules = make_rules(variant)
    texts = [action_text(variant, action) for action in range(rules.actions)]
    words = ("playing", "won", "stuck")

    @cache
    def text(row: bytes) -> str:
        return format_position(position_from_row(variant, np.frombuffer(row, dtype=np.int8)))

    def set_up(rows: np.ndarray) -> State:
        state = make_state(rules, len(rows))
        state.rows[:] = rows
        derive_rows(rules, state, np.arange(len(rows)))
        return state

    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.array([0]), [deal])
    found: Space = {}
    level = {text(batch.state.rows[0].tobytes()): batch.state.rows[0].copy()}
    depth = 0
    while level:
        state = set_up(np.stack(list(level.values())))
        legal = np.flatnonzero(state.mask & (state.status == PLAYING)[:, None])
        games, actions = np.divmod(legal, rules.actions)
        after = set_up(state.rows[games])
        if len(actions):
            no_deals = make_deals(rules, [0] * rules.piles, 1)
            everyone = np.full(len(actions), PLAY, dtype=np.int8)
            step_rows(rules, no_deals, after, make_events(len(actions)), actions, everyone)
        for name, stepped, fresh in zip(after._fields, after, set_up(after.rows), strict=True):
            if len(wrong := np.argwhere(stepped != fresh)):
                first = wrong[0, 0]
                raise AssertionError(
                    f"{name} of {describe(variant, deal)} after {texts[actions[first]]} in\n"
                    f"{list(level)[games[first]]}\n"
                    f"expected: {said(variant, name, fresh[first])}\n"
                    f"got: {said(variant, name, stepped[first])}"
                )
        leads_to: list[dict[str, str]] = [{} for _ in level]
        coming = {}
        for game, action, row in zip(games.tolist(), actions.tolist(), after.rows, strict=True):
            leads_to[game][texts[action]] = reached = text(row.tobytes())
            coming[reached] = row
        for name, status, to in zip(level, state.status.tolist(), leads_to, strict=True):
            found[name] = View(depth, words[status], to)
        level = {name: row for name, row in coming.items() if name not in found}
        depth += 1
    return found


def said(variant: Variant, field: str, value: np.ndarray) -> str:
    """An entry of the engine's state, a mask as action texts."""
    if field != "mask":
        return str(value)
    return " ".join(action_text(variant, action) for action in np.flatnonzero(value))


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


def describe(variant: Variant, deal: int) -> str:
    return f"{variant.name} ({variant.build}, {variant.spaces}, {variant.moves}), deal {deal}"


def compare(variant: Variant, deal: int) -> tuple[int, int | None]:
    """The number of reachable positions, and the length of the shortest line to a win.

    Raises
    ------
    AssertionError
        With the first position that differs, and the description of each side.
    """
    got, expected = explore_engine(variant, deal), explore_reference(variant, deal)
    where = describe(variant, deal)
    for name, view in expected.items():
        assert name in got, f"position of {where} not reached:\n{name}"
        for word, one, other in zip(View._fields, view, got[name], strict=True):
            assert one == other, f"{word} of {where}, in\n{name}\nexpected: {one}\ngot: {other}"
    assert len(got) == len(expected), f"{len(got)} positions of {where} reached, expected {len(expected)}"
    return len(got), min((view.depth for view in got.values() if view.status == "won"), default=None)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if place % 8 and name not in FURTHER else ())
        for place, name in enumerate(VARIANTS)
        if COMPILED or (place % 8 == 0 and name not in FURTHER)
    ],
)
def test_reachable_positions_are_the_same(name: str) -> None:
    variant = VARIANTS[name]
    positions, _ = compare(variant, next(filter(partial(can_be_compared, variant), count())))
    assert positions > 0
