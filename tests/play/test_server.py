"""The server for playing in the browser: what it answers, refuses, stores and forgets."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from solitaire_env import cli
from solitaire_env.core.layout import action_layout
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import draw, wilson_interval
from solitaire_env.notation import parse_position
from solitaire_env.play import server as serve
from solitaire_env.play.web import board, sessions
from solitaire_env.play.web.jobs import shuffled
from solitaire_env.transcripts import parse_transcript, replay
from solitaire_env.variants import VARIANTS, Variant
from tests.games import ONE_PER_RULE
from tests.recorded import recorded_game

HOME = "http://127.0.0.1:8000"
FIRST, WHIM = "tests.play.test_server:First", "tests.play.test_server:Whim"
BROKEN, PICKY, SLOW = (
    "tests.play.test_server:Broken",
    "tests.play.test_server:Picky",
    "tests.play.test_server:Slow",
)


class First:
    """The first legal action, with an explanation."""

    name = "first"
    deterministic = True

    def __init__(self, spec: GameSpec) -> None:
        pass

    def __call__(self, observations: Any, masks: Any) -> Any:
        return masks.argmax(1)

    def explain(self, observations: Any, masks: Any) -> tuple[Any, Any]:
        return masks / masks.sum(1, keepdims=True), np.full(len(masks), 0.25)


class Whim:
    """A random legal action."""

    name = "whim"
    stochastic = True

    def __init__(self, spec: GameSpec) -> None:
        pass

    def __call__(self, observations: Any, masks: Any, *, uniforms: Any, games: Any) -> Any:
        return draw(masks, uniforms)


class Broken(First):
    """Raises an error."""

    def __call__(self, observations: Any, masks: Any) -> Any:
        raise ZeroDivisionError("a policy's own mistake")


class Picky(First):
    """Plays only games with cells."""

    def __init__(self, spec: GameSpec) -> None:
        if not spec.variant.cells:
            raise ValueError("no cells, allowed: games with cells")


class Quick:
    """A solver that knows one line."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant

    def solve_deal(self, deal: int | str, seconds: float) -> SimpleNamespace:
        line = tuple(map(action_layout(self.variant).parse, recorded_game("eights-down").actions))
        return SimpleNamespace(result="winnable", line=line)


class Slow(First):
    """Slow, and may cycle forever."""

    deterministic = False

    def __call__(self, observations: Any, masks: Any) -> Any:
        time.sleep(0.01)
        return masks.argmax(1)


def client_of(*policies: str) -> TestClient:
    return TestClient(serve.make_app(policies), base_url=HOME)


@pytest.fixture
def client() -> Iterator[TestClient]:
    client = client_of(FIRST, WHIM, BROKEN, PICKY, SLOW)
    yield client
    client.app.state.sessions.close()  # type: ignore[attr-defined]


def deal(client: TestClient, game: str = "busy-aces", deal: object = 7, **rules: str) -> Any:
    answer = client.post("/api/sessions", json={"game": game, "deal": deal, **rules})
    assert answer.status_code == 201, answer.text
    return answer.json()


def do(client: TestClient, told: Any, verb: str, code: int = 200, **body: object) -> Any:
    answer = client.post(f"/api/sessions/{told['id']}/{verb}", json=body)
    assert answer.status_code == code, answer.text
    if code != 200:
        assert list(answer.json()) == ["error"] and len(answer.json()["error"]) < 500
        return answer.json()["error"]
    return answer.json()


def refused(answer: Any, code: int, *words: str) -> None:
    assert answer.status_code == code, answer.text
    assert list(answer.json()) == ["error"]
    assert all(word in answer.json()["error"] for word in words), answer.text


# ----------------------------------------------------------------------------------------- games


