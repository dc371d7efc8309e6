"""The public interface of the core: its names, and games that compiled callers place from rows."""

from __future__ import annotations

import numpy as np
import pytest

from solitaire_env import core
from solitaire_env.core import GameSpec
from solitaire_env.core.batch import Batch
from solitaire_env.core.native import widened
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.state import make_state
from solitaire_env.testing import check_state
from solitaire_env.variants import VARIANTS, Variant


def test_dir_lists_the_public_names() -> None:
    assert dir(core) == sorted(core.__all__)
    for name in core.__all__:
        assert getattr(core, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        core.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_place_sets_a_game_to_a_position_row(variant: Variant) -> None:
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.zeros(1, dtype=np.int64), [5])
    state = make_state(batch.rules, 1)
    place(batch.rules, widened(state), 0, batch.state.rows[0].copy())
    for name, expected, got in zip(state._fields, batch.state, state, strict=True):
        np.testing.assert_array_equal(got, expected, name)
    assert check_state(batch) == []
