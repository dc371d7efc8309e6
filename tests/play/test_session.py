"""Sessions: played moves, undo and redo."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.play.session import Session, new_session
from solitaire_env.variants import get_variant

WON_NEXT = """variant: eights-down
foundations: C 13 D 13 H 13 S 12
cells: -- -- KS -- -- -- -- --
""" + "".join(f"t{n}:\n" for n in range(1, 9))


def session(variant: str, deal: int | None = None, position: str | None = None) -> Session:
    return new_session(get_variant(variant), deal, position)


def test_moves_are_described_and_taken_back() -> None:
    game = session("forty-thieves", 3)
    start = game.env.position()
    home, draw = (game.env.parse_action(text) for text in ("t3>f", "draw"))
    first = game.play(home)
    assert (first.action, first.text, first.words) == (home, "t3>f", "AD home, from t3")
    assert (first.move.source, first.move.target) == ("t3", "foundations")
    assert game.last == first and game.cards_home == 1
    middle = game.env.position()
    game.play(draw)
    game.go_to(1)
    assert game.env.position() == middle and game.played == [first]
    number = game.number
    game.go_to(0)
    assert game.env.position() == start and game.last is None and game.number != number
    with pytest.raises(ValueError, match="move is 1, allowed: 0 to 0"):
        game.go_to(1)


@pytest.mark.parametrize("every", [1, 3])
def test_moves_taken_back_lead_to_the_same_positions(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever moves replace those that were taken back."""
    monkeypatch.setattr("solitaire_env.play.session.STATE_EVERY", every)
    chance = random.Random(0)
    game = session("klondike", 1)
    positions, longest = [game.env.position()], 0
    for _ in range(300):
        if chance.random() < 0.8 and game.legal():
            game.play(chance.choice(game.legal()))
            positions.append(game.env.position())
        else:
            game.go_to(chance.randint(max(0, len(game.played) - 9), len(game.played)))
            del positions[len(game.played) + 1 :]
        assert game.env.position() == positions[-1]
        longest = max(longest, len(game.played))
    assert longest > 5 * every


def test_a_move_takes_little_memory() -> None:
    """Without a state of the environment for each."""
    game, moves = session("klondike", 1), 1000
    tracemalloc.start()
    try:
        for _ in range(moves):
            game.play(game.legal()[0])
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 1000 * moves, taken / moves


def test_the_position_is_that_of_the_player() -> None:
    assert session("busy-aces", 1).position().stock == (FACE_DOWN,) * 92


def test_a_won_game_has_no_move_until_it_is_taken_back() -> None:
    game = session("eights-down", position=WON_NEXT)
    game.play(game.env.parse_action("c3>f"))
    assert game.result == "won" and game.legal() == []
    game.go_to(len(game.played) - 1)
    assert game.result == "truncated" and game.legal()