def test_the_pages_and_the_games_are_served(client: TestClient) -> None:
    for path, kind in {"/": "text/html", "/board.js": "text/javascript", "/play.css": "text/css"}.items():
        answer = client.get(path)
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
    for wrong in ("/replay.js", "/__init__.py", "/..%2Fserve.py", "/api/none"):
        refused(client.get(wrong), 404)
    told = client.get("/api/games").json()
    assert [game["title"] for game in told["games"]] == [variant.title for variant in VARIANTS]
    assert told["rules"]["moves"] == ["one card", "supermove", "sequence", "any group"]


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_a_game_is_played_to_its_end_and_saved(client: TestClient, name: str) -> None:
    game = recorded_game(name)
    rules = {rule: getattr(game.variant, rule) for rule in ("build", "spaces", "moves")}
    told = deal(client, game.variant.name, str(game.deal), **rules)
    for step in replay(game):
        legal = {move["action"]: move for move in told["legal"]}
        move, before = legal[step.text], told["piles"]
        told = do(client, told, "move", action=step.text)
        assert told["piles"] == board(parse_position(step.position, game.variant).hidden())
        assert move["words"] == step.words
        if move["source"] != "stock":
            assert told["piles"][move["source"]] != before[move["source"]]
        assert told["piles"][move["targets"][0]] != before[move["targets"][0]]
    state = game.result.replace("truncated", "playing")  # the records of some games are truncated
    assert (told["state"], told["moves_played"]) == (state, len(game.actions))
    saved = client.get(f"/api/sessions/{told['id']}/transcript")
    named = f'attachment; filename="{game.variant.name}-{game.deal}.txt"'
    assert saved.headers["content-disposition"] == named
    again = parse_transcript(saved.text)
    assert again.policy == "human" and (again.actions, again.result) == (game.actions, game.result)
    list(replay(again))


def test_undo_and_restart_take_moves_back(client: TestClient) -> None:
    start = deal(client)
    assert "no move to take back" in do(client, start, "undo", 409)
    first = do(client, start, "move", action="draw")
    second = do(client, first, "move", action="draw")
    assert second["moves_played"] == 2 and second["last"]["action"] == "draw"
    assert do(client, second, "undo")["piles"] == first["piles"]
    assert do(client, second, "redo") == second
    assert "no move to redo" in do(client, second, "redo", 409)
    for again in (do(client, second, "restart"), do(client, start, "restart")):
        assert again == {**start, "moves_known": 2, "line": second["line"]}
    assert do(client, start, "go-to", move=2) == second
    assert "move is 3, allowed: 0 to 2" in do(client, start, "go-to", 400, move=3)
    assert "move is '1', allowed: a whole number" in do(client, start, "go-to", 400, move="1")
    draws = [["draw", "draw a card from the stock"]] * 2
    assert client.get(f"/api/sessions/{start['id']}").json()["line"] == draws
    do(client, start, "go-to", move=0)
    assert do(client, start, "move", action="draw")["moves_known"] == 2
    do(client, start, "undo")
    other = next(move["action"] for move in start["legal"] if move["action"] != "draw")
    assert do(client, start, "move", action=other)["moves_known"] == 1
    do(client, start, "undo")
    do(client, start, "move", action="draw")
    saved = parse_transcript(client.get(f"/api/sessions/{start['id']}/transcript").text)
    assert (saved.result, saved.steps, saved.deal) == ("truncated", 1, 7)


def test_a_game_starts_with_the_moves_of_a_link(client: TestClient) -> None:
    game = recorded_game("eights-down")
    told = deal(client, "eights-down", 132, moves_played=game.actions[:-3], at=40)
    assert (told["moves_played"], told["moves_known"]) == (40, len(game.actions) - 3)
    end = do(client, told, "go-to", move=told["moves_known"])
    assert len(end["moves_home"]) == 3 and do(client, told, "go-to", move=0)["moves_home"] == []
    do(client, told, "go-to", move=len(game.actions) - 3)
    for text in end["moves_home"]:
        end = do(client, told, "move", action=text)
    assert end["state"] == "won"
    body = {"game": "eights-down", "deal": 132}
    for wrong, words in (
        (["t7>f", "t1>t1"], "move 2 of the link, 't1>t1': "),
        ("t7>f", "moves_played is 't7>f', allowed: a list of at most 7000 action texts"),
        ([7], "moves_played is [7]"),
    ):
        refused(client.post("/api/sessions", json={**body, "moves_played": wrong}), 400, words)
    refused(client.post("/api/sessions", json={**body, "moves_played": [], "at": 1}), 400, "allowed: 0 to 0")


