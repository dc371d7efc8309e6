"""Games played with the mouse: real events of a window in memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pygame
import pytest

from solitaire_env import cli
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import Session
from solitaire_env.play.window import KEYS, Window
from solitaire_env.policies import load_policy
from solitaire_env.render.board import CARD_HEIGHT, Board, Spot, lay_out
from tests.recorded import recorded_game
from tests.render.test_pictures import PIXEL_HASHES
from tests.test_cli import ALMOST_WON, STUCK

SIZE = (400, 300)


def window(name: str, position: str | None = None, deal: int = 7, **arguments: Any) -> Window:
    env = SolitaireEnv(name, on_invalid="raise")
    env.reset(options={"deal": deal} if position is None else {"position": position})
    made = Window(Session(env), size=SIZE, **arguments)
    made.show()
    return made


def spots(board: Board, pile: str) -> list[Spot]:
    return sorted((spot for spot in board.spots if spot.pile == pile), key=lambda spot: spot.depth)


def point(board: Board, pile: str, count: int = 1, foundation: int = 0) -> tuple[int, int]:
    """A pixel near the upper left corner of a card, counted from the last card of its pile."""
    there = [spot for spot in spots(board, pile) if spot.mark != "origin" or len(spots(board, pile)) == 1]
    spot = there[foundation] if pile == "foundations" else there[-count]
    scale = SIZE[0] / board.width
    return round((spot.x + 0.12) * scale), round((spot.y + 0.08 * CARD_HEIGHT) * scale)


def events(window: Window, *made: pygame.Event) -> None:
    """Post events and let the window handle them, as its loop does."""
    for event in made:
        pygame.event.post(event)
    for event in window.screen.events():
        window.handle(event)
    window.show()


def down(at: tuple[int, int], button: int = 1) -> pygame.Event:
    return pygame.Event(pygame.MOUSEBUTTONDOWN, pos=at, button=button)


def up(at: tuple[int, int], button: int = 1) -> pygame.Event:
    return pygame.Event(pygame.MOUSEBUTTONUP, pos=at, button=button)


def motion(at: tuple[int, int]) -> pygame.Event:
    return pygame.Event(pygame.MOUSEMOTION, pos=at, rel=(0, 0), buttons=(1, 0, 0))


def key(code: int) -> pygame.Event:
    return pygame.Event(pygame.KEYDOWN, key=code)


def click(window: Window, pile: str, count: int = 1, button: int = 1) -> None:
    at = point(window._board, pile, count)
    events(window, down(at, button), up(at, button))


def texts(window: Window) -> list[str]:
    return [played.text for played in window.session.played]


# ------------------------------------------------------------------------------------ whole games


def clicks(board: Board, move: Move) -> list[pygame.Event]:
    """The clicks that a move takes."""
    places = [point(board, move.source, len(move.cards))]
    if move.source != "stock":
        places.append(point(board, move.target))
    return [event for at in places for event in (down(at), up(at))]


@pytest.mark.parametrize("name", PIXEL_HASHES)
def test_a_whole_game_is_played_by_clicks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All clicks of a recorded game are in the queue before the window starts."""
    game = recorded_game(name)
    deal, actions = game.deal, game.actions
    made = window(name, deal=deal)
    env, last = SolitaireEnv(name, on_invalid="raise"), None
    env.reset(options={"deal": deal})
    queue: list[pygame.Event] = []
    session = Session(env)
    for text in actions:
        action = env.parse_action(text)
        move = env.move(action)
        board = lay_out(session.position(), move=last, aspect=SIZE[1] / SIZE[0])
        queue += clicks(board, move)
        last = session.play(action).move
    for event in [*queue, key(pygame.K_q)]:
        pygame.event.post(event)
    made.run()
    assert made.screen.closed
    assert made.session.env.position() == env.position()
    assert made.session.cards_home == session.cards_home > 50
    assert not made.session.legal()
    assert made.message.startswith("Won, in " if session.won else "Stuck: no move is legal.")


@pytest.mark.parametrize("name", ["klondike-draw-3", "yukon", "double-klondike", "zebra", "little-forty"])
def test_clicks_play_groups_redeals_and_worrying_back(name: str) -> None:
    made, kinds = window(name, deal=5), set()
    chance = np.random.default_rng(4)
    for step in range(60):
        session = made.session
        if not session.legal():
            break
        by_kind: dict[str, list[int]] = {}
        for action in session.legal():
            by_kind.setdefault(made._layout.decode(action).kind, []).append(action)
        kind = sorted(by_kind)[step % len(by_kind)]
        kinds.add(kind)
        action = int(chance.choice(by_kind[kind]))
        move = session.env.move(action)
        if "stock" in (move.source, move.target):
            click(made, "stock")
        else:
            if move.source == "foundations":
                tops = made.position.home_tops()
                at = point(made._board, move.source, foundation=tops.index(move.cards))
                events(made, down(at), up(at))
            else:
                click(made, move.source, len(move.cards))
            click(made, move.target)
        assert texts(made)[step:] == [session.env.action_text(action)]
    assert kinds >= {"klondike-draw-3": {"worry", "redeal"}, "double-klondike": {"worry"}}.get(name, set())
    events(made, key(pygame.K_h))
    assert made.options or not made.session.legal()


