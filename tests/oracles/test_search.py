"""The exhaustive search is correct, and confirms that the deals which fc-solve calls impossible are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from solitaire_env.core.layout import make_rules
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import (
    Position,
    format_position,
    parse_position,
    position_to_row,
)
from solitaire_env.variants import Variant
from tests.games import COMPILED
from tests.oracles.fc_solve import Impossible, read_impossible
from tests.oracles.search import ordered, search, text_of
from tests.reference import ReferenceGame, ReferenceRules

# ----------------------------------------------------------------------------------- reference implementation

TWELVE = Variant("twelve", "Twelve", decks=1, tableau=(4, 4, 3), cells=1, cells_filled=1, ranks=3)
"""Twelve cards: few enough for the reference implementation; some deals can be won and some cannot."""

RULES = [
    TWELVE.with_rules(build=build, spaces=spaces, moves=moves)
    for build, spaces, moves in product(
        ("same suit", "alternate color") if COMPILED else ("same suit",),
        ("any", "kings", "none"),
        ("one card", "supermove", "sequence"),
    )
]


def start(variant: Variant, deal: int | str) -> Position:
    env = SolitaireEnv(variant)
    env.reset(options={"deal": deal})
    return parse_position(env.position(), variant)


def all_positions(start: ReferenceGame) -> dict[object, ReferenceGame]:
    """Every position that the reference implementation reaches in one move or more, one for all that are
    alike.
    """
    found: dict[object, ReferenceGame] = {}
    waiting = [start]
    while waiting:
        game = waiting.pop()
        for action in game.legal_actions():
            after = game.copy()
            after.play(action)
            name = str((sorted(after.tableau), sorted(after.cells)))
            if name not in found:
                found[name] = after
                waiting.append(after)
    return found


@pytest.mark.parametrize("variant", RULES, ids=lambda v: f"{v.build}, {v.spaces}, {v.moves}")
def test_the_search_equals_the_reference_implementation(variant: Variant) -> None:
    rules, verdicts = make_rules(variant), set()
    for deal in (0, 1, 2):
        position = start(variant, deal)
        found = search(position, past_wins=True, limit=50_000)
        reference = ReferenceGame.from_text(format_position(position), ReferenceRules.of(variant))
        reached = all_positions(reference)
        rows = [position_to_row(parse_position(game.text(), variant)) for game in reached.values()]
        reached_rows = ordered(rules, np.array(rows, np.int8).reshape(-1, rules.row_size))
        expected = {row.tobytes() for row in reached_rows}
        got = set(found.positions)
        for side, more in (("reference", expected - got), ("search", got - expected)):
            assert not more, f"deal {deal}: only the {side} reaches\n{text_of(variant, min(more))}"
        won = any(game.status() == "won" for game in reached.values())
        assert (found.line is not None) == won, f"deal {deal}"
        verdicts.add(won)
    assert verdicts == {True, False}


# ---------------------------------------------------------------------------------- impossible deals


@pytest.mark.parametrize(
    "impossible", [some for some in read_impossible() if COMPILED or some.positions < 1000], ids=str
)
def test_impossible_deals_have_no_win(impossible: Impossible) -> None:
    """fc-solve counts the start, and again if play returns to it; we count it only then."""
    found = search(start(impossible.variant, impossible.deal), limit=2 * impossible.positions)
    assert found.line is None, f"{impossible}: won\n{text_of(impossible.variant, found.line[-1])}"
    got = len(found.positions) + 1
    assert got == impossible.positions, (
        f"{impossible}: we have {got} positions, fc-solve {impossible.positions}"
    )