def test_deals_are_named_as_text_or_random(client: TestClient) -> None:
    assert deal(client, deal=str(2**63 - 1))["deal"] == "9223372036854775807"
    assert deal(client, deal="0")["piles"] == deal(client, deal=0)["piles"]
    assert deal(client, "eights-down", "ms:11982")["deal"] == "ms:11982"
    picked = {deal(client, deal="random")["deal"] for _ in range(3)}
    assert len(picked) == 3 and all(int(number) >= 2**20 for number in picked)


@pytest.mark.parametrize("game", ["forty-thieves", "eighty-thieves", "forty-bandits", "busy-aces"])
def test_the_order_of_the_stock_is_never_sent(client: TestClient, game: str) -> None:
    """Every answer is the same for any order of the stock."""
    answers = []
    for turned in (False, True):
        told = deal(client, game)
        table = client.app.state.sessions.tables[told["id"]]  # type: ignore[attr-defined]
        lines = table.session.env.position().split("\n")
        if turned:
            name, *cards = lines[1].split()
            lines[1] = " ".join([name, *cards[::-1]])
        table.session.env.reset(options={"position": "\n".join(lines)})
        urls = [f"/api/sessions/{told['id']}", f"/api/sessions/{told['id']}/policies"]
        texts = [client.get(url).text for url in urls]
        texts += [json.dumps(do(client, told, "hint", policy=policy)) for policy in ("hint", FIRST)]
        answers.append([text.replace(told["id"], "") for text in texts])
    assert answers[0] == answers[1]
    assert '"stock":' in answers[0][0] and "draw" in answers[0][0]


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"game": "klondyke"},
            ["unknown variant 'klondyke', allowed: one of the 76 games", "closest: klondike"],
        ),
        ({"game": 5}, ["game is 5, allowed: text"]),
        ({}, ["game is None, allowed: text"]),
        (
            {"game": "busy-aces", "deal": "x"},
            ["unknown deal 'x', allowed: a whole number, 'ms:N'", "'random'"],
        ),
        ({"game": "busy-aces", "deal": -1}, ["-1", "allowed: 0 to 2**63 - 1"]),
        ({"game": "busy-aces", "deal": 2**70}, ["allowed: 0 to 2**63 - 1"]),
        ({"game": "busy-aces", "deal": [1]}, ["[1]"]),
        ({"game": "busy-aces", "deal": 1.5}, ["1.5"]),
        ({"game": "busy-aces", "deal": "ms:0"}, ["deal 'ms:0' is out of range, allowed: ms:1 to"]),
        ({"game": "busy-aces", "moves": "two"}, ["moves is 'two', allowed: 'one card'"]),
        ({"game": "busy-aces", "tableau": [1]}, ["unknown keys ['tableau'], allowed: 'game', 'deal'"]),
    ],
)
def test_invalid_deals_are_refused(client: TestClient, body: dict[str, Any], words: list[str]) -> None:
    refused(client.post("/api/sessions", json=body), 400, *words)


def test_illegal_moves_are_refused_with_the_reason(client: TestClient) -> None:
    told = deal(client)
    assert "no action 'x'" in do(client, told, "move", 400, action="x")
    assert "action is None, allowed: text" in do(client, told, "move", 400)
    assert "t1" in do(client, told, "move", 409, action="t1>f")
    assert "unknown request 'cheat', allowed: move, undo" in do(client, told, "cheat", 404)
    assert "unknown policy 'x', allowed: 'hint', 'tests." in do(client, told, "hint", 400, policy="x")
    refused(client.post("/api/sessions/none/move", json={"action": "draw"}), 404, "no game 'none'")
    refused(client.get("/api/sessions/none"), 404, "no game 'none'")
    refused(client.get("/api/rates/none"), 404, "no job 'none'")
    assert client.get(f"/api/sessions/{told['id']}").json() == told


