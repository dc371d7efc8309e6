"""The mask that is updated from move to move equals its specification, which reads the cards alone."""

from zlib import crc32

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.rules.whole_mask import whole_mask
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import action_text, format_position, parse_position, position_to_row
from solitaire_env.variants import Variant, get_variant
from tests.comparing import expect
from tests.games import ALL_GAMES, COMPILED, THE_FIVE
from tests.positions import CASES, fill


def check(batch: Batch, row: int) -> None:
    """Compare the mask of a game with the specification."""
    variant, state = batch.variant, batch.state
    expected = np.flatnonzero(whole_mask(variant, state.rows[row])).tolist()
    masked = np.flatnonzero(state.mask[row]).tolist()
    texts = [[action_text(variant, action) for action in actions] for actions in (expected, masked)]
    expect("legal actions", *texts, f"{variant.name}, in\n{format_position(batch.position(row))}")


def play(variant: Variant, positions: int) -> None:
    """Compare the masks of a number of games, each after another number of random moves."""
    rng = np.random.default_rng(crc32(variant.name.encode()))
    batch = Batch(GameSpec(variant), positions)
    batch.deal(np.arange(positions), rng.integers(2**20, 2**60, positions).tolist())
    left = rng.integers(2 * variant.cards, size=positions)
    for move in range(left.max() + 1):
        for row in np.flatnonzero(left == move).tolist():
            check(batch, row)
        chances = batch.state.mask * rng.random(batch.state.mask.shape)
        batch.step(np.argmax(chances, axis=1), batch.everyone)


@pytest.mark.parametrize("positions", [5 if COMPILED else 1, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ALL_GAMES)
def test_the_mask_equals_its_specification_in_random_games(name: str, positions: int) -> None:
    play(ALL_GAMES[name], positions)


@pytest.mark.parametrize("game", THE_FIVE)
def test_the_mask_equals_its_specification_in_hand_made_positions(game: str) -> None:
    """With piles that are full or might get full, which no game from a deal has."""
    for case in CASES:
        if game in case.games.split():
            variant = get_variant(game).with_rules(**case.options)
            position = parse_position(fill(f"variant: {game}|{case.position}", case.rules(game)), variant)
            batch = Batch(GameSpec(variant), 1)
            batch.set_row(0, position_to_row(position))
            check(batch, 0)
