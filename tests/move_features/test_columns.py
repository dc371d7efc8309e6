"""The names of features, and the names that older model files have for them."""

from solitaire_env.move_features.columns import (
    DIG_NAMES,
    FAMILY_NAMES,
    MOVE_NAMES,
    PLAIN_NAMES,
    current_name,
    position_names,
)
from solitaire_env.policies.model_files import CARD
from solitaire_env.policies.shipped import FAMILY, SHIPPED
from solitaire_env.util.files import read_json

FAMILY_MODEL = SHIPPED / FAMILY / CARD

OLD_REACHABILITY = (
    "reach: cards home with the unseen at hand / all",
    "reach: and with 1 card of each pile and of the waste / all",
    "reach: and with 2 cards of each pile and of the waste / all",
)
OLD_NAMES = (
    *PLAIN_NAMES,
    *(f"digs: {name}" for name in DIG_NAMES),
    *(f"digs after the best 1: {name}" for name in DIG_NAMES),
    *OLD_REACHABILITY,
    *(f"onward: {name}" for name in (*PLAIN_NAMES, *OLD_REACHABILITY)),
    "onward: moves that led there / their limit",
    "onward: cards that went home on the way / 13",
    *FAMILY_NAMES,
)
"""The names of the features of a position before the dig-outs and what follows them were renamed."""


def test_older_names_are_read() -> None:
    present = position_names(2, 3, 5, family=True)
    assert tuple(map(current_name, OLD_NAMES)) == present
    assert len({*present}) == len(present)


def test_the_names_in_the_stored_model_for_many_games_are_read() -> None:
    card = read_json(FAMILY_MODEL)
    names = position_names(card["sizes"]["dig_out"], family=True)
    stored = card["layout"]["columns"]
    assert "wanted: not seen / 8" in stored
    assert tuple(map(current_name, stored)) == MOVE_NAMES + names


def test_present_names_are_read_as_they_are() -> None:
    for name in (*MOVE_NAMES, *position_names(3, 3, 5, family=True)):
        assert current_name(name) == name