def test_requests_without_a_json_object_are_refused(client: TestClient) -> None:
    def post(content: bytes, kind: str = "application/json") -> Any:
        return client.post("/api/sessions", content=content, headers={"content-type": kind})

    body = b'{"game": "busy-aces"}'
    assert post(body).status_code == post(body, "application/json; charset=utf-8").status_code == 201
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        refused(post(body, kind), 415, "allowed: 'application/json'")
    refused(post(b"{"), 400, "not JSON")
    refused(post(b"\xff\xff"), 400, "not JSON")
    refused(post(b"[" * 5000), 400, "not JSON")
    refused(post(b"[]"), 400, "a list, allowed: an object")
    refused(post(b" " * (serve.MAX_BODY + 1)), 413, f"at most {serve.MAX_BODY} bytes")
    refused(client.delete("/api/sessions"), 405)


def test_other_sites_are_refused(client: TestClient) -> None:
    def status(**headers: str) -> int:
        answer = client.post("/api/sessions", json={"game": "busy-aces"}, headers=headers)
        if answer.status_code != 201:
            assert "allowed" in answer.json()["error"]
        return answer.status_code

    assert status(origin=HOME) == status(host="localhost:8000", origin="http://localhost:8000") == 201
    assert status(host="[::1]:8000") == status(host="192.168.0.9:1") == 201
    for origin in ("http://evil.example", "null", "http://127.0.0.1:8001", "https://127.0.0.1.evil.example"):
        assert status(origin=origin) == 403
    # Their name, which resolves to this machine.
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[", "localhost.evil"):
        assert status(host=host) == 403
        assert client.get("/", headers={"host": host}).status_code == 403


def test_allowed_hosts_are_accepted() -> None:
    """The names of a proxy, with any port, as host and as origin; no others."""
    with TestClient(serve.make_app((), "Me", ["Games.example.org", "b_2"]), base_url=HOME) as client:

        def status(host: str, origin: str | None = None) -> int:
            headers = {"host": host} | ({"origin": origin} if origin else {})
            return client.post("/api/sessions", json={"game": "busy-aces"}, headers=headers).status_code

        for host in ("games.example.org", "GAMES.example.org:8443", "b_2", "me:80", "localhost", "10.0.0.1"):
            assert status(host) == 201, host
        # The proxy passes on the host of the request, or this server's own.
        for host in ("games.example.org", "localhost:8000"):
            for origin in ("https://games.example.org", "http://games.example.org:8443", f"https://{host}"):
                assert status(host, origin) == 201, (host, origin)
            for origin in ("https://example.org", "ftp://games.example.org", "games.example.org", "null"):
                assert status(host, origin) == 403, (host, origin)
        for host in ("example.org", "x.games.example.org", "games.example.org.evil", "b"):
            assert status(host) == 403, host
        refusal = client.get("/", headers={"host": "evil.example"}).json()["error"]
        assert "'games.example.org'" in refusal and "--allow-host" in refusal


@pytest.mark.parametrize(
    "name",
    ["", "*", "*.example.org", "https://a.org", "a.org:80", "a.org/x", "a b", "-a.org", "a..org", "a.org.",
     "ä", "[::1]", "a" * 64, ".".join(["a" * 60] * 5)],
)  # fmt: skip
def test_invalid_host_names_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--port", "0", f"--allow-host={name}"]) == 2
    assert "--allow-host is" in (errors := capsys.readouterr().err) and "games.example.org" in errors


def test_every_answer_has_security_headers(client: TestClient) -> None:
    for answer in (
        client.get("/"),
        client.get("/api/games"),
        client.get("/none"),
        client.get("/", headers={"host": "evil.example"}),
    ):
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


# ---------------------------------------------------------------------------------------- bounds


def test_the_game_that_was_idle_longest_is_dropped(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 3)
    games = [deal(client) for _ in range(3)]
    do(client, games[0], "move", action="draw")
    games.append(deal(client))
    kept = [client.get(f"/api/sessions/{told['id']}").status_code for told in games]
    assert kept == [200, 404, 200, 200]


def test_the_number_of_moves_is_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_MOVES", 2)
    monkeypatch.setattr(sessions, "MAX_KEPT", 3)
    games = [deal(client), deal(client)]
    for told in games:
        for _ in range(2):
            do(client, told, "move", action="draw")
    assert "has 2 moves, the maximum" in do(client, games[1], "move", 409, action="draw")
    assert "no game" in do(client, games[0], "undo", 404)
    assert do(client, games[1], "undo")["moves_played"] == 1


def test_parallel_games_do_not_mix(client: TestClient) -> None:
    names = [name for name in ONE_PER_RULE if len(recorded_game(name).actions) < 160]
    assert len(names) > 2

    def play(name: str) -> tuple[Any, Any]:
        game = recorded_game(name)
        rules = {rule: getattr(game.variant, rule) for rule in ("build", "spaces", "moves")}
        told = deal(client, game.variant.name, game.deal, **rules)
        for action in game.actions:
            told = do(client, told, "move", action=action)
        *_, last = replay(game)
        return told["piles"], board(parse_position(last.position, game.variant).hidden())

    with ThreadPoolExecutor(len(names)) as pool:
        for got, expected in pool.map(play, names):
            assert got == expected


def test_parallel_requests_keep_a_game_consistent(client: TestClient) -> None:
    told = deal(client)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: do(client, told, "move", action="draw"), range(40)))
    env = SolitaireEnv("busy-aces")
    env.reset(options={"deal": 7})
    for _ in range(40):
        env.step(env.parse_action("draw"))
    now = client.get(f"/api/sessions/{told['id']}").json()
    assert now["moves_played"] == 40 and now["piles"] == board(parse_position(env.position()))


