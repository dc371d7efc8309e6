"""Tree search does not use hidden cards, plays legal moves, and wins what can be won."""

from typing import Any

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.position import Position
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.loading import load_search
from solitaire_env.notation import parse_position
from solitaire_env.search.budget import Budget
from solitaire_env.search.solver import Solver
from solitaire_env.search.tree_player import TreeSearcher
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.search.test_collapsed import pack

SMALL = {
    "unlimited": pack(6, (1, 2, 3, 4), draw=3, passes=0, worrying_back=True),
    "two passes": pack(6, (1, 2, 3, 4), draw=2, passes=2, worrying_back=True),
    "one pass": pack(6, (1, 2, 3, 4), draw=1, passes=1),
}


def searcher(variant: Variant, **budget: Any) -> TreeSearcher:
    made = load_search(GameSpec(variant), budget=Budget(**budget))
    assert isinstance(made, TreeSearcher)
    return made


def permute_hidden(batch: Batch, random: np.random.Generator, stock: bool) -> Batch:
    """The game in another world: the face-down cards, and the stock if it was never seen, permuted."""
    rules, other = batch.rules, Batch(batch.spec, 1)
    row = batch.state.rows[0].copy()
    hidden = row >= DOWN
    if stock:
        hidden[rules.row_stock :] = row[rules.row_stock :] > 0
    row[hidden] = random.permutation(row[hidden] & (DOWN - 1)) | (row[hidden] & DOWN)
    other.set_row(0, row)
    return other


@pytest.mark.parametrize("rules", SMALL)
def test_moves_do_not_depend_on_hidden_cards(rules: str) -> None:
    """With equal observations and random numbers but other hidden cards, the move is the same."""
    variant = SMALL[rules]
    player = searcher(variant, simulations=20)
    random = np.random.default_rng(0)
    batch = Batch(GameSpec(variant), 1)
    compared = 0
    for deal in range(6):
        batch.deal(np.array([0]), [deal])
        for _ in range(60):
            if batch.state.status[0]:
                break
            never_seen = player.games[2 * deal].order is None if 2 * deal in player.games else True
            other = permute_hidden(batch, random, stock=never_seen)
            uniforms = np.array([random.random()])
            chosen = [
                player(each.observations().copy(), each.state.mask.copy(), uniforms=uniforms, games=games)
                for each, games in ((batch, np.array([2 * deal])), (other, np.array([2 * deal + 1])))
            ]
            assert chosen[0] == chosen[1]
            assert batch.state.mask[0, chosen[0][0]]
            compared += bool((other.state.rows[0] != batch.state.rows[0]).any())
            batch.step(chosen[0], batch.everyone)
    assert compared > 20
    player.ended(list(player.games))
    assert not player.games


@pytest.mark.parametrize("rules", SMALL)
def test_wins_most_games_that_can_be_won(rules: str) -> None:
    variant = SMALL[rules]
    results = evaluate(searcher(variant, simulations=50), variant, range(40))
    solver = Solver(variant, megabytes=1)
    winnable = sum(solver.solve_deal(deal, seconds=60).status == "won" for deal in range(40))
    won = sum(game.won for game in results.games)
    linear = sum(game.won for game in evaluate("linear", variant, range(40)).games)
    assert linear < won <= winnable
    assert won >= 0.7 * winnable


def test_klondike() -> None:
    variant = get_variant("klondike-draw-3")
    games = evaluate(searcher(variant, simulations=64), variant, range(1000, 1020)).games
    # The shipped network wins 17 % of all deals.
    assert sum(game.won for game in games) >= 5
    # Games in parallel do not affect each other.
    assert list(evaluate(searcher(variant, simulations=64), variant, [1003]).games) == [games[3]]


def test_a_full_tree_only_stops_growing() -> None:
    """A limit of time allows more iterations than the tree has room for."""
    variant = SMALL["one pass"]
    player = searcher(variant, simulations=2, milliseconds=20)
    games = evaluate(player, variant, range(3)).games
    assert player.tree.sizes[0] == len(player.tree.nodes)
    assert sum(game.won for game in games) >= 1


KNOWN = pack(3, (2, 2), draw=1, passes=0, worrying_back=True)
"""A game in which at most one card is face down after the first move."""


def start(waste: str, t1: str, t2: str) -> Position:
    return parse_position(
        f"""
        variant: {KNOWN.name}
        stock:
        waste: {waste}
        redeals: -
        foundations: C 0 D 0 H 0 S 0
        t1: {t1}
        t2: {t2}
        """,
        KNOWN,
    )


def test_known_games_are_solved() -> None:
    """With one card face down the exhaustive search plans the game to its end."""
    player = searcher(KNOWN, simulations=2)
    batch = Batch(GameSpec(KNOWN), 1)
    won = start("AC 2C 3C AD 2D 3D AH 2S", "(3H) 3S", "2H AS")
    lost = start("AC 2C 3C AD 2D 3D AH 2H", "(AS) 3S", "3H 2S")
    for position, result in ((won, WON), (lost, PLAYING)):
        batch.begin(np.zeros(1, dtype=np.int64), [position])
        for _ in range(60):
            if batch.state.status[0]:
                break
            action = player(batch.observations().copy(), batch.state.mask.copy(), games=np.zeros(1, np.int64))
            assert batch.state.mask[0, action[0]]
            batch.step(action, batch.everyone)
        assert batch.state.status[0] == result
        player.ended([0])


def test_without_numbers_of_games_a_lost_game_does_not_affect_the_next() -> None:
    player = searcher(KNOWN, simulations=2)
    lost = start("AC 2C 3C AD 2D 3D AH 2H", "(AS) 3S", "3H 2S")
    won = start("AC 2C 3C AD 2D 3D AH 2S", "(3H) 3S", "2H AS")

    def play(player: TreeSearcher, position: Position) -> list[int]:
        batch = Batch(GameSpec(KNOWN), 1)
        batch.begin(np.zeros(1, dtype=np.int64), [position])
        actions: list[int] = []
        while batch.state.status[0] == PLAYING and len(actions) < 60:
            observations, masks = batch.observations().copy(), batch.state.mask.copy()
            actions += player(observations, masks, uniforms=np.array([0.5])).tolist()
            batch.step(np.array(actions[-1:]), batch.everyone)
        return actions

    assert len(play(player, lost)) == 60
    assert play(player, won) == play(searcher(KNOWN, simulations=2), won)


def test_positions_that_no_game_reaches_are_refused(refuses: Refuses) -> None:
    player = searcher(KNOWN, simulations=2)
    batch = Batch(GameSpec(KNOWN), 1)
    batch.begin(np.zeros(1, dtype=np.int64), [start("AC 2C 3C AD 2D 3D AH", "(3H) 2S 3S", "2H AS")])
    refuses(lambda: player(batch.observations(), batch.state.mask), "occurs in no game")
