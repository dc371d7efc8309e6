"""The reference implementation against PySolFC, over the whole family."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from solitaire_env.variants import VARIANTS, WORRIES, Variant
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
from tests.reference import ReferenceGame, ReferenceRules

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


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_legal_actions_equal_pysolfc(variant: Variant) -> None:
    for position in of(variant):
        reference = game(position)
        assert reference.text() == position.position
        assert sorted(reference.legal_actions()) == list(position.legal), (
            f"{position.label}\n{position.position}"
        )


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_lists_moves_from_foundations_that_only_pysolfc_has(variant: Variant) -> None:
    own = [line for line in lines() if by_game_number().get(line["id"]) == variant]
    theirs = any(move not in list(compared_worries(variant, line)) for line in own for move in line["worry"])
    if variant.worrying_back:
        assert theirs <= any("worry" in sentence for sentence in variant.differs)
        assert WORRIES not in variant.differs
    else:
        assert (WORRIES in variant.differs) == theirs


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_positions_after_moves_equal_pysolfc(variant: Variant) -> None:
    for position in of(variant):
        if position.move is not None:
            reference = game(position)
            reference.play(position.move)
            assert reference.text() == position.after, (
                f"{position.label}, {position.move}\n{position.position}"
            )


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_positions_have_all_cards(variant: Variant) -> None:
    """The text does not show the suits on foundations of alternating colors: only ranks are counted there."""
    rules = ReferenceRules.of(variant)
    length = 2 if variant.foundation_build == "same suit" else 1
    pack = Counter(card[:length] for card in rules.pack())
    for position in of(variant):
        assert Counter(card[:length] for card in game(position).cards()) == pack, position.position


def test_every_position_is_used_or_has_a_reason() -> None:
    assert Counter(filter(None, map(unused, lines()))) == UNUSED
    assert len(family_positions()) == len(lines()) - sum(UNUSED.values())
    assert {line["game"] for line in lines() if unused(line) == NO_VARIANT} == {"Alaska"}
    assert {line["game"] for line in lines() if unused(line) == ACE_FROM_OTHER_SUIT} == {"Waterloo"}
    assert min(len(of(variant)) for variant in VARIANTS) >= FEWEST
    reasons = Counter(position.without_move for position in family_positions() if position.move is None)
    assert reasons == WITHOUT_MOVE


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_random_games_keep_the_cards(variant: Variant) -> None:
    rules = ReferenceRules.of(variant)
    tells_suits = rules.foundation_build == "same suit"
    choose = random.Random(0)
    cards = rules.pack()
    choose.shuffle(cards)
    reference = ReferenceGame.deal_from(cards, rules, variant.name)
    assert len(reference.stock) == variant.stock
    assert reference.cards_home() == variant.home_at_deal
    for step in range(80):
        if not (legal := reference.legal_actions()):
            break
        before = reference.text()
        reference.play(choose.choice(legal))
        assert sorted(reference.cards()) == sorted(rules.pack()), before
        assert reference.text() != before, "an action that changes nothing"
        assert not any(pile and pile[-1].startswith("(") for pile in reference.tableau), before
        if step % 8 == 0:
            read = ReferenceGame.from_text(reference.text(), rules)
            assert read.text() == reference.text()
            assert read.legal_actions() == reference.legal_actions()
            assert not tells_suits or alike(read) == alike(reference)


def alike(reference: ReferenceGame) -> tuple[object, ...]:
    """A position with the foundations of each suit in a fixed order."""
    foundations = {suit: sorted(piles) for suit, piles in reference.foundations.items()}
    return (
        foundations,
        reference.stock,
        reference.waste,
        reference.cells,
        reference.tableau,
        reference.redeals,
        reference.base,
    )


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