# -------------------------------------------------------------------------------------- policies


def test_the_built_in_hint_needs_no_policy() -> None:
    client = client_of()
    told = deal(client, "eights-down", 132)
    listed = client.get(f"/api/sessions/{told['id']}/policies").json()["policies"]
    assert listed == [{"id": "hint", "name": "hint", "error": "", "rates": False}]
    advice = do(client, told, "hint", policy="hint")
    assert (advice["action"], advice["words"]) == ("t7>f", "AH home, from t7")
    assert advice["value"] is None and advice["actions"] == []
    assert do(client, told, "advance", policy="hint")["last"]["action"] == "t7>f"
    assert "allowed for win rates: a policy named by --policy" in do(
        client, told, "rates", 400, policy="hint"
    )


def test_policies_give_hints_and_play_on(client: TestClient) -> None:
    told = deal(client)
    listed = client.get(f"/api/sessions/{told['id']}/policies").json()["policies"]
    assert [(p["name"], p["rates"]) for p in listed[:3]] == [("hint", False), ("first", True), ("whim", True)]
    advice = do(client, told, "hint", policy=FIRST)
    legal = [move["action"] for move in told["legal"]]
    assert advice["action"] == legal[0] and advice["value"] == 0.25
    first = dict(advice["actions"][0])
    assert first.pop("probability") == pytest.approx(1 / len(legal))
    assert first.items() <= told["legal"][0].items() and first["action"] == legal[0]
    assert client.get(f"/api/sessions/{told['id']}").json() == told
    told = do(client, told, "advance", policy=FIRST)
    assert told["last"]["action"] == legal[0] and told["advice"] == advice
    saved = parse_transcript(client.get(f"/api/sessions/{told['id']}/transcript").text)
    assert saved.policy == f"human with {FIRST}"
    do(client, told, "restart")
    assert "policy: human\n" in client.get(f"/api/sessions/{told['id']}/transcript").text


