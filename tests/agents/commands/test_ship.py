"""``agents ship``: the folder and model card of a shipped policy, and the policy by name."""

from __future__ import annotations

import csv
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents import train
from agents.commands import leaderboard, ship
from agents.commands.ship import CURVE_ROWS, MAX_BYTES, main, thinned
from agents.evaluate import main as evaluate_main
from agents.policies import make_policy
from agents.reports import leaderboard as pages
from agents.reports import stored as results
from agents.reports.plots import read_curve
from agents.reports.stored import read_store, weights_hash
from agents.runs.config_files import load_config
from agents.runs.folders import history_of
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate, read_games
from solitaire_env.policies.shipped import load_shipped, shipped_games
from tests.conftest import Refuses

TINY: dict[str, Any] = {
    "moves": "supermove", "init_linear_temperature": 0.5, "minutes": None, "total_steps": 512,
    "hidden": [8, 4], "held_out_deals": None,
    "width": 8, "num_envs": 8, "n_steps": 32, "batch_size": 64, "threads": 1, "stall_limit": 10,
    "eval_deals": "0:2",
}  # fmt: skip


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
    monkeypatch.setattr(results, "HELD_OUT", range(100, 103))
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
    assert main([str(first), str(second), "--deals", "0:4,100:103", "--quiet"]) == 0
    folder = places / "policies" / "busy-aces"
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "config.yaml", "curve-seed-2.csv", "curve.csv", "games-seed-2.jsonl", "model.json",
        "model.safetensors", "versions.json",
    ]  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["busy-aces"]
    assert all(path.stat().st_size < MAX_BYTES for path in folder.iterdir())
    for name in ("model.safetensors", "model.json"):
        assert (folder / name).read_bytes() == (first / "model" / name).read_bytes()
    assert load_config(folder / "config.yaml") == load_config(first / "config.yaml")

    (entry,) = read_store(results.STORE)["busy-aces"]
    assert (entry.about.policy, entry.moves, len(entry.standard), len(entry.held_out)) == (
        ("shipped", "supermove", 4, 3)
    )
    assert entry.about.weights == weights_hash(folder) == weights_hash(first)
    assert entry.about.training is not None and 512 <= entry.about.training.steps < 1024

    card = (folder / "README.md").read_text()
    summary = entry.summary
    low, high = summary.win_interval
    assert f"| 0-3 | {100 * summary.win_rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}] |" in card
    assert "| 100-102 |" in card and "hidden [8, 4], width 8" in card and "seed 1" in card
    games = read_games(second / "evaluation" / "busy-aces-2.jsonl")
    assert f"| 2 | 0.0 M steps, 0.0 min | 2 | {100 * sum(g.won for g in games) / 2:.1f} % [" in card
    assert "`shipped` | supermove" in pages.PAGE.read_text()
    assert leaderboard.main(["--check"]) == 0

    # The stored results of another network are refused.
    capsys.readouterr()
    assert "--force" in refused(capsys, second)
    shutil.copyfile(second / "model" / "model.safetensors", folder / "model.safetensors")
    assert leaderboard.main(["--check"]) == 2 and "another network" in capsys.readouterr().err
    assert leaderboard.main(["add", "--policy", "shipped", "--env", "busy-aces", "--deals", "0:4"]) == 2
    assert "--force" in capsys.readouterr().err
    assert shipping(second, "--force") == 0
    assert sorted(path.name for path in folder.iterdir())[2:4] == ["curve.csv", "model.json"]
    assert "one seed" in (folder / "README.md").read_text()
    assert leaderboard.main(["--check"]) == 0


