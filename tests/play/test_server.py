"""The server for playing in the browser: what it answers, refuses, stores and forgets."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import islice
from threading import Event, current_thread
from typing import Any

import pytest
from starlette.testclient import TestClient

from solitaire_env import cli
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import wilson_interval
from solitaire_env.notation import Move, parse_position
from solitaire_env.play import games, server
from solitaire_env.play.jobs import shuffled
from solitaire_env.play.piles import board, start_of, targets
from solitaire_env.play.site import games_data
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.transcripts import parse_transcript, replay
from solitaire_env.variants import VARIANTS, known_variants
from tests.games import ONE_PER_RULE
from tests.recorded import recorded_game

HOME = "http://127.0.0.1:8000"
FIRST, WHIM, BROKEN, PICKY, SLOW = (
    f"tests.play.policies:{name}" for name in ("First", "Whim", "Broken", "Picky", "Slow")
)


def client_of(*policies: str, **arguments: Any) -> TestClient:
    return TestClient(server.make_app(policies, **arguments), base_url=HOME)


@pytest.fixture
def client() -> Iterator[TestClient]:
    client = client_of(FIRST, WHIM, BROKEN, PICKY, SLOW)
    yield client
    client.app.state.games.close()  # type: ignore[attr-defined]


def deal(client: TestClient, game: str = "busy-aces", deal: object = 7, **more: Any) -> Any:
    answer = client.post("/api/sessions", json={"game": game, "deal": deal, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def do(client: TestClient, told: Any, verb: str, code: int = 200, **body: object) -> Any:
    answer = client.post(f"/api/sessions/{told['id']}/{verb}", json=body)
    assert answer.status_code == code, answer.text
    if code != 200:
        assert list(answer.json()) == ["error"] and len(answer.json()["error"]) < 500
        return answer.json()["error"]
    return answer.json()


def saved(client: TestClient, told: Any) -> Any:
    return parse_transcript(client.get(f"/api/sessions/{told['id']}/transcript").text)


def refused(answer: Any, code: int, *words: str) -> None:
    assert answer.status_code == code, answer.text
    assert list(answer.json()) == ["error"]
    assert all(word in answer.json()["error"] for word in words), answer.text


# ----------------------------------------------------------------------------------------- games


def test_the_pages_and_the_games_are_served(client: TestClient) -> None:
    for path, kind in {"/": "text/html", "/board.js": "text/javascript", "/play.css": "text/css"}.items():
        answer = client.get(path)
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
    for wrong in ("/none.js", "/..%2Fserver.py", "/../server.py", "/api/none"):
        assert client.get(wrong).status_code == 404
    told = client.get("/api/games").json()
    assert [game["title"] for game in told["games"]] == [variant.title for variant in VARIANTS]
    assert told["rules"]["moves"] == ["one card", "supermove", "sequence", "any group"]


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_a_game_is_played_to_its_end_and_saved(client: TestClient, name: str) -> None:
    """The first moves are played, and the last; a link has those between."""
    game = recorded_game(name)
    steps = [*replay(game)]
    for begin in (0, max(0, len(steps) - 40)):
        told = deal(client, name, str(game.deal), moves_played=game.actions[:begin])
        for step in steps[begin : begin + 40]:
            legal = {move["action"]: move for move in told["legal"]}
            move, before = legal[step.text], told["piles"]
            told = do(client, told, "move", action=step.text)
            assert told["piles"] == board(parse_position(step.position, game.variant).hidden())
            assert move["words"] == step.words and move["exact"] == ("x" in step.text)
            if move["source"] != "stock":
                assert told["piles"][move["source"]] != before[move["source"]]
            assert told["piles"][move["targets"][0]] != before[move["targets"][0]]
    state = game.result.replace("truncated", "playing")  # the records of some games are truncated
    assert (told["state"], told["moves_played"]) == (state, len(game.actions))
    again = saved(client, told)
    assert again.policy == "human" and (again.actions, again.result) == (game.actions, game.result)
    list(replay(again))


def test_moves_are_undone_and_redone(client: TestClient) -> None:
    start = deal(client)
    first = do(client, start, "move", action="draw")
    second = do(client, first, "move", action="draw")
    assert second["line"] == [["draw", "draw a card from the stock"]] * 2
    assert do(client, second, "go-to", move=1)["piles"] == first["piles"]
    assert do(client, start, "go-to", move=0) == {**start, "moves_known": 2, "line": second["line"]}
    assert "move is 3, allowed: 0 to 2" in do(client, start, "go-to", 400, move=3)
    assert "move is '1', allowed: a whole number" in do(client, start, "go-to", 400, move="1")
    other = next(move["action"] for move in start["legal"] if move["action"] != "draw")
    assert do(client, start, "move", action=other)["moves_known"] == 1
    assert (saved(client, start).result, saved(client, start).steps) == ("truncated", 1)


def test_a_game_starts_with_the_moves_of_a_link(client: TestClient) -> None:
    game = recorded_game("eights-down")
    told = deal(client, "eights-down", 132, moves_played=game.actions[:-3], at=40)
    assert (told["moves_played"], told["moves_known"]) == (40, len(game.actions) - 3)
    body = {"game": "eights-down", "deal": 132}
    for wrong, words in (
        (["t7>f", "t1>t1"], "move 2 of the link, 't1>t1': "),
        ("t7>f", "moves_played is a str, allowed: a list of texts"),
        ([7], "move 1 of the link, 7: "),
        (["draw"] * 7001, "allowed: at most 7000"),
    ):
        refused(client.post("/api/sessions", json={**body, "moves_played": wrong}), 400, words)
    refused(client.post("/api/sessions", json={**body, "moves_played": [], "at": 1}), 400, "allowed: 0 to 0")


@pytest.mark.parametrize("name", [name for name, variant in ONE_PER_RULE.items() if variant.stock])
def test_the_server_never_sends_hidden_cards(client: TestClient, name: str) -> None:
    """Every answer, hints included, stays the same when the hidden cards are shuffled."""
    env = SolitaireEnv(name)
    env.reset(options={"deal": 8})
    for seed in range(4):
        position = parse_position(env.position(), env.variant)
        answers = set()
        for start in (position, shuffled(position, seed)):
            told = deal(client, name)
            session = client.app.state.games.sessions[told["id"]]  # type: ignore[attr-defined]
            session.env.reset(options={"position": start})
            texts = [do(client, told, "go-to", move=0), do(client, told, "policies")]
            texts += [do(client, told, "hint", policy=policy) for policy in ("greedy", FIRST)]
            answers.add(json.dumps(texts).replace(told["id"], ""))
        assert len(answers) == 1 and "(" not in str(do(client, told, "go-to", move=0)["piles"])
        env.step(env.legal_actions()[-1])


# ----------------------------------------------------------------------------------------- piles


def test_redeals_and_worrying_back_start_from_the_pile_that_a_player_clicks() -> None:
    env = SolitaireEnv("little-forty", on_invalid="raise")
    env.reset(options={"deal": 1})
    while env.action_text(env.legal_actions()[0]) == "draw":
        env.step(0)
    position = parse_position(env.position(hidden=True), env.variant)
    assert board(position)["redeals"] == 3 and start_of(position, env.moved_cards(1)) == "stock"
    env.step(1)
    seen = board(parse_position(env.position(hidden=True), env.variant))
    assert (seen["redeals"], seen["stock"], seen["waste"]) == (2, 64, "")
    env = SolitaireEnv("klondike")
    env.reset(options={"deal": 1})
    position = parse_position(env.position(hidden=True), env.variant)
    assert board(position)["redeals"] == "-"
    home = replace(position, foundations=((3,), (0,), (0,), (0,)))
    worry = Move("foundations", "t1", (12,))
    assert start_of(home, worry) == "f1" and targets(home, worry) == ["t1"]


def test_foundations_in_alternating_colors_name_both_suits() -> None:
    env = SolitaireEnv("zebra")
    env.reset(options={"deal": 1})
    position = parse_position(env.position(hidden=True), env.variant)
    position = replace(position, foundations=((13, 1), (2, 0), (3, 1), (1, 1)))
    tops = [board(position)[f"f{number}"] for number in range(1, 9)]
    assert tops == ["KCS", "AC", "2CS", "-D", "3DH", "AH", "AS", "AS"]
    # A red Two goes onto the first Ace of a black suit.
    assert targets(position, Move("t1", "foundations", (2 * 4 + 1,))) == ["f2", "f7", "f8"]


# -------------------------------------------------------------------------------------- refusals


def test_invalid_deals_are_refused(client: TestClient) -> None:
    for body, words in (
        ({"game": "klondyke"}, "unknown variant 'klondyke'"),
        ({"game": 5}, "game is a int, allowed: str"),
        ({}, "missing a required argument: 'game'"),
        ({"game": "busy-aces", "deal": [1]}, "[1]"),
        ({"game": "busy-aces", "moves": "two"}, "moves is 'two', allowed: 'one card'"),
        ({"game": "busy-aces", "tableau": [1]}, "unexpected keyword argument 'tableau'"),
    ):
        refused(client.post("/api/sessions", json=body), 400, words)


def test_illegal_moves_are_refused_with_the_reason(client: TestClient) -> None:
    told = deal(client)
    assert "no action 'x'" in do(client, told, "move", 400, action="x")
    assert "missing a required argument: 'action'" in do(client, told, "move", 400)
    assert "t1" in do(client, told, "move", 409, action="t1>f")
    do(client, told, "move", 400, session="x", action="t1>f")
    assert "unknown request 'cheat', allowed: move, go-to" in do(client, told, "cheat", 404)
    assert "unknown policy 'x', allowed: 'greedy', 'tests." in do(client, told, "hint", 400, policy="x")
    refused(client.post("/api/sessions/none/move", json={"action": "draw"}), 404, "no game 'none'")
    refused(client.get("/api/sessions/none/transcript"), 404, "no game 'none'")
    refused(client.get("/api/jobs/none"), 404, "no job 'none'")
    assert do(client, told, "go-to", move=0) == told


def test_requests_without_a_json_object_are_refused(client: TestClient) -> None:
    """Pages of other sites can send only other content types without asking the server."""

    def post(content: bytes, kind: str = "application/json") -> Any:
        return client.post("/api/sessions", content=content, headers={"content-type": kind})

    body = b'{"game": "busy-aces"}'
    assert post(body).status_code == post(body, "application/json; charset=utf-8").status_code == 201
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        refused(post(body, kind), 415, "allowed: 'application/json'")
    for wrong in (b"{", b"\xff\xff", b"[" * 5000):
        refused(post(wrong), 400, "not JSON")
    refused(post(b"[]"), 400, "a list, allowed: an object")
    refused(post(b" " * (server.MAX_BODY + 1)), 413, f"at most {server.MAX_BODY} bytes")
    preflight = client.options("/api/sessions", headers={"origin": "http://evil.example"})
    assert preflight.status_code == 405 and "access-control-allow-origin" not in preflight.headers


def test_other_host_names_are_refused_and_every_answer_has_security_headers() -> None:
    """A name of another site may resolve to this machine; that of a proxy is allowed by --allow-host."""
    client = client_of(host="Me", allowed_hosts=["Games.example.org"])
    for host in ("localhost:8000", "[::1]:8000", "192.168.0.9:1", "me:80", "GAMES.example.org:8443"):
        assert client.get("/api/games", headers={"host": host}).status_code == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example", "", "[", "x.games.example.org", "example.org"):
        refused(client.get("/", headers={"host": host}), 403, "'games.example.org'", "--allow-host")
    evil = client.get("/", headers={"host": "evil.example"})
    for answer in (client.get("/"), client.get("/api/games"), client.get("/none"), evil):
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


# ---------------------------------------------------------------------------------------- bounds


def test_games_are_dropped_and_moves_are_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MAX_SESSIONS", 3)
    monkeypatch.setattr(games, "MAX_MOVES", 2)
    dealt = [deal(client) for _ in range(3)]
    do(client, dealt[0], "move", action="draw")
    dealt.append(deal(client))
    assert "no game" in do(client, dealt[1], "move", 404, action="draw")
    do(client, dealt[0], "move", action="draw")
    assert "has 2 moves, the maximum" in do(client, dealt[0], "move", 409, action="draw")
    do(client, dealt[3], "move", action="draw")


def test_long_games_replace_idle_ones(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MAX_STORED_MOVES", 6)
    dealt = [deal(client, moves_played=["draw"] * 3) for _ in range(2)]
    assert do(client, dealt[0], "go-to", move=0)["moves_known"] == 3
    do(client, dealt[1], "move", action="draw")
    assert "no game" in do(client, dealt[0], "move", 404, action="draw")
    dealt.append(deal(client, moves_played=["draw"] * 5))
    assert "no game" in do(client, dealt[1], "move", 404, action="draw")
    do(client, dealt[2], "move", action="draw")


REPLAYS = {
    "link": lambda client, told: client.post(
        "/api/sessions", json={"game": told["game"], "deal": 7, "moves_played": ["draw"]}
    ),
    "page": lambda client, told: client.get(f"/api/sessions/{told['id']}/replay"),
}


@pytest.mark.parametrize("kind", REPLAYS)
def test_replays_wait_for_each_other_and_delay_nothing_else(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than the server has threads; those beyond the limit are refused."""
    allowed, running, most = Event(), 0, 0

    def slow(function: Any) -> Any:
        def wait(*args: Any) -> Any:
            nonlocal running, most
            if current_thread().name.startswith("replays"):
                running, most = running + 1, max(most, running + 1)
                assert allowed.wait(60)
                running -= 1
            return function(*args)

        return wait

    monkeypatch.setattr(games, "new_session", slow(games.new_session))
    monkeypatch.setattr(server, "replay_page", slow(server.replay_page))
    with client_of() as client, ThreadPoolExecutor(60) as pool:
        told = deal(client)
        replays = [pool.submit(REPLAYS[kind], client, told) for _ in range(50)]
        try:
            # All others wait.
            for refusal in islice(as_completed(replays, timeout=30), len(replays) - games.MAX_REPLAYS):
                refused(refusal.result(), 429, f"{games.MAX_REPLAYS} games", "try again later")
            others = [
                pool.submit(client.get, "/"),
                pool.submit(client.get, "/api/games"),
                pool.submit(client.get, f"/api/sessions/{told['id']}/transcript"),
                pool.submit(deal, client),
                pool.submit(do, client, told, "move", action="draw"),
                pool.submit(do, client, told, "go-to", move=0),
            ]
            for other in others:
                other.result(timeout=30)
        finally:
            allowed.set()
        succeeded = [replay.result(timeout=60).is_success for replay in replays]
        assert most == 1 and sum(succeeded) == games.MAX_REPLAYS
        assert REPLAYS[kind](client, told).is_success
    client.app.state.games.close()  # type: ignore[attr-defined]


