"""Deals: a number always gives the same order of the cards."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import card_name
from solitaire_env.core.deals import (
    MAX_DEAL,
    RESERVED_DEALS,
    Deal,
    deal_order,
    ordered_pack,
    pick_deals,
    shuffle_in_place,
    shuffled,
)
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import format_position, parse_action
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.family_positions import family_positions
from tests.games import ALL_GAMES, dealt
from tests.reference import ReferenceGame, ReferenceRules

BITS_64 = 2**64 - 1
BY_DECKS = {1: get_variant("eights-down"), 2: get_variant("forty-thieves"), 4: get_variant("eighty-thieves")}
SHORT = Variant("short", "Short", decks=1, tableau=(3,) * 4, ranks=3)

REJECTED = 2**64 - 0x9E3779B97F4A7C15
"""The first number drawn for this deal is 0, which is rejected to avoid bias; deal 0 begins there."""


class SplitMix64:
    """The published generator, in plain Python."""

    def __init__(self, state: int) -> None:
        self.state = state

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & BITS_64
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS_64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS_64
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        while True:
            product = (self.next() >> 32) * n
            if product % 2**32 >= 2**32 % n:
                return product >> 32


def stream_before(draw: int) -> int:
    """The state from which the generator draws these 64 bits next: SplitMix64 run backwards."""
    z = draw ^ draw >> 31 ^ draw >> 62
    z = z * pow(0x94D049BB133111EB, -1, 2**64) & BITS_64
    z = z ^ z >> 27 ^ z >> 54
    z = z * pow(0xBF58476D1CE4E5B9, -1, 2**64) & BITS_64
    z = z ^ z >> 30 ^ z >> 60
    return (z - 0x9E3779B97F4A7C15) & BITS_64


def plain_deal(number: int, decks: int, ranks: int) -> list[str]:
    """The cards of a deal in order, by Fisher-Yates, in plain Python."""
    pack = [rank + suit for _ in range(decks) for rank in "A23456789TJQK"[:ranks] for suit in "CDHS"]
    generator = SplitMix64(number)
    for i in range(len(pack) - 1, 0, -1):
        j = generator.below(i + 1)
        pack[i], pack[j] = pack[j], pack[i]
    return pack


def names(variant: Variant, deal: Deal) -> list[str]:
    return [card_name(code) for code in deal_order(variant, deal).tolist()]


def test_the_generator_gives_its_published_numbers() -> None:
    generator = SplitMix64(1234567)
    assert [generator.next() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("variant", [*BY_DECKS.values(), SHORT], ids=lambda variant: variant.name)
def test_whole_deals_equal_plain_python(variant: Variant) -> None:
    numbers = [*range(20), 2**20, 2**32, 2**63 - 1, REJECTED, 123456789012345678]
    for number, cards in zip(numbers, shuffled(variant, numbers).tolist(), strict=True):
        assert list(map(card_name, cards)) == plain_deal(number, variant.decks, variant.ranks)
        assert names(variant, number) == list(map(card_name, cards))


@pytest.mark.parametrize(
    ("cards", "low"),
    [(16, 0), (16, 16), (51, 0), (51, 1), (51, 50), (51, 51), (52, 44), (52, 48), (52, 52)],
)
def test_biased_draws_are_rejected(cards: int, low: int) -> None:
    """A first draw whose product ends in less than ``2**32 mod n`` (0, 1 and 48 here) is drawn again."""
    even = cards & -cards
    high = low // even * pow(cards // even, -1, 2**32) % 2**32
    assert high * cards % 2**32 == low
    stream = stream_before(high << 32 | 12345)
    order = np.arange(cards, dtype=np.int8)
    shuffle_in_place(stream, order)
    generator, expected = SplitMix64(stream), list(range(cards))
    for i in range(cards - 1, 0, -1):
        j = generator.below(i + 1)
        expected[i], expected[j] = expected[j], expected[i]
    assert order.tolist() == expected


@pytest.mark.parametrize("name", [name for name, variant in ALL_GAMES.items() if variant.home_at_deal])
def test_cards_that_start_home_are_skipped_wherever_they_are(name: str) -> None:
    """Whether they come before the cards of the piles, the cells or the stock."""
    variant = ALL_GAMES[name]
    batch = dealt(variant, *range(40))
    for deal in range(40):
        order = [card_name(code) for code in deal_order(variant, deal).tolist()]
        expected = ReferenceGame.deal_from(order, ReferenceRules.of(variant), variant.name)
        assert format_position(batch.position(deal)) == expected.text()


@pytest.mark.parametrize(
    ("decks", "first"),
    [(1, "JD 2D 9H JC 5D 7H 7C 5H"), (2, "3D 5H JC KH 5S 5H KC KC"), (4, "3D 6D QD 4C 3D 3D JC KC")],
)
def test_deals_of_other_programs_have_their_order(decks: int, first: str) -> None:
    variant = BY_DECKS[decks]
    assert " ".join(names(variant, "pysol:1")[:8]) == first
    assert " ".join(names(variant, "ms:1")[:8]) == first


@pytest.mark.parametrize("decks", [1, 2, 4])
def test_orders_of_other_programs_equal_those_of_pysol_cards(decks: int) -> None:
    """At each border of the generator's three ranges of numbers, and in them."""
    shuffle = pytest.importorskip("pysol_cards.random").shuffle
    pack = pytest.importorskip("pysol_cards.cards").createCards
    kinds = pytest.importorskip("pysol_cards.random_base").RandomBase
    variant = BY_DECKS[decks]
    numbers = [1, 32_000, 32_001, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**33 - 1, 2**32 + 11982, 3**20]
    for deal, kind in [(f"ms:{n}", kinds.DEALS_MS) for n in numbers] + [
        (f"pysol:{n}", kinds.DEALS_PYSOLFC) for n in (1, 32_000, 32_001, 10**19)
    ]:
        cards = shuffle(pack(decks), int(deal.partition(":")[2]), kind)[::-1]
        expected = ["A23456789TJQK"[card.rank - 1] + "CSHD"[card.suit] for card in cards]
        assert names(variant, deal) == expected, deal
    assert Counter(names(variant, "pysol:12345678901234567890")) == Counter(names(variant, 0))


