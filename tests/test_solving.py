"""``solve`` and ``python -m solitaire_env solve`` decide deals and positions."""

from pathlib import Path
from typing import Any

import pytest

from solitaire_env import SolitaireEnv, Solution, cli, solve
from solitaire_env.notation import parse_position
from solitaire_env.search import shorten, solver
from tests.conftest import Refuses


def env_at(game: str, deal: int) -> SolitaireEnv:
    env = SolitaireEnv(game, on_invalid="raise")
    env.reset(options={"deal": deal})
    return env


def play(env: SolitaireEnv, solution: Solution) -> dict[str, Any]:
    """Play the line of a solution, and return the last ``info``."""
    assert tuple(map(env.action_text, solution.line)) == solution.texts
    info: dict[str, Any] = {}
    for action in solution.line:
        *_, info = env.step(action)
    return info


@pytest.mark.parametrize("game", ["klondike", "eights-down", "busy-aces", "Solitaire/Yukon-v0"])
def test_a_solution_has_a_line_that_wins(game: str) -> None:
    deal = 7 if game != "klondike" else 3
    solution = solve(game, deal, memory=50)
    assert solution.status == "won"
    assert play(env_at(game, deal), solution)["is_success"]
    assert solution.positions > 0 and solution.seconds > 0


def test_all_forms_of_a_start_have_the_same_solution() -> None:
    env = env_at("eights-down", 7)
    starts = [7, env.position(), parse_position(env.position()), env.get_state()]
    assert len({solve("eights-down", start, memory=20).line for start in starts}) == 1


def test_a_proof_has_the_status_unwinnable() -> None:
    assert solve("eights-down", 251).status == "unwinnable"


def test_an_open_deal_has_a_line_to_the_most_cards_home() -> None:
    shown: list[tuple[int, int]] = []
    solution = solve("eighty-thieves", 0, seconds=0.2, progress=lambda *found: shown.append(found))
    assert solution.status == "open"
    assert play(env_at("eighty-thieves", 0), solution)["cards_home"] == solution.cards_home > 10
    assert shown[-1] == (solution.positions, solution.cards_home)


def test_wrong_arguments_are_refused(refuses: Refuses) -> None:
    hidden = env_at("klondike", 3).position(hidden=True)
    refuses(lambda: solve("klondike", hidden), "hidden cards (??)", "all cards known")
    refuses(lambda: solve("yukon", env_at("klondike", 3).position()), "klondike", "yukon")
    refuses(lambda: solve("tarot", 0), "tarot")
    refuses(lambda: solve("klondike", -1), "-1")
    for seconds in (0, -1.0, float("nan"), "9"):
        refuses(lambda seconds=seconds: solve("klondike", 0, seconds=seconds), repr(seconds), "above 0")
    for memory in (0, 1e7, "9", None):
        refuses(lambda memory=memory: solve("klondike", 0, memory=memory), repr(memory), "1 to 1000000")
    refuses(lambda: solve("busy-aces", 0, network="greedy"), "'greedy'", "network")


def test_shortening_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call expands :data:`shorten.SLICE` positions at most; once time is over, there is none."""
    calls: list[int] = []

    def counted(*arguments: Any) -> int:
        calls.append(arguments[-1])
        return real(*arguments)

    real = shorten.shorten_some
    monkeypatch.setattr(shorten, "shorten_some", counted)
    assert solve("freecell", 0).status == "won"
    assert len(calls) > 3 and {*calls} == {shorten.SLICE}
    calls.clear()
    monkeypatch.setattr(solver, "GRACE", -1e9)
    assert play(env_at("freecell", 0), solve("freecell", 0))["is_success"]
    assert calls == []


@pytest.mark.parametrize(("game", "deal"), [("eights-down", 7), ("eighty-thieves", 1_034_823)])
def test_the_command_prints_a_winning_line(game: str, deal: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", game, "--deal", str(deal), "--quiet"]) == 0
    head, line, _ = capsys.readouterr().out.splitlines()
    assert f", deal {deal}: won in {len(line.split())} moves:" in head
    env = env_at(game, deal)
    for text in line.split():
        *_, info = env.step(env.parse_action(text))
    assert info["is_success"]


def test_the_command_prints_that_a_deal_cannot_be_won(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "freecell", "--deal", "ms:11982"]) == 0
    assert "cannot be won" in capsys.readouterr().out


def test_the_command_names_a_line_that_is_too_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of deal 1 has 87 moves."""
    monkeypatch.setattr(cli, "step_limit", lambda _: 81)
    assert cli.main(["solve", "eights-down", "--deal", "1"]) == 0
    assert "more than the registered limit of 81 steps:" in capsys.readouterr().out


def test_the_command_reads_a_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "position.txt"
    path.write_text(env_at("busy-aces", 3).position())
    assert cli.main(["solve", "busy-aces", "--position", str(path)]) == 0
    assert "position.txt: won in" in capsys.readouterr().out
