"""The layout of a picture: everything is inside, in its pile; the last move and the choice are marked."""

from __future__ import annotations

from itertools import chain, product
from typing import Any

import numpy as np
import pytest

from solitaire_env.core.cards import EMPTY, FACE_DOWN, make_card, parse_card
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, Position, parse_position
from solitaire_env.render.board import (
    CARD_HEIGHT,
    TIGHT,
    Board,
    Spot,
    headline,
    lay_out,
    moved_cards,
    spot_at,
)
from solitaire_env.variants import Variant, get_variant
from tests.games import DISPLAYED
from tests.recorded import recorded_game
from tests.render.test_pictures import PIXEL_HASHES

WIDE = {
    **DISPLAYED,
    "many": Variant("many", "M" * 80, decks=4, tableau=(1,) * 17, cells=9, cells_filled=9),
    "tall": Variant("tall", "Tall", decks=4, tableau=(100, 0), moves="sequence"),
}


def played(variant: Variant, steps: int, seed: int = 0) -> tuple[Position, Move | None]:
    """A position after some random moves, and the last of them."""
    env, move = SolitaireEnv(variant, on_invalid="raise"), None
    env.reset(options={"deal": 11})
    chance = np.random.default_rng(seed)
    for _ in range(steps):
        if legal := env.legal_actions():
            action = int(chance.choice(legal))
            move = env.move(action)
            env.step(action)
    return parse_position(env.position(hidden=True), variant), move


def pile_of(board: Board, name: str) -> list[Spot]:
    return [spot for spot in board.spots if spot.pile == name]


@pytest.mark.parametrize("variant", WIDE.values(), ids=WIDE)
def test_everything_is_inside_the_picture(variant: Variant) -> None:
    places = [played(variant, steps) for steps in (0, 5, 40, 41)]
    for (position, move), aspect in product(places, (None, 0.2, 0.75, 3.0)):
        board = lay_out(position, move=move, aspect=aspect, note="n" * 500)
        if aspect is not None:
            assert board.height / board.width == pytest.approx(aspect)
        for spot in board.spots:
            assert spot.x >= 0 and spot.x + 1 <= board.width + 1e-9
            assert spot.y >= 0 and spot.y + CARD_HEIGHT <= board.height + 1e-9
        for frame in board.frames:
            assert frame.x >= 0 and frame.y >= 0 and frame.y + frame.height <= board.height + 1e-9
        for label in board.labels:
            assert label.text and label.x >= 0 and label.y >= 0 and label.width > 0
            assert label.x + label.width <= board.width + 1e-9 and label.y + label.height <= board.height


@pytest.mark.parametrize("variant", DISPLAYED.values(), ids=DISPLAYED)
def test_every_card_is_once_in_its_pile(variant: Variant) -> None:
    position, _ = played(variant, 30)
    board = lay_out(position)
    for number, pile in enumerate(position.tableau, 1):
        spots = pile_of(board, f"t{number}")
        assert tuple(spot.card for spot in spots) == (pile or (EMPTY,))
        assert [spot.depth for spot in spots] == list(range(max(1, len(pile))))
        assert [spot.covered for spot in spots] == [True] * (len(spots) - 1) + [False]
    waste = [spot for spot in pile_of(board, "waste") if spot.card != EMPTY]
    assert tuple(spot.card for spot in waste) == position.waste[len(position.waste) - len(waste) :]
    assert bool(waste) == bool(position.waste)
    assert tuple(spot.card for n in range(variant.cells) for spot in pile_of(board, f"c{n + 1}")) == (
        position.cells
    )
    home = sorted(pile_of(board, "foundations"), key=lambda spot: spot.depth)
    assert [spot.suit for spot in home] == [suit for suit in range(4) for _ in range(variant.decks)]
    assert [(spot.card, spot.other) for spot in home] == [
        (*cards, EMPTY, EMPTY)[:2] for cards in position.home_tops()
    ]
    for spot, count in zip(home, chain(*position.foundations), strict=True):
        assert (spot.card == EMPTY) == (count == 0)
        if count and not variant.wraps and variant.foundation_build == "same suit":
            assert spot.card == make_card(count, spot.suit or 0)
    if variant.stock:
        (stock,) = pile_of(board, "stock")
        assert stock.card == (FACE_DOWN if position.stock else EMPTY)
        assert any(label.text == f"stock {len(position.stock)}" for label in board.labels)
    assert any(label.text == headline(position) for label in board.labels)
    assert not any(spot.mark for spot in board.spots)


@pytest.mark.parametrize("variant", DISPLAYED.values(), ids=DISPLAYED)
def test_a_point_on_a_card_finds_it(variant: Variant) -> None:
    position, _ = played(variant, 30)
    board = lay_out(position, aspect=0.75)
    for spot in board.spots:
        # The upper left corner of a card is always visible; of empty foundations it may not be.
        if spot.card != EMPTY or spot.pile != "foundations":
            found = spot_at(board, spot.x + 0.01, spot.y + 0.01)
            assert found is not None and found[:3] == spot[:3]
    for number, pile in enumerate(position.tableau, 1):
        last = pile_of(board, f"t{number}")[-1]
        below = spot_at(board, last.x + 0.5, board.height - 0.1)
        assert below == last and last.depth == max(0, len(pile) - 1)
    assert spot_at(board, 0.01, 0.01) is None
    assert spot_at(board, board.width + 1, board.height) is None


