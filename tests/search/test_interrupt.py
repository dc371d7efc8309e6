"""Ctrl-C ends every search: nothing is stored of the game or deal that it interrupts."""

import json
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents import evaluate, solve
from agents.commands import leaderboard
from agents.playing import recording
from agents.results.solver_results import read_solver_results
from agents.solve import check_line
from solitaire_env import cli
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.evaluation import Runner, read_results
from solitaire_env.loading import load_search
from solitaire_env.search import beam, budget, exhaustive, player, solver, tree_player
from solitaire_env.search.budget import Budget
from solitaire_env.search.collapsed import Collapsed
from solitaire_env.search.solver import SolverInterrupted
from solitaire_env.solving import load_solver
from solitaire_env.util.progress import ProgressLine
from solitaire_env.variants import get_variant

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, int], None]:
    """A function: press Ctrl-C in the numbered call of a function of a module, or of a method."""

    def press(place: Any, name: str, number: int) -> None:
        calls = 0
        real = getattr(place, name)

        def interrupted(*args: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                raise KeyboardInterrupt
            return real(*args)

        monkeypatch.setattr(place, name, interrupted)

    return press


STAGES = {
    "collapsed": ("klondike", 2, Collapsed, "explore", 1, "open"),
    "rollouts": ("freecell", 0, solver, "nested_rollouts", 1, "open"),
    "exhaustive": ("eights-down", 251, exhaustive, "explore", 1, "open"),
    "beam of playouts": ("eighty-thieves", 0, beam, "widen", 30, "open"),
    "playouts of a beam": ("eighty-thieves", 0, beam, "play_out_all", 30, "open"),
    "beam of values": ("eighty-thieves", 0, beam, "widen", 250, "open"),
    "shortening": ("eights-down", 7, solver, "shorten", 1, "won"),
}
"""The game and the deal; in which call of which function Ctrl-C is pressed; the result until then."""


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_ends_the_solver_with_the_best_line(
    stage: str, ctrl_c: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    game, deal, place, name, number, status = STAGES[stage]
    monkeypatch.setattr(solver, "TRIES_BEFORE_BEAM", 1)
    monkeypatch.setattr(solver, "TRIES_BEFORE_EXHAUSTIVE", 1)
    variant = get_variant(game)
    ours = load_solver(variant, megabytes=50)
    ctrl_c(place, name, number)
    with pytest.raises(KeyboardInterrupt) as caught:
        ours.solve_deal(deal, seconds=600)
    assert isinstance(caught.value, SolverInterrupted)
    found = caught.value.solution
    assert found.status == status
    home, won = check_line(variant, deal, found.line)
    assert (home, won) == (found.cards_home, status == "won")
    assert found.cards_home > 40 or number == 1
    assert found.texts or found.positions == 0


def test_solve_prints_the_best_line_at_ctrl_c(
    ctrl_c: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    ctrl_c(solver, "shorten", 1)
    assert cli.main(["solve", "eights-down", "--deal", "7", "--quiet"]) == 130
    head, line, _ = capsys.readouterr().out.splitlines()
    assert "won in" in head and "t" in line


def test_solve_stores_no_result_of_an_interrupted_deal(ctrl_c: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    command = ["eights-down", "--deals", "0:4", "--out", str(path), "--quiet"]
    ctrl_c(solver, "shorten", 3)
    assert solve.main(command) == 130
    kept = path.read_text()
    assert [json.loads(line)["deal"] for line in kept.splitlines()] == [0, 1]
    assert solve.main(command) == 0
    assert path.read_text().startswith(kept) and len(path.read_text().splitlines()) == 4


@pytest.mark.parametrize("cut", [1, 40])
def test_solve_resumes_after_a_line_that_was_not_finished(
    cut: int, ctrl_c: Callable[..., None], tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    command = ["eights-down", "--out", str(path), "--quiet", "--deals"]
    assert solve.main([*command, "0:3"]) == 0
    whole = path.read_text()
    path.write_text(whole[:-cut])
    ctrl_c(solver, "shorten", 2 if cut == 1 else 3)
    assert solve.main([*command, "0:5"]) == 130
    assert [row.deal for row in read_solver_results(path)] == [0, 1, 2, 3]
    assert solve.main([*command, "0:5"]) == 0
    assert [row.deal for row in read_solver_results(path)] == [0, 1, 2, 3, 4]


SEARCHED = {
    "eights-down": (solver, "nested_rollouts", 3),
    "freecell": (solver, "shorten", 3),
    "klondike": (tree_player, "grow", 150),
}
"""In which call of which function Ctrl-C is pressed while search plays a game."""


@pytest.mark.parametrize("game", SEARCHED)
def test_evaluate_stores_no_row_of_an_interrupted_game(
    game: str, ctrl_c: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.jsonl"
    command = ["--policy", "search", "--env", game, "--num-envs", "1", "--quiet", "--games", str(path)]
    command += ["--search.simulations", "8"]
    ctrl_c(*SEARCHED[game])
    assert evaluate.main([*command, "--deals", "0:200"]) == 130
    out, err = capsys.readouterr()
    assert not out and "Interrupted." in err and str(path) in err
    kept = read_results(path)
    assert 1 <= len(kept) < 50 and [row.deal for row in kept] == [*range(len(kept))]
    path.unlink()
    assert evaluate.main([*command, "--deals", f"0:{len(kept)}"]) == 0
    assert read_results(path) == kept


def test_leaderboard_keeps_whole_games_at_ctrl_c(
    ctrl_c: Callable[..., None], empty_stores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "SEARCHES_TOGETHER", 1)
    entry = ["add", "search", "klondike/8", "--policy", "search", "--search.simulations", "8"]
    ctrl_c(tree_player, "grow", 150)
    assert leaderboard.main([*entry, "--deals", "0:200", "--quiet"]) == 130
    rows = read_results(empty_stores / "results" / "unfinished" / "search" / "klondike" / "8.jsonl")
    assert 1 <= len(rows) < 50
    assert not (empty_stores / "results" / "search.json").exists()


def test_dataset_of_the_solver_ends_at_ctrl_c(ctrl_c: Callable[..., None]) -> None:
    ctrl_c(solver, "nested_rollouts", 3)
    with pytest.raises(KeyboardInterrupt):
        recording.solve(get_variant("eights-down"), [*range(2**20, 2**20 + 9)], ProgressLine(quiet=True))


def test_the_example_with_the_solver_ends_at_ctrl_c(
    ctrl_c: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["easy_deals.py", "--env", "eights-down", "--deals", "20", "--tried", "4", "--kept", "2"]
    monkeypatch.setattr(sys, "argv", command)
    ctrl_c(solver, "nested_rollouts", 3)
    with pytest.raises(KeyboardInterrupt):
        runpy.run_path(str(ROOT / "examples" / "easy_deals.py"), run_name="__main__")


@pytest.mark.parametrize(
    ("game", "module", "kernel", "steps"),
    [("klondike", tree_player, "grow", 60), ("forty-thieves", player, "play_to_end", 5)],
)
def test_a_large_budget_is_simulated_in_short_parts(
    game: str, module: Any, kernel: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C waits for the end of a kernel's call. The parts change no move."""
    real = getattr(module, kernel)
    sizes: list[int] = []

    def counted(*args: Any) -> Any:
        sizes.append(len(args[4]) * len(args[5]) if kernel == "grow" else len(args[3]))
        return real(*args)

    def moves() -> list[int]:
        spec = GameSpec(get_variant(game), Settings(max_episode_steps=steps))
        policy = load_search(spec, budget=Budget(simulations=5000))
        [end] = next(ended for ended in Runner(policy, spec, record=True).play([5]) if ended)
        return [move.action for move in end.moves]

    monkeypatch.setattr(module, kernel, counted)
    found = moves()
    assert 256 < max(sizes) <= budget.PART
    monkeypatch.setattr(budget, "PART", 10**9)
    assert moves() == found and max(sizes) > 2 * 512


def test_known_cards_are_searched_in_short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search of a game with at most one card face down is limited by ``nodes``, however large."""
    budgets: list[int] = []

    def counted(search: Collapsed, states: int) -> tuple[int, int]:
        budgets.append(states)
        return exhaustive.MORE, states

    monkeypatch.setattr(Collapsed, "explore", counted)
    variant = get_variant("klondike")
    spec = GameSpec(variant, Settings(max_episode_steps=200))
    policy = load_search(spec, budget=Budget(simulations=8, nodes=10**6 + 1))
    [*Runner(policy, spec).play([*range(20)])]
    assert budgets[:21] == [*[solver.PART] * 20, 1]


@pytest.mark.slow
@pytest.mark.parametrize("game", ["freecell", "klondike", "forty-thieves"])
def test_one_ctrl_c_ends_the_command(game: str, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    command = ["--policy", "search", "--env", game, "--quiet", "--games", str(path), "--num-envs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.evaluate", *command, "--deals", "0:1000"], cwd=ROOT,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None and not (path.exists() and path.stat().st_size):
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 130 and errors.strip().startswith("Interrupted."), errors
    kept = read_results(path)
    assert 1 <= len(kept) < 500
    path.unlink()
    deals = ",".join(str(row.deal) for row in kept)
    assert evaluate.main([*command, "--deals", deals]) == 0
    assert read_results(path) == kept
