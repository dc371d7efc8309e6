"""Hidden cards dealt again: what the player has seen stays, and every order of the rest is equally likely."""

import random
from itertools import product
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from solitaire_env.core import shuffle
from solitaire_env.core.batch import NO_NUMBER, Batch
from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.layout import DEAL, LEAVE, PLAY
from solitaire_env.core.native import widened
from solitaire_env.core.observations import observation_size, observation_writer
from solitaire_env.core.rules.state import CODES
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.worlds import resample_rows
from solitaire_env.notation import format_position, parse_position
from solitaire_env.testing import check_state
from tests.games import COMPILED, FURTHER, PUBLISHED

VARIANTS = PUBLISHED | FURTHER
GAMES = [*(PUBLISHED if COMPILED else ()), *FURTHER]
HIDING = [name for name in GAMES if VARIANTS[name].stock or VARIANTS[name].hides_cards]
ROW, WORLD = np.array([0]), np.array([1])
NEVER = 1e-6
"""Probability of a result that no test may see: the seeds are constant."""


def new_batch(name: str, size: int = 2, **settings: Any) -> Batch:
    return Batch(GameSpec(VARIANTS[name], Settings(**settings)), size)


def resample(batch: Batch, rows: npt.NDArray[np.int64], seed: int) -> None:
    batch.resample(rows, np.arange(seed, seed + len(rows), dtype=np.uint64))


class Player:
    """A player who notes what has been face up: written apart from the engine."""

    def __init__(self) -> None:
        self.stock_seen = False
        self._left = 0

    def look(self, batch: Batch) -> None:
        """Look at the game in row 0. A stock that grows was the waste, which is face up."""
        left = int(batch.state.stock[0])
        self.stock_seen |= left == 0 or left > self._left > 0
        self._left = left

    def hidden(self, batch: Batch, row: int = 0) -> list[int]:
        """The cards that the player has never seen, sorted."""
        cards = batch.state.rows[row].tolist()
        tableau, stock = cards[: batch.rules.row_cells], cards[batch.rules.row_stock :]
        down = [card - DOWN for card in tableau if card > DOWN]
        return sorted([*down, *(card for card in stock if card and not self.stock_seen)])


def choose(batch: Batch, chance: random.Random) -> int:
    """A random legal action, mostly a draw or a redeal."""
    legal = np.flatnonzero(batch.state.mask[0]).tolist()
    turns = [action for action in legal if batch.action_text(action) in ("draw", "redeal")]
    return chance.choice(turns if turns and chance.random() < 0.8 else legal)


@pytest.mark.parametrize("name", GAMES)
def test_a_world_looks_and_plays_like_the_game_until_a_hidden_card_turns_up(name: str) -> None:
    batch, chance = new_batch(name), random.Random(name)
    shown, observers = [], []
    views: Any = product(("player", "memory"), (("cards", "i1"), ("features", "f4")))
    for information, (kind, dtype) in views:
        shown.append(np.zeros((2, observation_size(VARIANTS[name], kind, information)), dtype))
        of_games = shown[-1], np.arange(2)
        observers.append(
            observation_writer(batch.rules, batch.state, information, batch.stock_seen, *of_games)
        )
    batch.deal(ROW, [5])
    player, turned_up, seed, remembered = Player(), True, 0, 0
    for _ in range(120):
        player.look(batch)
        hidden = player.hidden(batch)
        if turned_up:
            batch.copy_rows(ROW, WORLD)
            resample(batch, WORLD, seed := seed + 1)
            assert player.hidden(batch, 1) == hidden
            assert seed > 5 or check_state(batch) == []
        for observe in observers:
            observe()
        np.testing.assert_array_equal(shown[0], batch.observations())
        for seen in (*shown, batch.state.mask, batch.state.status, batch.stock_seen):
            np.testing.assert_array_equal(seen[0], seen[1])
        assert batch.stock_seen[0] == player.stock_seen
        if player.stock_seen:
            stocks = batch.state.rows[:, batch.rules.row_stock :]
            remembered += int(stocks.any())
            np.testing.assert_array_equal(stocks[0], stocks[1])
            np.testing.assert_array_equal(shown[2][:, batch.rules.row_stock :], stocks)
        else:
            left = shown[2][0, batch.rules.row_stock :].tolist()
            assert left[: batch.state.stock[0]] == [FACE_DOWN] * batch.state.stock[0]
            assert not any(left[batch.state.stock[0] :])
        if batch.state.status[0]:
            break
        batch.step(np.repeat(choose(batch, chance), 2), batch.everyone)
        turned_up = len(player.hidden(batch)) < len(hidden)
    assert (seed > 1) == (name in HIDING)
    assert (remembered > 0) == (VARIANTS[name].passes != 1)


