"""The browser's server uses search as any other policy."""

from __future__ import annotations

from agents.policies import load_search
from agents.search.budget import Budget
from solitaire_env.core import GameSpec
from solitaire_env.play.web.room import Room
from solitaire_env.policies import Policy


def small_search(spec: GameSpec) -> Policy:
    """Search with a small budget."""
    return load_search("search", spec, budget=Budget(simulations=2, candidates=2, nodes=20_000))


def test_hints_and_win_rates_of_search() -> None:
    name = f"{__name__}:small_search"
    room = Room([name])
    number = room.new({"game": "eights-down", "deal": "3"})["id"]
    table = room.table(number)
    hint = room.hint(number, table, {"policy": name})
    advice = room.advance(number, table, {"policy": name})["advice"]
    assert hint["plays"] == advice["plays"] == [move.text for move in table.session.played]
    rate = room.rate(number, table, {"policy": name, "games": 1})["rate"]
    room.worker.submit(lambda: None).result(timeout=300)
    state = room.job(rate).report()
    assert state["state"] == "done" and state["played"] == 1, state
    room.close()
