"""The engine against PySolFC, over the whole family."""

from __future__ import annotations

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import action_text, format_position, parse_action, parse_position
from solitaire_env.variants import VARIANTS, Variant
from tests.family_positions import FamilyPosition, family_positions


def of(variant: Variant) -> list[FamilyPosition]:
    return [position for position in family_positions() if position.variant == variant]


def placed(variant: Variant, positions: list[str]) -> Batch:
    batch = Batch(GameSpec(variant), len(positions))
    for row, text in enumerate(positions):
        batch.place(row, parse_position(text))
    return batch


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_legal_actions_equal_pysolfc(variant: Variant) -> None:
    positions = of(variant)
    batch = placed(variant, [position.position for position in positions])
    for row, position in enumerate(positions):
        assert format_position(batch.position(row)) == position.position
        playing = batch.state.status[row] == PLAYING
        legal = np.flatnonzero(batch.state.mask[row]).tolist() if playing else []
        texts = sorted(action_text(variant, action) for action in legal)
        assert texts == list(position.legal), f"{position.label}\n{position.position}"


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_positions_after_moves_equal_pysolfc(variant: Variant) -> None:
    played = [(p.position, p.move, p.after, p.label) for p in of(variant) if p.move is not None]
    batch = placed(variant, [position for position, _, _, _ in played])
    actions = np.array([parse_action(variant, str(move)) for _, move, _, _ in played])
    batch.play(np.arange(len(played)), actions)
    for row, (position, move, after, label) in enumerate(played):
        assert format_position(batch.position(row)) == after, f"{label}, {move}\n{position}"
