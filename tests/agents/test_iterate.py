"""Expert iteration: a round, and how it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents import iterate
from agents.models import load_model
from solitaire_env.evaluation import LayoutOf, read_games
from solitaire_env.transcripts import parse_transcript
from solitaire_env.variants import get_variant

ROOT = Path(__file__).parents[2]
CONFIG = str(ROOT / "configs" / "eights-down.yaml")
ROUND = (
    *(CONFIG, "--deals", "30000:30006", "--eval-deals", "20000:20004", "--epochs", "1", "--quiet"),
    *("--search.simulations", "4", "--search.depth", "1", "--threads", "1"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a round."""
    folder = tmp_path_factory.mktemp("rounds") / "first"
    assert iterate.main([*ROUND, "--round", str(folder)]) == 0
    return folder


def test_a_round(made: Path) -> None:
    told = json.loads((made / "round.json").read_text())
    assert told["prior"] == "shipped" and told["search"]["simulations"] == 4
    assert told["expert"]["games"] == 6 and told["before"]["games"] == told["after"]["games"] == 4
    assert [game.deal for game in read_games(made / "games.jsonl")] == [*range(30000, 30006)]
    assert parse_transcript((made / "games" / "30003.txt").read_text()).policy == "search"
    assert {game.policy for game in read_games(made / "after.jsonl")} == {"after"}
    model = load_model(made / "model", LayoutOf(get_variant("eights-down")), "after")
    assert model.value is not None


def test_what_is_done_is_not_done_again(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*.safetensors")}
    (made / "games" / "30002.txt").unlink()
    assert iterate.main([*ROUND, "--round", str(made)]) == 0
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*.safetensors")} == before
    assert (made / "games" / "30002.txt").is_file()
    assert str(made) in capsys.readouterr().out


def test_the_next_round_starts_from_the_last(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "second"
    assert iterate.main([*ROUND, "--round", str(folder), "--prior", str(made)]) == 0
    assert json.loads((folder / "round.json").read_text())["prior"] == str(made)
    assert read_games(folder / "before.jsonl")[0].cards_home == read_games(made / "after.jsonl")[0].cards_home


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--deals", "990:1010"], ["990", "kept for evaluation"]),
        (["--deals", "100500"], ["100500", "kept for evaluation"]),
        (["--prior", "nowhere"], ["nowhere"]),
        (["--epochs", "0"], ["epochs is 0"]),
        (["--keep", "-1"], ["keep is -1.0"]),
        (["--hidden", "8", "8"], ["hidden"]),
    ],
)
def test_refuses(
    options: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert iterate.main([*ROUND, "--round", str(tmp_path / "new"), *options]) == 2
    error = capsys.readouterr().err
    assert all(word in error for word in words), error
    assert not (tmp_path / "new").exists()


def test_another_round_is_not_written_over(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert iterate.main([*ROUND, "--round", str(made), "--epochs", "3"]) == 2
    assert "begun with other options" in capsys.readouterr().err
    assert iterate.main([*ROUND, "--round", str(made), "--learning-rate", "0.5"]) == 2
    assert "another configuration" in capsys.readouterr().err
