"""What the foundations show, and what they take."""

import numpy as np
import pytest

from solitaire_env.core.rules.foundations import read_foundations
from tests.games import ALL_GAMES, SAMPLED, dealt


@pytest.mark.parametrize("name", SAMPLED)
def test_the_last_card_of_a_foundation_is_one_that_it_took(name: str) -> None:
    batch = dealt(ALL_GAMES[name], 0)
    rules, state = batch.rules, batch.state
    random = np.random.default_rng(0)
    suits = np.repeat(np.arange(4), rules.decks)
    for _ in range(20):
        counts = state.rows[0, rules.row_foundations : rules.row_foundations + len(suits)]
        counts[:] = random.integers(0, rules.ranks + 1, len(suits))
        tops, takes, before, takes_before = np.zeros((4, len(suits)), dtype=np.int64)
        read_foundations(rules, state, 0, tops, takes)
        batch.derive(np.zeros(1, dtype=np.int64))
        assert np.bitwise_or.reduce(takes) == state.next_home[0]
        np.testing.assert_array_equal(takes == 0, counts == rules.ranks)
        np.testing.assert_array_equal(tops == 0, counts == 0)
        full = counts.copy()
        counts[:] = np.maximum(full - 1, 0)
        read_foundations(rules, state, 0, before, takes_before)
        np.testing.assert_array_equal(tops[full > 0], takes_before[full > 0])
