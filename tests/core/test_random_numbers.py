"""Random numbers: shuffles are uniform, deals and seeds are independent, and reserved deals are never picked.

Nothing is random here: the tested numbers are always the same. A test that compares frequencies requires
p-values between :data:`ALPHA` and 1 - :data:`ALPHA`. A perfect generator would have failed each of these
checks, once and for all, with probability 2 * :data:`ALPHA`; one of some 100 checks, one time in 500.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from solitaire_env.core.batch import Batch
from solitaire_env.core.deals import RESERVED_DEALS, pick_deals, shuffled
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.vector import SolitaireVectorEnv
from tests.core.test_deals import BITS_64, BY_DECKS, SHORT, SplitMix64, stream_before
from tests.games import COMPILED

Numbers = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Orders = npt.NDArray[np.int8]

ALPHA = 1e-5

DEALS = 20_000 if COMPILED else 2_000
MANY = 1_000_000
CHUNK = 50_000
"""Number of deals that are counted in one call."""

GAMMA = 0x9E3779B97F4A7C15
"""Added to the generator's state by each draw: all streams run along one cycle of 2**64 states."""

# ------------------------------------------------------------------------------------ statistics


def upper_tail(statistic: float, freedom: int) -> float:
    """The probability that a chi-squared variable is greater, by the approximation of Wilson and Hilferty
    (The distribution of chi-square, PNAS 17, 1931)."""
    spread = 2 / (9 * freedom)
    return normal_tail(((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))


def normal_tail(z: float) -> float:
    """The probability that a standard normal variable is greater."""
    return math.erfc(z / math.sqrt(2)) / 2


def pearson(counts: Counts, shares: npt.NDArray[np.float64] | float) -> float:
    """The p-value of independent observations, counted in cells of known probability."""
    expected = counts.sum() * shares
    return upper_tail(float(((counts - expected) ** 2 / expected).sum()), counts.size - 1)


def pairs(one: Numbers, other: Numbers, kinds: int) -> Counts:
    """Number of times that each kind meets each other kind, ``[kinds, kinds]``."""
    return np.bincount(one * kinds + other, minlength=kinds**2).reshape(kinds, kinds)


@pytest.mark.parametrize(
    ("statistic", "p"), [(61.918, 0.999), (70.065, 0.99), (124.342, 0.05), (135.807, 0.01), (149.449, 0.001)]
)
def test_upper_tail(statistic: float, p: float) -> None:
    """Against the table for 100 degrees of freedom in the NIST/SEMATECH e-Handbook, section 1.3.6.7.4."""
    assert upper_tail(statistic, 100) == pytest.approx(p, rel=0.02, abs=2e-5)


# -------------------------------------------------------------------------------------- shuffles


class Shuffles:
    """Counts of cards by place in many deals of full packs.

    A kind of card has as many copies as there are decks. Of every two deals the second is the next one.
    """

    def __init__(self, decks: int) -> None:
        self.kinds = 52
        self.copies = decks
        self.cards = n = 52 * decks
        self.deals = 0
        self.by_place = np.zeros((self.kinds, n), dtype=np.int64)
        # Fisher-Yates fixes the last place first, and the first place last.
        self.neighbours = {place: self.no_pairs() for place in (0, 1, n // 2, n - 2)}
        self.next_deal = {place: self.no_pairs() for place in (0, 1, n // 2, n - 1)}
        self.matches = 0

    def no_pairs(self) -> Counts:
        return np.zeros((self.kinds, self.kinds), dtype=np.int64)

    def count(self, orders: Orders) -> None:
        """Count an even number of deals, int8 ``[deals, cards]``."""
        kinds = orders.astype(np.int64) - 4
        self.deals += len(kinds)
        cells = np.bincount(
            (kinds * self.cards + np.arange(self.cards)).ravel(), minlength=self.by_place.size
        )
        self.by_place += cells.reshape(self.by_place.shape)
        for place, counts in self.neighbours.items():
            counts += pairs(kinds[:, place], kinds[:, place + 1], self.kinds)
        one, other = kinds[::2], kinds[1::2]
        for place, counts in self.next_deal.items():
            counts += pairs(one[:, place], other[:, place], self.kinds)
        self.matches += int((one == other).sum())

    def p_values(self) -> dict[str, float]:
        """The p-value of each statistic, by what it is about.

        Pearson's sum is not chi-squared for cards by places, since each deal puts one card into each place
        and each card into one place. By Hoeffding (A combinatorial central limit theorem, Ann. Math. Statist.
        22, 1951) the entries (i, j) and (k, l) of a random permutation matrix of n cards have covariance
        ([i = k] - 1/n) ([j = l] - 1/n) / (n - 1): the sum is n / (n - 1) times a chi-squared variable with
        (n - 1)**2 degrees of freedom. For kinds of equally many copies the same factor comes out, with
        (kinds - 1) (n - 1) degrees of freedom.

        By the same paper the number of places that have the same kind of card in two deals has the mean
        `copies` and the variance `copies` (n - `copies`) / (n - 1).
        """
        n, copies, kinds = self.cards, self.copies, self.kinds
        expected = self.deals * copies / n
        statistic = float(((self.by_place - expected) ** 2).sum() / expected) * (n - 1) / n
        found = {"cards by places": upper_tail(statistic, (kinds - 1) * (n - 1))}
        # A second card is one of the n - 1 that are left.
        shares = (copies**2 - copies * np.eye(kinds)) / (n * (n - 1))
        for place, counts in self.neighbours.items():
            assert counts[shares == 0].sum() == 0
            found[f"places {place} and {place + 1}"] = pearson(counts[shares > 0], shares[shares > 0])
        for place, counts in self.next_deal.items():
            found[f"place {place} of a deal and of the next"] = pearson(counts, 1 / kinds**2)
        two = self.deals // 2
        spread = math.sqrt(two * copies * (n - copies) / (n - 1))
        found["same places of a deal and of the next"] = normal_tail((self.matches - two * copies) / spread)
        return found


def numbered(deals: int) -> Iterator[Numbers]:
    """Consecutive deal numbers from 0: similar seeds are hard for a generator."""
    for first in range(0, deals, CHUNK):
        yield np.arange(first, min(first + CHUNK, deals))


def picked(deals: int) -> Iterator[Numbers]:
    """Deal numbers as an environment picks them after ``reset(seed=0)``."""
    batch = Batch(GameSpec(SHORT), 1)
    batch.seed_streams(np.zeros(1, dtype=np.int64), [seeding.np_random(0)[0]])
    for first in range(0, deals, CHUNK):
        yield pick_deals(batch.streams, np.zeros(min(CHUNK, deals - first), dtype=np.int64))


def implausible(p_values: dict[str, float]) -> dict[str, float]:
    """The p-values that a perfect generator is too unlikely to give."""
    return {what: p for what, p in p_values.items() if not ALPHA < p < 1 - ALPHA}


def shuffle_p_values(decks: int, deals: int, numbers: Callable[[int], Iterator[Numbers]]) -> dict[str, float]:
    shuffles = Shuffles(decks)
    for some in numbers(deals):
        shuffles.count(shuffled(BY_DECKS[decks], some))
    assert shuffles.deals == deals
    return shuffles.p_values()


@pytest.mark.parametrize("numbers", [numbered, picked])
@pytest.mark.parametrize("decks", [1, 2])
def test_shuffles_are_uniform(decks: int, numbers: Callable[[int], Iterator[Numbers]]) -> None:
    assert implausible(shuffle_p_values(decks, DEALS, numbers)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [numbered, picked])
@pytest.mark.parametrize("decks", [1, 2])
def test_a_million_shuffles_are_uniform(decks: int, numbers: Callable[[int], Iterator[Numbers]]) -> None:
    assert implausible(shuffle_p_values(decks, MANY, numbers)) == {}


def swapped_with_any_place(orders: Orders, rng: np.random.Generator) -> Orders:
    """The well-known error in Fisher-Yates."""
    deals, cards = orders.shape
    orders = np.tile(np.sort(orders[0]), (deals, 1))
    every = np.arange(deals)
    for place in range(cards):
        other = rng.integers(cards, size=deals)
        orders[every, place], orders[every, other] = orders[every, other], orders[every, place]
    return orders


def cut(orders: Orders, rng: np.random.Generator) -> Orders:
    """One order, cut at a random place."""
    deals, cards = orders.shape
    places = (np.arange(cards) + rng.integers(cards, size=(deals, 1))) % cards
    return orders[0][places]


def one_swap_apart(orders: Orders, rng: np.random.Generator) -> Orders:
    """Every other deal equals the one before, except for two cards."""
    orders = np.repeat(orders[::2], 2, axis=0)
    orders[1::2, -2:] = orders[::2, :-3:-1]
    return orders


@pytest.mark.parametrize("decks", [1, 2])
@pytest.mark.parametrize(
    ("spoil", "seen"),
    [
        (swapped_with_any_place, {"cards by places"}),
        (cut, {"places 0 and 1"}),
        (one_swap_apart, {"place 0 of a deal and of the next", "same places of a deal and of the next"}),
    ],
)
def test_bad_shuffles_are_detected(decks: int, spoil: Callable[..., Orders], seen: set[str]) -> None:
    shuffles = Shuffles(decks)
    shuffles.count(spoil(shuffled(BY_DECKS[decks], np.arange(2_000)), np.random.default_rng(0)))
    assert seen <= set(implausible(shuffles.p_values()))


# ---------------------------------------------------------------------------------- deal numbers


DIGESTS = {
    1: "1138a56b2f044771213082372aca7d96fb1871ab6175edca5645e9b8a2bdd5d7",
    2: "b2e1d19ea8287dd2e774566459db918beac5a5e2e39ad7bdbe8672e6f8438350",
    4: "605ed7935190ed92fa4511f2aad1d58833863bf8818228f8da7dce7ec288771b",
}
"""SHA-256 of the cards of deals 0 to 999, a byte each, by the number of decks."""


@pytest.mark.parametrize("decks", DIGESTS)
def test_the_first_thousand_deals_do_not_change(decks: int) -> None:
    """They are shuffled in plain Python: another order is another version of every environment."""
    orders = shuffled(BY_DECKS[decks], np.arange(1000))
    assert hashlib.sha256(orders.tobytes()).hexdigest() == DIGESTS[decks]


# ------------------------------------------------------------------------- deals kept for evaluation


KEPT = [0, 1, 999, 2**19, RESERVED_DEALS - 1]
STREAMS = [stream_before(2 * number + bit) for number in (*KEPT, RESERVED_DEALS) for bit in (0, 1)]
"""Streams that are about to draw a reserved number, which is extremely rare, or the first unreserved one."""


def next_deal(stream: int) -> int:
    """The next deal of a stream, in plain Python."""
    generator = SplitMix64(stream)
    while (number := generator.next() >> 1) < RESERVED_DEALS:
        pass
    return number


def test_streams_skip_reserved_deals() -> None:
    draws = [SplitMix64(stream).next() >> 1 for stream in STREAMS]
    assert draws == [number for number in (*KEPT, RESERVED_DEALS) for _ in (0, 1)]
    assert min(map(next_deal, STREAMS)) == next_deal(STREAMS[-1]) == RESERVED_DEALS


def start_streams(monkeypatch: pytest.MonkeyPatch, streams: list[int]) -> None:
    """Let every seed start these streams."""
    states = np.array(streams, dtype=np.uint64)
    monkeypatch.setattr(Batch, "seed_streams", lambda batch, rows, _: batch.streams.put(rows, states))


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: f"draws {SplitMix64(stream).next()}")
def test_single_environments_skip_reserved_deals(stream: int, monkeypatch: pytest.MonkeyPatch) -> None:
    env = SolitaireEnv(SHORT)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "stream": stream})
    assert env.reset()[1]["deal"] == next_deal(stream)
    start_streams(monkeypatch, [stream])
    assert env.reset(seed=0)[1]["deal"] == SolitaireEnv(SHORT).reset()[1]["deal"] == next_deal(stream)


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
def test_vector_environments_skip_reserved_deals(
    mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a reset, and when games restart automatically."""
    expected = list(map(next_deal, STREAMS))
    env = SolitaireVectorEnv(len(STREAMS), SHORT, autoreset_mode=mode, max_episode_steps=1)
    env.reset(seed=0)
    for row, stream in enumerate(STREAMS):
        env.set_state(row, {**env.get_state(row), "stream": stream})
    assert next_deals(env) == expected
    start_streams(monkeypatch, STREAMS)
    assert env.reset(seed=0)[1]["deal"].tolist() == expected


def next_deals(env: SolitaireVectorEnv) -> list[int]:
    """The deals that follow when all games have ended, which takes one step."""
    info = env.step(env.action_masks().argmax(axis=1))[-1]
    if env.autoreset_mode is AutoresetMode.NEXT_STEP:
        info = env.step(env.action_masks().argmax(axis=1))[-1]
    if env.autoreset_mode is AutoresetMode.DISABLED:
        info = env.reset(options={"reset_mask": np.ones(env.num_envs, dtype=np.bool_)})[-1]
    deals: list[int] = info["deal"].tolist()
    return deals


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("seed", [None, 0])
def test_random_deals_are_unreserved_and_different(mode: AutoresetMode, seed: int | None) -> None:
    """No deal is reserved for evaluation, and none occurs twice."""
    games = SolitaireVectorEnv(64, SHORT, autoreset_mode=mode, max_episode_steps=1)
    dealt: list[int] = games.reset(seed=seed)[1]["deal"].tolist()
    for _ in range(50):
        dealt += next_deals(games)
    assert min(dealt) >= RESERVED_DEALS
    assert len(set(dealt)) == len(dealt) == 64 * 51


@pytest.mark.parametrize("seed", [None, 0])
def test_random_deals_of_a_single_environment_are_unreserved_and_different(seed: int | None) -> None:
    env = SolitaireEnv(SHORT)
    dealt = [env.reset(seed=seed)[1]["deal"], *(env.reset()[1]["deal"] for _ in range(1000))]
    assert min(dealt) >= RESERVED_DEALS
    assert len(set(dealt)) == 1001


# ----------------------------------------------------------------------------------------- seeds


def streams_of(seeds: range) -> npt.NDArray[np.uint64]:
    """The streams of deal numbers that an environment has after ``reset(seed=...)``."""
    batch = Batch(GameSpec(SHORT), len(seeds))
    batch.seed_streams(np.arange(len(seeds)), [seeding.np_random(seed)[0] for seed in seeds])
    return batch.streams


def test_rows_are_seeded_like_single_environments() -> None:
    """Through many games, the streams of the seeds are independent."""
    for seed in (0, 1, 2**31 - 5, 12345678901234567890):
        env = SolitaireVectorEnv(5, SHORT, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=1)
        rows = [env.reset(seed=seed)[1]["deal"].tolist(), *(next_deals(env) for _ in range(20))]
        for row in range(5):
            alone = SolitaireEnv(SHORT)
            first = alone.reset(seed=seed + row)[1]["deal"]
            assert [first, *(alone.reset()[1]["deal"] for _ in range(20))] == [deals[row] for deals in rows]
        again = [env.reset(seed=seed)[1]["deal"].tolist(), *(next_deals(env) for _ in range(20))]
        assert again == rows


@pytest.mark.parametrize("first", [0, 1_000_000, 2**31])
def test_seeds_share_no_deals(first: int) -> None:
    """1024 seeds, 1000 deals each: random numbers would have an equal pair once in 2**24 times."""
    streams = streams_of(range(first, first + 1024))
    rows = np.repeat(np.arange(1024), 1000 if COMPILED else 50)
    numbers = pick_deals(streams, rows)
    assert len(np.unique(numbers)) == len(rows)


def closest(streams: npt.NDArray[np.uint64]) -> int:
    """The fewest draws after which one of the streams reaches the start of another."""
    inverse = pow(GAMMA, -1, 2**64)
    places = sorted(state * inverse & BITS_64 for state in streams.tolist())
    return min(
        (after - before) & BITS_64 for before, after in zip(places, [*places[1:], places[0]], strict=True)
    )


def test_closest_finds_the_fewest_draws() -> None:
    assert closest(np.array([5, 5 + 7 * GAMMA & BITS_64, 5 - 100 * GAMMA & BITS_64], dtype=np.uint64)) == 7


@pytest.mark.parametrize("first", [0, 1_000_000, 2**31])
def test_streams_of_seeds_do_not_meet(first: int) -> None:
    """Not within a billion deals, which 1024 streams would do with a probability of 1 in 17,000."""
    assert closest(streams_of(range(first, first + 1024))) > 10**9


@pytest.mark.parametrize(("seed", "apart"), [(0, 10**9), (None, 10**4)])
def test_streams_of_rows_do_not_meet(seed: int | None, apart: int) -> None:
    """Without a seed they differ in every run: with 10,000 draws the test fails once in a billion runs."""
    env = SolitaireVectorEnv(1024, SHORT)
    env.reset(seed=seed)
    assert closest(env.batch.streams) > apart


def seed_p_values(seeds: int) -> dict[str, float]:
    """P-values of the deal numbers of consecutive seeds: whether they are spread evenly and independently.

    They fall into 16 classes by their low bits, by their high bits, and by some in between.
    """
    parts = [streams_of(range(n, min(n + CHUNK, seeds))) for n in range(0, seeds, CHUNK)]
    streams = np.concatenate(parts)
    deals, next_deals = (pick_deals(streams, np.arange(seeds)) for _ in range(2))
    found = {}
    for bits, shift in (("low", 0), ("middle", 30), ("high", 59)):
        first, second = deals >> shift & 15, next_deals >> shift & 15
        found[f"{bits} bits"] = pearson(np.bincount(first, minlength=16), 1 / 16)
        for what, one, other in (
            ("of a seed and the next", first[::2], first[1::2]),
            ("of two deals of a seed", first, second),
            ("of a seed's second deal and the next seed's first", second[::2], first[1::2]),
        ):
            found[f"{bits} bits {what}"] = pearson(pairs(one, other, 16), 1 / 256)
    return found


def test_consecutive_seeds_are_independent() -> None:
    assert implausible(seed_p_values(DEALS)) == {}


@pytest.mark.slow
def test_a_million_seeds_are_independent() -> None:
    assert implausible(seed_p_values(MANY)) == {}


def test_equal_seeds_give_equal_deals() -> None:
    one, other = streams_of(range(100)), streams_of(range(100))
    rows = np.arange(100).repeat(20)
    np.testing.assert_array_equal(pick_deals(one, rows), pick_deals(other, rows))
