"""Sessions: played moves, undo and redo, and the built-in hint."""

from __future__ import annotations

from typing import Any

import pytest

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.env import SolitaireEnv
from solitaire_env.play.session import Session
from tests.conftest import Refuses

WON_NEXT = """variant: eights-down
foundations: C 13 D 13 H 13 S 12
cells: -- -- KS -- -- -- -- --
""" + "".join(f"t{n}:\n" for n in range(1, 9))
# QH can move back and forth between the Kings.
TO_AND_FRO = """variant: busy-aces
stock:
waste:
foundations: C 13 13 D 13 13 H 9 9 S 13 13
t1: KH QH
t2: KH
t3: QH JH TH JH TH
""" + "".join(f"t{n}:\n" for n in range(4, 13))


def session(variant: str, **options: Any) -> Session:
    env = SolitaireEnv(variant, on_invalid="raise")
    env.reset(options=options)
    return Session(env)


def test_a_move_is_stored_in_words_and_piles_and_taken_back() -> None:
    game = session("forty-thieves", deal=3)
    start = game.env.position()
    assert game.last is None and game.cards_home == 0 and not game.won
    home = game.env.parse_action("t3>f")
    played = game.play(home)
    assert (played.action, played.text, played.words) == (home, "t3>f", "AD home, from t3")
    assert (played.move.source, played.move.target) == ("t3", "foundations")
    assert game.last == played and game.cards_home == 1
    draw = game.play(game.env.parse_action("draw"))
    assert game.played == [played, draw]
    assert [game.undo(), game.undo()] == [draw, played]
    assert game.env.position() == start and game.last is None and game.cards_home == 0


def test_the_position_is_that_of_the_player() -> None:
    game = session("busy-aces", deal=1)
    position = game.position()
    assert position.stock == (FACE_DOWN,) * 92
    assert position.variant.name == "busy-aces"


def test_impossible_requests_change_nothing(refuses: Refuses) -> None:
    game = session("forty-thieves", deal=3)
    start = game.env.position()
    illegal = game.env.parse_action("w>f")
    assert illegal not in game.legal()
    with pytest.raises(IllegalActionError, match="w>f"):
        game.play(illegal)
    refuses(game.undo, "no move to take back")
    assert game.env.position() == start and game.played == []


def test_a_won_game_has_no_hint() -> None:
    game = session("eights-down", position=WON_NEXT)
    hint = game.hint()
    assert hint is not None and game.env.action_text(hint) == "c3>f"
    game.play(hint)
    assert game.won and game.legal() == [] and game.hint() is None
    game.undo()
    assert not game.won and game.hint() == hint


def test_hints_prefer_moves_home_and_do_not_go_back() -> None:
    game = session("busy-aces", position=TO_AND_FRO)
    assert {game.env.action_text(action) for action in game.legal()} == {"t1>t2", "t3>f", "t1>s", "t3>s"}
    moves = []
    while (hint := game.hint()) is not None:
        moves.append(game.play(hint).text)
    assert moves[0] == "t3>f" and game.won and len(moves) == 8


def test_moves_are_redone_until_another_is_played() -> None:
    game = session("forty-thieves", deal=3)
    home, draw = (game.env.parse_action(text) for text in ("t3>f", "draw"))
    first, second = game.play(home, by="a policy"), game.play(draw)
    end = game.env.position()
    game.go_to(0)
    assert game.played == [] and game.undone == [second, first]
    game.go_to(2)
    assert game.played == [first, second] and game.env.position() == end
    game.undo()
    assert game.play(draw).action == draw and game.undone == []
    game.go_to(0)
    game.play(draw)
    assert game.undone == []
    with pytest.raises(ValueError, match="move is 2, allowed: 0 to 1"):
        game.go_to(2)


def test_moves_home_are_known_only_without_hidden_cards() -> None:
    game = session("eights-down", position=WON_NEXT)
    assert [game.env.action_text(action) for action in game.moves_home()] == ["c3>f"]
    assert len(session("busy-aces", position=TO_AND_FRO).moves_home()) == 8
    assert session("forty-thieves", deal=3).moves_home() == []
