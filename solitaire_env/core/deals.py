"""Deals: a number defines an order of the cards, permanently, on every platform and version.

The algorithm is described, with sources, in :mod:`solitaire_env.core.shuffle`.

Golden tests freeze this order: a changed deal is a changed environment version.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.shuffle import RESERVED_DEALS as RESERVED_DEALS
from solitaire_env.core.shuffle import pick_rows, shuffle_rows
from solitaire_env.core.variant import Variant
from solitaire_env.util.arguments import check_kind
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number

Deal = int | str
"""A deal number, or the name of a deal of Microsoft FreeCell: ``"ms:11982"``."""

MAX_DEAL: Final = 2**63 - 1
MAX_MICROSOFT: Final = 2**31 - 1


def check_deal(variant: Variant, deal: Deal) -> Deal:
    """Check a deal of the variant, and return numbers as an int."""
    check_kind("variant", variant, Variant)
    if isinstance(deal, str):
        _read_name(variant, deal)
        return str(deal)
    number = whole_number(deal)
    if number is None:
        raise TypeError(f"deal {shown(deal)} is a {type(deal).__name__}, allowed: a whole number, or 'ms:N'")
    if not 0 <= number <= MAX_DEAL:
        raise ValueError(f"deal {shown(number)} is out of range, allowed: 0 to 2**63 - 1")
    return number


def ordered_pack(variant: Variant) -> npt.NDArray[np.int8]:
    """The cards of a variant before the shuffle, int8 ``[cards]``."""
    check_kind("variant", variant, Variant)
    return np.tile(np.arange(4, 4 * variant.ranks + 4, dtype=np.int8), variant.decks)


def shuffled(variant: Variant, numbers: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """The orders in which the cards of numbered deals are dealt, int8 ``[len(numbers), cards]``."""
    states = np.asarray(numbers, dtype=np.uint64).copy()
    orders = np.tile(ordered_pack(variant), (len(states), 1))
    shuffle_rows(states, orders)
    return orders


def shuffle_in_place(state: int, cards: npt.NDArray[np.int8]) -> None:
    """Shuffle some cards (int8 ``[n]``, in place) with the same algorithm from a generator state."""
    shuffle_rows(np.array([state], dtype=np.uint64), cards.reshape(1, -1))


def pick_deals(streams: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The next unreserved deal number of each row's stream; ``streams`` is advanced in place."""
    numbers = np.empty(len(rows), dtype=np.int64)
    pick_rows(streams, rows, numbers)
    return numbers


def deal_order(variant: Variant, deal: Deal) -> npt.NDArray[np.int8]:
    """The order in which the cards of a deal leave the pack, int8 ``[cards]``.

    Parameters
    ----------
    deal
        A deal number, or ``"ms:N"``, a deal of Microsoft FreeCell; with more decks by the same algorithm.
    """
    deal = check_deal(variant, deal)
    if isinstance(deal, str):
        return _microsoft_order(variant, _read_name(variant, deal))
    order: npt.NDArray[np.int8] = shuffled(variant, [deal])[0]
    return order


def _read_name(variant: Variant, deal: str) -> int:
    """The number of a deal of Microsoft FreeCell."""
    match = re.fullmatch(r"ms:([0-9]{1,20})", deal)
    if match is None:
        raise ValueError(f"unknown deal {shown(deal)}, allowed: a whole number, or 'ms:N'")
    if variant.ranks != 13:
        raise ValueError(f"deal {deal!r} is of a full pack, but {variant.name} has {variant.ranks} ranks")
    if not 1 <= int(match[1]) <= MAX_MICROSOFT:
        raise ValueError(f"deal {deal!r} is out of range, allowed: ms:1 to ms:{MAX_MICROSOFT}")
    return int(match[1])


def _microsoft_order(variant: Variant, number: int) -> npt.NDArray[np.int8]:
    """The order of a deal of Microsoft FreeCell: Fisher-Yates with the generator of Microsoft's C library."""
    order = ordered_pack(variant)
    for last in range(len(order) - 1, 0, -1):
        number = (214013 * number + 2531011) % 2**31
        place = (number >> 16) % (last + 1)
        order[[place, last]] = order[[last, place]]
    return order[::-1]