def test_pysol_deals_equal_pysolfc() -> None:
    """Card by card, except for cells, which are alike. If the waste is not empty, after a first draw."""
    pytest.importorskip("pysol_cards")
    for name, positions in family_positions().items():
        for position in positions:
            if position.step:
                continue
            batch = dealt(get_variant(name), f"pysol:{position.deal}")
            if "\nwaste: " in position.position:
                batch.step(np.array([parse_action(get_variant(name), "draw")]), batch.everyone)
            got = format_position(batch.position(0)).splitlines()
            for text, line in zip(position.position.splitlines(), got, strict=True):
                cells = text.startswith("cells:")
                assert (sorted(line.split()) if cells else line) == (sorted(text.split()) if cells else text)


def test_the_range_of_deal_numbers_does_not_change() -> None:
    """Deals reserved for evaluation stay unseen in training."""
    assert (RESERVED_DEALS, MAX_DEAL) == (1_048_576, 9_223_372_036_854_775_807)


@pytest.mark.parametrize("count", [1, 5, 1000])
def test_chosen_deals_are_drawn_as_in_plain_python(count: int) -> None:
    """One after another from the same stream, whether the numbers are picked or dealt."""
    chosen = np.random.default_rng(0).integers(2**63, size=count)
    generator = SplitMix64(77)
    expected = [int(chosen[generator.below(count)]) for _ in range(50)]
    streams, row = np.full(1, 77, dtype=np.uint64), np.zeros(1, dtype=np.int64)
    assert [int(pick_deals(streams, row, chosen)[0]) for _ in range(50)] == expected
    batch = Batch(GameSpec(SHORT), 1, chosen=chosen)
    batch.streams[0] = 77
    for number in expected:
        batch.deal_next(row)
        assert batch.deal_numbers[0] == number
        assert [card_name(code) for code in batch.groups[0].deals.orders[0].tolist()] == names(SHORT, number)


@pytest.mark.parametrize(
    ("deal", "allowed"),
    [
        (-1, "0 to 2**63 - 1"),
        (2**63, "0 to 2**63 - 1"),
        (True, "a whole number"),
        ("", "a whole number, 'ms:N' or 'pysol:N'"),
        ("ms:1\n", "a whole number, 'ms:N' or 'pysol:N'"),
        ("ms:-1", "a whole number, 'ms:N' or 'pysol:N'"),
        ("ms:0", "ms:1 to ms:8589934591"),
        ("ms:8589934592", "ms:1 to ms:8589934591"),
        ("pysol:0", "pysol:1 to pysol:99999999999999999999"),
        ("pysol:100000000000000000000", "a whole number, 'ms:N' or 'pysol:N'"),
    ],
)
def test_invalid_deals_raise_an_error(deal: object, allowed: str, refuses: Refuses) -> None:
    refuses(lambda: deal_order(BY_DECKS[1], deal), repr(deal)[:20], allowed)


def test_a_short_pack_refuses_deals_of_other_programs(refuses: Refuses) -> None:
    refuses(lambda: deal_order(SHORT, "ms:1"), "'ms:1'", "short has 3 ranks")


def test_deals_of_other_programs_support_three_decks() -> None:
    pytest.importorskip("pysol_cards")
    variant = replace(BY_DECKS[2], decks=3)
    assert Counter(deal_order(variant, "pysol:5").tolist()) == Counter(ordered_pack(variant).tolist())
