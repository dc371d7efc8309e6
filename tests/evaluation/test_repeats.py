"""Repeated positions, counted as a set of positions counts them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core.layout import PLAYING
from solitaire_env.evaluation import repeats
from solitaire_env.evaluation.repeats import Repeats
from solitaire_env.policies.drawing import draw
from tests.games import ONE_PER_RULE, dealt

Array = npt.NDArray[Any]


@pytest.mark.parametrize("variant", ONE_PER_RULE.values(), ids=ONE_PER_RULE)
def test_repetitions_are_counted_in_games_of_any_length(
    variant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random games, which move back and forth; the initial capacity is three positions."""
    monkeypatch.setattr(repeats, "FIRST_CAPACITY", 3)
    size, random = 6, np.random.default_rng(0)
    batch = dealt(variant, *range(size))
    positions: list[list[bytes]] = [[] for _ in range(size)]
    seen = Repeats(batch.rules, size)
    for step in range(80):
        rows = np.flatnonzero((batch.state.status == PLAYING) & (random.random(size) < 0.9))
        expected = []
        for row in rows.tolist():
            position = batch.observations()[row].tobytes()
            expected.append(position in positions[row])
            positions[row].append(position)
        assert seen.add(batch.state.rows, rows).tolist() == expected
        if step == 50:  # another game begins in a row
            batch.deal(np.array([2]), [100])
            seen.clear(np.array([2]))
            positions[2] = []
        todo = np.zeros(size, dtype=np.int8)
        todo[rows] = 1
        batch.step(draw(batch.state.mask, random.random(size)), todo)
    assert [seen.count(row) for row in range(size)] == [len(own) - len(set(own)) for own in positions]
    assert any(len(own) > len(set(own)) for own in positions)