@pytest.mark.parametrize("name", HIDING)
def test_a_world_follows_from_the_seed_and_the_view_of_the_player(name: str) -> None:
    """So it says nothing of the true order."""
    batch = new_batch(name, 4)
    batch.deal(ROW, [5])
    batch.copy_rows(np.zeros(3, dtype=np.int64), np.arange(1, 4))
    resample(batch, np.arange(1, 4), 7)
    worlds = [batch.position(row) for row in range(4)]
    for k in range(3):
        for row in range(4):
            resample(batch, np.array([row]), 7 + k)
            assert batch.position(row) == worlds[1 + k]
    assert len(set(worlds)) == 4 or len(Player().hidden(batch)) < 6


@pytest.mark.parametrize("name", GAMES)
def test_thoughtful_games_and_games_without_hidden_cards_do_not_change(name: str) -> None:
    for information in ("player", "thoughtful") if name not in HIDING else ("thoughtful",):
        batch = new_batch(name, 1, information=information)
        batch.deal(ROW, [5])
        before = batch.get_state(0)
        for seed in range(5):
            resample(batch, ROW, seed)
        assert batch.get_state(0) == before


def test_a_world_starts_from_no_deal() -> None:
    """Its cards are not those of the number or the name."""
    batch = new_batch("klondike", 3)
    batch.deal(np.arange(3), [5, 6, 7])
    batch.deal_names[1] = "ms:1"
    resample(batch, np.arange(2), 0)
    assert [batch.deal_of(row) for row in range(3)] == [None, None, 7]
    assert batch.deal_numbers.tolist() == [NO_NUMBER, NO_NUMBER, 7]


# ---------------------------------------------------------------------------------- equally likely


def worlds_of(batch: Batch, samples: int, seed: int = 0) -> npt.NDArray[np.int8]:
    """The hidden cards of the game in row 0, in many worlds, int8 ``[samples, hidden cards]``."""
    rules, cards = batch.rules, batch.state.rows[0].copy()
    places = [place for place in range(rules.row_cells) if cards[place] & DOWN]
    if not batch.stock_seen[0]:
        places += range(rules.row_stock, rules.row_stock + int(batch.state.stock[0]))
    many = Batch(batch.spec, samples)
    many.copy_rows(ROW, ROW)
    many.state.rows[:] = cards
    many.derive(np.arange(samples))
    many.stock_seen[:] = batch.stock_seen[0]
    resample(many, np.arange(samples), seed)
    found: npt.NDArray[np.int8] = many.state.rows[:, places] & (DOWN - 1)
    return found


