"""Solutions of fc-solve as transcripts; tests that need fc-solve itself are marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.commands import fc_solve
from agents.commands.fc_solve import Cards, Move, board_text, main, our_action, solve, take
from solitaire_env import SolitaireEnv, get_variant
from solitaire_env.transcripts import Transcript, parse_transcript, replay

SOLUTION = Path(__file__).parents[2] / "oracles" / "solutions" / "7.txt"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace fc-solve with its stored output for deal 7."""
    text = SOLUTION.read_text().split("\n\n")[2]
    monkeypatch.setattr(fc_solve, "ask", lambda *_: text)


def test_the_board_has_the_format_of_fc_solve() -> None:
    env = SolitaireEnv("eights-down")
    env.reset(options={"deal": 7})
    assert board_text(Cards.of(env.position())) == SOLUTION.read_text().split("\n\n")[1] + "\n"


def test_a_solution_becomes_a_transcript(printed: None) -> None:
    game = solve(get_variant("eights-down"), 7)
    assert isinstance(game, Transcript) and (game.result, game.cards_home) == ("won", 52)
    *_, last = replay(game)
    assert last.number == game.steps == len(game.actions)


def test_an_illegal_move_is_an_error(printed: None) -> None:
    with pytest.raises(ValueError, match=r"deal 8: move \d+ of fc-solve, .* is not legal here"):
        solve(get_variant("eights-down"), 8)


def test_moves_of_fc_solve_become_actions() -> None:
    theirs = Cards([["KS", "QS"], ["TD", "9D"], []], [["JS"], []])
    ours = Cards([["TD", "9D"], [], ["KS", "QS"]], [[], ["JS"]])

    def said(move: Move) -> str | None:
        return our_action(theirs, move, ours, "any")

    assert said(Move(1, "freecell 0", "stack 0")) == "c2>t3"
    assert said(Move(1, "stack 1", "freecell 1")) == "t1>c"
    assert said(Move(1, "stack 1", "stack 2")) == "t1>s"
    assert said(Move(2, "stack 1", "stack 2")) is None
    assert said(Move(1, "stack 1", "the foundations")) == "t1>f"
    assert take(theirs, Move(1, "freecell 0", "stack 0")) == ["JS"]
    assert take(theirs, Move(1, "stack 1", "the foundations")) == ["9D"]
    assert theirs == Cards([["KS", "QS", "JS"], ["TD"], []], [[], []])
    ours = Cards([["TD"], [], ["KS", "QS", "JS"]], [[], []])
    assert said(Move(2, "stack 0", "stack 2")) == "t3x2>s"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--deals", "some"], ["'some'", "FIRST:END"]),
        (["--jobs", "0"], ["jobs is 0"]),
        (["--positions", "0"], ["positions is 0"]),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--deals", "7", "-o", str(tmp_path / "lines"), *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and all(word in error for word in words)
    assert not list(tmp_path.iterdir())


def test_a_missing_program_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["--deals", "7", "-o", str(tmp_path / "lines")]) == 2
    assert "fc-solve is not installed" in capsys.readouterr().err


@pytest.mark.external
def test_fc_solve_writes_transcripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Deal 239 is unwinnable; the proof needs more positions."""
    options = ["-o", str(tmp_path), "--preset", "as", "--positions", "2000", "--quiet"]
    assert main(["--deals", "20000:20004,239", *options]) == 0
    told = capsys.readouterr().out
    assert "4 won, 0 impossible, 1 given up" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{n}.txt" for n in range(20000, 20004)]
    for path in tmp_path.iterdir():
        game = parse_transcript(path.read_text())
        assert game.policy == "fc-solve -l as -mi 2000" and game.deal == int(path.stem)
        list(replay(game))
    assert main(["--deals", "20001", "-o", str(tmp_path), "--preset", "lg", "--quiet"]) == 2
    assert "deal 20001: move" in capsys.readouterr().err
