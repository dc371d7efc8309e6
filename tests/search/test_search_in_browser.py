"""The browser's server uses search as any other policy."""

from solitaire_env.core import GameSpec
from solitaire_env.loading import load_search
from solitaire_env.play.answers import Answers
from solitaire_env.policies import Policy
from solitaire_env.search.budget import Budget


def small_search(spec: GameSpec) -> Policy:
    """Search with a small budget."""
    return load_search(spec, budget=Budget(simulations=2, candidates=2, nodes=20_000))


def test_hints_and_win_rates_of_search() -> None:
    name = f"{__name__}:small_search"
    answers = Answers([name])
    body = {"game": "eights-down", "deal": 3, "policy": name}
    hint = answers.answer("hint", body, lambda: True)
    assert hint["plays"] and hint["plays"] == answers.answer("hint", body, lambda: True)["plays"]
    done = answers.answer("play-out", body, lambda: True)
    assert done["line"][: len(hint["plays"])] == hint["plays"]