@pytest.mark.parametrize("name", ["eights-down", "forty-bandits"])
def test_a_game_is_played_by_dragging(name: str) -> None:
    game = recorded_game(name)
    deal, actions = game.deal, game.actions
    made = window(name, deal=deal)
    for text in actions[:25]:
        move = made.session.env.move(made.session.env.parse_action(text))
        start, end = point(made._board, move.source, len(move.cards)), point(made._board, move.target)
        middle = (start[0] + end[0]) // 2 + 8, (start[1] + end[1]) // 2 + 8
        events(made, down(start), motion((start[0] + 1, start[1])), motion(middle), motion(end))
        shown = made.chosen
        events(made, up(end))
        assert shown is not None and shown[0] == move.source
    assert texts(made) == list(actions[:25])


# --------------------------------------------------------------------------------- single things

RUNS = """variant: forty-bandits
stock: 2D
waste: 3D
foundations: C 13 13 D 13 1 H 13 13 S 13 0
t1: KS QS JS TS 9S 8S 7S
t2: 6S 5S 4S 3S 2S AS
t3: KD QD JD TD 9D
t4: 8D 7D 6D 5D 4D
t5:
t6:
t7:
t8:
t9:
t10:
"""


def test_legal_targets_are_marked() -> None:
    made = window("forty-bandits", RUNS)
    click(made, "t4", 5)
    assert made.chosen == ("t4", 5)
    assert {spot.pile for spot in made._board.spots if spot.mark == "target"} == {"t3"}, (
        "a whole pile goes to no space"
    )
    assert len([spot for spot in made._board.spots if spot.mark == "chosen"]) == 5
    click(made, "t4", 5)
    assert made.chosen is None and not made.options
    click(made, "t4", 2)
    targets = {spot.pile for spot in made._board.spots if spot.mark == "target"}
    assert targets == {f"t{number}" for number in range(5, 11)}
    click(made, "t9", 1)
    assert texts(made) == ["t4x2>s"] and made._board.labels[-1].text == made.message
    assert list(map(len, made.session.position().tableau[3:5])) == [3, 2]


def test_the_last_card_moves_as_many_as_the_target_takes() -> None:
    made = window("forty-bandits", RUNS)
    click(made, "t2")
    click(made, "t1")
    assert texts(made) == ["t2>t1"] and len(made.session.last.move.cards) == 6  # type: ignore[union-attr]


def test_a_card_that_starts_no_move_selects_the_last_card() -> None:
    made = window("forty-bandits", RUNS)
    click(made, "t1", 7)
    assert made.chosen == ("t1", 1)


def test_a_new_choice_replaces_the_old_one() -> None:
    made = window("forty-bandits", RUNS)
    click(made, "t2")
    click(made, "t4")
    assert made.chosen == ("t4", 1)
    events(made, key(pygame.K_ESCAPE))
    assert made.chosen is None
    click(made, "t4")
    events(made, down((2, 2)), up((2, 2)))
    assert made.chosen is None and not made.session.played


@pytest.mark.parametrize("ways", ["right", "double"])
def test_a_card_is_sent_home(ways: str) -> None:
    made = window("eights-down", ALMOST_WON)
    if ways == "right":
        click(made, "t1", button=3)
    else:
        click(made, "t1")
        click(made, "t1")
    assert texts(made) == ["t1>f"]
    click(made, "c3", button=3)
    assert made.message.startswith("Won, in 2 moves.") and made.session.won
    events(made, key(pygame.K_h))
    assert made.message.startswith("Won"), "there is no hint in a finished game"


def test_a_double_click_on_a_card_that_cannot_go_home_lets_go() -> None:
    made = window("forty-bandits", RUNS)
    click(made, "t4")
    click(made, "t4")
    assert made.chosen is None and not made.session.played


def test_the_stock_is_drawn_by_click_key_and_drag() -> None:
    made = window("busy-aces")
    click(made, "stock")
    events(made, key(pygame.K_SPACE), key(pygame.K_d))
    assert texts(made) == ["draw"] * 3
    at, to = point(made._board, "stock"), point(made._board, "waste")
    events(made, down(at), motion(to))
    assert made.chosen == ("stock", 1)
    events(made, up(to))
    assert texts(made) == ["draw"] * 4
    made = window("forty-bandits", RUNS)
    click(made, "stock")
    click(made, "stock")
    assert texts(made) == ["draw"] and made.message == "There is no card to draw."


