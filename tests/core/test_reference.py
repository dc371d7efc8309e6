"""The reference implementation by itself: games keep their cards, and a supermove equals single moves."""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from dataclasses import replace

import pytest

from tests.positions import cells, fill, run, spaces
from tests.reference import GAMES, ReferenceGame, ReferenceRules

EIGHTS, THIEVES = GAMES["eights-down"], GAMES["forty-thieves"]
PLAYED = GAMES | {
    "eights-down, any card fills a space": replace(EIGHTS, spaces="any"),
    "eights-down, alternate color": replace(EIGHTS, build="alternate color"),
    "eights-down, both": replace(EIGHTS, spaces="any", build="alternate color"),
    "forty-thieves, supermove": replace(THIEVES, moves="supermove"),
    "eighty-thieves, supermove": replace(GAMES["eighty-thieves"], moves="supermove"),
    "busy-aces, supermove": replace(GAMES["busy-aces"], moves="supermove"),
    "forty-bandits, any suit, kings": replace(GAMES["forty-bandits"], build="any suit", spaces="kings"),
    "forty-thieves, spaces stay": replace(THIEVES, spaces="none"),
    "stock and cells": ReferenceRules(2, (4,) * 10, 3, 3, "same suit", "any", "one card"),
    "short pack": ReferenceRules(1, (3, 4, 2), 2, 1, "alternate color", "kings", "supermove", ranks=5),
}


def shuffled_deal(name: str, rules: ReferenceRules, seed: int) -> ReferenceGame:
    cards = rules.pack()
    random.Random(seed).shuffle(cards)
    return ReferenceGame.deal_from(cards, rules, name)


@pytest.mark.parametrize("name", PLAYED)
def test_random_games_keep_the_cards(name: str) -> None:
    rules = PLAYED[name]
    began, positions = time.perf_counter(), 0
    for seed in range(2):
        game = shuffled_deal(name, rules, seed)
        choose = random.Random(seed)
        for _ in range(300):
            if not (legal := game.legal_actions()):
                break
            before = game.copy()
            game.play(choose.choice(legal))
            positions += 1
            assert Counter(game.cards()) == Counter(rules.pack()), before.text()
            assert game.cards_home() >= before.cards_home(), before.text()
            assert len(game.stock) + len(game.waste) <= rules.stock_size, before.text()
            assert all(len(cell) <= 1 for cell in game.cells), before.text()
            assert game.text() != before.text(), "an action that changes nothing"
            assert ReferenceGame.from_text(game.text(), rules).text() == game.text()
        assert (game.status() == "playing") == bool(game.legal_actions())
    print(f"{name}: {positions / (time.perf_counter() - began):,.0f} positions a second")


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


def test_spaces_that_stay_empty_take_no_card() -> None:
    rules = replace(THIEVES, spaces="none")
    text = fill("variant: v|t1: 4H 9S KS|t2:|t3: KH|waste: ... KC", rules)
    assert ReferenceGame.from_text(text, rules).status() == "stuck"


def test_illegal_action_is_named() -> None:
    game = shuffled_deal("forty-thieves", THIEVES, 0)
    with pytest.raises(ValueError, match=r"'t1>t1' is not legal, allowed: draw"):
        game.play("t1>t1")


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
