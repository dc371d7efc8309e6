"""The reference implementation by itself: its deals and supermoves."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import pytest

from tests.positions import cells, fill, run, spaces
from tests.reference import GAMES, ReferenceGame, ReferenceRules

EIGHTS, THIEVES = GAMES["eights-down"], GAMES["forty-thieves"]


def names_aside(game: ReferenceGame) -> object:
    """The cards in the piles and cells, regardless of their names."""
    return tuple(sorted(map(tuple, game.tableau))), tuple(sorted(map(tuple, game.cells)))


def within_reach(start: ReferenceGame, movers: list[str]) -> set[object]:
    """Every position that moves of some cards lead to, without moves home."""
    seen, waiting = {names_aside(start)}, deque([start])
    while waiting:
        game = waiting.popleft()
        for action, move in game.moves().items():
            if move.source[-1] in movers and not action.endswith(">f"):
                after = game.copy()
                after.play(action)
                if names_aside(after) not in seen:
                    seen.add(names_aside(after))
                    waiting.append(after)
    return seen


@pytest.mark.parametrize("onto", ["pile", "space"])
@pytest.mark.parametrize(
    ("game", "filled_by", "empty", "free"),
    [
        *(("forty-thieves", "any", 0, free) for free in (0, 1, 2, 3)),
        *(
            ("eights-down", "any", empty, free)
            for empty, free in ((0, 2), (1, 0), (1, 1), (1, 2), (2, 1), (3, 1))
        ),
        *(("eights-down", "kings", empty, free) for empty, free in ((0, 1), (1, 1), (2, 2), (5, 1))),
    ],
)
def test_a_supermove_is_legal_if_and_only_if_single_moves_reach_its_position(
    game: str, filled_by: str, empty: int, free: int, onto: str
) -> None:
    """The single moves may end in another space."""
    rules = replace(GAMES[game], spaces=filled_by, moves="supermove")
    places = [spaces(free), cells(empty) if rules.cells else "waste: ... KC"]
    # One card more than the largest capacity above.
    for length in range(1, 10):
        cards = run("QS" if onto == "pile" else "KS", length)
        pile = "2H KS" if onto == "pile" else "2H 4D"
        text = fill("|".join(["variant: v", f"t1: 4H {cards}", f"t2: {pile}", *places]), rules)
        start = ReferenceGame.from_text(text, rules)
        carried = start.copy()
        if onto == "space" and not free:
            continue
        carried.tableau[1 if onto == "pile" else 2] += carried.tableau[0][1:]
        del carried.tableau[0][1:]

        several = length > 1 and filled_by == "any"
        action = "t1>t2" if onto == "pile" else f"t1x{length}>s" if several else "t1>s"
        strict = ReferenceGame.from_text(text, replace(rules, moves="one card"))
        possible = names_aside(carried) in within_reach(strict, cards.split())
        assert (action in start.legal_actions()) == possible, f"{action} in\n{text}"
        if not possible:
            break
        start.play(action)
        assert start.text() == carried.text()


def small(cells: int = 0, cells_filled: int = 0, **rules: Any) -> ReferenceRules:
    return ReferenceRules(1, (2, 3), cells, cells_filled, "same suit", "any", "one card", ranks=3, **rules)


@pytest.mark.parametrize(
    ("rules", "order", "text"),
    [
        (
            small(3, 2),
            "2C AH 3C 2D AS 3D AC 2H 3H AD 2S 3S",
            "stock: 3S 2S AD 3H 2H|waste:|foundations: C 0 D 0 H 0 S 0|cells: 3D AC --|"
            "t1: 2C 3C|t2: AH 2D AS",
        ),
        (
            small(aces_home=True, face_down=2, passes=3),
            "2C AH 3C 2D AS 3D AC 2H 3H AD 2S 3S",
            "stock: 3S 2S 3H|waste:|redeals: 2|foundations: C 1 D 1 H 1 S 1|t1: (2C) 2D|t2: (3C) (3D) 2H",
        ),
        (
            small(base="dealt", face_down=(1, 0), passes=0),
            "2C AH 3C 2D AS 3D AC 2H 3H AD 2S 3S",
            "stock: 3S AD 3H AC|waste:|redeals: -|foundations: C 0 D 1 H 1 S 1|base: 2|"
            "t1: (2C) 3C|t2: AH AS 3D",
        ),
        (
            small(base=2, aces_home=True, face_down="rows 2, 3"),
            "2C AH 3C 2D AS 3D AC 2H 3H AD 2S 3S",
            "stock: 3S AD 3H|waste:|foundations: C 1 D 1 H 1 S 1|t1: AH AS|t2: 3C (3D) AC",
        ),
    ],
)
def test_the_deal_follows_the_rules(rules: ReferenceRules, order: str, text: str) -> None:
    """Row by row until each pile has its cards, then to the cells; the next card of the stock is last. Cards
    that start at home are removed wherever they are; the last card of a pile is face up.
    """
    dealt = ReferenceGame.deal_from(order.split(), rules, "small")
    assert dealt.text() == f"variant: small|{text}".replace("|", "\n")
