"""Safe moves of games in play, against those that are read from observations."""

import numpy as np
import pytest

from solitaire_env.move_features.autoplay import autoplay_safe_moves, has_safe_moves, safe_moves_in_play
from tests.games import ALL_GAMES
from tests.move_features.test_moves import played


@pytest.mark.parametrize("name", [name for name, game in ALL_GAMES.items() if has_safe_moves(game)])
def test_safe_moves_in_play_are_those_of_the_observations(name: str) -> None:
    """Of finished games too."""
    batch = played(ALL_GAMES[name], 10, size=8)
    for _ in range(30):
        safe = safe_moves_in_play(batch.rules, batch.state)
        seen = autoplay_safe_moves(batch.rules, batch.observations(), batch.state.mask)
        np.testing.assert_array_equal(safe, seen)
        batch.step(np.where(safe >= 0, safe, batch.state.mask.argmax(1)), batch.everyone)