def check_uniform(counts: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """Chi-square test."""
    assert stats.chisquare(np.ravel(counts), np.ravel(expected)).pvalue > NEVER


SMALL = ["small-klondike", "two-down", "small-yukon", "three-passes", "dealt-two-decks", "filled"]
"""Short packs: face-down cards and a stock, only one of them, two decks."""


@pytest.mark.parametrize("name", SMALL)
def test_each_hidden_card_is_equally_likely_at_each_place(name: str) -> None:
    batch = new_batch(name, 1)
    batch.deal(ROW, [5])
    worlds = worlds_of(batch, 30_000 if COMPILED else 200)
    cards, copies = np.unique(worlds[0], return_counts=True)
    counts = (worlds[:, :, None] == cards).sum(0)
    check_uniform(counts, np.broadcast_to(copies * len(worlds) / worlds.shape[1], counts.shape))


def few_hidden(batch: Batch, most: int) -> int:
    """Turn up cards of row 0 until only some of its face-down cards are hidden; their number."""
    batch.stock_seen[0] = True
    places = np.flatnonzero(batch.state.rows[0, : batch.rules.row_cells] & DOWN)
    batch.state.rows[0, places[most:]] &= DOWN - 1
    batch.derive(ROW)
    return min(most, len(places))


@pytest.mark.parametrize("hidden", range(1, 6))
def test_the_shuffle_makes_each_order_once_from_all_random_numbers(
    hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact: all results that the random numbers can have, each once, lead to all orders, each once."""
    batch = new_batch("small-yukon", 1)
    batch.deal(ROW, [5])
    few_hidden(batch, hidden)
    rows = batch.state.rows
    start, down = rows.copy(), np.flatnonzero(rows[0, : batch.rules.row_cells] & DOWN)
    scratch = np.zeros(batch.rules.cards, dtype=np.int64), np.zeros(CODES, dtype=np.int64)
    orders = []
    for numbers in product(*(range(n) for n in range(hidden, 1, -1))):
        script = iter(numbers)
        monkeypatch.setattr(shuffle, "random_below", lambda states, b, n, script=script: next(script))
        rows[:] = start
        arguments = (batch.rules, batch.groups[0].deals, batch.state, batch.stock_seen, *scratch, ROW)
        resample_rows.function(*map(widened, (*arguments, np.zeros(1, dtype=np.uint64))))
        assert next(script, None) is None and (rows[0, down] & DOWN).all()
        orders.append(tuple(rows[0, down].tolist()))
    assert len(orders) == len(set(orders)) == factorial(hidden)


@pytest.mark.parametrize("name", ["klondike", "forty-thieves"])
def test_the_deal_with_the_number_of_the_seed_is_not_favored(name: str) -> None:
    """Then both shuffles have the same random numbers, and could lead to similar orders."""
    games = 4000 if COMPILED else 100
    batch = new_batch(name, games)
    rows = np.arange(games)
    batch.deal(rows, rows.tolist())
    stock = slice(batch.rules.row_stock, batch.rules.row_size)
    true = batch.state.rows[:, stock].copy()
    resample(batch, rows, 0)
    places = true.shape[1]
    related = np.corrcoef(true, batch.state.rows[:, stock], rowvar=False)[:places, places:]
    assert np.abs(related).max() < 6 / np.sqrt(games)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["klondike-draw-3", "double-klondike", "yukon", "forty-thieves"])
def test_pairs_of_hidden_cards_are_equally_likely_at_each_pair_of_neighbors(name: str) -> None:
    batch = new_batch(name, 1)
    batch.deal(ROW, [5])
    total, counts, samples = 0, None, 25_000
    for part in range(40):
        worlds = worlds_of(batch, samples, part * samples).astype(np.int64)
        cards, copies = np.unique(worlds[0], return_counts=True)
        pairs = np.searchsorted(cards, worlds[:, :-1]) * len(cards) + np.searchsorted(cards, worlds[:, 1:])
        found = np.array([np.bincount(column, minlength=len(cards) ** 2) for column in pairs.T])
        counts = found if counts is None else counts + found
        total += samples
    hidden = worlds.shape[1]
    ways = np.outer(copies, copies) - np.diag(copies)
    possible = ways.ravel() > 0
    assert counts is not None and not counts[:, ~possible].any()
    expected = total * ways.ravel()[possible] / (hidden * (hidden - 1))
    check_uniform(counts[:, possible], np.broadcast_to(expected, (hidden - 1, possible.sum())))


# ------------------------------------------------------------------------- what the player has seen


def emptied(name: str = "klondike", size: int = 2) -> Batch:
    """A game after its first redeal in row 0, and a new one in the others."""
    batch = new_batch(name, size)
    batch.deal(np.arange(size), list(range(size)))
    draw, redeal = map(batch.parse_action, ("draw", "redeal"))
    todo = np.where(np.arange(size) == 0, PLAY, LEAVE).astype(np.int8)
    while batch.state.stock[0]:
        assert not batch.stock_seen[0]
        batch.step(np.full(size, draw), todo)
    batch.step(np.full(size, redeal), todo)
    assert batch.stock_seen.tolist() == [True] + [False] * (size - 1)
    return batch


def test_a_new_deal_has_an_unseen_stock() -> None:
    """However it is dealt."""
    starts: dict[str, Any] = {
        "next": lambda batch: batch.deal_next(ROW),
        "number": lambda batch: batch.deal(ROW, [3]),
        "step": lambda batch: batch.step(np.zeros(2, dtype=np.int64), np.array([DEAL, LEAVE], dtype=np.int8)),
        "row": lambda batch: batch.set_row(0, batch.state.rows[1]),
        "state": lambda batch: batch.set_state(0, batch.get_state(1)),
    }
    for start in starts.values():
        batch = emptied()
        start(batch)
        assert batch.stock_seen.tolist() == [False, False]


def test_copies_and_restored_states_have_seen_the_stock() -> None:
    batch = emptied()
    saved = batch.get_state(0)
    assert saved["stock_seen"] is True and batch.get_state(1)["stock_seen"] is False
    batch.copy_rows(ROW, WORLD)
    assert batch.stock_seen.all()
    other = new_batch("klondike")
    other.deal(ROW, [3])
    other.set_state(0, saved)
    assert other.get_state(0) == saved
    batch.deal(ROW, [3])
    batch.copy_rows(np.array([0, 1]), np.array([1, 0]))
    assert batch.stock_seen.tolist() == [True, False]


def test_a_state_with_an_empty_stock_has_seen_it(refuses: Any) -> None:
    batch = new_batch("freecell", 1)
    batch.deal(ROW, [3])
    saved = batch.get_state(0)
    for wrong, words in ((False, "allowed: True"), (1, "True or False"), (None, "True or False")):
        refuses(lambda wrong=wrong: batch.set_state(0, {**saved, "stock_seen": wrong}), "stock_seen", words)
    assert batch.get_state(0) == saved


@pytest.mark.parametrize("name", ["klondike", "forty-and-eight", "forty-thieves"])
def test_a_position_that_lists_the_stock_says_that_the_player_knows_it(name: str) -> None:
    batch = new_batch(name)
    batch.deal(ROW, [5])
    position = batch.position(0)
    stock = np.array(position.stock, dtype=np.int8)
    for start, seen in (
        (position.hidden(), False),
        (position.hidden(stock), True),
        (position, True),
    ):
        batch.place(0, parse_position(format_position(start), VARIANTS[name]))
        assert batch.stock_seen[0] == seen
        known = batch.position(0).stock
        resample(batch, ROW, 3)
        assert (batch.position(0).stock == known) == seen
    for row in range(2):
        batch.place(row, position.hidden(stock))
    assert batch.visible(0, memory=True) == position.hidden(stock)
    assert batch.visible(0) == position.hidden()


CROWDED = """\
variant: klondike
stock:
waste: 9D TS JD QC QD KC KD KS
redeals: -
foundations: C 8 D 7 H 13 S 8
t1: (TC) (TD) (JC) (JS) (QS) (9S) (9C) 8D"""
"""A pile that no deal leads to. It may get full, unless the card below the 8D is counted to its sequence."""


def test_whether_a_pile_may_get_full_does_not_depend_on_hidden_cards() -> None:
    batch = new_batch("klondike", 60)
    spaces = "".join(f"\nt{pile}:" for pile in range(2, 8))
    for row in range(60):
        batch.place(row, parse_position(CROWDED + spaces, VARIANTS["klondike"]))
    resample(batch, np.arange(60), 0)
    assert len({bytes(row) for row in batch.state.rows}) > 50
    assert check_state(batch) == []
