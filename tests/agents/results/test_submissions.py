"""Submissions: the example of the docs is listed; errors name the file, the key and what is allowed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agents import evaluate
from agents.commands.leaderboard import main
from agents.results import pages, stored
from agents.results.submissions import read_submissions
from solitaire_env.benchmark import references
from tests.conftest import Refuses

PROTOCOL = stored.ROOT / "docs" / "reference" / "protocol.md"


@pytest.fixture
def example() -> dict[str, Any]:
    [text] = re.findall(r"^```json\n(.*?)^```", PROTOCOL.read_text(encoding="utf-8"), re.M | re.S)
    submission: dict[str, Any] = json.loads(text)
    return submission


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored, "RESULTS", tmp_path / "results")
    path = stored.RESULTS / "submissions"
    path.mkdir(parents=True)
    (path / "README.md").write_text("no submission\n")
    return path


def send(folder: Path, submission: dict[str, Any]) -> Path:
    path = folder / "my-policy.json"
    path.write_text(json.dumps(submission))
    return path


def test_the_example_is_listed_beside_the_references(folder: Path, example: dict[str, Any]) -> None:
    assert "There is none yet." in pages.scoreboard_page()
    send(folder, example | {"games": "https://example.org/games"})
    page = pages.scoreboard_page()
    assert "There is none yet." not in page and re.findall("^## (.*)", page, re.M) == [
        "Busy Aces",
        "The policies",
    ]
    assert (
        "| [my-policy](https://example.org/my-policy) ([games](https://example.org/games)) | player | `test` "
        "| 91.2 % [89.3, 92.8] | 99.1 | "
    ) in page
    known = references("busy-aces")
    assert (
        f"| `random` | player | 0:1000 | 0.5 % [0.2, 1.2] | {known['random'].cards_home:.1f} | 0.0 |" in page
    )
    assert f"| `{known['best'].policy}` | search | " in page and "| `solver` | thoughtful | " in page
    assert page.count("| 100.0 |") == 2  # the best, and in its track the solver


def test_check_reports_a_submission_that_is_not_valid(
    empty_stores: Path, folder: Path, example: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = send(folder, example)
    assert main(["write"]) == 0 and main(["check"]) == 0
    send(folder, example | {"track": "fast"})
    capsys.readouterr()
    assert main(["check"]) == 2
    error = capsys.readouterr().err
    assert str(path) in error and "track" in error and "'player', 'thoughtful' or 'search'" in error


def test_the_file_of_an_evaluation_is_a_result(folder: Path, example: dict[str, Any], tmp_path: Path) -> None:
    written = tmp_path / "result.json"
    command = ["--policy", "greedy", "--env", "eights-down", "--split", "llm-100", "--json", str(written)]
    assert evaluate.main([*command, "--quiet"]) == 0
    send(folder, example | {"results": [json.loads(written.read_text())]})
    [submission] = read_submissions()
    assert (submission.results[0].split, submission.results[0].games) == ("llm-100", 100)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "other"}, ["name is 'other'", "allowed: 'my-policy'"]),
        ({"name": "a|b"}, ["name", "without | < >", "'a|b'"]),
        ({"made": 3}, ["made", "string", "3"]),
        ({"code": "http://example.org"}, ["code", "allowed: https://", "'http://example.org'"]),
        ({"code": "https://example.org/a)b"}, ["code", "without spaces", "a)b"]),
        ({"games": "ftp://example.org"}, ["games", "allowed: https://"]),
        ({"seeds": 5}, ["seeds is unknown", "allowed: name, made, track, budget, code, results, games"]),
        ({"results": []}, ["results", "at least 1 item"]),
        ({"results": [{}]}, ["results.0.benchmark is missing", "allowed: benchmark, env, split, games"]),
    ],
)
def test_a_submission_that_is_not_valid_is_refused(
    changes: dict[str, Any], words: list[str], folder: Path, example: dict[str, Any], refuses: Refuses
) -> None:
    path = send(folder, example | changes)
    refuses(read_submissions, str(path), *words)


@pytest.mark.parametrize("key", ["name", "made", "track", "budget", "code", "results"])
def test_no_key_may_be_missing(key: str, folder: Path, example: dict[str, Any], refuses: Refuses) -> None:
    del example[key]
    refuses(read_submissions, str(send(folder, example)), f"{key} is missing", "allowed: name, made, track")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"benchmark": 1}, ["benchmark is 1", "allowed: 0"]),
        ({"env": "busy-ace"}, ["'busy-ace'", "allowed: ", "busy-aces"]),
        ({"split": "final"}, ["'final'", "allowed: "]),
        ({"split": "train"}, ["'train'", "allowed: "]),
        ({"split": None}, ["split", "string", "None"]),
        ({"games": 999}, ["games is 999", "allowed: 1000"]),
        ({"wins": 1001}, ["wins is 1001", "allowed: 0 to 1000"]),
        ({"wins": -1}, ["wins", "greater than or equal to 0", "-1"]),
        ({"wins": "912"}, ["wins", "integer", "'912'"]),
        ({"cards_home": 105}, ["cards_home is 105", "to 104"]),
        ({"cards_home": 90.0}, ["cards_home is 90.0", "allowed: 94.80 to 104", "912 of 1000 games"]),
    ],
)
def test_a_row_that_no_games_can_have_is_refused(
    changes: dict[str, Any], words: list[str], folder: Path, example: dict[str, Any], refuses: Refuses
) -> None:
    [row] = example["results"]
    path = send(folder, example | {"results": [row, row | changes]})
    refuses(read_submissions, str(path), "results.1", *words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("my-policy.yaml", b"name: my-policy", ["allowed in this folder: NAME.json and README.md"]),
        ("my-policy.json", b"[1]", ["an object", "[1]"]),
        ("my-policy.json", b'{"name":', ["JSON"]),
        ("my-policy.json", b"\xff\x00\x81", ["allowed: a file with a submission"]),
    ],
)
def test_another_file_is_refused(
    name: str, content: bytes, words: list[str], folder: Path, refuses: Refuses
) -> None:
    (folder / name).write_bytes(content)
    refuses(read_submissions, str(folder / name), *words)
