"""Move features do not change, bit by bit: stored networks were trained on these numbers."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies.linear import weights_for
from tests.games import COMPILED, ODD, OPTIONS, PUBLISHED
from tests.move_features.test_moves import played, playing

DIGESTS = {
    "forty-thieves": "45b560ae3587b27e",
    "eighty-thieves": "8d530e6df5b46350",
    "eights-down": "8d6a8d86f9036aad",
    "forty-bandits": "57cb68925326f496",
    "busy-aces": "f761cff93de74552",
    "forty-thieves, supermove": "19f3ee5ce682a562",
    "eighty-thieves, supermove": "2967a5d45ac68a99",
    "busy-aces, supermove": "9b980fd60a77ef40",
    "eights-down, any": "1293f4073f1078eb",
    "eights-down, alternate color": "e6466a30205dae76",
    "eights-down, alternate color, any": "88a419e20fe8580a",
    "eights-down, one card": "eb18d9a0c330e76e",
    "forty-bandits, any suit, kings": "de2e6e2d2db721d4",
    "forty-thieves, alternate color, none": "4fa746ea71a3bfd8",
    "one-pile": "5b0eb4457282d928",
    "only-aces": "5f6b4a48c35ae813",
    "three-decks": "ba85a93346308426",
    "no-stock": "b3d5fb555088df64",
}
"""Digests of all numbers read in games after 0 to 150 random moves, by the implementation before this one."""


@pytest.mark.parametrize("name", DIGESTS if COMPILED else ODD)
def test_features_do_not_change(name: str) -> None:
    variant = (PUBLISHED | OPTIONS | ODD)[name]
    reader = MoveReader(GameSpec(variant), 2, 2, 5 if variant.build == "same suit" else 0)
    weights = weights_for(variant.name, stock=variant.stock > 0)
    digest = hashlib.sha256()
    for steps in (0, 12, 60, 150):
        _, observations, masks = playing(played(variant, steps, 8))
        for array in reader.read(observations, masks, weights):
            digest.update(np.ascontiguousarray(array).tobytes())
    assert digest.hexdigest()[:16] == DIGESTS[name]
