"""Sessions: played moves, undo and redo, and the built-in hint."""

from __future__ import annotations

from collections import Counter

import pytest

from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.play.hints import BuiltInHint
from solitaire_env.play.session import Session, new_session
from solitaire_env.variants import get_variant
from tests.games import ONE_PER_RULE

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


def session(variant: str, deal: int | None = None, position: str | None = None) -> Session:
    return new_session(get_variant(variant), deal, position)


def hint(game: Session) -> int | None:
    advice = BuiltInHint().advise(game)
    return None if advice is None else advice.actions[0]


def test_moves_are_described_taken_back_and_redone_until_another_is_played() -> None:
    game = session("forty-thieves", 3)
    start = game.env.position()
    home, draw = (game.env.parse_action(text) for text in ("t3>f", "draw"))
    first = game.play(home, by="a policy")
    assert (first.action, first.text, first.words) == (home, "t3>f", "AD home, from t3")
    assert (first.move.source, first.move.target) == ("t3", "foundations")
    assert game.last == first and game.cards_home == 1
    second = game.play(draw)
    end = game.env.position()
    game.undo()
    game.undo()
    assert game.env.position() == start and game.last is None and game.undone == [second, first]
    with pytest.raises(ValueError, match="no move to take back"):
        game.undo()
    game.go_to(2)
    assert game.played == [first, second] and game.env.position() == end
    game.undo()
    assert game.play(draw).action == draw and game.undone == []
    game.go_to(0)
    game.play(draw)
    assert game.undone == []
    with pytest.raises(ValueError, match="move is 2, allowed: 0 to 1"):
        game.go_to(2)


def test_a_won_game_has_no_hint() -> None:
    game = session("eights-down", position=WON_NEXT)
    home = hint(game)
    assert home is not None and game.env.action_text(home) == "c3>f"
    game.play(home)
    assert game.result == "won" and game.legal() == [] and hint(game) is None
    game.undo()
    assert game.result == "truncated" and hint(game) == home


def test_hints_prefer_moves_home_and_do_not_go_back() -> None:
    game = session("busy-aces", position=TO_AND_FRO)
    assert {game.env.action_text(action) for action in game.legal()} == {"t1>t2", "t3>f", "t1>s", "t3>s"}
    while (action := hint(game)) is not None:
        game.play(action)
    assert game.played[0].text == "t3>f" and game.result == "won" and len(game.played) == 8


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_hints_repeat_a_position_only_if_every_move_does(name: str) -> None:
    """They also turn cards up instead of moving the same cards to and fro."""
    game = session(name, 1)
    seen = {game.env.position()}
    for _ in range(40):
        action = hint(game)
        if action is None:
            break
        game.play(action)
        if game.env.position() in seen:
            game.undo()
            for other in game.legal():
                game.play(other)
                assert game.env.position() in seen
                game.undo()
            game.play(action)
        seen.add(game.env.position())
    if name == "klondike-draw-3":
        turned = Counter(card for pile in game.position().tableau for card in pile)[FACE_DOWN]
        assert turned < 21
