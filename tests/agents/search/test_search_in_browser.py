"""The browser's server uses search as any other policy."""

from __future__ import annotations

from agents.policies import load_search
from agents.search.budget import Budget
from solitaire_env.core import GameSpec
from solitaire_env.play.web.sessions import Sessions
from solitaire_env.policies import Policy


def small_search(spec: GameSpec) -> Policy:
    """Search with a small budget."""
    return load_search("search", spec, budget=Budget(simulations=2, candidates=2, nodes=20_000))


def test_hints_and_win_rates_of_search() -> None:
    name = f"{__name__}:small_search"
    sessions = Sessions([name])
    number = sessions.new({"game": "eights-down", "deal": "3"})["id"]
    table = sessions.table(number)
    hint = sessions.hint(number, table, {"policy": name})
    advice = sessions.advance(number, table, {"policy": name})["advice"]
    assert hint["plays"] == advice["plays"] == [move.text for move in table.session.played]
    rate = sessions.rate(number, table, {"policy": name, "games": 1})["rate"]
    sessions.worker.submit(lambda: None).result(timeout=300)
    state = sessions.job(rate).report()
    assert state["state"] == "done" and state["played"] == 1, state
    sessions.close()
