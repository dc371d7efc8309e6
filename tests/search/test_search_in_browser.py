"""The browser's server uses search as any other policy."""

from solitaire_env.core import GameSpec
from solitaire_env.loading import load_search
from solitaire_env.play.games import GameStore
from solitaire_env.policies import Policy
from solitaire_env.search.budget import Budget


def small_search(spec: GameSpec) -> Policy:
    """Search with a small budget."""
    return load_search(spec, budget=Budget(simulations=2, candidates=2, nodes=20_000))


def test_hints_and_win_rates_of_search() -> None:
    name = f"{__name__}:small_search"
    games = GameStore([name])
    session = games.session(games.new("eights-down", 3)["id"])
    hint = games.hint(session, name)
    advice = games.advance(session, name)["advice"]
    assert hint["plays"] == advice["plays"] == [move.text for move in session.played]
    job = games.job(games.rate(session, name, 1)["id"])
    games.worker.submit(lambda: None).result(timeout=300)
    report = job.report()
    assert report["state"] == "done" and report["played"] == 1, report
    games.close()
