"""The solver and the search policy, under the rules beyond those of the first five games."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch as th

from agents.networks.moves import MovesNetwork
from agents.networks.player import NetworkPlayer
from agents.search.budget import Budget
from agents.search.player import Searcher
from agents.search.solver import Solver
from agents.search.stocks import draw_stocks, remembered_order, unseen, write_games
from agents.solve import check_line
from solitaire_env.core import supermoves
from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.spec import GameSpec
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.games import COMPILED

Array = npt.NDArray[Any]

SHORT = {
    variant.name: variant
    for variant in (
        Variant(
            "klondike-like", "Klondike Like", decks=1, tableau=(1, 2, 3), ranks=3, face_down=(0, 1, 2),
            build="alternate color", spaces="kings", moves="sequence", passes=0, worrying_back=True,
        ),
        Variant("draws-two", "Draws Two", decks=1, tableau=(1, 1), ranks=3, draw=2, passes=2),
        Variant("fills", "Fills", decks=1, tableau=(1, 1, 1), ranks=3, fill="waste"),
        Variant("hides-one-card", "Hides", decks=1, tableau=(4, 4), ranks=3, face_down=1, build="other suit"),
        Variant(
            "yukon-like", "Yukon Like", decks=1, tableau=(6, 6), ranks=3, face_down=(1, 1),
            build="alternate color", moves="any group", spaces="kings",
        ),
        Variant("russian-like", "Russian Like", decks=1, tableau=(5, 4, 3), ranks=3, face_down=(1, 1, 0),
            moves="any group", spaces="kings"),
        Variant("wraps", "Wraps", decks=1, tableau=(3, 3, 3), ranks=3, base=2, cells=1),
        Variant("penguin-like", "Penguin Like", decks=1, tableau=(4, 4), ranks=3, base="dealt", cells=1,
            spaces="base - 1", moves="sequence"),
        Variant("two-colors", "Two Colors", decks=1, tableau=(3, 3), ranks=3, build="alternate color",
            foundation_build="alternate color", aces_home=True),
    )
}  # fmt: skip


@pytest.fixture(autouse=True)
def keys_wrap_around() -> Iterator[None]:
    """Interpreted kernels warn of it."""
    with np.errstate(over="ignore"):
        yield


def can_be_won(batch: Batch) -> bool:
    """Whether the game in row 0 can be won: all positions are visited, each identified by its whole row."""
    met: set[bytes] = set()
    waiting = [batch.state.rows[0].copy()]
    while waiting:
        row = waiting.pop()
        batch.set_row(0, row)
        if batch.state.status[0] == WON:
            return True
        if batch.state.status[0] != PLAYING:
            continue
        for action in np.flatnonzero(batch.state.mask[0].copy()):
            batch.set_row(0, row)
            batch.step(np.array([action]), batch.everyone)
            key = batch.state.rows[0].tobytes()
            if key not in met:
                met.add(key)
                waiting.append(batch.state.rows[0].copy())
    return False


@pytest.mark.parametrize("name", SHORT)
def test_the_solver_agrees_with_an_exhaustive_search(name: str) -> None:
    variant = SHORT[name]
    solver, batch = Solver(variant, megabytes=2), Batch(GameSpec(variant), 1)
    for deal in range(8 if COMPILED else 2):
        solution = solver.solve_deal(deal, seconds=60)
        batch.deal(np.zeros(1, dtype=np.int64), [deal])
        assert solution.result == ("winnable" if can_be_won(batch) else "unwinnable"), deal
        _, home, won = check_line(variant, deal, solution.line)
        assert (home, won) == (solution.cards_home, solution.result == "winnable")


@pytest.mark.parametrize("name", ["forty-thieves", "forty-bandits", "klondike", "yukon", "zebra", "penguin"])
def test_lines_in_published_games_are_legal(name: str) -> None:
    variant = get_variant(name)
    solution = Solver(variant, megabytes=2).solve_deal(1, seconds=30, nodes=500)
    _, home, _ = check_line(variant, 1, solution.line)
    assert home == solution.cards_home


@pytest.mark.parametrize("name", ["klondike", "yukon", "zebra", "emperor", "little-forty"])
def test_hidden_cards_are_sampled_together(name: str) -> None:
    variant = get_variant(name)
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.zeros(1, dtype=np.int64), [1])
    rules, row, observation = batch.rules, batch.state.rows[0].copy(), batch.observations()[0].copy()
    down = row[: rules.row_cells] >= DOWN
    cards = np.concatenate((row[: rules.row_cells][down] & ~DOWN, row[rules.row_stock :]))
    assert unseen(rules, observation).tolist() == sorted(cards.tolist())
    orders = draw_stocks(rules, observation, 20, np.random.default_rng(0))
    games = Batch(GameSpec(variant), 20)
    write_games(rules, games.state.rows, observation, orders)
    games.derive(np.arange(20))
    np.testing.assert_array_equal(games.observations(), np.tile(observation, (20, 1)))
    for n in range(20):
        other = games.state.rows[n]
        drawn = np.concatenate((other[: rules.row_cells][down] & ~DOWN, other[rules.row_stock :]))
        assert sorted(drawn.tolist()) == sorted(cards.tolist())
    assert len({games.state.rows[n].tobytes() for n in range(20)}) == 20


def untrained(name: str) -> Searcher:
    """A search player with a small random network."""
    spec = GameSpec(get_variant(name))
    th.manual_seed(0)
    player = NetworkPlayer(MovesNetwork(spec, hidden=(8,), width=8, dig_out=1, family=1), spec, "untrained")
    return Searcher(spec.variant, player, Budget(simulations=4, candidates=2, nodes=200))


@pytest.mark.parametrize("name", ["klondike", "little-forty"])
def test_stock_is_remembered_after_a_redeal(name: str) -> None:
    variant = get_variant(name)
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.zeros(1, dtype=np.int64), [3])
    rules, random = batch.rules, np.random.default_rng(3)
    games = Batch(GameSpec(variant), 3)
    order = None
    remembered = 0
    for move in range(300 if COMPILED else 60):
        row, observation = batch.state.rows[0], batch.observations()[0]
        order = remembered_order(rules, observation, order)
        if order is not None:
            remembered += int(batch.state.stock[0]) > 0
            orders = draw_stocks(rules, observation, 3, random, order)
            write_games(rules, games.state.rows, observation, orders)
            games.derive(np.arange(3))
            np.testing.assert_array_equal(games.observations(), np.tile(observation, (3, 1)))
            stock = row[rules.row_stock :]
            np.testing.assert_array_equal(games.state.rows[:, rules.row_stock :], np.tile(stock, (3, 1)))
        # Draws and redeals more often than other moves.
        legal = np.flatnonzero(batch.state.mask[0])
        action = legal[0] if legal[0] < 2 and move % 4 else random.choice(legal)
        batch.step(np.array([action]), batch.everyone)
        if batch.state.status[0] != PLAYING:
            break
    assert remembered > 5


def test_search_forgets_the_stock_of_an_ended_game() -> None:
    searcher = untrained("klondike")
    batch = Batch(GameSpec(searcher.variant), 1)
    batch.deal(np.zeros(1, dtype=np.int64), [2])
    game = np.zeros(1, dtype=np.int64)
    while searcher.games.get(0) is None or searcher.games[0].order is None:
        searcher(batch.observations(), batch.state.mask, uniforms=np.zeros(1), games=game)
        batch.step(np.zeros(1, dtype=np.int64), batch.everyone)
    searcher.ended([0])
    batch.deal(np.zeros(1, dtype=np.int64), [3])
    searcher(batch.observations(), batch.state.mask, uniforms=np.zeros(1), games=game)
    assert searcher.games[0].order is None


@pytest.mark.parametrize("name", ["klondike", "zebra", "penguin"])
def test_search_plays_games_with_further_rules(name: str) -> None:
    searcher = untrained(name)
    batch = Batch(GameSpec(searcher.variant), 1)
    batch.deal(np.zeros(1, dtype=np.int64), [2])
    for move in range(8 if COMPILED else 3):
        [action] = searcher(
            batch.observations(), batch.state.mask, uniforms=np.array([move / 10]),
            games=np.zeros(1, dtype=np.int64),
        )  # fmt: skip
        assert batch.state.mask[0, action]
        batch.step(np.array([action]), batch.everyone)


def test_games_that_fill_spaces_have_no_supermoves(refuses: Refuses) -> None:
    corona, zebra = get_variant("corona"), get_variant("zebra")
    refuses(lambda: GameSpec(corona).seen(moves="supermove"), "supermove", "corona", "does not fill")
    assert not supermoves.expands(corona.with_rules(moves="supermove")) and supermoves.expands(zebra)
    assert not supermoves.expands(get_variant("yukon"))
    assert supermoves.expands(get_variant("emperor").with_rules(moves="supermove"))
