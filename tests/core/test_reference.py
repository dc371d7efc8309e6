"""The reference implementation by itself: its deals, actions and supermoves, and what PySolFC says."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from typing import Any

import pytest

from solitaire_env.variants import WORRIES, Variant
from tests import counts
from tests.counts import VARIANTS, starts_of
from tests.family_positions import (
    ACE_FROM_OTHER_SUIT,
    NO_VARIANT,
    FamilyPosition,
    by_game_number,
    compared_worries,
    family_positions,
    lines,
    unused,
)
from tests.games import PUBLISHED
from tests.positions import cells, fill, run, spaces
from tests.reference import GAMES, ReferenceGame, ReferenceRules

EIGHTS, THIEVES = GAMES["eights-down"], GAMES["forty-thieves"]


def test_the_deal_goes_row_by_row() -> None:
    """Until each pile has its cards, then to the cells; the next card of the stock is last."""
    rules = ReferenceRules(1, (1, 3, 2), 3, 2, "same suit", "any", "one card", ranks=3)
    game = ReferenceGame.deal_from(rules.pack(), rules, "small")
    assert game.text() == (
        "variant: small\n"
        "stock: 3S 2S AS 3H\n"
        "waste:\n"
        "foundations: C 0 D 0 H 0 S 0\n"
        "cells: AH 2H --\n"
        "t1: AC\n"
        "t2: 2C AD 3D\n"
        "t3: 3C 2D"
    )
    game.play("draw")
    assert game.waste == ["3H"]


def test_actions_are_in_the_documented_order() -> None:
    """Draw, then home, to a cell, onto a pile and to a space; piles, waste and cells in each."""
    rules = ReferenceRules(1, (2,) * 4, 3, 0, "any suit", "any", "supermove", ranks=4)
    home = "foundations: C 2 H 2|stock: AD|waste: 4D 3C|cells: 3H AS --"
    text = fill(f"variant: v|{home}|t1: 4C 3D|t2: 4S|t3:|t4: 4H 2D 3S 2S", rules)
    groups = (
        "draw",
        "w>f c1>f c2>f",
        "t1>c t2>c t4>c w>c",
        "t1>t2 t4>t1 t4>t2 w>t2 c1>t2 c2>t4",
        "t1>s t4>s t4x2>s w>s c1>s c2>s",
    )
    assert ReferenceGame.from_text(text, rules).legal_actions() == " ".join(groups).split()


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


@pytest.mark.parametrize("name", VARIANTS)
def test_the_reference_implementation_counts_the_same(name: str) -> None:
    """For counts that take little time."""
    variant = VARIANTS[name]
    for start in starts_of(name):
        depth = sum(sum(start.unique[: n + 1]) <= 60 for n in range(len(start.unique)))
        if depth:
            if start.deal is None:
                game = ReferenceGame.from_text(start.position, ReferenceRules.of(variant))
            else:
                game = counts.deal(variant, start.deal)
            nodes, unique = counts.count(game, 10**12, depth)
            assert (nodes, unique) == (start.nodes[:depth], start.unique[:depth]), start.id


# ------------------------------------------------------------------------ against PySolFC

FEWEST = 15
"""Minimum number of positions of each game."""

UNUSED = {NO_VARIANT: 22, ACE_FROM_OTHER_SUIT: 5}
"""Number of positions of the file that are not used, by reason; the second reason only in Waterloo."""

WITHOUT_MOVE = {"nothing was played": 77, "it takes a card from a foundation": 110}
"""Number of positions whose move is not compared, by reason."""


def of(variant: Variant) -> list[FamilyPosition]:
    return [position for position in family_positions() if position.variant == variant]


def game(position: FamilyPosition) -> ReferenceGame:
    return ReferenceGame.from_text(position.position, ReferenceRules.of(position.variant))


@pytest.mark.parametrize("variant", PUBLISHED.values(), ids=lambda variant: variant.name)
def test_legal_actions_equal_pysolfc(variant: Variant) -> None:
    for position in of(variant):
        reference = game(position)
        assert reference.text() == position.position
        assert sorted(reference.legal_actions()) == list(position.legal), (
            f"{position.label}\n{position.position}"
        )


@pytest.mark.parametrize("variant", PUBLISHED.values(), ids=lambda variant: variant.name)
def test_a_variant_lists_moves_from_foundations_that_only_pysolfc_has(variant: Variant) -> None:
    own = [line for line in lines() if by_game_number().get(line["id"]) == variant]
    theirs = any(move not in list(compared_worries(variant, line)) for line in own for move in line["worry"])
    if variant.worrying_back:
        assert theirs <= any("worry" in sentence for sentence in variant.differs)
        assert WORRIES not in variant.differs
    else:
        assert (WORRIES in variant.differs) == theirs


@pytest.mark.parametrize("variant", PUBLISHED.values(), ids=lambda variant: variant.name)
def test_positions_after_moves_equal_pysolfc(variant: Variant) -> None:
    for position in of(variant):
        if position.move is not None:
            reference = game(position)
            reference.play(position.move)
            assert reference.text() == position.after, (
                f"{position.label}, {position.move}\n{position.position}"
            )


def test_every_position_is_used_or_has_a_reason() -> None:
    assert Counter(filter(None, map(unused, lines()))) == UNUSED
    assert len(family_positions()) == len(lines()) - sum(UNUSED.values())
    assert {line["game"] for line in lines() if unused(line) == NO_VARIANT} == {"Alaska"}
    assert {line["game"] for line in lines() if unused(line) == ACE_FROM_OTHER_SUIT} == {"Waterloo"}
    assert min(len(of(variant)) for variant in PUBLISHED.values()) >= FEWEST
    reasons = Counter(position.without_move for position in family_positions() if position.move is None)
    assert reasons == WITHOUT_MOVE


def small(**rules: Any) -> ReferenceRules:
    return ReferenceRules(1, (2, 3), 0, 0, "same suit", "any", "one card", ranks=3, **rules)


@pytest.mark.parametrize(
    ("rules", "order", "text"),
    [
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
    """Cards that start at home are removed wherever they are; the last card of a pile is face up."""
    dealt = ReferenceGame.deal_from(order.split(), rules, "small")
    assert dealt.text() == f"variant: small|{text}".replace("|", "\n")