def test_a_finished_game_has_no_advice(client: TestClient) -> None:
    game = recorded_game("eights-down")
    told = deal(client, "eights-down", 132)
    for action in game.actions:
        told = do(client, told, "move", action=action)
    assert told["state"] == "won" and told["legal"] == []
    for policy in ("hint", FIRST):
        assert "no move is legal" in do(client, told, "hint", 409, policy=policy)
        assert "no move is legal" in do(client, told, "advance", 409, policy=policy)
    assert "finished" in do(client, told, "move", 409, action="t1>f")


def test_failing_and_unsuitable_policies_are_reported(client: TestClient) -> None:
    told = deal(client)
    assert "failed: ZeroDivisionError, a policy's own mistake" in do(
        client, told, "advance", 500, policy=BROKEN
    )
    assert "cannot be created: no cells, allowed: games with cells" in do(
        client, told, "hint", 409, policy=PICKY
    )
    listed = client.get(f"/api/sessions/{told['id']}/policies").json()["policies"]
    picky = next(policy for policy in listed if policy["id"] == PICKY)
    assert picky["error"].endswith("no cells, allowed: games with cells") and not picky["rates"]
    do(client, deal(client, "eights-down"), "hint", policy=PICKY)
    with pytest.raises(ValueError, match="policy 'nothing:Here' plays no game: policy"):
        serve.make_app(["nothing:Here"])


def settled(client: TestClient, rate: str) -> Any:
    for _ in range(2000):
        told = client.get(f"/api/rates/{rate}").json()
        if told["state"] not in ("waiting", "playing"):
            return told
        time.sleep(0.01)
    raise AssertionError(told)


def test_win_rates_on_a_deal_are_measured(client: TestClient) -> None:
    told = deal(client, "eights-down", 132)
    asked = do(client, told, "rates", policy=FIRST, games=50)
    done = settled(client, asked["rate"])
    # It always plays the same game.
    assert asked["games"] == 1 and (done["state"], done["played"]) == ("done", 1)
    done = settled(client, do(client, told, "rates", policy=WHIM, games=3)["rate"])
    assert (done["state"], done["games"], done["played"]) == ("done", 3, 3)
    assert done["win_rate"] == done["wins"] / 3
    assert done["win_interval"] == pytest.approx(wilson_interval(done["wins"], 3))
    assert 0 < done["cards_home"] <= 52 and done["steps"] > 10
    assert done["steps"] % 1, "thrice the same game"
    failed = settled(client, do(client, told, "rates", policy=BROKEN, games=2)["rate"])
    assert failed["state"] == "failed" and "ZeroDivisionError" in failed["error"]
    for games in (0, 1001, True, "5", None):
        error = do(client, told, "rates", 400, policy=WHIM, games=games)
        assert "allowed: a whole number from 1 to 1000" in error


def test_win_rates_from_a_position_shuffle_hidden_cards(client: TestClient) -> None:
    told = do(client, deal(client), "move", action="draw")
    asked = do(client, told, "rates", policy=FIRST, games=3, **{"from": "position"})
    done = settled(client, asked["rate"])
    assert (done["state"], done["games"], done["played"]) == ("done", 3, 3), done
    assert "line" not in done
    # No card is hidden: a deterministic policy plays only one game.
    told = deal(client, "eights-down", 132, moves_played=recorded_game("eights-down").actions[:-2])
    done = settled(client, do(client, told, "rates", policy=FIRST, games=3, **{"from": "position"})["rate"])
    assert (done["played"], done["wins"]) == (1, 1)
    assert "from is 'x', allowed: 'deal' or 'position'" in do(
        client, told, "rates", 400, policy=FIRST, **{"from": "x"}
    )


