"""``agents plot``: the contents of the pictures; wrong paths are refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from PIL import Image

from agents.commands.plot import main
from agents.config import make_config
from agents.reports.plots import (
    PICTURES,
    STYLE,
    draw_curve,
    draw_endings,
    draw_win_rates,
    find,
    labels_of,
    plot,
    read_played,
    read_run,
)
from agents.runs.config_files import dump_config
from agents.runs.folders import CURVE_COLUMNS
from solitaire_env.evaluation import Game, wilson_interval
from tests.conftest import Refuses


def make_run(folder: Path, rates: list[float], **values: Any) -> Path:
    """A run folder whose curve has a row for each win rate."""
    folder.mkdir(parents=True)
    config = make_config({"env": "busy-aces", **values}, "test")
    (folder / "config.yaml").write_text(dump_config(config))
    rows = [(1000 * n, n, n, rate, 100 * rate, 50, 900) for n, rate in enumerate(rates, 1)]
    (folder / "curve.csv").write_text(
        "\n".join(",".join(map(str, row)) for row in (CURVE_COLUMNS, *rows)) + "\n"
    )
    return folder


def make_games(file: Path, policy: str, wins: int = 3, games: int = 10, **values: Any) -> Path:
    """A results file: some wins, then stuck and truncated games alternately."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for deal in range(games):
        won = deal < wins
        cut = not won and deal % 2 == 0
        game = Game(
            env="Solitaire/BusyAces-v0", policy=policy, moves="one card", rules="published", deal=deal,
            won=won, cards_home=104 if won else 10 + deal, steps=3328 if cut else 100 + deal,
            truncated=cut, repeated=0,
        )  # fmt: skip
        lines.append(json.dumps(asdict(game) | values))
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    made = [make_run(tmp_path / f"busy-aces-{n}", [0.1, 0.2 * n, 0.4], seed=n) for n in (1, 2)]
    for run in made:
        make_games(run / "evaluation" / f"{run.name}.jsonl", run.name, wins=5)
        make_games(run / "evaluation" / "greedy.jsonl", "greedy")
    return made


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


# ---------------------------------------------------------------------------------- the pictures


def test_seeds_are_one_line_with_a_band(runs: list[Path], tmp_path: Path) -> None:
    short = make_run(tmp_path / "busy-aces-3", [0.1, 0.3], seed=3)
    figure = draw_curve([read_run(run) for run in [*runs, short]])
    left, right = figure.axes
    assert (
        left.get_title("left") == left.get_title() == "Busy Aces"
        or left.get_title(loc="center") == "Busy Aces"
    )
    *single, mean = left.lines
    assert len(single) == 3 and len(left.collections) == 1
    steps, values = mean.get_data()
    assert (steps[0], steps[-1]) == (0.001, 0.002), "as far as the shortest run"
    assert values[0] == pytest.approx(10) and values[-1] == pytest.approx(100 * np.mean([0.2, 0.4, 0.3]))
    band = left.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == pytest.approx((10, 40))
    assert [text.get_text() for text in right.get_legend().get_texts()] == [
        "3 seeds: mean, lowest to highest"
    ]


def test_labels_show_the_keys_that_differ(runs: list[Path], tmp_path: Path) -> None:
    wide = make_run(tmp_path / "wide", [0.5], seed=1, width=128)
    other = make_run(tmp_path / "eights", [0.5, 0.6], env="eights-down")
    figure = draw_curve([read_run(run) for run in [*runs, wide, other]])
    assert len(figure.axes) == 4
    legends = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes[1::2]]
    assert legends == [["width 64, 2 seeds: mean, lowest to highest", "width 128, seed 1"], ["seed 0"]]
    assert figure.axes[0].lines[-1].get_marker() == "o", "one point is seen"


def test_bars_have_rates_and_intervals(runs: list[Path], tmp_path: Path) -> None:
    make_games(tmp_path / "random.jsonl", "random", wins=0, games=4)
    make_games(tmp_path / "own.jsonl", "mine", wins=1, games=4, env="Solitaire/Mine-v0", cards_home=7)
    played = read_played(find([*runs, tmp_path / "random.jsonl", tmp_path / "own.jsonl"])[1])
    figure = draw_win_rates(played)
    busy, own = figure.axes
    names = ["random", "greedy", "busy-aces-1", "busy-aces-2"]
    assert [label.get_text() for label in busy.get_yticklabels()] == names
    assert [label.get_text() for label in own.get_yticklabels()] == ["mine"]
    assert texts(busy) == ["0.0 % of 4", "30.0 % of 10", "50.0 % of 10", "50.0 % of 10"]
    assert [bar.get_width() for bar in busy.patches] == pytest.approx([0, 30, 50, 50])
    (segments,) = [line.get_segments() for line in busy.collections]
    expected = [wilson_interval(*of) for of in ((0, 4), (3, 10), (5, 10), (5, 10))]
    assert [tuple(segment[:, 0]) for segment in segments] == [
        pytest.approx((100 * a, 100 * b)) for a, b in expected
    ]
    assert own.get_xlim() == busy.get_xlim() and busy.get_xlim()[1] > 100 * expected[2][1]


