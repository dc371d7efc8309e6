"""The search without the arrangement of face-up cards agrees with a search that plays every move."""

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from agents.solve import check_line
from solitaire_env.core.batch import Batch
from solitaire_env.core.position import position_from_row
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import parse_position
from solitaire_env.search import collapsed
from solitaire_env.search.collapsed import Collapsed, collapses
from solitaire_env.search.exhaustive import EXHAUSTED, FOUND, FULL
from solitaire_env.search.solver import Solver
from solitaire_env.variants import VARIANTS, Variant, get_variant
from tests.games import dealt
from tests.oracles.search import search


def pack(ranks: int, tableau: tuple[int, ...], **rules: Any) -> Variant:
    """A game like Klondike with a short pack."""
    down = tuple(max(0, size - 1) for size in tableau)
    return Variant(
        "short-klondike", "Short Klondike", decks=1, tableau=tableau, ranks=ranks, build="alternate color",
        spaces="kings", moves="sequence", face_down=down, **rules,
    )  # fmt: skip


PACKS = [
    pack(ranks, tableau, draw=draw, passes=passes, worrying_back=back)
    for (ranks, tableau), (draw, passes), back in product(
        ((3, (1,)), (4, (1, 2, 3)), (4, (2, 0, 2, 3)), (5, (3, 2, 4)), (5, (1, 3, 1, 4, 2))),
        ((1, 0), (1, 1), (2, 3), (3, 0), (3, 1), (3, 2)),
        (True, False),
    )
]


def test_which_games_collapse() -> None:
    assert {v.name for v in VARIANTS if collapses(v)} == {"klondike", "klondike-draw-3"}
    assert all(map(collapses, PACKS))


def test_no_game_with_another_rule_collapses() -> None:
    """Neither a changed rule, nor one that was added to the variants and that the search does not know."""

    @dataclass(frozen=True)
    class Ruled(Variant):
        wild_kings: bool = False

    klondike = get_variant("klondike")
    values = {field.name: getattr(klondike, field.name) for field in fields(klondike)}
    assert collapses(Variant(**values)) and not collapses(Ruled(**values))
    for rule in (
        {"decks": 2, "tableau": (1, 2, 3, 4, 5, 6, 7, 8), "face_down": (0, 1, 2, 3, 4, 5, 6, 7)},
        {"cells": 1}, {"build": "any suit"}, {"spaces": "any"}, {"moves": "one card"}, {"fill": "waste"},
        {"moves": "sequence", "sequence": "same suit"},
        {"foundation_build": "alternate color", "worrying_back": False},
        {"base": 2, "sequence": "same suit"}, {"face_down": 0}, {"aces_home": True},
    ):  # fmt: skip
        assert not collapses(replace(klondike, pysol_order=(), **rule)), rule


@pytest.mark.parametrize("number", range(len(PACKS)))
def test_agrees_with_a_search_of_every_move(number: int) -> None:
    """From deals, and from positions in the middle of games."""
    variant = PACKS[number]
    ours = Collapsed(variant, 1)
    # So few slots that most states are forgotten.
    ours.search = ours.search._replace(table=np.zeros((32, 2), dtype=np.int64))
    batch = Batch(GameSpec(variant), 1)
    random = np.random.default_rng(number)
    for deal in range(4):
        batch.deal(np.array([0]), [deal])
        for _ in range(random.integers(20) if deal % 2 else 0):
            legal = np.flatnonzero(batch.state.mask[0])
            if batch.state.status[0] == 0:
                batch.play(np.array([0]), random.choice(legal, 1))
        if batch.state.status[0] != 0:
            continue
        row = batch.state.rows[0].copy()
        position = position_from_row(variant, row)
        theirs = search(position)
        assert theirs.ended
        assert ours.begin(row)
        end, _ = ours.explore(1_000_000)
        assert end == (EXHAUSTED if theirs.line is None else FOUND), f"deal {deal}: {position}"
        if end == FOUND:
            assert check_line(variant, position, ours.line()) == (variant.cards, True)


def test_lack_of_room_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collapsed, "MAX_DEPTH", 10)
    klondike = get_variant("klondike")
    ours = Collapsed(klondike, 1)
    batch = dealt(klondike, 1)
    assert ours.begin(batch.state.rows[0])
    assert ours.explore(10**6)[0] == FULL
    solution = Solver(klondike, megabytes=1).solve_deal(1, seconds=1, positions=1000)
    assert solution.status == "open"
    assert check_line(klondike, 1, solution.line)[0] == solution.cards_home > 0


def test_positions_that_no_game_reaches_are_searched_move_by_move() -> None:
    variant = pack(3, (3, 1), draw=1, passes=1)
    position = parse_position(
        """
        variant: short-klondike
        stock: 3C 2D AD 2C 3H AS 2S AC
        waste:
        foundations: C 0 D 0 H 0 S 0
        t1: AH 3S 3D
        t2: 2H
        """,
        variant,
    )
    theirs = search(position)
    solution = Solver(variant, megabytes=1).solve_deal(position, seconds=60)
    assert solution.status == ("unwinnable" if theirs.line is None else "won")
