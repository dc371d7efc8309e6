"""The moves that finish games, compared with a slow version that plays `greedy`."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.finishing import MOST_MET, finishing_moves
from solitaire_env.policies.greedy import Greedy
from solitaire_env.variants import Variant, get_variant
from tests.games import COMPILED, FURTHER, ONE_PER_RULE

Array = npt.NDArray[Any]

GAMES = ONE_PER_RULE | FURTHER
"""Short packs are often won from the deal, the published games after many moves."""
FULL = ("eights-down", "freecell", "bakers-game") if COMPILED else ()
"""Published games in which all cards are known and `greedy` wins many deals."""


def greedily(variant: Variant, steps: int, size: int, seed: int) -> Batch:
    """Games after `greedy` and random moves in turn."""
    batch = Batch(GameSpec(variant).view(information="memory"), size)
    batch.deal(np.arange(size), range(seed, seed + size))
    greedy, random = Greedy(batch.spec), np.random.default_rng(seed)
    for _ in range(steps):
        best = greedy(batch.observations(), batch.state.mask)
        other = (batch.state.mask * (1 - random.random(batch.state.mask.shape))).argmax(1)
        batch.step(np.where(random.random(size) < 0.95, best, other), batch.everyone)
    return batch


def slowly(batch: Batch, row: int) -> int:
    """The move that finishes the game of a row."""
    greedy, known = Greedy(batch.spec), batch.rules.row_stock
    seen = batch.observations()[row]
    hidden = np.delete(seen, np.arange(batch.rules.row_foundations, known)) == 1
    if batch.state.status[row] != PLAYING or hidden.any():
        return -1
    game, met = Batch(batch.spec, 1), set[bytes]()

    def wins(first: list[int]) -> bool:
        game.set_state(0, batch.get_state(row))
        for action in first:
            game.step(np.array([action]), game.everyone)
        while game.state.status[0] == PLAYING:
            position = game.observations()[0, :known].tobytes()
            if position in met or len(met) == MOST_MET:
                return False
            met.add(position)
            game.step(greedy(game.observations(), game.state.mask), game.everyone)
        return bool(game.state.status[0] == WON)

    if wins([]):
        return int(greedy(seen[None], batch.state.mask[row : row + 1])[0])
    legal = np.flatnonzero(batch.state.mask[row]).tolist()
    return next((action for action in legal if wins([action])), -1)


@pytest.mark.parametrize("name", GAMES)
def test_they_are_those_after_which_greedy_wins(name: str) -> None:
    found = 0
    for steps in (0, 15, 60, 150):
        batch = greedily(GAMES[name], steps, 5, steps)
        moves = finishing_moves(batch.rules, batch.observations(), batch.state.mask)
        assert moves.tolist() == [slowly(batch, row) for row in range(5)]
        found += np.count_nonzero(moves >= 0)
    assert found or name not in FULL


@pytest.mark.parametrize("name", FULL)
def test_the_games_are_won(name: str) -> None:
    batch = greedily(get_variant(name), 5, 30, 7)
    moves = finishing_moves(batch.rules, batch.observations(), batch.state.mask)
    finished = moves >= 0
    assert 0 < finished.sum() < 30
    while (moves >= 0).any():
        batch.step(np.maximum(moves, 0), (moves >= 0).astype(np.int8))
        moves = finishing_moves(batch.rules, batch.observations(), batch.state.mask)
        moves[~finished] = -1
    assert (batch.state.status[finished] == WON).all()


def test_finished_games_have_none() -> None:
    """Their masks are all ones."""
    batch = greedily(get_variant("tiny-klondike"), 200, 40, 0)
    ended = batch.state.status != PLAYING
    assert ended.any() and (batch.state.mask[ended] == 1).all()
    moves = finishing_moves(batch.rules, batch.observations(), batch.state.mask)
    assert (moves[ended] == -1).all()