def test_endings_have_their_own_marks(runs: list[Path]) -> None:
    played = read_played([runs[0] / "evaluation" / "greedy.jsonl"])
    left, right = draw_endings(played).axes
    cut, stuck, won = (left.patches[52 * n + n : 53 * (n + 1)] for n in range(3))
    assert [sum(bar.get_height() for bar in bars) for bars in (cut, stuck, won)] == [3, 4, 3]
    assert won[-1].get_height() == 3 and won[-1].get_x() <= 104 <= won[-1].get_x() + won[-1].get_width()
    assert texts(left) == ["3 won"] and left.get_ylim()[1] < 3
    points = [line.get_offsets().tolist() for line in right.collections]
    assert (
        [len(of) for of in points] == [3, 4] and [15.0, 105.0] in points[1] and points[0][0] == [14.0, 3328.0]
    )


def test_equal_policy_names_get_different_labels(tmp_path: Path) -> None:
    files = [
        make_games(tmp_path / "a.jsonl", "greedy"),
        make_games(tmp_path / "b.jsonl", "greedy", moves="supermove"),
        make_games(tmp_path / "c.jsonl", "random"),
        make_games(tmp_path / "x" / "net-1" / "evaluation" / "net-1.jsonl", "net-1"),
        make_games(tmp_path / "y" / "net-1" / "evaluation" / "net-1.jsonl", "net-1"),
    ]
    labels = labels_of(read_played(files))
    assert labels[:3] == ["random", "greedy, one card", "greedy, supermove"]
    assert labels[3:] == ["net-1, x/net-1", "net-1, y/net-1"]


def test_a_deal_is_counted_once(runs: list[Path], tmp_path: Path) -> None:
    more = make_games(tmp_path / "greedy.jsonl", "greedy", games=15)
    (greedy,) = read_played([*(run / "evaluation" / "greedy.jsonl" for run in runs), more])
    assert len(greedy.games) == 15


# ----------------------------------------------------------------------------------- the command


def test_the_command_prints_the_paths_of_the_pictures(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: matplotlib.rcParams[name] for name in STYLE}
    assert main([*map(str, runs), "-o", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [str(tmp_path / "out" / f"{name}.png") for name in PICTURES] and err == ""
    for line in out.splitlines():
        with Image.open(line) as image:
            assert image.width == 8 * STYLE["savefig.dpi"] and image.height > 300
    assert {name: matplotlib.rcParams[name] for name in STYLE} == before
    assert not list(tmp_path.glob("**/*.part"))


def test_pictures_of_one_run_are_written_to_its_folder(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(runs[0]), "--format", "svg"]) == 0
    first = {name: (runs[0] / f"{name}.svg").read_bytes() for name in PICTURES}
    assert main([str(runs[0]), "--format", "svg"]) == 0
    assert first == {name: (runs[0] / f"{name}.svg").read_bytes() for name in PICTURES}, "the same bytes"
    monkeypatch.chdir(tmp_path)
    assert main([str(tmp_path)]) == 0
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == sorted(
        f"{n}.png" for n in PICTURES
    )


def test_pictures_without_data_are_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [0.5])
    assert [path.name for path in plot([run], run)] == ["curve.png"]
    file = make_games(tmp_path / "games" / "greedy.jsonl", "greedy")
    assert [path.name for path in plot([file.parent], tmp_path)] == ["win_rates.png", "endings.png"]
    assert plot([run], run, names=("endings",)) == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, ["here: not found", "a folder that agents.train made, or a JSON-lines file"]),
        (lambda path: path.mkdir(), ["here: holds neither runs nor results"]),
        (lambda path: make_run(path, []), ["here: nothing to draw: no game has ended yet"]),
        (lambda path: path.write_text("{}\nx\n"), ["here, line 1: not a game of an evaluation"]),
        (lambda path: path.write_bytes(b"\xff"), ["here", "text"]),
        (lambda path: path.write_text(""), ["nothing to draw"]),
        (
            lambda path: (make_run(path, [0.5]) / "curve.csv").write_text("a,b\n1,2\n"),
            ["curve.csv", "no column steps"],
        ),
        (
            lambda path: (make_run(path, [0.5]) / "curve.csv").write_text("steps\nx\n"),
            ["not a learning curve"],
        ),
        (lambda path: (make_run(path, [0.5]) / "config.yaml").write_text("{"), ["config.yaml"]),
        (lambda path: (make_run(path, []) / "curve.csv").unlink(), ["nothing to draw"]),
    ],
)
def test_unreadable_paths_are_refused(
    make: Any, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / "here")
    assert main([str(tmp_path / "here"), "-o", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and len(err.splitlines()) == 1
    assert all(word in err for word in words), err
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_rows_without_finite_numbers_are_left_out(runs: list[Path], refuses: Refuses) -> None:
    with (runs[0] / "curve.csv").open("a") as file:
        file.write("4000,4,4,nan,inf,1,1\n5000,5,5,,,,\n3500,1,1,0.3,30,1,1\n")
    assert [row["steps"] for row in read_run(runs[0]).curve] == [1000, 2000, 3000, 3500]
    shutil.rmtree(runs[0])
    refuses(lambda: find(runs), "busy-aces-1: not found")
