"""Move features do not change, bit by bit: stored networks were trained on these numbers."""

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
    "eights-down": "8d6a8d86f9036aad",
    "forty-bandits": "57cb68925326f496",
    "busy-aces": "f761cff93de74552",
    "forty-thieves, supermove": "19f3ee5ce682a562",
    "busy-aces, supermove": "9b980fd60a77ef40",
    "eights-down, alternate color": "e6466a30205dae76",
    "eights-down, one card": "eb18d9a0c330e76e",
    "forty-thieves, alternate color, none": "4fa746ea71a3bfd8",
    "one-pile": "5b0eb4457282d928",
    "only-aces": "5f6b4a48c35ae813",
    "no-stock": "b3d5fb555088df64",
}
"""Digests of all numbers read in games after 0 to 150 random moves, by the implementation before this one."""

FAMILY_DIGESTS = {
    "busy-aces": "c29c8d75b4bf8e46",
    "klondike-draw-3": "9a4a8ca62962d0f2",
    "yukon": "953fc8ee9e3883e7",
    "interchange": "8de16fb3cceffbf2",
    "penguin": "bf403a1afe1618ca",
    "emperor": "1c01689b93abd989",
}
"""The same with the family's features."""

CASES = [(name, False) for name in DIGESTS if COMPILED or name in ODD]
CASES += [(name, True) for name in FAMILY_DIGESTS if COMPILED]


@pytest.mark.parametrize(("name", "family"), CASES)
def test_features_do_not_change(name: str, family: bool) -> None:
    digests = FAMILY_DIGESTS if family else DIGESTS
    variant = (PUBLISHED | OPTIONS | ODD)[name]
    reader = MoveReader(GameSpec(variant), 2, 2, 5 if variant.build == "same suit" else 0, family)
    weights = weights_for(variant.name, stock=variant.stock > 0)
    digest = hashlib.sha256()
    for steps in (0, 12, 60, 150):
        _, observations, masks = playing(played(variant, steps, 8))
        for array in reader.read(observations, masks, weights):
            digest.update(np.ascontiguousarray(array).tobytes())
    assert digest.hexdigest()[:16] == digests[name]
