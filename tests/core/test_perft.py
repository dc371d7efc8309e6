"""Lines of play, counted by the engine and by the reference implementation: see tests/counts.py."""

from __future__ import annotations

import math
from itertools import takewhile

import numpy as np
import pytest

from solitaire_env.core import perft
from solitaire_env.core.batch import Batch
from solitaire_env.core.perft import count, divided
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import Position, format_position, parse_position
from solitaire_env.variants import Variant
from tests.conftest import Refuses
from tests.counts import ENOUGH, VARIANTS, Start, starts_of
from tests.games import COMPILED, PUBLISHED, THE_FIVE

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
    """Count from a start, and compare with the file. ``perft --divide`` of the command line finds the action
    with another count.
    """
    position = position_of(variant, start)
    where = f"from\n{format_position(position)}"
    expected = list(zip(start.nodes, start.unique, strict=True))
    expected = list(takewhile(lambda counts: counts[0] <= MOST_NODES, expected))
    assert list(count(position, len(expected))) == expected, f"nodes, positions of {start.id}, {where}"


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
    buried = position_of(PUBLISHED["yukon"], Start("", 0, "", (), ()))
    for hidden in (position.hidden(), buried.hidden()):
        refuses(lambda hidden=hidden: list(count(hidden, 1)), "cards of the position are hidden")
