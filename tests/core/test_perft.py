"""Lines of play, counted by the engine and by the reference implementation: see tests/counts.py."""

from __future__ import annotations

import math
import re
from itertools import takewhile

import numpy as np
import pytest

from solitaire_env.core import perft
from solitaire_env.core.batch import Batch
from solitaire_env.core.perft import count, divided
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import Position, format_position, parse_position
from solitaire_env.variants import Variant
from tests import counts
from tests.conftest import Refuses
from tests.counts import ENOUGH, VARIANTS, Start, starts_of
from tests.games import COMPILED, THE_FIVE
from tests.reference import Move, ReferenceGame, ReferenceRules

FILES = {name: starts_of(name) for name in VARIANTS}
COUNTED = [name for name in VARIANTS if COMPILED or VARIANTS[name] in THE_FIVE.values()]
LONG = ENOUGH["long deal"]
"""Starts with this many nodes at their last depth are left to the proofs."""
MOST_NODES = math.inf if COMPILED else 40
"""Depths with more nodes are not counted."""


def position_of(variant: Variant, start: Start) -> Position:
    """The position of a start."""
    if start.deal is None:
        return parse_position(start.position, variant)
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.array([0]), [start.deal])
    return batch.position(0)


@pytest.mark.parametrize("name", COUNTED)
def test_counts_equal_the_files(name: str) -> None:
    for start in FILES[name]:
        if start.nodes[-1] < LONG:
            check(VARIANTS[name], start)


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_long_counts_equal_the_files(name: str) -> None:
    for start in FILES[name]:
        if start.nodes[-1] >= LONG:
            check(VARIANTS[name], start)


def check(variant: Variant, start: Start) -> None:
    """Count from a start; fail with the first difference from the file."""
    position = position_of(variant, start)
    expected = list(zip(start.nodes, start.unique, strict=True))
    expected = list(takewhile(lambda counts: counts[0] <= MOST_NODES, expected))
    for depth, got in enumerate(count(position, len(expected)), 1):
        if got != expected[depth - 1]:
            what = (
                f"{start.id}: nodes and different positions {expected[depth - 1]} at depth {depth}, got {got}"
            )
            pytest.fail(explain(position, depth, what), pytrace=False)


def explain(position: Position, depth: int, what: str) -> str:
    """The difference between the engine and the reference implementation: nodes below each action."""
    variant = position.variant
    batch = Batch(GameSpec(variant), 1)
    batch.place(0, position)
    reference = ReferenceGame.from_text(format_position(batch.position(0)), ReferenceRules.of(variant))
    expected = {}
    for action in reference.legal_actions():
        after = reference.copy()
        after.play(action)
        nodes, _ = counts.count(after, 10**12, depth - 1)
        expected[action] = (1, *nodes)[depth - 1] if len(nodes) == depth - 1 else 0
    got = dict(divided(position, depth))
    table = [f"{'action':<8}{'expected':>12}{'got':>12}"]
    for action in dict.fromkeys([*expected, *got]):
        numbers = (expected.get(action, "illegal"), got.get(action, "illegal"))
        differs = "  differs" if numbers[0] != numbers[1] else ""
        table.append(f"{action:<8}{numbers[0]:>12}{numbers[1]:>12}{differs}")
    return "\n".join([f"expected {what}, from", reference.text(), *table])


# ----------------------------------------------------------------------------------- the package


def test_progress_counts_the_positions_that_were_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perft, "_CHUNK", 4)
    start = FILES["eights-down"][0]
    told: list[tuple[int, int]] = []
    depths = count(position_of(VARIANTS["eights-down"], start), 3, lambda done, of: told.append((done, of)))
    assert tuple(depths) == tuple(zip(start.nodes, start.unique, strict=True))[:3]
    assert told == [(min(done + 4, of), of) for of in (1, *start.unique[:2]) for done in range(0, of, 4)]


def test_divide_sums_to_the_nodes() -> None:
    position = position_of(VARIANTS["eights-down"], FILES["eights-down"][0])
    nodes = FILES["eights-down"][0].nodes
    for depth in (1, 2, 3) if COMPILED else (1, 2):
        assert sum(dict(divided(position, depth)).values()) == nodes[depth - 1]
    assert list(count(position, 0)) == []
    assert set(dict(divided(position, 1)).values()) == {1}


def test_invalid_arguments_raise_an_error(refuses: Refuses) -> None:
    position = position_of(VARIANTS["forty-thieves"], FILES["forty-thieves"][0])
    for depth in (-1, 1.0, True, "2", None):
        refuses(lambda depth=depth: list(count(position, depth)), f"depth is {depth!r}", "from 0")
    refuses(lambda: dict(divided(position, 0)), "depth is 0", "a whole number from 1")
    refuses(lambda: list(count(position.hidden(), 1)), "stock of the position is hidden")


# ------------------------------------------------------------------------- the test itself bites


def test_a_wrong_rule_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a reference implementation without draws."""
    moves = ReferenceGame.moves

    def without_draw(game: ReferenceGame) -> dict[str, Move]:
        return {text: move for text, move in moves(game).items() if text != "draw"}

    monkeypatch.setattr(ReferenceGame, "moves", without_draw)
    start = next(s for s in FILES["busy-aces"] if s.id == "draw is legal whatever else is")
    message = explain(position_of(VARIANTS["busy-aces"], start), 2, "2 nodes")
    assert re.search(r"^draw +illegal +\d+  differs$", message, re.MULTILINE)
