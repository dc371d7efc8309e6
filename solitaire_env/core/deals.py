"""Deals: a number defines an order of the cards, permanently, on every platform and version.

The algorithm is described, with sources, in :mod:`solitaire_env.core.shuffle`.

Golden tests freeze this order: a changed deal is a changed environment version.
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.shuffle import RESERVED_DEALS as RESERVED_DEALS
from solitaire_env.core.shuffle import base_card_first, microsoft_order, pick_rows, shuffle_rows
from solitaire_env.core.variant import Variant
from solitaire_env.util.arguments import check_kind
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number

Deal = int | str
"""A deal number, or the name of another program's deal: ``"ms:11982"``, ``"pysol:24"``."""

MAX_DEAL: Final = 2**63 - 1
MAX_MS_DEAL: Final = 2**33 - 1
"""Microsoft's deals end at 1,000,000; PySolFC continues the generator to 33 bits."""
PYSOL_AS_MS: Final = 32_000
"""PySolFC's deals up to this number are Microsoft's; for the others its generator is Python's."""


def check_deal(variant: Variant, deal: Deal) -> Deal:
    """Check a deal of the variant, and return numbers as an int; this does not need pysol-cards."""
    check_kind("variant", variant, Variant)
    if isinstance(deal, str):
        _read_name(variant, deal)
        return str(deal)
    number = whole_number(deal)
    if number is None:
        raise TypeError(
            f"deal {shown(deal)} is a {type(deal).__name__}, allowed: a whole number, 'ms:N' or 'pysol:N'"
        )
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


ANY_DEAL: Final = np.zeros(0, dtype=np.int64)
"""No chosen deals: streams pick any number that is not reserved."""


def pick_deals(
    streams: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64] = ANY_DEAL
) -> npt.NDArray[np.int64]:
    """The next deal number of each row's stream, one of ``chosen``; ``streams`` is advanced in place."""
    numbers = np.empty(len(rows), dtype=np.int64)
    pick_rows(streams, chosen, rows, numbers)
    return numbers


def deal_order(variant: Variant, deal: Deal) -> npt.NDArray[np.int8]:
    """The order in which the cards of a deal leave the pack, int8 ``[cards]``.

    Parameters
    ----------
    deal
        A deal number, ``"ms:N"`` (Microsoft FreeCell's deals) or ``"pysol:N"`` (PySolFC's); above 32,000
        these need the extra ``solitaire-env[deals]``.
    """
    deal = check_deal(variant, deal)
    if isinstance(deal, str):
        return _other_programs_order(variant, deal)
    order: npt.NDArray[np.int8] = shuffled(variant, [deal])[0]
    return order


def _read_name(variant: Variant, deal: str) -> tuple[str, int]:
    """The program and the number of a deal of another program."""
    match = re.fullmatch(r"(ms|pysol):([0-9]{1,20})", deal)
    if match is None:
        raise ValueError(f"unknown deal {shown(deal)}, allowed: a whole number, 'ms:N' or 'pysol:N'")
    if variant.ranks != 13:
        raise ValueError(f"deal {deal!r} is of a full pack, but {variant.name} has {variant.ranks} ranks")
    program, number = match[1], int(match[2])
    limit = MAX_MS_DEAL if program == "ms" else 10**20 - 1
    if not 1 <= number <= limit:
        raise ValueError(f"deal {deal!r} is out of range, allowed: {program}:1 to {program}:{limit}")
    return program, number


def _other_programs_order(variant: Variant, deal: str) -> npt.NDArray[np.int8]:
    program, number = _read_name(variant, deal)
    order = np.empty(variant.cards, dtype=np.int8)
    if program == "ms" or number <= PYSOL_AS_MS:
        microsoft_order(number, variant.decks, order)
    else:
        order[:] = _pysol_order(variant, number)
    if program == "pysol" and variant.base == "dealt":
        base_card_first(order)
    return order[pysol_places(variant)] if program == "pysol" and variant.pysol_order else order


def _pysol_order(variant: Variant, number: int) -> list[int]:
    try:
        from pysol_cards.cards import createCards
        from pysol_cards.random import shuffle
        from pysol_cards.random_base import RandomBase
    except ImportError as error:
        needs = "needs pysol-cards: pip install 'solitaire-env[deals]'"
        raise ImportError(f"deal 'pysol:{number}' {needs}") from error
    cards = shuffle(createCards(variant.decks), number, RandomBase.DEALS_PYSOLFC)[::-1]
    # pysol-cards numbers its suits Clubs, Spades, Hearts, Diamonds.
    suits = (0, 3, 2, 1)
    return [4 * card.rank + suits[card.suit] for card in cards]


def pysol_places(variant: Variant) -> list[int]:
    """For each card that our deal, row by row, takes from the pack: its place in PySolFC's pack, int
    ``[cards]``, so that each pile gets the same cards.
    """
    coming = iter(range(variant.cards))
    piles: list[list[int]] = [[] for _ in range(variant.piles + variant.cells)]
    for pile in variant.pysol_order:
        piles[pile].append(next(coming))
    tableau, cells = piles[: variant.piles], piles[variant.piles :]
    rows = [pile[row] for row in range(max(variant.tableau)) for pile in tableau if row < len(pile)]
    return [*rows, *chain(*cells), *coming]
