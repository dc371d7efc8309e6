"""The search budget of a game: its defaults, and what the user names instead."""

from pathlib import Path
from typing import Any

import pytest

from agents import evaluate
from agents.commands import leaderboard
from agents.results import stored
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import read_results
from solitaire_env.loading import load_search
from solitaire_env.search import budget as budgets
from solitaire_env.search.budget import HIDDEN_SIMULATIONS, SIMULATIONS, TREE_SIMULATIONS, Budget
from solitaire_env.search.collapsed import collapses
from solitaire_env.variants import VARIANTS, get_variant


def test_each_game_has_a_default_and_named_values_win() -> None:
    trees = 0
    for variant in VARIANTS:
        is_tree = collapses(variant)
        trees += is_tree
        known = HIDDEN_SIMULATIONS if variant.hides_cards and not is_tree else SIMULATIONS
        expected = TREE_SIMULATIONS if is_tree else known
        assert Budget().of_game(variant) == Budget(simulations=expected)
        assert Budget(candidates=3).of_game(variant) == Budget(simulations=expected, candidates=3)
        assert Budget(simulations=77, nodes=5).of_game(variant) == Budget(simulations=77, nodes=5)
        # With a limit of time, the clock is read after this number of simulations.
        timed = Budget(milliseconds=20.0)
        assert timed.of_game(variant) == Budget(simulations=known, milliseconds=20.0)
    assert 2 <= trees < len(VARIANTS) / 2 and TREE_SIMULATIONS > SIMULATIONS


@pytest.mark.parametrize("game", ["klondike-draw-3", "forty-thieves"])
def test_the_fingerprint_names_the_default_budget(game: str) -> None:
    """Rows that were played with it are those of the budget that is named in full."""
    spec = GameSpec(get_variant(game))
    number = TREE_SIMULATIONS if game == "klondike-draw-3" else SIMULATIONS
    given: list[Budget | None] = [None, Budget(), Budget(simulations=number), Budget(simulations=number + 1)]
    fingerprints = [load_search(spec, budget=budget).fingerprint for budget in given]
    assert fingerprints[0] == fingerprints[1] == fingerprints[2] != fingerprints[3]


def test_search_by_default_plays_the_stored_games(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    command = ["--policy", "search", "--env", "klondike-draw-3", "--deals", "1", "--quiet"]
    assert evaluate.main([*command, "--games", str(path)]) == 0
    [known] = [game for game in stored.games_of("search", "klondike-draw-3/4000") if game.deal == 1]
    [game] = read_results(path)
    assert game == known and game.fingerprint == known.fingerprint


def test_stored_games_record_the_default_budget(empty_stores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "TREE_SIMULATIONS", 9)
    entry = ["add", "search", "klondike/mine", "--policy", "search", "--deals", "0:2", "--quiet"]
    assert leaderboard.main(entry) == 0
    kept: Any = stored.read_abouts("search")["klondike/mine"].budget
    assert Budget(**kept) == Budget(simulations=9)
    replay = ["replay", "klondike/mine", "--table", "search", "--quiet"]
    assert leaderboard.main(replay) == 0


def test_the_help_names_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        evaluate.main(["--help"])
    words = " ".join(capsys.readouterr().out.replace("│", " ").split())
    numbers = (
        f"{TREE_SIMULATIONS} in games like Klondike, {HIDDEN_SIMULATIONS} in others with face-down cards, "
        f"{SIMULATIONS} in the rest"
    )
    assert f"(default: {numbers})" in words
