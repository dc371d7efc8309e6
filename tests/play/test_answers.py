"""What the server answers for what a browser lacks: policies of one's own, the data of games."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from solitaire_env.env import SolitaireEnv
from solitaire_env.play import answers as module
from solitaire_env.play.answers import Answers, Cancelled, Refused
from solitaire_env.play.page_data import game_data
from solitaire_env.variants import get_variant
from tests.games import ONE_PER_RULE
from tests.recorded import recorded_game

FIRST, WHIM, BROKEN, PICKY, SLOW = (
    f"tests.play.policies:{name}" for name in ("First", "Whim", "Broken", "Picky", "Slow")
)
BUSY: dict[str, Any] = {"game": "busy-aces", "deal": 7}
EIGHTS: dict[str, Any] = {"game": "eights-down", "deal": 132}


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers([FIRST, WHIM, BROKEN, PICKY, SLOW, "greedy"])


def ask(answers: Answers, what: str, wanted: Callable[[], bool] = lambda: True, /, **body: Any) -> Any:
    """The answer, as a browser gets it."""
    return json.loads(json.dumps(answers.answer(what, body, wanted)))


def refused(
    answers: Answers, what: str, kind: type[Exception], *words: str, status: int = 0, **body: Any
) -> None:
    with pytest.raises(kind) as error:
        ask(answers, what, **body)
    assert all(word in str(error.value) for word in words), error.value
    assert getattr(error.value, "status", 0) == status


# ---------------------------------------------------------------------------------------- games


def test_the_data_of_a_game_with_house_rules_is_that_of_a_published_game(answers: Answers) -> None:
    rules = {"build": "any suit", "spaces": "any", "moves": "supermove"}
    told = ask(answers, "game", game="klondike", rules=rules)
    variant = get_variant("klondike").with_rules(**rules)
    assert told == json.loads(json.dumps(game_data(variant)))
    assert told["describe"] != game_data(get_variant("klondike"))["describe"]
    assert ask(answers, "game", game="klondike") == json.loads(json.dumps(game_data(get_variant("klondike"))))


def test_wrong_games_rules_deals_and_moves_are_refused(answers: Answers) -> None:
    hint = {**BUSY, "policy": FIRST}
    for change, words in (
        ({"game": "klondyke"}, ["unknown variant 'klondyke'"]),
        ({"game": 5}, ["game is a int, allowed: str"]),
        ({"deal": "x"}, ["unknown deal 'x'"]),
        ({"deal": [1]}, ["[1]"]),
        ({"rules": {"moves": "two"}}, ["moves is 'two', allowed: 'one card'"]),
        ({"rules": {"tableau": [1]}}, ["unknown rule 'tableau', allowed: 'build', 'spaces', 'moves'"]),
        ({"rules": "x"}, ["rules is a str, allowed: an object"]),
        ({"moves": "draw"}, ["moves is a str, allowed: a list of texts"]),
        ({"moves": ["draw", "t1>t1"]}, ["move 2, 't1>t1': "]),
        ({"moves": ["t1>f"]}, ["move 1, 't1>f': illegal action"]),
        ({"moves": [7]}, ["move 1, 7: "]),
        ({"moves": ["draw"] * 7001}, ["allowed: at most 7000"]),
        ({"decisions": -1}, ["decisions is -1, allowed: a whole number"]),
        ({"likeliest": "no"}, ["likeliest is 'no', allowed: True or False"]),
        ({"policy": "x"}, ["unknown policy 'x', allowed: 'tests."]),
        ({"session": 1}, ["unexpected keyword argument 'session'"]),
    ):
        with pytest.raises((ValueError, TypeError)) as error:
            ask(answers, "hint", **{**hint, **change})
        assert all(word in str(error.value) for word in words), (change, error.value)
    refused(answers, "hint", TypeError, "missing a required argument: 'policy'", **BUSY)
    refused(answers, "cheat", Refused, "unknown request 'cheat', allowed: game, policies", status=404)
    # Nothing is left of a refused request.
    assert ask(answers, "hint", **hint)["action"] == SolitaireEnv("busy-aces").action_text(0)


# ------------------------------------------------------------------------------------- policies


def test_policies_are_listed_with_what_they_cannot_play(answers: Answers) -> None:
    listed = {policy["id"]: policy for policy in ask(answers, "policies", game="busy-aces")["policies"]}
    assert [listed[name]["name"] for name in (FIRST, WHIM, "greedy")] == ["first", "whim", "greedy"]
    assert [listed[name]["varies"] for name in (FIRST, WHIM, "greedy")] == [False, True, False]
    assert not listed[FIRST]["error"]
    assert listed[PICKY]["error"].endswith("no cells, allowed: games with cells")
    refused(answers, "hint", Refused, "no cells", status=409, **BUSY, policy=PICKY)
    ask(answers, "hint", **EIGHTS, policy=PICKY)
    assert answers.offers() == {"policies": answers.policies}
    with pytest.raises(ValueError, match="policy 'nothing:Here' plays no game: policy"):
        Answers(["nothing:Here"])


def test_a_hint_has_its_places_and_probabilities(answers: Answers) -> None:
    advice = ask(answers, "hint", **EIGHTS, policy="greedy")
    assert advice == {
        "policy": "greedy", "action": "t7>f", "source": "t7", "targets": ["f3"], "count": 1,
        "plays": ["t7>f"], "value": None, "actions": [],
    }  # fmt: skip
    advice = ask(answers, "hint", **BUSY, policy=FIRST)
    assert advice["value"] == 0.125 and advice["actions"][0]["probability"] == pytest.approx(0.9)
    assert advice["actions"][0]["action"] == advice["action"]
    won = recorded_game("eights-down").actions
    refused(answers, "hint", Refused, "no move is legal", status=409, **EIGHTS, policy=FIRST, moves=won)
    refused(answers, "hint", Refused, "failed: ZeroDivisionError, a policy's own mistake", status=500,
            **BUSY, policy=BROKEN)  # fmt: skip


def test_a_hint_depends_on_the_request_alone(answers: Answers) -> None:
    """Whatever was asked before: other moves of the deal, other deals, more of them than are kept."""
    requests = [
        {"game": game, "deal": deal, "moves": ["draw"] * moves, "policy": policy, "decisions": moves}
        for game in ("busy-aces", "forty-thieves")
        for deal in (3, "pysol:24", 5, 6, 7)
        for moves in (4, 0, 2)
        for policy in (FIRST, WHIM)
    ]
    first = [ask(Answers([FIRST, WHIM]), "hint", **request) for request in requests[::7]]
    for _ in range(2):
        assert [ask(answers, "hint", **request) for request in requests][::7] == first
    assert len(answers._sessions) == module.GAMES_KEPT


def test_parallel_requests_get_the_same_answers(answers: Answers) -> None:
    def hint(number: int) -> Any:
        return ask(answers, "hint", **BUSY, policy=FIRST, moves=["draw"] * (number % 5))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(hint, range(60))) == [hint(number) for number in range(60)]


@pytest.mark.parametrize("name", [name for name, variant in ONE_PER_RULE.items() if variant.hides_cards])
def test_answers_contain_no_hidden_card(answers: Answers, name: str) -> None:
    hint = ask(answers, "hint", game=name, deal=8, policy=FIRST)
    names = {key for key in hint} | {key for option in hint["actions"] for key in option}
    assert names == {
        "policy",
        "action",
        "source",
        "targets",
        "count",
        "plays",
        "value",
        "actions",
        "probability",
    }


# -------------------------------------------------------------------------------------- long work


def test_a_policy_plays_a_deal_out(answers: Answers) -> None:
    done = ask(answers, "play-out", **EIGHTS, policy="greedy")
    assert (done["won"], done["home"], done["only"]) == (True, 52, True) and done["steps"] == len(
        done["line"]
    )
    env = SolitaireEnv("eights-down", on_invalid="raise")
    env.reset(options={"deal": 132})
    for text in done["line"]:
        env.step(env.parse_action(text))
    assert env.position().count("13") == 4
    games = [ask(answers, "play-out", **EIGHTS, policy=WHIM, seed=seed) for seed in (0, 1, 0)]
    assert games[0] == games[2] != games[1] and not games[0]["only"]
    refused(answers, "play-out", Refused, "ZeroDivisionError", status=500, **BUSY, policy=BROKEN)
    for change in ({"seed": 1001}, {"origin": "x"}):
        refused(answers, "play-out", ValueError, "allowed: ", **BUSY, policy=FIRST, **change)


def test_a_game_from_a_position_has_other_hidden_cards_for_each_seed(answers: Answers) -> None:
    here = {**BUSY, "moves": ["draw"], "policy": FIRST, "origin": "position"}
    games = [ask(answers, "play-out", **here, seed=seed) for seed in range(4)]
    assert all("line" not in game and not game["only"] for game in games)
    assert len({json.dumps(game) for game in games}) > 1
    # No card is hidden: a deterministic policy would play the same game again.
    moves = recorded_game("eights-down").actions[:-2]
    done = ask(answers, "play-out", **EIGHTS, moves=moves, policy=FIRST, origin="position")
    assert done == {"won": True, "home": 52, "steps": 2, "only": True}


def test_work_that_nobody_waits_for_is_cancelled(answers: Answers) -> None:
    start = time.monotonic()
    with pytest.raises(Cancelled):
        ask(answers, "play-out", lambda: False, game="freecell", deal=11982, policy=SLOW)
    assert time.monotonic() - start < 10 and answers.waiting == 0


def test_long_work_is_done_one_at_a_time_and_delays_no_hint(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    go, running, most = Event(), 0, 0

    def slow(*_: Any, **__: Any) -> Any:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        assert go.wait(30)
        running -= 1
        raise ValueError("enough")

    monkeypatch.setattr(module, "Runner", slow)
    game = {**EIGHTS, "policy": FIRST}
    with ThreadPoolExecutor(5) as pool:
        futures = [pool.submit(ask, answers, "play-out", **game) for _ in range(3)]
        while answers.waiting < 3:
            time.sleep(0.01)
        refused(answers, "play-out", Refused, "3 requests are waiting", status=429, **game)
        assert ask(answers, "hint", **game)
        go.set()
        assert all("enough" in str(future.exception(30)) for future in futures)
    assert most == 1 and answers.waiting == 0
