"""The order of the pack that follows from a deal number, and the arrays for dealing.

The generator is SplitMix64 [1]: the state starts as the deal number, every draw adds the golden gamma to it
and mixes the sum to 64 bits. A whole number below n is drawn without bias from the high 32 bits x of a draw
[2]: x * n >> 32, drawn again while x * n mod 2**32 is below 2**32 mod n. The pack starts in order, deck by
deck, Ace of Clubs, Diamonds, Hearts, Spades, then the twos; Fisher-Yates goes from the last place down to
the second and swaps place i with a place from 0..i. Place 0 is dealt first.

[1] Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
[2] Lemire: Fast random integer generation in an interval, ACM TOMACS 29 (1), 2019.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np

from solitaire_env.core.cards import DOWN, SUITS
from solitaire_env.core.layout import Rules
from solitaire_env.core.native import Int8, Int64, UInt64, inner, kernel

RESERVED_DEALS: Final = 2**20
"""Deal numbers below this are reserved for evaluation: a stream picks one only if it was chosen."""


class Deals(NamedTuple):
    """Arrays for dealing new games."""

    sizes: Annotated[Int64, "rules.piles"]
    """Cards dealt to each tableau pile ``[piles]``."""
    down: Annotated[Int8, "rules.piles height"]
    """DOWN for each card of each pile that is dealt face down, else 0 ``[piles, cards of the largest]``."""
    streams: Annotated[UInt64, "deals"]
    """State of each game's stream of deal numbers ``[batch]``."""
    numbers: Annotated[Int64, "deals"]
    """The deal number of each game ``[batch]``; -1 if it did not start from one."""
    chosen: Annotated[Int64, "chosen"]
    """The deal numbers that streams draw from ``[chosen]``; none: all that are not reserved."""
    shuffles: Annotated[UInt64, "deals"]
    """Scratch array: states of the shuffling generators ``[batch]``."""
    orders: Annotated[Int8, "deals rules.cards"]
    """The order in which the cards of each game leave the pack ``[batch, cards]``."""


def make_deals(
    rules: Rules, sizes: Sequence[int], batch: int, face_down: Sequence[Iterable[int]] = ()
) -> Deals:
    """Arrays for the deals of ``batch`` games, with ``sizes`` cards to the tableau piles.

    ``face_down`` has for each pile the places, from the bottom, of the cards that are dealt face down.
    """
    down = np.zeros((rules.piles, max(sizes)), dtype=np.int8)
    for pile, places in enumerate(face_down):
        down[pile, list(places)] = DOWN
    return Deals(
        sizes=np.array(sizes, dtype=np.int64),
        down=down,
        streams=np.zeros(batch, dtype=np.uint64),
        numbers=np.zeros(batch, dtype=np.int64),
        chosen=np.zeros(0, dtype=np.int64),
        shuffles=np.zeros(batch, dtype=np.uint64),
        orders=np.zeros((batch, rules.cards), dtype=np.int8),
    )


