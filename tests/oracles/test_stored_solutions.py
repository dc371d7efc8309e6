"""Stored output of fc-solve, replayed to wins; fc-solve itself is not needed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracles.fc_solve import (
    EIGHT_OFF,
    Disagreement,
    Move,
    Stored,
    ask,
    board_text,
    command,
    make_env,
    read_answer,
    read_stored,
    replay,
    shown,
)

SOLUTIONS = sorted((Path(__file__).parent / "solutions").glob("*.txt"))

KINDS = {
    "home",
    "to a cell",
    "onto a pile",
    "onto a pile, several cards",
    "to a space",
    "to a space, several cards",
    "whole pile to a space",
}


def stored(name: str) -> Stored:
    return next(read_stored(path.read_text()) for path in SOLUTIONS if path.stem == name)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_a_stored_solution_wins(path: Path) -> None:
    solution = read_stored(path.read_text())
    env = make_env(**solution.rules)
    env.reset(options={"deal": solution.deal})
    assert board_text(shown(env)) == solution.board, f"deal {solution.deal} is another than it was"
    kinds = replay(env, solution.deal, solution.answer.moves)
    assert kinds["home"] == 52


def test_stored_solutions_have_moves_of_every_kind() -> None:
    kinds: Counter[str] = Counter()
    for path in SOLUTIONS:
        solution = read_stored(path.read_text())
        kinds += replay(make_env(**solution.rules), solution.deal, solution.answer.moves)
    assert len(SOLUTIONS) >= 10
    assert set(kinds) == KINDS


def test_fc_solve_plays_its_eight_off() -> None:
    """No rule is changed for Eights Down, and only the different ones for house rules."""
    assert command(EIGHT_OFF) == ["fc-solve", "--game", "eight_off", "-m", "-sel"]
    flags = ["--empty-stacks-filled-by", "all", "--sequences-are-built-by", "alternate_color"]
    other = command(EIGHT_OFF.with_rules(build="alternate color", spaces="any"), "-mi", "5")
    assert other == ["fc-solve", "--game", "eight_off", *flags, "-m", "-sel", "-mi", "5"]


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="fc-solve is not installed, on Debian: apt-get install"):
        ask(EIGHT_OFF, "")


# -------------------------------------------------------------------- a replay sees what is wrong


def test_a_replay_detects_an_illegal_move() -> None:
    """Deal 7 begins with a card that fits no other pile."""
    solution = stored("7")
    moves = [Move(1, "stack 0", "stack 1"), *solution.answer.moves]
    with pytest.raises(Disagreement) as caught:
        replay(make_env(), 7, moves)
    message = str(caught.value)
    assert (
        f"deal 7, fc-solve's move 1 of {len(moves)}, 1 from stack 0 to stack 1: our t1>t2 is refused"
        in message
    )
    assert "allowed here: " in message and "variant: eights-down\n" in message


@pytest.mark.parametrize(
    ("printed", "error"),
    [
        (
            "Move a card from stack 7 to the cellar\nThis game is solveable.",
            "Move a card from stack 7 to the cellar",
        ),
        ("Move a card from stack 7 to freecell 0", "no verdict"),
        ("", "no verdict"),
    ],
)
def test_unknown_answers_raise_an_error(printed: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        read_answer(printed)
