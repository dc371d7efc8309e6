"""``agents.evaluate``: what it prints and writes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tyro

from agents import evaluate
from agents.evaluate import main
from solitaire_env.evaluation import read_results
from solitaire_env.transcripts import parse_transcript

ROOT = Path(__file__).parents[2]
GREEDY = ("--policy", "greedy", "--env", "Solitaire/BusyAces-v0", "--deals", "0:40", "--quiet")


def printed(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    """The stdout of a command that succeeds."""
    assert main([*map(str, args)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_two_runs_print_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "agents.evaluate", *GREEDY]
    first = subprocess.check_output(command, cwd=ROOT, text=True)
    assert first == printed(capsys, *GREEDY) == printed(capsys, *GREEDY, "--num-envs", "3")
    policy = ("--policy", "random", "--env", "eights-down", "--deals", "0:20", "--quiet")
    assert printed(capsys, *policy) == printed(capsys, *policy)


def test_evaluate_writes_games_summary_and_transcripts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    summary, games, texts = tmp_path / "summary.json", tmp_path / "games.jsonl", tmp_path / "texts" / "greedy"
    files = ("--json", summary, "--games", games, "--transcripts", texts)
    out = printed(capsys, *GREEDY, *files)
    rows = read_results(games)
    assert [row.deal for row in rows] == [*range(40)] and {row.policy for row in rows} == {"greedy"}
    data = json.loads(summary.read_text())
    assert (data["policy"], data["env"], data["moves"], data["deals"]) == (
        ("greedy", "Solitaire/BusyAces-v0", "one card", "0:40")
    )
    assert data["wins"] == sum(row.won for row in rows) and data["games"] == 40
    assert sorted(path.name for path in texts.iterdir()) == sorted(f"{deal}.txt" for deal in range(40))
    assert parse_transcript((texts / "7.txt").read_text()).deal == 7
    assert not list(tmp_path.glob("**/*.part"))
    # All games are stored already: the output is the same, and nothing is played.
    before = games.read_bytes()
    assert printed(capsys, *GREEDY, "--games", games) == out and games.read_bytes() == before


def test_house_rules_and_action_sets_are_applied(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One-card games play supermoves card by card; house rules change the game itself."""
    policy = ("--policy", "random", "--env", "busy-aces", "--deals", "0:5", "--quiet")
    for number, (options, moves, rules) in enumerate(
        (
            ([], "one card", "same suit, any, one card, 3328 steps"),
            (["--moves", "supermove"], "supermove", "same suit, any, one card, 3328 steps"),
            (["--moves", "sequence"], "sequence", "same suit, any, sequence, 3328 steps"),
            (["--build", "any suit", "--spaces", "none"], "one card", "any suit, none, one card, 3328 steps"),
        )
    ):
        path = tmp_path / f"{number}.jsonl"
        printed(capsys, *policy, "--games", path, *options)
        assert {(game.moves, game.rules) for game in read_results(path)} == {(moves, rules)}


def test_ray_takes_an_optional_address() -> None:
    plain = ["--policy", "random", "--env", "busy-aces"]
    for words, address in (([], None), (["--ray"], ""), (["--ray", "10.0.0.1:6379"], "10.0.0.1:6379")):
        assert tyro.cli(evaluate.Arguments, args=[*plain, *words, "--quiet"]).ray == address