def test_illegal_clicks_and_drags_change_nothing() -> None:
    made = window("eights-down", STUCK)
    before = made.session.env.position()
    click(made, "t1")
    assert made.message == "No card of t1 can move."
    click(made, "foundations")
    assert made.message == "Cards on foundations stay there."
    click(made, "t1", button=3)
    assert made.message == "No card of t1 can go home."
    at = point(made._board, "t1")
    events(made, down(at), motion((at[0] + 50, at[1])), motion((at[0] + 60, at[1])), up((at[0] + 60, at[1])))
    assert made.message == "No card of t1 can move." and made._pointer is None
    events(made, key(pygame.K_x), down(at, 2), up(at, 2), motion(at), down((2, 2), 3))
    assert made.session.env.position() == before and not made.session.played

    made = window("forty-bandits", RUNS)
    at, to = point(made._board, "t4", 5), point(made._board, "t1")
    events(made, down(at), motion(to), up(to))
    assert made.message == "The cards cannot go from t4 to t1." and made.chosen is None
    events(made, down(at), motion(to), up((2, 2)))
    assert made.chosen is None and not made.session.played


def test_undo_takes_the_last_move_back() -> None:
    made = window("busy-aces")
    start = made.session.env.position()
    events(made, key(pygame.K_SPACE), key(pygame.K_SPACE), key(pygame.K_u))
    assert texts(made) == ["draw"] and made.message == "Taken back: draw a card from the stock"
    events(made, key(pygame.K_u), key(pygame.K_u))
    assert made.message == "There is no move to take back." and made.session.env.position() == start


def test_a_hint_is_marked_and_can_be_clicked() -> None:
    made = window("eights-down", ALMOST_WON)
    events(made, key(pygame.K_h))
    assert made.message == "hint: t1>f    QS home, from t1" and made.chosen == ("t1", 1)
    click(made, "foundations")
    assert texts(made) == ["t1>f"]


class LastLegal:
    """A policy that plays the last of the legal actions."""

    def __init__(self, spec: GameSpec) -> None:
        assert spec.num_actions > 100

    def __call__(self, observations: Any, masks: Any) -> Any:
        return [np.flatnonzero(mask)[-1] for mask in masks]


def test_a_policy_gives_hints() -> None:
    made = window("eights-down", ALMOST_WON)
    variant = made.session.env.variant
    made.adviser = Adviser(load_policy("tests.play.test_window:LastLegal", variant), variant)
    events(made, key(pygame.K_h))
    assert made.message.startswith("LastLegal: c3>s") and made.chosen == ("c3", 1)
    targets = {spot.pile for spot in made._board.spots if spot.mark == "target"}
    assert targets == {f"t{number}" for number in range(2, 9)}


def test_a_new_deal_starts_a_new_game() -> None:
    made = window("busy-aces")
    before = made.session.env.position()
    events(made, key(pygame.K_SPACE), key(pygame.K_n))
    assert made.session.env.position() != before and not made.session.played and made.message == KEYS
    deal = made.session.env.get_state()["deal"]
    assert any(f"deal {deal}: 0 of 104" in label.text for label in made._board.labels)


def test_the_window_can_be_resized() -> None:
    made = window("busy-aces")
    assert made.screen._window is not None
    made.screen._window.size = (640, 400)
    events(made)
    assert made._size == (640, 400)
    assert made._board.height / made._board.width == pytest.approx(400 / 640)
    at = point(made._board, "stock")
    at = at[0] * 640 // SIZE[0], at[1] * 640 // SIZE[0]
    events(made, down(at), up(at))
    assert texts(made) == ["draw"]


# ----------------------------------------------------------------------------------- command line


def play(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert cli.main(["play", *args, "--window"]) == 0
    return capsys.readouterr().out


def test_the_command_plays_in_a_window(capsys: pytest.CaptureFixture[str]) -> None:
    for event in (key(pygame.K_SPACE), key(pygame.K_h), key(pygame.K_q)):
        pygame.event.post(event)
    out = play(capsys, "busy-aces", "--deal", "7", "--policy", "tests.play.test_window:LastLegal")
    assert out == (
        "To continue: python -m solitaire_env play busy-aces --deal 7\n"
        "and enter these moves, on one line or several:\n\ndraw\n"
    )


def test_the_command_ends_when_the_window_is_closed_or_interrupted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pygame.event.post(pygame.Event(pygame.QUIT))
    assert "solitaire_env play busy-aces --deal" in play(capsys, "busy-aces")

    def interrupt(self: Window) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Window, "run", interrupt)
    assert "solitaire_env play busy-aces --deal" in play(capsys, "busy-aces")


def test_the_command_reports_a_won_game(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    file = tmp_path / "position.txt"
    file.write_text(ALMOST_WON)
    made = window("eights-down", ALMOST_WON)
    pygame.event.clear()
    board = lay_out(made.session.position(), aspect=600 / 800)
    for pile in ("t1", "c3"):
        at = point(board, pile)
        pygame.event.post(down((at[0] * 2, at[1] * 2), 3))
    pygame.event.post(key(pygame.K_q))
    made.screen.close()
    assert play(capsys, "eights-down", "--position", str(file)) == "Won, in 2 moves.\n"


@pytest.mark.parametrize("module", ["PIL", "pygame"])
def test_the_error_without_the_extra_says_what_to_install(
    module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert cli.main(["play", "busy-aces", "--window"]) == 2
    err = capsys.readouterr().err
    assert f'--window needs {module}: pip install "solitaire-env[render]"' in err
    assert len(err.splitlines()) == 1
