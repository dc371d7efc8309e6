"""``agents.evaluate``: what it prints and writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tyro

from agents import evaluate, solve, train
from agents.evaluate import main
from solitaire_env.evaluation import read_results
from solitaire_env.policies.random import Random
from solitaire_env.transcripts import parse_transcript

ROOT = Path(__file__).parents[2]
GREEDY = ("--policy", "greedy", "--env", "Solitaire/BusyAces-v0", "--deals", "0:40", "--quiet")


def printed(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    """The stdout of a command that succeeds."""
    assert main([*map(str, args)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def command(*args: str | Path) -> subprocess.CompletedProcess[bytes]:
    arguments = [sys.executable, "-m", "agents.evaluate", *map(str, args)]
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, check=False, timeout=120)


def test_two_runs_print_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    first = command(*GREEDY)
    assert first.returncode == 0 and b"Traceback" not in first.stderr
    assert first.stdout.decode() == printed(capsys, *GREEDY) == printed(capsys, *GREEDY, "--num-envs", "3")
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


def test_deals_of_other_programs_are_played(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deals = ("--deals", "ms:11982,5", "--transcripts", tmp_path)
    printed(capsys, "--policy", "greedy", "--env", "Eight Off", *deals, "--quiet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["5.txt", "ms-11982.txt"]


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


def test_errors_in_a_process_are_one_line() -> None:
    done = command("--policy", "greedi", "--env", "busy-aces")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith(b"error: unknown policy 'greedi'") and done.stderr.count(b"\n") == 1


def test_ctrl_c_keeps_finished_games(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Finished games are stored and not played again."""
    games = tmp_path / "games.jsonl"
    calls = []

    def interrupted(self: Any, observations: Any, masks: Any, *, uniforms: Any, games: Any) -> Any:
        calls.append(len(observations))
        if len(calls) > 60:
            raise KeyboardInterrupt
        return masks.argmax(1)

    policy = ("--policy", "random", "--env", "eights-down", "--deals", "0:30", "--num-envs", "4", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(Random, "__call__", interrupted)
        assert main([*policy, "--games", str(games)]) == 130
    out, err = capsys.readouterr()
    assert not out and "Interrupted." in err and str(games) in err
    kept = read_results(games)
    assert 0 < len(kept) < 30
    printed(capsys, *policy, "--games", games)
    done = read_results(games)
    assert [game.deal for game in done] == [*range(30)] and all(game in done for game in kept)


@pytest.mark.parametrize("command", [evaluate, solve, train])
def test_ray_not_installed_is_refused(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    arguments = {
        evaluate: ["--policy", "random", "--env", "busy-aces", "--deals", "0:2", "--quiet"],
        solve: ["busy-aces", "--deals", "0:2", "--out", str(tmp_path / "results.jsonl"), "--quiet"],
        train: ["configs/busy-aces.yaml", "--runs", str(tmp_path), "--quiet"],
    }[command]
    assert command.main([*arguments, "--ray"]) == 2
    assert not list(tmp_path.glob("busy-aces*")), "no run folder is made"
    assert "--ray needs Ray, which is not installed: pip install" in capsys.readouterr().err


def test_ray_takes_an_optional_address() -> None:
    plain = ["--policy", "random", "--env", "busy-aces"]
    for words, address in (([], None), (["--ray"], ""), (["--ray", "10.0.0.1:6379"], "10.0.0.1:6379")):
        assert tyro.cli(evaluate.Arguments, args=[*plain, *words, "--quiet"]).ray == address
