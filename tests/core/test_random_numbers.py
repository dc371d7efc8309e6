"""Random numbers: seeds are independent, and deals that are reserved for evaluation are never picked."""

import hashlib

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from solitaire_env.core.batch import Batch
from solitaire_env.core.deals import RESERVED_DEALS, shuffled
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation.runner import random_stream
from solitaire_env.vector import SolitaireVectorEnv
from tests.core.test_deals import BITS_64, BY_DECKS, SHORT, SplitMix64, stream_before
from tests.games import COMPILED

GAMMA = 0x9E3779B97F4A7C15
"""Added to the generator's state by each draw: all streams run along one cycle of 2**64 states."""


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


KEPT = [0, 1, 999, 2**19, RESERVED_DEALS - 1]
STREAMS = [stream_before(2 * number + bit) for number in (*KEPT, RESERVED_DEALS) for bit in (0, 1)]
"""Streams that are about to draw a reserved number, which is extremely rare, or the first unreserved one."""


def next_deal(stream: int) -> int:
    """The next deal of a stream, in plain Python."""
    generator = SplitMix64(stream)
    while (number := generator.next() >> 1) < RESERVED_DEALS:
        pass
    return number


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
    env = SolitaireVectorEnv(SHORT, len(STREAMS), autoreset_mode=mode, max_episode_steps=1)
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
    games = SolitaireVectorEnv(SHORT, 64, autoreset_mode=mode, max_episode_steps=1)
    dealt: list[int] = games.reset(seed=seed)[1]["deal"].tolist()
    rounds = 50 if COMPILED else 5
    for _ in range(rounds):
        dealt += next_deals(games)
    assert min(dealt) >= RESERVED_DEALS
    assert len(set(dealt)) == len(dealt) == 64 * (1 + rounds)


def streams_of(seeds: range) -> npt.NDArray[np.uint64]:
    """The streams of deal numbers that an environment has after ``reset(seed=...)``."""
    batch = Batch(GameSpec(SHORT), len(seeds))
    batch.seed_streams(np.arange(len(seeds)), [seeding.np_random(seed)[0] for seed in seeds])
    return batch.streams


def closest(streams: npt.NDArray[np.uint64]) -> int:
    """The fewest draws after which one of the streams reaches the start of another."""
    inverse = pow(GAMMA, -1, 2**64)
    places = sorted(state * inverse & BITS_64 for state in streams.tolist())
    return min(
        (after - before) & BITS_64 for before, after in zip(places, [*places[1:], places[0]], strict=True)
    )


@pytest.mark.parametrize("first", [0, 1_000_000, 2**31])
def test_streams_of_seeds_do_not_meet(first: int) -> None:
    """Not within a billion deals, which 1024 streams would do with a probability of 1 in 17,000."""
    assert closest(streams_of(range(first, first + 1024))) > 10**9


def dealt(seed: int, num_envs: int, deals: str | None = None) -> npt.NDArray[np.int64]:
    """The deals of a vector environment, int64 ``[8, num_envs]``, from its reset with a seed."""
    games = SolitaireVectorEnv(SHORT, num_envs, deals=deals, max_episode_steps=1, autoreset_mode="SameStep")
    return np.array([games.reset(seed=seed)[1]["deal"].tolist(), *(next_deals(games) for _ in range(7))])


def test_seeds_share_deals_only_where_rows_have_the_same_seed() -> None:
    """Seeds that are ``num_envs`` apart share none; consecutive ones share all rows but one."""
    first = dealt(0, 16)
    apart = [first, *(dealt(seed, 16) for seed in (16, 32, 1_000, 2**40))]
    assert len(np.unique(apart)) == np.size(apart)
    np.testing.assert_array_equal(dealt(1, 16)[:, :-1], first[:, 1:])
    # A single environment has the deals of its row.
    np.testing.assert_array_equal(dealt(5, 1)[:, 0], first[:, 5])


def test_seeds_draw_the_same_chosen_deals_as_often_as_chance_does() -> None:
    """Of a thousand, at the same time or at another; the tolerance is five standard deviations."""
    drawn = dealt(0, 400, "train-1k")
    pairs = len(drawn) ** 2 * 400 * 399 // 2
    counts = np.unique(drawn, return_counts=True)[1]
    within = sum((np.unique(row, return_counts=True)[1] ** 2).sum() - len(row) for row in drawn.T) // 2
    shared = (counts**2 - counts).sum() // 2 - within
    assert abs(shared - pairs / 1000) < 5 * np.sqrt(pairs / 1000)
    now = sum((np.unique(row, return_counts=True)[1] ** 2).sum() - len(row) for row in drawn) // 2
    pairs_now = len(drawn) * 400 * 399 // 2
    assert abs(now - pairs_now / 1000) < 5 * np.sqrt(pairs_now / 1000)


def test_random_numbers_of_evaluations_are_independent() -> None:
    """Of all deals and seeds; numbers of equal deals, or of equal seeds, are not correlated."""
    numbers = np.array(
        [[random_stream(deal, seed).random(8) for deal in range(40)] for seed in (*range(39), 2**40)]
    )
    assert len(np.unique(numbers)) == numbers.size
    for axis in (0, 1):
        groups = np.moveaxis(numbers, axis, 0).reshape(40, -1)
        correlations = np.corrcoef(groups)[np.triu_indices(40, 1)]
        assert abs(correlations).max() < 5 / np.sqrt(groups.shape[1])
