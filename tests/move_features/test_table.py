"""The table of move features, from games in play and from observations, against the list of legal moves."""

import numpy as np
import pytest

from solitaire_env.core.layout import PLAYING
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.move_features.table import MoveTable, value_range
from tests.games import ALL_GAMES, SAMPLED
from tests.move_features.test_moves import played


@pytest.mark.parametrize("name", SAMPLED)
def test_rows_are_those_of_the_legal_moves(name: str) -> None:
    """Whatever was in the table before; the rows of finished games are 0."""
    batch = played(ALL_GAMES[name], 10, size=12)
    table, reader = MoveTable(batch), MoveReader(batch.spec)
    random = np.random.default_rng(0)
    lowest, highest = value_range(batch.rules)
    for _ in range(30):
        seen, observations = table.read(), batch.observations().copy()
        expected = np.zeros_like(seen)
        going = np.flatnonzero(batch.state.status == PLAYING)
        if len(going):
            moves = reader.read_moves(observations[going], batch.state.mask[going])
            expected[going[moves.games], moves.actions] = moves.moves
        np.testing.assert_array_equal(seen, expected)
        np.testing.assert_array_equal(reader.read_table(observations), expected)
        assert (seen >= lowest).all() and (seen <= highest).all()
        mask = batch.state.mask
        batch.step((mask * (1 - random.random(mask.shape))).argmax(1), batch.everyone)
    assert seen.shape == (12, batch.rules.actions, NUM_MOVE) and seen.dtype == np.float32


def test_a_new_game_in_a_row_clears_the_last_one() -> None:
    batch = played(ALL_GAMES["busy-aces"], 60, size=3)
    table = MoveTable(batch)
    table.read()
    batch.deal(np.array([1]), [5])
    np.testing.assert_array_equal(table.read(), MoveTable(batch).read())
