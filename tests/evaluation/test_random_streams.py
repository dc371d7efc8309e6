"""The random numbers of games equal those of NumPy's generator."""

from __future__ import annotations

import numpy as np

from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation.random_streams import RandomStreams, random_stream
from solitaire_env.variants import VARIANTS


def numbers_of(stream: np.random.PCG64, count: int) -> list[float]:
    """53 of every 64 bits."""
    return [float((stream.random_raw() >> 11) * 2.0**-53) for _ in range(count)]


def test_streams_equal_numpy_bit_for_bit() -> None:
    batch = Batch(GameSpec(VARIANTS[0]), 1)
    batch.deal(np.array([0]), [3])
    starts = [0, 1, "ms:5", 2**40, batch.position(0)]
    streams = RandomStreams(len(starts))
    for row, start in enumerate(starts):
        streams.begin(row, random_stream(start, seed=row))
    every = np.arange(len(starts))
    drawn = np.array([streams.draw(every) for _ in range(300)])
    for row, start in enumerate(starts):
        assert drawn[:, row].tolist() == numbers_of(random_stream(start, seed=row), 300)


def test_rows_draw_independently_from_any_decision() -> None:
    streams = RandomStreams(3)
    for row in range(3):
        streams.begin(row, random_stream(9, seed=4, decision=10 * row))
    numbers = numbers_of(random_stream(9, seed=4), 30)
    assert streams.draw(np.array([2, 0])).tolist() == [numbers[20], numbers[0]]
    assert streams.draw(np.array([0, 1, 2])).tolist() == [numbers[1], numbers[10], numbers[21]]
    assert streams.draw(np.array([], dtype=np.int64)).shape == (0,)


def test_numpys_own_stream_does_not_advance() -> None:
    stream = random_stream(5, seed=0)
    before = stream.state
    RandomStreams(1).begin(0, stream)
    assert stream.state == before
