"""The benchmarks with tiny settings, without other libraries: their tables and their errors."""

import re
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import episodes, parts
from benchmarks.rounds import Contestant, Speed, take_turns
from benchmarks.speed import TIMED, Recording
from solitaire_env.core import max_threads, set_num_threads
from solitaire_env.vector import SolitaireVectorEnv

SMALL = ["--games", "eights-down", "--num-envs", "4", "--threads", "1", "--calls", "5"]
QUICK = ["--rounds", "1", "--seconds", "0"]


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
    some = ["--parts", "vector", "scaling", "single", "copy-rows", "resample", "memory"]
    assert command.main([*SMALL, *QUICK, *some]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"\| Eights Down, copy=True +\| +[\d.]+( [kM])? steps/s \| +- \|", out)
    assert re.search(
        r"Eights Down, 1 thread, 5 envs / those +\| +\d+ / \d+ ns a step \| +[\d.]+ \| +<= 1.6", out
    )
    assert re.search(r"gym.make / Gymnasium CartPole-v1.*>= 1 \| (yes| no) \|", out)
    assert re.search(r"copy_rows +\| .* rows/s \| .*>= 5 M rows/s", out)
    assert re.search(r"Klondike, resample +\| .* worlds/s \| .*>= 1 M worlds/s", out)
    assert TIMED in out and "Machine: " in out and "Peers" not in out
    assert err == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--games", "pyramid"], "unknown variant 'pyramid', allowed: one of the "),
        (["--parts", "speed"], "--parts has 'speed', allowed: vector, every, scaling, "),
        (["--threads", "0"], "number of threads is 0, allowed: 1 to"),
        (["--rounds", "0"], "--rounds is 0, allowed: at least 1"),
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
    assert speeds["c"] == Speed(3.6, 3.6, 3.6)


def test_a_recording_has_legal_actions_and_repeats_its_games() -> None:
    env = SolitaireVectorEnv("eights-down", 5, on_invalid="raise", max_episode_steps=40)
    recording = Recording(env, length=90)
    assert recording.steps == 450 and recording.episodes >= 10
    assert recording.replay() > 0
    recording.actions[0] = 0
    with pytest.raises((RuntimeError, ValueError)):
        recording.replay()