def test_only_hidden_cards_are_shuffled() -> None:
    for name in ("klondike", "double-klondike", "yukon", "freecell"):
        env = SolitaireEnv(name)
        env.reset(options={"deal": 7})
        position = parse_position(env.position())
        others = [shuffled(position, seed) for seed in (0, 0, 1)]
        assert others[0] == others[1] and (others[1] != others[2]) == (position != position.hidden())
        for other in others:
            assert other.hidden() == position.hidden()
            env.reset(options={"position": other})


def test_a_winnable_deal_comes_with_its_line() -> None:
    client = client_of("greedy")
    told = deal(client, "eights-down", 132)
    assert "the server has no solver" in do(client, told, "solve", 409)
    assert client.get("/api/games").json()["solver"] is False
    won = settled(client, do(client, told, "rates", policy="greedy")["rate"])
    assert won["wins"] == 1
    assert deal(client, "eights-down", 132, moves_played=won["line"])["state"] == "won"
    client = TestClient(serve.make_app(solver="tests.play.test_server:Quick"), base_url=HOME)
    told = deal(client, "eights-down", 132)
    found = settled(client, do(client, told, "solve")["rate"])
    assert (found["state"], found["result"]) == ("done", "winnable")
    assert deal(client, "eights-down", 132, moves_played=found["line"])["state"] == "won"
    with pytest.raises(ValueError, match="'nothing:Here' cannot be loaded"):
        serve.make_app(solver="nothing:Here")


def test_win_rates_are_cancelled_and_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_RATES", 2)
    told = deal(client)
    first, second = (do(client, told, "rates", policy=SLOW, games=5)["rate"] for _ in range(2))
    assert "2 jobs are waiting" in do(client, told, "rates", 429, policy=SLOW)
    for rate in (second, first):
        assert client.post(f"/api/rates/{rate}/cancel", json={}).status_code == 200
        assert settled(client, rate)["state"] == "cancelled"
    again = do(client, told, "rates", policy=SLOW, games=1)["rate"]
    client.post(f"/api/rates/{again}/cancel", json={})
    refused(client.get(f"/api/rates/{first}"), 404, "no job")


# ----------------------------------------------------------------------------------- connections


class Gate(First):
    """Answers when the test opens the gate."""

    deterministic = False
    entered = threading.Semaphore(0)
    opened = threading.Event()

    def __call__(self, observations: Any, masks: Any) -> Any:
        self.entered.release()
        assert self.opened.wait(60)
        return masks.argmax(1)


@contextmanager
def running(*policies: str, buffer: int | None = None) -> Iterator[int]:
    """The port of a server; with a buffer, that many bytes of an answer are sent before the client reads."""
    app = serve.make_app(policies)
    with serve.listen("127.0.0.1", 0) as listener:
        if buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        server = serve.make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()
            app.state.sessions.close()


def request(port: int, path: str, body: object = None, on: HTTPConnection | None = None) -> tuple[int, Any]:
    """The status and the answer of a request, on a new connection unless one is given."""
    connection = on or HTTPConnection("127.0.0.1", port, timeout=60)
    text = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, text, {"content-type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    if on is None:
        connection.close()
    return answer.status, json.loads(content)


def test_an_open_connection_answers_as_fast_as_a_new_one() -> None:
    with running() as port:
        kept = HTTPConnection("127.0.0.1", port, timeout=60)
        seconds: dict[HTTPConnection | None, list[float]] = {kept: [], None: []}
        for _ in range(15):
            for on, times in seconds.items():
                start = time.perf_counter()
                assert request(port, "/api/games", on=on)[0] == 200
                times.append(time.perf_counter() - start)
        kept.close()
    assert np.median(seconds[kept]) < 4 * np.median(seconds[None]), seconds


HEADERS = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
HALF_BODY = b"POST /api/sessions HTTP/1.1\r\n" + HEADERS + b"{"
PAGES = b"GET /board.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 30


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\nHost: loc", HALF_BODY, PAGES],
    ids=["send nothing", "half of the headers", "half of the body", "do not read"],
)
def test_clients_that_stop_do_not_stop_others(sent: bytes) -> None:
    with running(buffer=5_000) as port, ExitStack() as stack:
        for number in range(serve.MAX_CONNECTIONS + 50):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 5_000)
            client.connect(("127.0.0.1", port))
            client.sendall(sent)
            if number % 10 == 0:
                assert request(port, "/api/games")[0] == 200
        for _ in range(20):
            assert request(port, "/api/sessions", {"game": "freecell"})[0] == 201


