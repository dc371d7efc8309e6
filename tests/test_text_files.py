"""Every text file that a user may give, as editors of Windows write it: byte order marks, UTF-16, CR LF."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.config import TrainConfig
from agents.results.plots import read_curve
from agents.results.solver_results import read_solver_results
from agents.results.transcripts import read_transcripts
from agents.runs.config_files import load_config
from solitaire_env import SolitaireEnv, cli
from solitaire_env.evaluation import evaluate, read_results
from solitaire_env.policies.model_files import read_card
from solitaire_env.util.files import read_json
from tests.policies.model_folders import spec_of, write_model


def position(path: Path) -> Any:
    assert cli.main(["perft", "eights-down", "--position", str(path), "--depth", "1"]) == 0


def position_to_solve(path: Path) -> Any:
    assert cli.main(["solve", "eights-down", "--position", str(path), "--seconds", "0.1"]) == 0


def transcript(path: Path) -> Any:
    assert cli.main(["replay", str(path), "-o", str(path.with_suffix(".html"))]) == 0


def a_position() -> str:
    env = SolitaireEnv("eights-down")
    env.reset(options={"deal": 0})
    return env.position()


def a_transcript() -> str:
    [text] = evaluate(
        "greedy", "busy-aces", [9999], transcripts=True, max_episode_steps=20
    ).transcripts.values()
    return text


def results(folder: Path) -> str:
    evaluate("greedy", "eights-down", range(3), results=folder / "games.jsonl", max_episode_steps=20)
    return (folder / "games.jsonl").read_text()


def a_card(folder: Path) -> str:
    write_model(folder / "model", spec_of("busy-aces"))
    return (folder / "model" / "model.json").read_text()


SOLVED = (
    '{"env": "Solitaire/EightsDown-v0", "rules": "x", "deal": 1, "status": "open", "cards_home": 3, '
    '"steps": null, "positions": 4, "seconds": 0.5}\n'
)
CASES: dict[str, tuple[str, Callable[[Path], str], Callable[[Path], Any]]] = {
    "position": ("p.txt", lambda folder: a_position(), position),
    "position to solve": ("p.txt", lambda folder: a_position(), position_to_solve),
    "transcript": ("t.txt", lambda folder: a_transcript(), transcript),
    "transcripts to imitate": (
        "t.txt",
        lambda folder: a_transcript(),
        lambda path: [game.actions for game in read_transcripts([path], TrainConfig()).values()],
    ),
    "configuration": ("c.yaml", lambda folder: "busy-aces: {width: 48}\n", load_config),
    "games": ("g.jsonl", results, read_results),
    "solver results": ("s.jsonl", lambda folder: SOLVED, read_solver_results),
    "model card": ("model.json", a_card, lambda path: read_card(path.parent, ("moves",))),
    "learning curve": (
        "curve.csv",
        lambda folder: "steps,won\n1,0.5\n2,0.25\n",
        lambda path: read_curve(path.parent),
    ),
    "object": ("o.json", lambda folder: '{"a": "\\u00e9"}', read_json),
}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("case", CASES)
def test_a_byte_order_mark_changes_nothing(case: str, encoding: str, tmp_path: Path) -> None:
    name, make, read = CASES[case]
    text, path = make(tmp_path), tmp_path / name
    path.write_text(text, encoding="utf-8")
    expected = read(path)
    mark = "" if encoding == "utf-8-sig" else "\ufeff"
    path.write_bytes((mark + text.replace("\n", "\r\n")).encode(encoding))
    assert read(path) == expected


def test_an_evaluation_continues_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    path, text = tmp_path / "games.jsonl", results(tmp_path)
    path.write_bytes(text.encode("utf-16"))
    assert results(tmp_path) == text


@pytest.mark.parametrize("read", [position, transcript], ids=["position", "transcript"])
def test_a_file_that_is_no_text_is_named(
    read: Callable[[Path], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in (b"\xff", b"\xff\xfe\x00", b"\xfe\xff\xd8\x00"):
        (tmp_path / "p.txt").write_bytes(content)
        with pytest.raises(AssertionError):
            read(tmp_path / "p.txt")
        assert f"{str(tmp_path / 'p.txt')!r}, it is not text; allowed: a file with" in capsys.readouterr().err
