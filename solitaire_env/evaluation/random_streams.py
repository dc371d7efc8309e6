"""The random numbers of games: a stream for each game, which depends only on its start and a seed.

A stream is NumPy's PCG64 [1]: NumPy creates its state, and a kernel draws the numbers of many games, bit for
bit the same as NumPy.

[1] O'Neill: PCG: A family of simple fast space-efficient statistically good algorithms for random number
generation, 2014. The member of the family is XSL RR 128/64: a linear congruential generator of 128 bits, the
halves of its state combined by xor and rotated by its highest six bits.
"""

from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Position
from solitaire_env.core.batch import Start
from solitaire_env.core.native import Float64, Int64, UInt64, inner, kernel
from solitaire_env.notation import format_position

LOW: Final = 2**64 - 1
MULTIPLIER: Final = 0x2360ED051FC65DA44385DF649FCCF645
FACTOR_HIGH: Final = np.uint64(MULTIPLIER >> 64)
FACTOR_LOW: Final = np.uint64(MULTIPLIER & LOW)


def random_stream(start: Start, seed: int, decision: int = 0) -> np.random.PCG64:
    """The random numbers of a game from a given decision. They depend on nothing else."""
    key = format_position(start) if isinstance(start, Position) else str(start)
    stream = np.random.PCG64([seed, *key.encode()])
    return stream.advance(decision) if decision else stream


class RandomStreams:
    """The random numbers of the games in some rows."""

    def __init__(self, rows: int) -> None:
        self._states = np.zeros((rows, 4), dtype=np.uint64)
        """The high and low half of each stream's state and increment."""

    def begin(self, row: int, stream: np.random.PCG64) -> None:
        """Let a row continue a stream."""
        numbers = stream.state["state"]
        for column, number in enumerate((numbers["state"], numbers["inc"])):
            self._states[row, 2 * column] = number >> 64
            self._states[row, 2 * column + 1] = number & LOW

    def draw(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The next number of some rows (int64 ``[n]``), float64 ``[n]`` in [0, 1) with 53 random bits, the
        precision of a float.
        """
        numbers = np.empty(len(rows), dtype=np.float64)
        _draw(self._states, rows, numbers)
        return numbers


@inner(wraps=True)
def _high_half(a: Any, b: Any) -> Any:
    """The high 64 bits of the product of two uint64."""
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    a_high, a_low, b_high, b_low = a >> half, a & low, b >> half, b & low
    middle = a_high * b_low + (a_low * b_low >> half)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + (middle >> half) + (other >> half)


@inner(wraps=True)
def _next(states: Any, b: Any) -> Any:
    """Advance the stream of row ``b``; 64 random bits."""
    high, low = states[b, 0], states[b, 1]
    high = _high_half(low, FACTOR_LOW) + high * FACTOR_LOW + low * FACTOR_HIGH + states[b, 2]
    low = low * FACTOR_LOW + states[b, 3]
    if low < states[b, 3]:
        high += np.uint64(1)
    states[b, 0] = high
    states[b, 1] = low
    turn = high >> np.uint64(58)
    bits = high ^ low
    return (bits >> turn) | (bits << ((np.uint64(64) - turn) & np.uint64(63)))


@kernel
def _draw(
    states: Annotated[UInt64, "rows 4"], rows: Annotated[Int64, "n"], numbers: Annotated[Float64, "n"]
) -> None:
    for k in range(rows.shape[0]):
        numbers[k] = np.float64(_next(states, rows[k]) >> np.uint64(11)) * 2.0**-53