def test_connections_that_wait_for_the_server_are_never_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "MAX_CONNECTIONS", 3)
    gate = "tests.play.test_server:Gate"
    with running(gate) as port, ThreadPoolExecutor(3) as pool, ExitStack() as stack:
        stack.callback(Gate.opened.set)
        dealt = [request(port, "/api/sessions", {"game": game})[1] for game in ("freecell", "yukon", "zebra")]
        hints = [f"/api/sessions/{told['id']}/hint" for told in dealt]
        waiting = [pool.submit(request, port, hint, {"policy": gate}) for hint in hints]
        for _ in hints:
            assert Gate.entered.acquire(timeout=60)
        for _ in range(5):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        status, answer = request(port, "/api/games")
        assert (status, list(answer)) == (503, ["error"]) and "wait for an answer" in answer["error"]
        Gate.opened.set()
        assert [answer.result()[0] for answer in waiting] == [200] * 3
        assert request(port, "/api/games")[0] == 200


# --------------------------------------------------------------------------------------- command


def test_the_command_serves_until_interrupted() -> None:
    command = [sys.executable, "-W", "error", "-m", "solitaire_env", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--policy", FIRST], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        said = process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:([0-9]+)/) until Ctrl-C\n", said)
        assert found is not None, said + process.stderr.read()
        with urllib.request.urlopen(found[1], timeout=10) as answer:
            assert b"<title>Solitaire</title>" in answer.read()
        with socket.create_connection(("127.0.0.1", int(found[2])), timeout=10) as client:
            client.sendall(HALF_BODY)
        left = "WARNING:  127.0.0.1 left before the end of its request POST '/api/sessions'\n"
        assert process.stderr.readline() == left
        stuck = socket.create_connection(("127.0.0.1", int(found[2])), timeout=10)
        stuck.sendall(HALF_BODY)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    stuck.close()
    assert process.returncode in (0, 130) and errors in ("", left)


def test_several_policies_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    names: list[tuple[str, ...]] = []

    def ask(
        policies: tuple[str, ...],
        listener: socket.socket,
        host: str,
        allowed: tuple[str, ...],
        solver: str | None,
    ) -> None:
        assert solver is None
        listener.close()
        asked.append(policies)
        names.append(allowed)

    monkeypatch.setattr(serve, "serve", ask)
    assert cli.main(["serve", "--port", "0", "--policy", FIRST, "--policy", WHIM]) == 0
    assert cli.main(["serve", "--port", "0", "--allow-host", "a.org", "--allow-host", "b.org"]) == 0
    assert asked == [(FIRST, WHIM), ()] and names == [(), ("a.org", "b.org")]


def test_unavailable_ports_raise_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with serve.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        for args, words in (
            (["--port", str(port)], f"cannot listen on '127.0.0.1', port {port}: Address already in use"),
            (["--port", "65536"], "port is 65536, allowed: 0 to 65535"),
            (["--host", "no.such.host.invalid"], "cannot listen on 'no.such.host.invalid', port 8000"),
            (["--port", "0", "--policy", "nothing"], "unknown policy 'nothing', allowed: random, greedy"),
        ):
            assert cli.main(["serve", *args]) == 2
            assert words in capsys.readouterr().err


def test_the_error_without_the_extra_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "solitaire_env.play.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert cli.main(["serve"]) == 2
    assert 'pip install "solitaire-env[web]"' in capsys.readouterr().err
