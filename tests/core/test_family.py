"""The engine and the reference implementation against PySolFC, over the whole family."""

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.family import TEST, TRAIN
from solitaire_env.notation import action_text, format_position, parse_action, parse_position
from tests.family_positions import family_positions
from tests.games import PUBLISHED
from tests.reference import ReferenceGame, ReferenceRules


def test_every_game_of_the_splits_has_positions() -> None:
    """A later game needs none: they were made with PySolFC."""
    numbers = {name: len(positions) for name, positions in family_positions().items()}
    assert numbers == dict.fromkeys((*TRAIN, *TEST), 8)


@pytest.mark.parametrize("name", family_positions())
def test_legal_actions_and_moves_equal_pysolfc(name: str) -> None:
    variant = PUBLISHED[name]
    batch = Batch(GameSpec(variant), 1)
    for position in family_positions()[name]:
        batch.place(0, parse_position(position.position))
        assert format_position(batch.position(0)) == position.position
        legal = np.flatnonzero(batch.state.mask[0]).tolist() if batch.state.status[0] == PLAYING else []
        assert sorted(action_text(variant, action) for action in legal) == position.legal, position.position
        if position.move is not None:
            batch.play(np.array([0]), np.array([parse_action(variant, position.move)]))
            after = format_position(batch.position(0))
            assert after == position.after, f"{position.move}\n{position.position}"


@pytest.mark.parametrize("name", family_positions())
def test_the_reference_implementation_equals_pysolfc(name: str) -> None:
    for position in family_positions()[name]:
        reference = ReferenceGame.from_text(position.position, ReferenceRules.of(PUBLISHED[name]))
        assert reference.text() == position.position
        assert sorted(reference.legal_actions()) == position.legal, position.position
        if position.move is not None:
            reference.play(position.move)
            assert reference.text() == position.after, f"{position.move}\n{position.position}"
