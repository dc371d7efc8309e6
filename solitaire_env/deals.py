"""Deals: a number names an order of the cards, for good, on every platform and version.

The generator is SplitMix64 [1]_: the state starts as the deal number, every draw adds the golden gamma to it
and mixes the sum to 64 bits. A whole number below ``n`` is drawn without bias from the high 32 bits ``x`` of
a draw [2]_: ``x * n >> 32``, drawn again while ``x * n mod 2**32`` is below ``2**32 mod n``. The pack lies in
order, deck by deck, Ace of Clubs, Diamonds, Hearts, Spades, then the twos; Fisher-Yates goes from the last
place down to the second and swaps place ``i`` with a place from ``0..i``. Place 0 is the first card to be
dealt.

Golden tests freeze this order: a changed deal is a changed environment version.

.. [1] Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
.. [2] Lemire: Fast random integer generation in an interval, ACM TOMACS 29 (1), 2019.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env._jit import jit
from solitaire_env.messages import shown
from solitaire_env.variants import Variant

Deal = int | str
"""A deal number, or the name of another program's deal: ``"ms:11982"``, ``"pysol:24"``."""

RESERVED_DEALS: Final = 2**20
"""Deal numbers below this are kept for evaluation: a reset without a named deal never picks one."""
MAX_DEAL: Final = 2**63 - 1

# --------------------------------------------------------------------------------------- kernels


@jit
def _mix(z):
    """SplitMix64's output function on one uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def _next(states, row):
    """Advance ``states[row]`` (uint64) in place and return 64 random bits."""
    states[row] += np.uint64(0x9E3779B97F4A7C15)
    return _mix(states[row])


@jit
def _below(states, row, n):
    """A whole number from ``0 .. n - 1``, unbiased, for ``n < 2**32``."""
    bound = np.uint64(n)
    low = np.uint64(0xFFFFFFFF)
    product = (_next(states, row) >> np.uint64(32)) * bound
    if (product & low) < bound:
        threshold = np.uint64(2**32) % bound
        while (product & low) < threshold:
            product = (_next(states, row) >> np.uint64(32)) * bound
    return np.int64(product >> np.uint64(32))


@jit
def _shuffle_rows(states, orders):
    """Fisher-Yates on each row of ``orders`` (int8 ``[n, cards]``, in place), a generator state a row."""
    for row in range(orders.shape[0]):
        for i in range(orders.shape[1] - 1, 0, -1):
            j = _below(states, row, i + 1)
            card = orders[row, i]
            orders[row, i] = orders[row, j]
            orders[row, j] = card


@jit
def _pick_rows(streams, rows, numbers):
    """The next unreserved deal number of each row's stream (uint64, in place) into ``numbers`` (int64)."""
    for k in range(rows.shape[0]):
        number = np.int64(0)
        while number < RESERVED_DEALS:
            number = np.int64(_next(streams, rows[k]) >> np.uint64(1))
        numbers[k] = number


# ---------------------------------------------------------------------------------------- public


def check_deal_number(number: int) -> int:
    """The number as an int, when it is one that names a deal."""
    if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)):
        raise TypeError(
            f"deal {shown(number)} is a {type(number).__name__}, allowed: a whole number, 'ms:N' or 'pysol:N'"
        )
    if not 0 <= number <= MAX_DEAL:
        raise ValueError(f"deal {shown(int(number))} is out of range, allowed: 0 to 2**63 - 1")
    return int(number)


def ordered_pack(variant: Variant) -> npt.NDArray[np.int8]:
    """The cards of a variant before the shuffle, int8 ``[cards]``."""
    return np.tile(np.arange(4, 4 * variant.ranks + 4, dtype=np.int8), variant.decks)


def shuffled(variant: Variant, numbers: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """The orders in which the cards of numbered deals are dealt, int8 ``[len(numbers), cards]``."""
    states = np.asarray(numbers, dtype=np.uint64).copy()
    orders = np.tile(ordered_pack(variant), (len(states), 1))
    with np.errstate(over="ignore"):  # 64-bit sums wrap; interpreted numpy would warn
        _shuffle_rows(states, orders)
    return orders


def shuffle_in_place(state: int, cards: npt.NDArray[np.int8]) -> None:
    """Shuffle some cards (int8 ``[n]``, in place) by the same rule from a generator state."""
    with np.errstate(over="ignore"):
        _shuffle_rows(np.array([state], dtype=np.uint64), cards.reshape(1, -1))


def pick_deals(streams: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The next unreserved deal number of each named row's stream; ``streams`` is advanced in place."""
    numbers = np.empty(len(rows), dtype=np.int64)
    with np.errstate(over="ignore"):
        _pick_rows(streams, rows, numbers)
    return numbers


def deal_order(variant: Variant, deal: Deal) -> npt.NDArray[np.int8]:
    """The order in which the cards of a deal leave the pack, int8 ``[cards]``.

    Parameters
    ----------
    deal
        A deal number, ``"ms:N"`` (Microsoft FreeCell's deals) or ``"pysol:N"`` (PySolFC's), which need the
        extra ``solitaire-env[deals]``.
    """
    if isinstance(deal, str):
        return _other_programs_order(variant, deal)
    order: npt.NDArray[np.int8] = shuffled(variant, [check_deal_number(deal)])[0]
    return order


def _other_programs_order(variant: Variant, deal: str) -> npt.NDArray[np.int8]:
    match = re.fullmatch(r"(ms|pysol):([0-9]{1,20})", deal)
    if match is None:
        raise ValueError(f"unknown deal {shown(deal)}, allowed: a whole number, 'ms:N' or 'pysol:N'")
    if variant.ranks != 13:
        raise ValueError(f"deal {deal!r} names a full pack, {variant.name} has {variant.ranks} ranks")
    program, number = match[1], int(match[2])
    # Microsoft's deals end at 1,000,000; PySolFC goes on with its generator to 33 bits, and its own to 20
    # digits.
    limit = 2**33 - 1 if program == "ms" else 10**20 - 1
    if not 1 <= number <= limit:
        raise ValueError(f"deal {deal!r} is out of range, allowed: {program}:1 to {program}:{limit}")
    try:
        from pysol_cards.cards import createCards
        from pysol_cards.random import shuffle
        from pysol_cards.random_base import RandomBase
    except ImportError as error:
        raise ImportError(f"deal {deal!r} needs pysol-cards: pip install 'solitaire-env[deals]'") from error
    numbering = RandomBase.DEALS_MS if program == "ms" else RandomBase.DEALS_PYSOLFC
    cards = shuffle(createCards(variant.decks), number, numbering)[::-1]
    # pysol-cards numbers its suits Clubs, Spades, Hearts, Diamonds.
    suits = (0, 3, 2, 1)
    return np.array([4 * card.rank + suits[card.suit] for card in cards], dtype=np.int8)