@pytest.mark.slow
def test_ship_copies_the_history_of_initial_networks(
    runs: Path, places: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = places / "policies" / "busy-aces"
    first, *others = runs / "busy-aces-1", *(tmp_path / f"busy-aces-{number}" for number in (1, 2, 3, 4))
    side_by_side = f"{others[0]},{others[1]}"
    for seed, start in enumerate((first, first, side_by_side, others[2])):
        command = [
            runs / "tiny.yaml",
            "--runs",
            tmp_path,
            "--init-linear-temperature",
            "None",
            "--init-from",
            start,
        ]
        assert train.main([*map(str, command), "--seed", str(seed), "--quiet"]) == 0
    # A common ancestor is recorded once, and records refer to records.
    assert [path.name for path in history_of(others[3])] == ["1", "2", "3", "4"]
    for record, run in zip(history_of(others[3]), (first, *others[:3]), strict=True):
        assert (record / "curve.csv").read_bytes() == (run / "curve.csv").read_bytes()
    told = [load_config(record / "config.yaml").init_from for record in history_of(others[3])]
    assert told == [None, "history/1", "history/1", "history/2,history/3"]

    assert shipping(others[3]) == 0
    card = (folder / "README.md").read_text()
    assert "| initialized from | the network of `history/4/` |" in card
    again = "python -m agents.train solitaire_env/policies/weights/busy-aces"
    assert (
        f"{again}/history/1/config.yaml\n"
        f"{again}/history/2/config.yaml --init-from runs/busy-aces-1\n"
        f"{again}/history/3/config.yaml --init-from runs/busy-aces-1\n"
        f"{again}/history/4/config.yaml --init-from runs/busy-aces-2,runs/busy-aces-3\n"
        f"{again}/config.yaml --init-from runs/busy-aces-4\n"
    ) in card
    assert load_config(folder / "config.yaml").init_from == "history/4"
    assert str(tmp_path) not in "".join(path.read_text() for path in folder.rglob("*.yaml"))
    (entry,) = read_store(results.STORE)["busy-aces"]
    training = entry.about.training
    assert training is not None and 5 * 512 <= training.steps < 10 * 512
    minutes = sum(read_curve(part)[-1]["minutes"] for part in (folder, *history_of(folder)))
    assert training.minutes == pytest.approx(minutes, abs=0.01)
    assert leaderboard.main(["--check"]) == 0

    assert shipping(others[2], "--force") == 0
    card = (folder / "README.md").read_text()
    assert "| initialized from | the mean of `history/2/` and `history/3/` |" in card

    (others[2] / "history" / "1" / "config.yaml").unlink()
    assert "not recorded" in refused(capsys, others[2], "--force")
    shutil.rmtree(others[3] / "history")
    assert "not recorded" in refused(capsys, others[3], "--force")


def test_the_shipped_policy_is_found_by_name(runs: Path, places: Path, refuses: Refuses) -> None:
    assert shipping(runs / "busy-aces-1") == 0
    assert shipped_games() == ["busy-aces"]
    command = ["--policy", "shipped", "--env", "busy-aces", "--quiet"]
    stored = read_games(places / "leaderboard" / "busy-aces" / "shipped.jsonl")
    for number, (deals, num_envs) in enumerate((("0:4", 1), ("0:4", 3), ("1:3", 256))):
        path = places / f"{number}.jsonl"
        more = ["--deals", deals, "--num-envs", str(num_envs), "--games", str(path)]
        assert evaluate_main([*command, *more]) == 0
        first, end = map(int, deals.split(":"))
        assert read_games(path) == stored[first:end]
    policy = make_policy("shipped", GameSpec(get_variant("busy-aces")))
    assert evaluate(policy, "busy-aces", [3]).games == stored[3:4]

    refuses(
        lambda: load_shipped(GameSpec(get_variant("eights-down"))),
        "'shipped' has no network for this game", "busy-aces", "agents.train",
    )  # fmt: skip


def test_a_game_without_a_shipped_policy_is_an_error(refuses: Refuses) -> None:
    refuses(lambda: load_shipped(GameSpec(get_variant("busy-aces"))), "none yet")


def test_unsuitable_runs_are_refused(
    runs: Path, run: Path, places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "config.yaml" in refused(capsys, places)
    assert "seeds of the runs are [1, 1]" in refused(capsys, run, runs / "busy-aces-1")

    def configured(**values: Any) -> str:
        config = yaml.safe_load((runs / "busy-aces-1" / "config.yaml").read_text())
        config["Solitaire/BusyAces-v0"].update(values)
        (run / "config.yaml").write_text(yaml.safe_dump(config))
        return refused(capsys, run) if "seed" not in values else refused(capsys, runs / "busy-aces-1", run)

    assert "its gamma differs from" in configured(seed=9, gamma=0.9)
    assert "any suit" in configured(build="any suit")
    assert "'thoughtful'" in configured(information="thoughtful")
    shutil.copyfile(runs / "busy-aces-1" / "config.yaml", run / "config.yaml")

    monster = run / "evaluation" / "busy-aces-1.jsonl"
    monster.rename(places / "kept.jsonl")
    assert "not a finished run" in (told := refused(capsys, run)) and "--resume" in told
    (places / "kept.jsonl").rename(monster)
    weights = run / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    assert "not a whole safetensors file" in refused(capsys, run)
    assert not (places / "policies").exists() and not (places / "leaderboard").exists()


def test_large_files_are_refused(
    run: Path, places: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ship, "MAX_BYTES", 1000)
    assert "bytes, allowed: 1,000" in refused(capsys, run)
    assert not list((places / "policies").iterdir())


def test_thinned_keeps_the_first_and_last_row(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    for rows in (1, 2, CURVE_ROWS, CURVE_ROWS + 1, 5000):
        path.write_text("steps,won\n" + "".join(f"{k},{k / 7:.3f}\n" for k in range(rows)))
        head, *kept = csv.reader(thinned(path).splitlines())
        assert head == ["steps", "won"] and len(kept) == min(rows, CURVE_ROWS)
        steps = [int(row[0]) for row in kept]
        assert steps[0] == 0 and steps[-1] == rows - 1
        gaps = {b - a for a, b in pairwise(steps)}
        assert max(gaps, default=1) <= max(1, rows / CURVE_ROWS) + 1
