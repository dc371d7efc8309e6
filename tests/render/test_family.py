"""Every published game in every kind of picture: moves are marked, hidden cards stay hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from itertools import chain, pairwise

import numpy as np
import pytest

from solitaire_env.core.cards import DOWN, EMPTY, FACE_DOWN, is_red, parse_card
from solitaire_env.core.layout import action_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, Position, format_position, parse_position
from solitaire_env.render.ansi import render_ansi
from solitaire_env.render.board import headline, lay_out, moved_cards, redeals_left
from solitaire_env.render.picture import render_rgb
from solitaire_env.render.svg import render_svg, sentence
from solitaire_env.variants import Variant, get_variant
from tests.games import ONE_PER_RULE, PUBLISHED


def random_game(variant: Variant, steps: int, seed: int = 0) -> Iterator[tuple[Position, Move, Position]]:
    """The moves of a random game, rare kinds first: the full position before, the move, the full position
    after.
    """
    env, chance = SolitaireEnv(variant, on_invalid="raise"), np.random.default_rng(seed)
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
        before, move = parse_position(env.position(), variant), env.move(action)
        env.step(action)
        yield before, move, parse_position(env.position(), variant)


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_every_game_is_drawn_in_every_way(name: str) -> None:
    position, move = [(after.hidden(), move) for _, move, after in random_game(PUBLISHED[name], 12)][-1]
    marked = {"move": move, "note": "note"}
    assert render_rgb(position, (400, 300), **marked).shape == (300, 400, 3)
    text = render_svg(position, **marked)
    assert text.startswith("<svg") and escape(sentence(position)) in text
    lines = render_ansi(position, "words", move=move).split("\n")
    assert lines[0] == headline(position) and max(map(len, lines)) <= 80 and lines[-1] == "last move: words"
    render_ansi(position, symbols=False).encode("ascii")


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_the_cards_of_each_move_are_marked(name: str) -> None:
    for before, move, after in random_game(PUBLISHED[name], 16):
        board = lay_out(after.hidden(), move=move)
        moved = [spot for spot in board.spots if spot.mark == "moved"]
        assert {(spot.pile, spot.depth) for spot in moved} == moved_cards(after, move)
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
        origins = [spot for spot in board.spots if spot.mark == "origin"]
        assert {spot.pile for spot in origins} <= {move.source} and len(origins) <= 1
        if move.source != "foundations" and move.target != "stock":
            assert len(origins) == 1


def hidden_cards(position: Position) -> list[int]:
    return [card & ~DOWN for pile in position.tableau for card in pile if card & DOWN] + [*position.stock]


def shuffled(position: Position, chance: np.random.Generator) -> Position:
    """The position with the cards of the stock and the face-down cards shuffled."""
    cards = iter(chance.permutation(hidden_cards(position)).tolist())
    tableau = tuple(
        tuple(next(cards) | DOWN if card & DOWN else card for card in pile) for pile in position.tableau
    )
    return replace(position, tableau=tableau, stock=tuple(cards))


@pytest.mark.parametrize("name", [name for name, variant in PUBLISHED.items() if variant.hides_cards])
def test_a_player_does_not_see_hidden_cards(name: str) -> None:
    """Pictures stay the same when the hidden cards are shuffled."""
    chance = np.random.default_rng(1)
    for _, move, after in random_game(PUBLISHED[name], 5):
        drawn = set()
        for position in (after, shuffled(after, chance)):
            env = SolitaireEnv(after.variant, render_mode="ansi")
            env.reset(options={"position": format_position(position)})
            seen = parse_position(env.position(hidden=True), after.variant)
            assert not any(card & DOWN for pile in seen.tableau for card in pile)
            drawn.add((env.render(), str(env._repr_html_()), render_svg(seen, move=move), sentence(seen)))
        assert len(drawn) == 1 and not re.search(r"\(..\)", next(iter(drawn))[3])


def test_a_known_face_down_card_is_shown() -> None:
    env = SolitaireEnv("klondike", information="thoughtful", render_mode="ansi")
    env.reset(options={"deal": 1})
    position = parse_position(env.position(), env.variant)
    turned = [card for pile in position.tableau for card in pile if card & DOWN]
    assert len(turned) == 21
    assert str(env.render()).count("(") == 21 and render_svg(position).count("#b9c6e2") == 21
    assert render_svg(position.hidden()).count("#b9c6e2") == 0
    assert not np.array_equal(render_rgb(position), render_rgb(position.hidden()))


def test_foundations_from_another_base_show_their_last_card() -> None:
    env = SolitaireEnv("penguin")
    env.reset(options={"deal": 5})
    position = parse_position(env.position(), env.variant)
    assert position.base == 3 and "base 3" in headline(position)
    text = env.position().replace("foundations: C 0 D 1 H 1 S 1", "")
    assert text != env.position()
    home = replace(position, foundations=((13,), (12,), (11,), (0,)))
    assert home.home_tops() == ((parse_card("2C"),), (parse_card("AD"),), (parse_card("KH"),), ())
    assert home.home_takes() == ((), (parse_card("2D"),), (parse_card("AH"),), (parse_card("3S"),))


def test_foundations_in_alternating_colors_show_rank_and_color() -> None:
    env = SolitaireEnv("zebra")
    env.reset(options={"deal": 5})
    position = replace(
        parse_position(env.position(hidden=True), env.variant), foundations=((13, 1), (2, 0), (3, 1), (1, 1))
    )
    tops = [re.sub(r"\W", "", str(cards)) for cards in position.home_tops()]
    assert len(tops) == 8
    colors = [{is_red(card) for card in cards} for cards in position.home_tops()]
    assert colors == [{False}, {False}, {False}, set(), {True}, {True}, {False}, {False}]
    assert [len(cards) for cards in position.home_tops()] == [2, 1, 2, 0, 2, 1, 1, 1]
    assert "KCS  AC 2CS   D 3DH  AH  AS  AS" in render_ansi(position, symbols=False)
    assert ">2♣♠<" in render_svg(position)


@pytest.mark.parametrize(
    ("name", "redeals", "words"),
    [
        ("forty-thieves", 0, ""),
        ("klondike", 0, "any number of redeals"),
        ("little-forty", 3, "3 redeals left"),
        ("zebra", 1, "1 redeal left"),
        ("zebra", 0, "no redeals left"),
    ],
)
def test_redeals_are_shown_near_the_stock(name: str, redeals: int, words: str) -> None:
    env = SolitaireEnv(name)
    env.reset(options={"deal": 5})
    position = replace(parse_position(env.position(hidden=True), env.variant), redeals=redeals)
    assert redeals_left(position) == words
    for text in (render_ansi(position), render_svg(position)):
        assert (words or "redeal") in text if words else "redeal" not in text


def test_a_tall_pile_stays_inside_and_readable() -> None:
    env = SolitaireEnv("yukon")
    env.reset(options={"deal": 1})
    position = parse_position(env.position(hidden=True), env.variant)
    seen = tuple(card for pile in position.tableau for card in pile if card != FACE_DOWN)
    piles = (tuple([FACE_DOWN] * 6) + seen, *[()] * 6)
    board = lay_out(replace(position, tableau=piles), aspect=0.75)
    spots = [spot for spot in board.spots if spot.pile == "t1"]
    assert len(spots) == 37
    for spot, next_one in pairwise(spots[6:]):
        assert 0.9 * 0.26 * spot.corner < next_one.y - spot.y
    assert spots[6].corner < 1
    assert all(spot.corner == 1 for spot in lay_out(position, aspect=0.75).spots)


def test_a_foundation_that_is_chosen_or_that_a_card_left_is_marked() -> None:
    env = SolitaireEnv("double-klondike")
    env.reset(options={"deal": 5})
    position = parse_position(env.position(hidden=True), env.variant)
    position = replace(position, foundations=((2, 0), (1, 1), (0, 0), (0, 0)))
    chosen = [
        spot for spot in lay_out(position, chosen=("foundations", 2), targets={"t1"}).spots if spot.mark
    ]
    assert [(spot.pile, spot.mark) for spot in chosen] == [("foundations", "chosen"), ("t1", "target")]
    worried = Move("foundations", "t1", (parse_card("AH"),))
    origins = [spot for spot in lay_out(position, move=worried).spots if spot.mark == "origin"]
    assert [(spot.pile, spot.depth, spot.card) for spot in origins] == [("foundations", 4, EMPTY)]


def test_a_fixed_base_is_that_of_the_variant() -> None:
    env = SolitaireEnv(get_variant("deuces"))
    env.reset(options={"deal": 0})
    position = parse_position(env.position(), env.variant)
    assert position.base_rank == 2 and headline(position).endswith(", base 2")
    assert all(cards and cards[0] >> 2 == 2 for cards in position.home_tops())
