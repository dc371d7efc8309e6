"""Every published game in a session, on the server, in the terminal, as a page; hidden cards stay hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from solitaire_env.core.cards import DOWN
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, describe_action, format_position, parse_position
from solitaire_env.play import server as serve
from solitaire_env.play.replay_page import replay_data, replay_page
from solitaire_env.play.session import Session
from solitaire_env.play.terminal import _run_word, board
from solitaire_env.play.watch import WatchedGame
from solitaire_env.play.web import board as piles_of
from solitaire_env.play.web import start_of, targets
from solitaire_env.transcripts import format_transcript, parse_thought, parse_transcript, replay
from solitaire_env.variants import get_variant
from tests.games import ONE_PER_RULE, PUBLISHED
from tests.render.test_family import hidden_cards, shuffled

HOME = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    client = TestClient(serve.make_app([]), base_url=HOME)
    yield client
    client.app.state.sessions.close()  # type: ignore[attr-defined]


def ask(client: TestClient, number: str, verb: str, **body: object) -> Any:
    answer = client.post(f"/api/sessions/{number}/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def cards_in(piles: dict[str, Any]) -> int:
    """The cards outside the foundations, counted as the page counts them."""
    texts = [text for name, text in piles.items() if name[0] in "wct"]
    return sum(len(text.split()) for text in texts) + int(piles.get("stock", 0))


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_a_random_game_is_played_through_the_server(client: TestClient, name: str) -> None:
    variant, chance = PUBLISHED[name], np.random.default_rng(2)
    told = client.post("/api/sessions", json={"game": name, "deal": "4"}).json()
    session = client.app.state.sessions.tables[told["id"]].session  # type: ignore[attr-defined]
    for step in range(7):
        if not told["legal"]:
            break
        assert told["piles"] == piles_of(session.position())
        assert variant.cards - cards_in(told["piles"]) == session.cards_home
        assert "(" not in json.dumps(told["piles"])
        for entry in told["legal"]:
            source = told["piles"][entry["source"]]
            if entry["source"] != "stock":
                assert source and 1 <= entry["count"] <= len(source.split()), entry
            assert all(target in told["piles"] for target in entry["targets"]) and entry["targets"]
        assert len({entry["action"] for entry in told["legal"]}) == len(told["legal"])
        if step == 3:
            hint = ask(client, told["id"], "hint", policy="hint")
            assert hint["action"] in {entry["action"] for entry in told["legal"]}
        entry = told["legal"][int(chance.integers(len(told["legal"])))]
        told = ask(client, told["id"], "move", action=entry["action"])
        assert told["last"] == {"action": entry["action"], "words": entry["words"]}
    saved = parse_transcript(client.get(f"/api/sessions/{told['id']}/transcript").text)
    assert [step.text for step in replay(saved)] == [played.text for played in session.played]
    ask(client, told["id"], "restart")


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_a_game_by_hints_becomes_a_page(name: str) -> None:
    env = SolitaireEnv(name, on_invalid="raise")
    env.reset(options={"deal": 6})
    session = Session(env)
    watched = WatchedGame(session, None, limit=6)
    for turn in watched.play():
        assert turn.played.words and board(env, session.last)
    transcript = watched.transcript()
    assert parse_transcript(format_transcript(transcript)) == transcript
    data = replay_data(transcript)
    text = json.dumps([data["start"], data["steps"]])
    boards = [data["start"], *(changed for _, _, changed, _ in data["steps"])]
    assert not any("(" in str(pile) for pile in [pile for changed in boards for pile in changed.values()])
    assert ("??" in text) == env.variant.hides_cards
    assert len(replay_page(transcript)) > 10_000
    if env.variant.hides_cards:
        thoughtful = replay_data(replace(transcript, information="thoughtful"))
        assert any("(" in str(pile) for pile in thoughtful["start"].values())
        assert "??" not in json.dumps([thoughtful["start"], thoughtful["steps"]])


@pytest.mark.parametrize("name", [name for name, variant in PUBLISHED.items() if variant.hides_cards])
def test_the_server_never_sends_hidden_cards(client: TestClient, name: str) -> None:
    """Every answer, hints included, stays the same when the hidden cards are shuffled."""
    chance = np.random.default_rng(5)
    env = SolitaireEnv(name)
    env.reset(options={"deal": 8})
    for _ in range(4):
        if not env.legal_actions():
            break
        position = parse_position(env.position(), env.variant)
        answers = []
        for start in (position, shuffled(position, chance)):
            told = client.post("/api/sessions", json={"game": name, "deal": "1"}).json()
            table = client.app.state.sessions.tables[told["id"]]  # type: ignore[attr-defined]
            table.session.env.reset(options={"position": format_position(start)})
            number = told["id"]
            told = client.get(f"/api/sessions/{number}").json()
            hint = ask(client, number, "hint", policy="hint")
            answers.append(json.dumps([told, hint]).replace(number, ""))
        assert answers[0] == answers[1] and "??" in answers[0]
        assert len(hidden_cards(position)) == answers[0].count("??") + len(position.stock)
        env.step(int(chance.choice(env.legal_actions())))


def test_the_terminal_accepts_worrying_back_in_any_case() -> None:
    session = worried_session()
    move = session.env.move(session.env.parse_action("fC>t1"))
    position = session.position()
    assert move == Move("foundations", "t1", (12,))
    assert start_of(position, move) == "f1" and targets(position, move) == ["t1"]
    assert _run_word(session, None, "fc>t1") is None and session.last is not None
    assert session.last.words == "3C from the foundations to t1, onto 4D"
    said = board(session.env, session.last)
    assert "*3♣" in said and "♣ " not in said.split("\n")[2][:16]
    with pytest.raises(ValueError, match="fd>t1 is not legal here"):
        _run_word(session, None, "fd>t1")
    with pytest.raises(ValueError, match="no action"):
        _run_word(session, None, "fx>t1")


def worried_session() -> Session:
    """Klondike, deal 5, played until a Three of Clubs at home fits on a Four of Diamonds."""
    env = SolitaireEnv("klondike", on_invalid="raise")
    env.reset(options={"deal": 5})
    position = parse_position(env.position(), env.variant)
    home, wanted = (4, 8, 12), 17
    pack = [*position.stock, *(card & ~DOWN for pile in position.tableau for card in pile)]
    others = [card for card in pack if card not in (*home, wanted)]
    position = replace(
        position,
        foundations=((3,), (0,), (0,), (0,)),
        tableau=((wanted,), *((card,) for card in others[:6])),
        stock=tuple(others[6:30]),
        waste=(),
    )
    rest = others[30:]
    tableau = (*position.tableau[:6], (*(card | DOWN for card in rest), *position.tableau[6]))
    env.reset(options={"position": format_position(replace(position, tableau=tableau))})
    return Session(env)


def test_redeals_are_shown_in_words_and_on_the_board() -> None:
    env = SolitaireEnv("little-forty", on_invalid="raise")
    env.reset(options={"deal": 1})
    session = Session(env)
    while env.action_text(session.legal()[0]) == "draw":
        session.play(0)
    assert piles_of(session.position())["redeals"] == 3
    move = env.move(1)
    assert (move.source, move.target) == ("waste", "stock")
    assert start_of(session.position(), move) == "stock"
    assert describe_action(env.variant, env.batch.state, 0, 1) == "turn the waste over to the stock"
    assert _run_word(session, None, "redeal") is None
    seen = piles_of(session.position())
    assert (seen["redeals"], seen["stock"], seen["waste"]) == (2, 64, "")
    assert "64 left, 2 redeals left" in board(env, session.last)
    without_limit = SolitaireEnv("klondike")
    without_limit.reset(options={"deal": 1})
    assert piles_of(Session(without_limit).position())["redeals"] == "-"
    assert "redeals" not in piles_of(Session(new_game("forty-thieves")).position())


def new_game(name: str) -> SolitaireEnv:
    env = SolitaireEnv(name)
    env.reset(options={"deal": 1})
    return env


def test_moves_of_groups_say_how_many_cards_and_whether_that_is_chosen(client: TestClient) -> None:
    told = client.post("/api/sessions", json={"game": "yukon", "deal": "5"}).json()
    assert any(entry["count"] > 1 for entry in told["legal"])
    for entry in told["legal"]:
        assert entry["exact"] == ("x" in entry["action"]) == (entry["count"] > 1)
    told = client.post("/api/sessions", json={"game": "klondike", "deal": "5"}).json()
    assert not any(entry["exact"] for entry in told["legal"])


def test_foundations_in_alternating_colors_name_both_suits() -> None:
    env = new_game("zebra")
    position = replace(
        parse_position(env.position(hidden=True), env.variant), foundations=((13, 1), (2, 0), (3, 1), (1, 1))
    )
    seen = piles_of(position)
    tops = [seen[f"f{number}"] for number in range(1, 9)]
    assert tops == ["KCS", "AC", "2CS", "-D", "3DH", "AH", "AS", "AS"]
    # A red Two goes onto the first Ace of a black suit.
    assert targets(position, Move("t1", "foundations", (2 * 4 + 1,))) == ["f2", "f7", "f8"]


def test_thoughts_name_every_kind_of_action() -> None:
    said = parse_thought("value 0.100; redeal 50.0 %; fC>t3 25.0 %; t1x13>t2 12.5 %; t2x4>s 12.5 %")
    assert [text for text, _ in said.actions] == ["redeal", "fC>t3", "t1x13>t2", "t2x4>s"]


def test_hints_avoid_cycles_and_turn_cards_up() -> None:
    env = SolitaireEnv(get_variant("klondike"), on_invalid="raise")
    env.reset(options={"deal": 5})
    session = Session(env)
    turned = len(hidden_cards(session.full_position())) - 24
    for _ in range(60):
        hint = session.hint()
        assert hint is not None
        session.play(hint)
    after = session.full_position()
    assert len(hidden_cards(after)) - len(after.stock) < turned
