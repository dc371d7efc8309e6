"""The layout of a picture: everything is inside, in its pile; the last move is marked."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise, product

import numpy as np
import pytest

from solitaire_env.core.cards import EMPTY, FACE_DOWN, make_card, parse_card
from solitaire_env.core.layout import action_layout
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
    redeals_left,
)
from solitaire_env.variants import Variant
from tests.games import ONE_PER_RULE

WIDE = {
    **ONE_PER_RULE,
    "many": Variant("many", "M" * 80, decks=4, tableau=(1,) * 17, cells=9, cells_filled=9),
    "tall": Variant("tall", "Tall", decks=4, tableau=(100, 0), moves="sequence"),
}


def random_game(variant: Variant, steps: int) -> Iterator[tuple[Position, Move, Position]]:
    """The moves of a random game, rare kinds first: the position before as its player sees it, the move, the
    position after.
    """
    env, chance = SolitaireEnv(variant, on_invalid="raise"), np.random.default_rng(0)
    env.reset(options={"deal": 3})
    played: dict[str, int] = {}
    for _ in range(steps):
        kinds: dict[str, list[int]] = {}
        for action in env.legal_actions():
            kinds.setdefault(action_layout(variant).decode(action).kind, []).append(action)
        if not kinds:
            return
        kind = min(kinds, key=lambda kind: (played.get(kind, 0), kind))
        played[kind] = played.get(kind, 0) + 1
        action = int(chance.choice(kinds[kind]))
        before, move = position_of(env), env.moved_cards(action)
        env.step(action)
        yield before, move, position_of(env)


def position_of(env: SolitaireEnv) -> Position:
    return parse_position(env.position(hidden=True), env.variant)


def dealt(name: str, deal: int = 5) -> Position:
    env = SolitaireEnv(name)
    env.reset(options={"deal": deal})
    return position_of(env)


def pile_of(board: Board, name: str) -> list[Spot]:
    return [spot for spot in board.spots if spot.pile == name]


@pytest.mark.parametrize("variant", WIDE.values(), ids=WIDE)
def test_everything_is_inside_the_picture(variant: Variant) -> None:
    for (_, move, position), aspect in product(random_game(variant, 40), (0.2, 0.75, 3.0)):
        board = lay_out(position, move=move, aspect=aspect, note="n" * 500)
        assert board.height / board.width == pytest.approx(aspect)
        for spot in board.spots:
            assert spot.x >= 0 and spot.x + 1 <= board.width + 1e-9
            assert spot.y >= 0 and spot.y + CARD_HEIGHT <= board.height + 1e-9
        for label in board.labels:
            assert label.text and label.x >= 0 and label.y >= 0 and label.width > 0
            assert label.x + label.width <= board.width + 1e-9 and label.y + label.height <= board.height


@pytest.mark.parametrize("variant", ONE_PER_RULE.values(), ids=ONE_PER_RULE)
def test_every_card_is_once_in_its_pile(variant: Variant) -> None:
    position = [after for _, _, after in random_game(variant, 30)][-1]
    board = lay_out(position)
    for number, pile in enumerate(position.tableau, 1):
        spots = pile_of(board, f"t{number}")
        assert tuple(spot.card for spot in spots) == (pile or (EMPTY,))
        assert [spot.depth for spot in spots] == list(range(max(1, len(pile))))
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
    assert not any(spot.mark for spot in board.spots) and not board.frames


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_the_last_move_is_marked(name: str) -> None:
    """Where its cards are now, and where they came from."""
    for before, move, after in random_game(ONE_PER_RULE[name], 40):
        board = lay_out(after, move=move)
        moved = [spot for spot in board.spots if spot.mark == "moved"]
        assert {(spot.pile, spot.depth) for spot in moved} == moved_cards(after, move)
        assert moved_cards(after, None) == set()
        if move.target == "stock":
            assert moved == []
        elif move.target == "foundations":
            (spot,) = moved
            assert move.cards[0] in (spot.card, spot.other)
            counts = list(chain(*before.foundations)), list(chain(*after.foundations))
            changed = [number for number, (a, b) in enumerate(zip(*counts, strict=True)) if a != b]
            if after.variant.foundation_build == "same suit":
                assert changed == [spot.depth]
        elif after.variant.fill == "none":
            # If spaces are filled from the waste, it has already lost a card.
            assert tuple(spot.card for spot in moved) == move.cards[-len(moved) :]
        if moved:
            first, last = moved[0], moved[-1]
            one = [(first.x, first.y, last.y + CARD_HEIGHT - first.y)]
            each = [(spot.x, spot.y, CARD_HEIGHT) for spot in moved]
            assert [*board.frames] == (one if first.pile[0] == "t" else each)
        origins = [spot for spot in board.spots if spot.mark == "origin"]
        assert {spot.pile for spot in origins} <= {move.source} and len(origins) <= 1
        if move.source != "foundations" and move.target != "stock":
            assert len(origins) == 1 and origins[0].card in (EMPTY, FACE_DOWN)


def test_a_card_that_worries_back_marks_its_foundation() -> None:
    position = replace(dealt("double-klondike"), foundations=((2, 0), (1, 1), (0, 0), (0, 0)))
    worried = Move("foundations", "t1", (parse_card("AH"),))
    origins = [spot for spot in lay_out(position, move=worried).spots if spot.mark == "origin"]
    assert [(spot.pile, spot.depth, spot.card) for spot in origins] == [("foundations", 4, EMPTY)]


def test_tall_piles_stay_readable() -> None:
    position = dealt("eighty-thieves", 11)
    tall = tuple((*pile, *position.stock[:12]) for pile in position.tableau)
    board = lay_out(Position(position.variant, tall, position.foundations))
    first, second = pile_of(board, "t1")[:2]
    assert len(pile_of(board, "t1")) == 20 and second.y - first.y >= TIGHT - 1e-9
    position = dealt("yukon", 1)
    seen = tuple(card for pile in position.tableau for card in pile if card != FACE_DOWN)
    piles = ((FACE_DOWN,) * 6 + seen, *[()] * 6)
    spots = pile_of(lay_out(replace(position, tableau=piles)), "t1")
    assert len(spots) == 37 and spots[6].corner < 1
    for spot, next_one in pairwise(spots[6:]):
        assert 0.9 * 0.26 * spot.corner < next_one.y - spot.y
    assert all(spot.corner == 1 for spot in lay_out(position).spots)


def test_a_long_waste_shows_its_end() -> None:
    position = dealt("eighty-thieves", 11)
    waste = tuple(4 + n % 52 for n in range(128))
    board = lay_out(Position(position.variant, position.tableau, position.foundations, (), waste))
    shown = pile_of(board, "waste")
    assert 8 <= len(shown) < 128 and tuple(spot.card for spot in shown) == waste[-len(shown) :]
    assert f"waste 128, the last {len(shown)}" in [label.text for label in board.labels]


def test_captions_name_the_base() -> None:
    assert headline(dealt("penguin")).endswith(", base 3")
    assert headline(dealt("deuces")).endswith(", base 2")


def test_foundations_from_another_base_show_their_last_card() -> None:
    home = replace(dealt("penguin"), foundations=((13,), (12,), (11,), (0,)))
    assert home.home_tops() == ((parse_card("2C"),), (parse_card("AD"),), (parse_card("KH"),), ())
    assert home.home_takes() == ((), (parse_card("2D"),), (parse_card("AH"),), (parse_card("3S"),))


def test_redeals_are_counted_in_words() -> None:
    assert redeals_left(dealt("forty-thieves")) == ""
    assert redeals_left(dealt("klondike")) == "any number of redeals"
    words = [redeals_left(replace(dealt("little-forty"), redeals=count)) for count in (3, 1, 0)]
    assert words == ["3 redeals left", "1 redeal left", "no redeals left"]