def test_parallel_requests_keep_games_consistent(client: TestClient) -> None:
    dealt = [deal(client), deal(client, "forty-thieves")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: do(client, dealt[n % 2], "move", action="draw"), range(80)))
    for told in dealt:
        env = SolitaireEnv(told["game"])
        env.reset(options={"deal": 7})
        for _ in range(40):
            env.step(env.parse_action("draw"))
        now = do(client, told, "go-to", move=40)
        assert now["moves_known"] == 40 and now["piles"] == board(parse_position(env.position()))


# -------------------------------------------------------------------------------------- policies


def test_greedy_is_always_offered() -> None:
    client = client_of()
    told = deal(client, "eights-down", 132)
    listed = do(client, told, "policies")["policies"]
    assert listed == [{"id": "greedy", "name": "greedy", "error": "", "rates": True}]
    advice = do(client, told, "hint", policy="greedy")
    assert (advice["action"], advice["words"]) == ("t7>f", "AH home, from t7")
    assert advice["value"] is None and advice["actions"] == []
    assert do(client, told, "advance", policy="greedy")["last"]["action"] == "t7>f"


def test_the_page_selects_the_network_of_a_game_or_greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It selects the last policy that plays the game."""
    asked: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda *args: asked.append((args[0], args[1].close())))
    assert cli.main(["serve", "--port", "0"]) == 0
    client = client_of(*asked[0][0])
    without_server = games_data()["details"]
    for variant in known_variants():
        expected = "shipped" if variant.name in shipped_games() else "greedy"
        listed = do(client, deal(client, variant.name, 1), "policies")["policies"]
        assert [policy["id"] for policy in listed if not policy["error"]][-1] == expected
        assert without_server[variant.name]["policies"][-1]["id"] == expected


def test_policies_give_hints_and_play_on(client: TestClient) -> None:
    told = deal(client)
    listed = do(client, told, "policies")["policies"]
    assert [(p["name"], p["rates"]) for p in listed[:3]] == [
        ("greedy", True),
        ("first", True),
        ("whim", True),
    ]
    advice = do(client, told, "hint", policy=FIRST)
    first = told["legal"][0]
    assert advice["action"] == first["action"] and advice["value"] == 0.125
    likeliest = dict(advice["actions"][0])
    assert likeliest.pop("probability") == pytest.approx(0.9) and likeliest.items() <= first.items()
    assert do(client, told, "go-to", move=0) == told
    told = do(client, told, "advance", policy=FIRST)
    assert told["last"]["action"] == first["action"] and told["advice"] == advice
    assert saved(client, told).policy == f"human with {FIRST}"
    do(client, told, "go-to", move=0)
    assert saved(client, told).policy == "human"


def test_a_finished_game_has_no_advice(client: TestClient) -> None:
    told = deal(client, "eights-down", 132, moves_played=recorded_game("eights-down").actions)
    assert told["state"] == "won" and told["legal"] == []
    for policy in ("greedy", FIRST):
        assert "no move is legal" in do(client, told, "hint", 409, policy=policy)
        assert "no move is legal" in do(client, told, "advance", 409, policy=policy)
    assert "finished" in do(client, told, "move", 409, action="t1>f")


def test_failing_and_unsuitable_policies_are_reported(client: TestClient) -> None:
    told = deal(client)
    error = do(client, told, "advance", 500, policy=BROKEN)
    assert "failed: ZeroDivisionError, a policy's own mistake" in error
    error = do(client, told, "hint", 409, policy=PICKY)
    assert "cannot be created: no cells, allowed: games with cells" in error
    picky = next(policy for policy in do(client, told, "policies")["policies"] if policy["id"] == PICKY)
    assert picky["error"].endswith("no cells, allowed: games with cells") and not picky["rates"]
    do(client, deal(client, "eights-down"), "hint", policy=PICKY)
    with pytest.raises(ValueError, match="policy 'nothing:Here' plays no game: policy"):
        server.make_app(["nothing:Here"])


# ------------------------------------------------------------------------------------------ jobs


def settled(client: TestClient, job: Any) -> Any:
    for _ in range(2000):
        told = client.get(f"/api/jobs/{job['id']}").json()
        if told["state"] not in ("waiting", "playing"):
            return told
        time.sleep(0.01)
    raise AssertionError(told)


def test_win_rates_on_a_deal_are_measured(client: TestClient) -> None:
    told = deal(client, "eights-down", 132)
    # It always plays the same game.
    done = settled(client, do(client, told, "rates", policy=FIRST, games=50))
    assert (done["state"], done["games"], done["played"]) == ("done", 1, 1)
    done = settled(client, do(client, told, "rates", policy=WHIM, games=3))
    assert (done["state"], done["games"], done["played"]) == ("done", 3, 3)
    assert done["win_rate"] == done["wins"] / 3
    assert done["win_interval"] == pytest.approx(wilson_interval(done["wins"], 3))
    assert 0 < done["cards_home"] <= 52 and done["steps"] > 10
    assert done["steps"] % 1, "thrice the same game"
    failed = settled(client, do(client, told, "rates", policy=BROKEN, games=2))
    assert failed["state"] == "failed" and "ZeroDivisionError" in failed["error"]
    error = do(client, told, "rates", 400, policy=WHIM, games=1001)
    assert "allowed: a whole number from 1 to 1000" in error


def test_win_rates_from_a_position_shuffle_hidden_cards(client: TestClient) -> None:
    told = do(client, deal(client), "move", action="draw")
    done = settled(client, do(client, told, "rates", policy=FIRST, games=3, origin="position"))
    assert (done["state"], done["games"], done["played"]) == ("done", 3, 3), done
    assert "line" not in done
    # No card is hidden: a deterministic policy plays only one game.
    told = deal(client, "eights-down", 132, moves_played=recorded_game("eights-down").actions[:-2])
    done = settled(client, do(client, told, "rates", policy=FIRST, games=3, origin="position"))
    assert (done["played"], done["wins"]) == (1, 1)
    error = do(client, told, "rates", 400, policy=FIRST, origin="x")
    assert "unknown origin 'x', allowed: 'deal', 'position'" in error


def test_only_hidden_cards_are_shuffled() -> None:
    for name in ("klondike", "freecell"):
        env = SolitaireEnv(name)
        env.reset(options={"deal": 7})
        position = parse_position(env.position())
        one, same, other = (shuffled(position, seed) for seed in (0, 0, 1))
        assert one == same and (one != other) == (position != position.hidden())
        assert one.hidden() == other.hidden() == position.hidden()
        env.reset(options={"position": other})


def test_a_winnable_deal_comes_with_its_line() -> None:
    client = client_of("greedy")
    told = deal(client, "eights-down", 132)
    won = settled(client, do(client, told, "rates", policy="greedy"))
    assert won["wins"] == 1
    assert deal(client, "eights-down", 132, moves_played=won["line"])["state"] == "won"
    found = settled(client, do(client, told, "solve"))
    assert (found["state"], found["result"]) == ("done", "won")
    assert deal(client, "eights-down", 132, moves_played=found["line"])["state"] == "won"


def test_jobs_are_cancelled_and_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MAX_JOBS", 2)
    told = deal(client)
    first, second = (do(client, told, "rates", policy=SLOW, games=5) for _ in range(2))
    assert "2 jobs are waiting" in do(client, told, "rates", 429, policy=SLOW)
    for job in (second, first):
        assert client.post(f"/api/jobs/{job['id']}/cancel", json={}).status_code == 200
        assert settled(client, job)["state"] == "cancelled"
    again = do(client, told, "rates", policy=SLOW, games=1)
    client.post(f"/api/jobs/{again['id']}/cancel", json={})
    refused(client.get(f"/api/jobs/{first['id']}"), 404, "no job")


# --------------------------------------------------------------------------------------- command


def test_answers_do_not_wait_for_the_clients_acknowledgement() -> None:
    """Without TCP_NODELAY each answer on an open connection took 40 ms."""
    with server.listen("127.0.0.1", 0) as listener:
        client = socket.create_connection(listener.getsockname(), timeout=10)
        accepted, _ = listener.accept()
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        accepted.close()
        client.close()


def test_the_command_serves_until_interrupted() -> None:
    """A client that leaves within a request prints nothing; one that stops does not delay the end."""
    command = [sys.executable, "-W", "error", "-m", "solitaire_env", "serve", "--port", "0"]
    half = b"POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    half += b"Content-Length: 9\r\n\r\n{"
    process = subprocess.Popen(
        [*command, "--policy", FIRST], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        said = process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:([0-9]+)/) until Ctrl-C\n", said)
        assert found is not None, said + process.stderr.read()
        with socket.create_connection(("127.0.0.1", int(found[2])), timeout=10) as client:
            client.sendall(half)
        with urllib.request.urlopen(found[1], timeout=10) as answer:
            assert b"<title>Solitaire</title>" in answer.read()
        stuck = socket.create_connection(("127.0.0.1", int(found[2])), timeout=10)
        stuck.sendall(half)
        time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    stuck.close()
    assert process.returncode in (0, 130) and "ClientDisconnect" not in errors, errors


def test_several_policies_and_hosts_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda *args: asked.append((args[0], args[3], args[1].close())))
    names = ["--policy", FIRST, "--policy", WHIM, "--allow-host", "a.org", "--allow-host", "b.org"]
    assert cli.main(["serve", "--port", "0", *names]) == 0
    assert asked == [((FIRST, WHIM), ("a.org", "b.org"), None)]


def test_unavailable_ports_raise_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with server.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        for args, words in (
            (["--port", str(port)], f"cannot listen on '127.0.0.1', port {port}: Address already in use"),
            (["--port", "65536"], "port is 65536, allowed: 0 to 65535"),
            (["--host", "no.such.host.invalid"], "cannot listen on 'no.such.host.invalid', port 8000"),
            (["--port", "0", "--policy", "nothing"], "unknown policy 'nothing', allowed: random, greedy"),
        ):
            assert cli.main(["serve", *args]) == 2
            assert words in capsys.readouterr().err
