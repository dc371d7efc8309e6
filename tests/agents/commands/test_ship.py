"""``agents ship``: the folder and model card of a shipped policy, and the policy by name."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents import train
from agents.commands import leaderboard
from agents.commands.ship import main
from agents.results import stored as results
from agents.results.stored import read_leaderboard, weights_hash
from agents.runs.config_files import load_config
from agents.runs.folders import history_of
from tests.agents.test_train import VALUES

TINY = VALUES | {"init_linear_temperature": 0.5, "total_steps": 512, "hidden": [8, 4]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that differ only in the seed."""
    folder = tmp_path_factory.mktemp("ship")
    (folder / "tiny.yaml").write_text(json.dumps({"Solitaire/BusyAces-v0": TINY}))
    for seed in (1, 2):
        command = [folder / "tiny.yaml", "--runs", folder, "--seed", seed, "--quiet"]
        assert train.main([*map(str, command)]) == 0
    return folder


@pytest.fixture(autouse=True)
def places(empty_stores: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No shipped policies, and an empty leaderboard of few deals."""
    monkeypatch.setattr(results, "STANDARD", range(4))
    monkeypatch.setattr(results, "FINAL_TEST", range(100, 103))
    return empty_stores


@pytest.fixture
def run(runs: Path, tmp_path: Path) -> Path:
    """A copy of the first run, to damage."""
    return Path(shutil.copytree(runs / "busy-aces-1", tmp_path / "busy-aces-1"))


def shipping(*args: str | Path) -> int:
    return main([*map(str, args), "--deals", "0:4", "--quiet"])


def refused(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    """The error message of a run that is refused."""
    capsys.readouterr()
    assert shipping(*args) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: ") and err.count("\n") == 1
    return err


def test_ship_copies_the_model_and_plays_the_leaderboard(
    runs: Path, places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = runs / "busy-aces-1", runs / "busy-aces-2"
    assert main([str(first), "--deals", "0:4,100:103", "--quiet"]) == 0
    folder = places / "policies" / "busy-aces"
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "config.yaml", "curve.csv", "model.json", "model.safetensors", "versions.json",
    ]  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["busy-aces"]
    for name in ("model.safetensors", "model.json"):
        assert (folder / name).read_bytes() == (first / "model" / name).read_bytes()
    assert load_config(folder / "config.yaml") == load_config(first / "config.yaml")

    (entry,) = read_leaderboard()["busy-aces"]
    assert (entry.name, entry.games[0].moves, len(entry.games)) == ("shipped", "supermove", 7)
    assert entry.about.weights == weights_hash(folder) == weights_hash(first)
    assert entry.about.training is not None and 512 <= entry.about.training.steps < 1024
    card = (folder / "README.md").read_text()
    assert "| 0-3 | " in card and "| 100-102 |" in card
    assert "hidden [8, 4], width 8" in card and "seed 1" in card
    assert leaderboard.main(["check"]) == 0

    # The stored results of another network are refused.
    capsys.readouterr()
    assert "--force" in refused(capsys, second)
    shutil.copyfile(second / "model" / "model.safetensors", folder / "model.safetensors")
    assert leaderboard.main(["check"]) == 2 and "another network" in capsys.readouterr().err
    add = ["add", "leaderboard", "busy-aces/shipped", "--deals", "0:4"]
    assert leaderboard.main(add) == 2 and "--force" in capsys.readouterr().err
    assert shipping(second, "--force") == 0
    assert leaderboard.main(["check"]) == 0


@pytest.mark.slow
def test_ship_copies_the_history_of_initial_networks(
    runs: Path, places: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = places / "policies" / "busy-aces"
    first, *others = runs / "busy-aces-1", *(tmp_path / f"busy-aces-{number}" for number in (1, 2, 3, 4))
    command = [
        str(runs / "tiny.yaml"),
        "--runs",
        str(tmp_path),
        "--init-linear-temperature",
        "None",
        "--quiet",
    ]
    for seed, start in enumerate((first, first, f"{others[0]},{others[1]}", others[2])):
        assert train.main([*command, "--init-from", str(start), "--seed", str(seed)]) == 0
    # A common ancestor is recorded once, and records refer to records.
    assert [path.name for path in history_of(others[3])] == ["1", "2", "3", "4"]
    told = [load_config(record / "config.yaml").init_from for record in history_of(others[3])]
    assert told == [None, "history/1", "history/1", "history/2,history/3"]

    assert shipping(others[3]) == 0
    card = (folder / "README.md").read_text()
    assert "| initialized from | the network of `history/4/` |" in card
    assert load_config(folder / "config.yaml").init_from == "history/4"
    assert str(tmp_path) not in "".join(path.read_text() for path in folder.rglob("*.yaml"))
    (entry,) = read_leaderboard()["busy-aces"]
    assert entry.about.training is not None and 5 * 512 <= entry.about.training.steps < 10 * 512
    assert leaderboard.main(["check"]) == 0

    shutil.rmtree(others[3] / "history")
    assert "not recorded" in refused(capsys, others[3], "--force")


def test_unsuitable_runs_are_refused(
    runs: Path, run: Path, places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "config.yaml" in refused(capsys, places)

    def configured(**values: Any) -> str:
        config = yaml.safe_load((runs / "busy-aces-1" / "config.yaml").read_text())
        config["Solitaire/BusyAces-v0"].update(values)
        (run / "config.yaml").write_text(yaml.safe_dump(config))
        return refused(capsys, run)

    assert "any suit" in configured(build="any suit")
    assert "'thoughtful'" in configured(information="thoughtful")
    shutil.copyfile(runs / "busy-aces-1" / "config.yaml", run / "config.yaml")

    (run / "curve.csv").rename(places / "kept.csv")
    assert "not a finished run" in (told := refused(capsys, run)) and "--resume" in told
    (places / "kept.csv").rename(run / "curve.csv")
    weights = run / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    assert "not a whole safetensors file" in refused(capsys, run)
    assert not (places / "policies").exists()