def test_the_tallest_piles_show_rank_and_suit() -> None:
    variant = get_variant("eighty-thieves")
    position, _ = played(variant, 0)
    tall = tuple((*pile, *position.stock[:12]) for pile in position.tableau)
    board = lay_out(Position(variant, tall, position.foundations), aspect=0.75)
    first, second = pile_of(board, "t1")[:2]
    assert len(pile_of(board, "t1")) == 20 and second.y - first.y >= TIGHT - 1e-9


def test_a_long_waste_shows_its_end() -> None:
    position, _ = played(get_variant("eighty-thieves"), 0)
    waste = tuple(4 + n % 52 for n in range(128))
    board = lay_out(Position(position.variant, position.tableau, position.foundations, (), waste))
    shown = pile_of(board, "waste")
    assert 8 <= len(shown) < 128 and tuple(spot.card for spot in shown) == waste[-len(shown) :]
    assert f"waste 128, the last {len(shown)}" in [label.text for label in board.labels]
    assert "stock 0" in [label.text for label in board.labels]


def test_a_card_that_worries_back_marks_its_foundation() -> None:
    few = Variant(
        "few", "Few", decks=1, tableau=(4, 4, 4), ranks=3, build="alternate color", worrying_back=True
    )
    text = "variant: few\nt1: 3C 2D\nt2: 3D 2C\nt3:\nfoundations: C 1 D 1 H 3 S 3\n"
    env = SolitaireEnv(few, on_invalid="raise")
    env.reset(options={"position": text})
    action = env.parse_action("fD>t2")
    move = env.move(action)
    env.step(action)
    board = lay_out(parse_position(env.position(), few), move=move)
    (moved,) = (spot for spot in board.spots if spot.mark == "moved")
    assert (moved.pile, moved.depth, moved.card) == ("t2", 2, parse_card("AD"))
    (origin,) = (spot for spot in board.spots if spot.mark == "origin")
    assert (origin.pile, origin.suit, origin.card) == ("foundations", 1, EMPTY)


@pytest.mark.parametrize("name", PIXEL_HASHES)
def test_the_last_move_is_marked(name: str) -> None:
    """In a whole game: where its cards are now, and where they came from."""
    game = recorded_game(name)
    deal, actions = game.deal, game.actions
    env = SolitaireEnv(name, on_invalid="raise")
    env.reset(options={"deal": deal})
    seen = set()
    for text in actions:
        action = env.parse_action(text)
        move = env.move(action)
        env.step(action)
        position = parse_position(env.position(hidden=True), env.variant)
        board = lay_out(position, move=move)
        moved = [spot for spot in board.spots if spot.mark == "moved"]
        assert tuple(spot.card for spot in moved) == move.cards
        assert {spot.pile for spot in moved} == {move.target}
        assert {(spot.pile, spot.depth) for spot in moved} == moved_cards(position, move)
        (frame,) = board.frames
        assert (frame.mark, frame.pile, frame.x, frame.y) == ("moved", move.target, moved[0].x, moved[0].y)
        assert frame.y + frame.height == pytest.approx(moved[-1].y + CARD_HEIGHT)
        (origin,) = (spot for spot in board.spots if spot.mark == "origin")
        assert origin.pile == move.source and origin.card in (EMPTY, FACE_DOWN)
        seen.add((move.source.rstrip("0123456789"), move.target.rstrip("0123456789")))
    assert len(seen) >= 4, seen


def test_without_a_move_nothing_is_marked() -> None:
    assert moved_cards(played(get_variant("busy-aces"), 3)[0], None) == set()


def test_the_choice_of_a_player_is_marked() -> None:
    text = """variant: busy-aces
stock: 3S
waste: 2S
foundations: C 13 13 D 13 13 H 13 13 S 13 1
t1: KS QS JS
t2: TS 9S 8S 7S
t3: 6S
t4: 5S 4S
""" + "".join(f"t{number}:\n" for number in range(5, 13))
    position = parse_position(text)

    def marks(**marked: Any) -> dict[str, list[tuple[str, int]]]:
        out: dict[str, list[tuple[str, int]]] = {}
        for spot in lay_out(position, **marked).spots:
            if spot.mark:
                out.setdefault(spot.mark, []).append((spot.pile, spot.depth))
        return out

    assert marks(chosen=("t2", 2), targets={"t1", "t9"}) == {
        "chosen": [("t2", 2), ("t2", 3)],
        "target": [("t1", 2), ("t9", 0)],
    }
    assert marks(chosen=("waste", 1), targets={"foundations"}) == {
        "chosen": [("waste", 0)],
        "target": [("foundations", 7)],
    }
    assert marks(chosen=("stock", 1), targets={"waste"}) == {
        "chosen": [("stock", 0)],
        "target": [("waste", 0)],
    }


def test_captions_name_the_game_the_deal_and_the_progress() -> None:
    position, _ = played(get_variant("busy-aces"), 0)
    assert headline(position, 7) == "Busy Aces, deal 7: 0 of 104 cards home"
    texts = [label.text for label in lay_out(position, caption="above", note="below").labels if label.strong]
    assert texts == ["above", "below"]