@inner(wraps=True)
def _mix(z):
    """SplitMix64's output function on one uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner(wraps=True)
def next_bits(states, b):
    """Advance ``states[b]`` (uint64) in place and return 64 random bits."""
    states[b] += np.uint64(0x9E3779B97F4A7C15)
    return _mix(states[b])


@inner
def random_below(states, b, n):
    """A whole number from ``0 .. n - 1``, unbiased, for ``n < 2**32``."""
    bound = np.uint64(n)
    low = np.uint64(0xFFFFFFFF)
    product = (next_bits(states, b) >> np.uint64(32)) * bound
    if (product & low) < bound:
        threshold = np.uint64(2**32) % bound
        while (product & low) < threshold:
            product = (next_bits(states, b) >> np.uint64(32)) * bound
    return np.int64(product >> np.uint64(32))


@inner
def shuffle(states, orders, b, count):
    """Fisher-Yates on the first ``count`` cards of a row of ``orders``, in place."""
    for i in range(count - 1, 0, -1):
        j = random_below(states, b, i + 1)
        card = orders[b, i]
        orders[b, i] = orders[b, j]
        orders[b, j] = card


@inner
def _pick(streams, chosen, b):
    """The next deal number of a stream: one of those chosen, if there are none an unreserved one."""
    if chosen.shape[0] > 0:
        return chosen[random_below(streams, b, chosen.shape[0])]
    number = np.int64(0)
    while number < RESERVED_DEALS:
        number = np.int64(next_bits(streams, b) >> np.uint64(1))
    return number


@inner
def next_order(rules, deals, b):
    """The pack of the next deal of a game's stream, shuffled."""
    number = _pick(deals.streams, deals.chosen, b)
    deals.numbers[b] = number
    deals.shuffles[b] = np.uint64(number)
    deck = SUITS * rules.ranks
    for first in range(0, rules.cards, deck):
        for k in range(deck):
            deals.orders[b, first + k] = SUITS + k
    shuffle(deals.shuffles, deals.orders, b, rules.cards)


@kernel
def shuffle_rows(states: Annotated[UInt64, "n"], orders: Annotated[Int8, "n rules.cards"]) -> None:
    """Shuffle each row of ``orders`` (int8 ``[n, cards]``) from its generator's state (uint64 ``[n]``)."""
    for b in range(orders.shape[0]):
        shuffle(states, orders, b, orders.shape[1])


@kernel
def microsoft_order(number: int, decks: int, order: Annotated[Int8, "cards"]) -> None:
    """Write the order in which the cards of a deal of Microsoft FreeCell leave the pack, int8 ``[cards]``.

    PySolFC continues the numbers beyond 32,000 to 33 bits, and the pack to several decks [3].

    [3] pysol-cards, ``random_base.py`` and ``random.py``.
    """
    cards = order.shape[0]
    for k in range(cards):
        card = k % 52
        order[k] = SUITS + card
        if decks > 1:  # suit by suit: Clubs, Spades, Hearts, Diamonds
            order[k] = SUITS * (1 + card % 13) + (SUITS - card // 13) % SUITS
    state = number & 0xFFFFFFFF
    for last in range(cards - 1, 0, -1):
        state = (state * 214013 + 2531011) & 0x1FFFFFFFF
        drawn = ((state >> 16) & 0x7FFF) | ((number >> 31) << 15)
        if number > 0xFFFFFFFF:
            drawn = ((state >> 16) & 0xFFFF) + 1
        other = drawn % (last + 1)
        card = order[last]
        order[last] = order[other]
        order[other] = card
    for first in range(cards // 2):
        card = order[first]
        order[first] = order[cards - 1 - first]
        order[cards - 1 - first] = card


@kernel
def base_card_first(order: Annotated[Int8, "cards"]) -> None:
    """Move the last card of the first card's rank to the front, as PySolFC does where the deal decides the
    base.
    """
    last = order.shape[0] - 1
    while order[last] >> 2 != order[0] >> 2:
        last -= 1
    card = order[last]
    for k in range(last, 0, -1):
        order[k] = order[k - 1]
    order[0] = card


@kernel
def pick_rows(
    streams: Annotated[UInt64, "batch"],
    chosen: Annotated[Int64, "chosen"],
    rows: Annotated[Int64, "n"],
    numbers: Annotated[Int64, "n"],
) -> None:
    """Write the next deal number of each row's stream (int64 ``[n]``) to ``numbers`` (int64 ``[n]``)."""
    for k in range(rows.shape[0]):
        numbers[k] = _pick(streams, chosen, rows[k])


@kernel
def order_rows(rules: Rules, deals: Deals, rows: Annotated[Int64, "n"]) -> None:
    """Shuffle a pack for the next deal of the stream of some rows (int64 ``[n]``)."""
    for k in range(rows.shape[0]):
        next_order(rules, deals, rows[k])
