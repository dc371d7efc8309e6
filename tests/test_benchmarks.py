"""The benchmarks with tiny settings, without other libraries: their tables and their errors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import episodes, ours, parts, peers, startup, table, training
from benchmarks.parts import Arguments
from benchmarks.rounds import Contestant, Speed, take_turns
from solitaire_env import get_variant
from solitaire_env.core import max_threads, set_num_threads
from solitaire_env.evaluation.speed import TIMED

SMALL = ["--games", "eights-down", "--num-envs", "4", "--threads", "1", "--calls", "5"]
QUICK = ["--rounds", "1", "--seconds", "0"]


def speed(rate: float) -> Speed:
    return Speed(rate, rate, rate)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(episodes, "STEPS", 1)
    monkeypatch.setattr(parts, "SIZES", (2, 3, 5))
    monkeypatch.setattr(parts, "THREADED", (3,))
    monkeypatch.setattr(parts, "SCALING_CALLS", 3)
    yield
    set_num_threads(max_threads())


def test_the_command_prints_a_table_what_was_timed_and_the_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    some = ["--parts", "vector", "scaling", "single", "copy-rows", "memory"]
    assert command.main([*SMALL, *QUICK, *some]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"\| Eights Down, copy=True +\| +[\d.]+( [kM])? steps/s \| +- \|", out)
    assert re.search(
        r"Eights Down, 1 thread, 5 envs / those +\| +\d+ / \d+ ns a step \| +[\d.]+ \| +<= 1.6", out
    )
    assert re.search(r"gym.make / Gymnasium CartPole-v1.*>= 1 \| (yes| no) \|", out)
    assert re.search(r"copy_rows +\| .* rows/s \| .*>= 5 M rows/s", out)
    assert TIMED in out and "Machine: " in out and "Peers" not in out
    assert err == ""


def test_the_command_writes_the_table_and_a_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "results"
    assert command.main([*SMALL, *QUICK, "--parts", "vector", "--out", str(out)]) == 0
    text = (out / "table.md").read_text(encoding="utf-8")
    assert text.startswith(capsys.readouterr().out) and "fastest round" in text
    assert (out / "throughput.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--games", "pyramid"], "unknown variant 'pyramid', allowed: one of the 76 games"),
        (["--games"], "--games is empty, allowed: one game or more"),
        (["--parts", "speed"], "--parts has 'speed', allowed: vector, every, scaling, "),
        (["--threads", "0"], "number of threads is 0, allowed: 1 to"),
        (["--rounds", "0"], "--rounds is 0, allowed: at least 1"),
        (["--calls", "0"], "--calls is 0, allowed: at least 1"),
        (["--num-envs", "0"], "num_envs is 0, allowed: a whole number from 1"),
        ([*SMALL, "--parts", "vector", "--peers"], "--peers needs envpool"),
        ([*SMALL, "--parts", "training"], "the part training needs sb3_contrib"),
        ([*SMALL, "--parts", "memory", "--out", __file__], "File exists"),
    ],
)
def test_invalid_arguments_are_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, args: list[str], words: str
) -> None:
    monkeypatch.setitem(sys.modules, "envpool", None)
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    assert command.main(args) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and len(err.splitlines()) == 1


def test_contestants_alternate_and_the_median_round_counts() -> None:
    order = []

    def contestant(name: str, times: list[float]) -> Contestant:
        def run() -> float:
            order.append(name)
            return times.pop(0)

        return Contestant(name, 6, run)

    speeds = take_turns([contestant("a", [9, 1, 2, 3]), contestant("b", [9, 1, 1, 2, 2, 3])], 3, 0)
    assert speeds["a"] == Speed(3, 2, 6)
    assert order == ["a", "b"] * 4
    speeds = take_turns([contestant("c", [9, 1, 2, 2])], 1, 4)
    assert speeds["c"] == speed(3 * 6 / 5)


def test_ratios_are_to_the_faster_mode_of_envpool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "all_vector", lambda *_: [])
    part = parts.vector(Arguments(games=("forty-thieves", "busy-aces"), num_envs=2, calls=1, peers=True))
    speeds = {contestant.name: speed(1000) for contestant in part.contestants}
    speeds |= {name: speed(rate) for name, rate in zip(peers.ENVPOOL, (50, 100), strict=True)}
    speeds |= {name: speed(100) for name in parts.OTHER_PEERS}
    rows = {row.what: row for row in part.rows(speeds)}
    forty = rows["Forty Thieves / EnvPool CartPole-v1"]
    assert forty == table.Row(forty.what, "1 k / 100 steps/s", "10.00", ">= 15", "no")
    assert rows["Busy Aces / EnvPool CartPole-v1"][2:] == ("10.00", ">= 10", "yes")
    assert rows["Busy Aces, copy=True / EnvPool CartPole-v1"][2:] == ("10.00", ">= 8", "yes")
    assert rows["Forty Thieves, features / EnvPool CartPole-v1"][2:] == ("10.00", ">= 5", "yes")
    assert rows["Forty Thieves / OpenSpiel Klondike"][2:] == ("10.00", ">= 400", "no")
    assert rows["Forty Thieves / Jumanji Game2048-v1"][2:] == ("10.00", "-", "-")


def test_every_game_is_compared_with_envpool_the_fastest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    some = tuple(get_variant(name) for name in ("klondike", "busy-aces"))
    monkeypatch.setattr(parts, "VARIANTS", some)
    monkeypatch.setattr(peers, "envpool", lambda name, *_: Contestant(name, 1, lambda: 1.0, peer=True))
    part = parts.every(Arguments(num_envs=2, calls=1, peers=True))
    assert [c.name for c in part.contestants] == ["Klondike", "Busy Aces", *peers.ENVPOOL]
    rates = dict(zip((contestant.name for contestant in part.contestants), (700, 900, 50, 100), strict=True))
    rows = part.rows({name: speed(rate) for name, rate in rates.items()})
    assert [row.what.split(" / ")[0] for row in rows] == ["Busy Aces", "Klondike"]
    assert [row[2:] for row in rows] == [("9.00", ">= 8", "yes"), ("7.00", ">= 8", "no")]
    alone = parts.every(Arguments(num_envs=2, calls=1))
    assert [c.name for c in alone.contestants] == ["Klondike", "Busy Aces"]


def test_scaling_compares_threads_and_numbers_of_games() -> None:
    part = parts.scaling(Arguments(games=("forty-thieves",), threads=2))
    rates = {"2 envs, 1": 1e7, "3 envs, 1": 8e6, "5 envs, 1": 6e6, "3 envs, 2": 14e6}
    speeds = {
        f"Forty Thieves, {name} thread{'s' * name.endswith('2')}": speed(r) for name, r in rates.items()
    }
    assert {contestant.name for contestant in part.contestants} == set(speeds)
    assert [row[1:] for row in part.rows(speeds)] == [
        ("14 M / 8 M steps/s", "1.75", ">= 1.7", "yes"),
        ("125 / 100 ns a step", "1.25", "<= 1.25", "yes"),
        ("167 / 100 ns a step", "1.67", "<= 1.6", "no"),
    ]


def test_memory_counts_each_array_once() -> None:
    env = ours.make_env("forty-thieves", 8, copy=False)
    state = env.batch.state
    assert state.rows.nbytes + state.mask.nbytes < 8 * ours.bytes_per_env("forty-thieves", 8) < 8 * 1500


def test_an_episode_that_does_not_repeat_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    contestant = ours.gym_make("one", "eights-down")
    assert contestant.steps > 0 and contestant.run() > 0
    monkeypatch.setattr(np, "array_equal", lambda *_: False)
    with pytest.raises(RuntimeError, match="one did not repeat the episode of seed 0"):
        contestant.run()


def test_training_runs_on_both_kinds_of_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib")
    monkeypatch.setattr(training, "NUM_ENVS", 2)
    monkeypatch.setattr(training, "SETTINGS", {**training.SETTINGS, "n_steps": 4, "batch_size": 8})
    part = parts.train(Arguments(games=("eights-down",), threads=1, rounds=1))
    collection, share = part.rows({})
    assert float(collection.ratio) > 0 and collection.bar == ">= 3"
    assert 0 < float(share.measured.split()[0]) < 100


def test_the_import_is_timed_in_a_new_process() -> None:
    assert 0 < startup.import_time(1) < 10
    with pytest.raises(RuntimeError, match="a new process failed: ZeroDivisionError"):
        startup._seconds("1 / 0", {})


def test_the_table_of_startup_has_a_column_for_each_checkout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = []

    def run(
        arguments: list[str], variables: dict[str, str], checkout: startup.Checkout
    ) -> subprocess.CompletedProcess[str]:
        asked.append((arguments[1], checkout.folder))
        return subprocess.CompletedProcess(arguments, 0, "0.25", "one line")

    monkeypatch.setattr(startup, "_run", run)
    other = tmp_path / "other"
    (other / ".venv" / "bin").mkdir(parents=True)
    (other / ".venv" / "bin" / "python").touch()
    (other / "solitaire_env").mkdir()
    (other / "solitaire_env" / "__init__.py").touch()
    assert startup.main(["--against", str(other), "--processes", "1"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["here", "other"]
    [first] = [line for line in out if line.lstrip().startswith("import solitaire_env")]
    assert first.split()[2:] == ["0.25", "s", "0.25", "s"]
    [games] = [line for line in out if line.lstrip().startswith("ten deals, shipped policy  ")]
    assert games.split()[-3:] == ["0.25", "s", "-"], "an older checkout has no load_policy"
    commands = [words[0] for words in startup.COMMANDS]
    for folder in (startup.HERE.folder, other):
        assert [what for what, where in asked if where == folder and what in commands] == 2 * commands


def test_a_checkout_without_python_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert startup.main(["--against", str(tmp_path)]) == 2
    assert f"there is no {tmp_path}/.venv/bin/python: run make env" in capsys.readouterr().err


def test_a_first_step_writes_nothing_on_stderr() -> None:
    start = startup.time_first("first step, gym.make", "forty-thieves", 2, 1)
    assert start.later > 0 and start.lines == 0


@pytest.mark.parametrize(
    ("rate", "text"), [(12_345_678, "12.3 M"), (123_456_789, "123 M"), (999, "999"), (1500, "1.5 k")]
)
def test_rates_have_three_digits(rate: float, text: str) -> None:
    assert table.short(rate) == text


def test_a_limit_has_a_further_condition() -> None:
    assert table.limit_row("start", 1, "s", 2)[1:] == ("1 s", "-", "<= 2 s", "yes")
    assert table.limit_row("start", 1, "s", 2, ", 0 lines", also=False).met == "no"
    assert table.limit_row("start", 3, "s", 2).met == "no"
