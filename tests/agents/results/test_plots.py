"""``agents plot``: learning curves are drawn."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from agents.commands.plot import main
from agents.config import make_config
from agents.results.plots import STYLE, draw_curve, read_run
from agents.runs.config_files import dump_config
from agents.runs.folders import CURVE_COLUMNS

ROOT = Path(__file__).parents[3]


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


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [make_run(tmp_path / f"busy-aces-{n}", [0.1, 0.2 * n, 0.4], seed=n) for n in (1, 2)]


def test_each_run_is_a_line_in_the_row_of_its_game(runs: list[Path], tmp_path: Path) -> None:
    other = make_run(tmp_path / "eights", [0.5], env="eights-down")
    figure = draw_curve([read_run(run) for run in [*runs, other]])
    legends = [[text.get_text() for text in part.legends[0].get_texts()] for part in figure.subfigs]
    assert legends == [["busy-aces-1: seed 1", "busy-aces-2: seed 2"], ["eights"]]
    steps, values = figure.axes[0].lines[1].get_data()
    assert list(steps) == [0.001, 0.002, 0.003] and list(values) == pytest.approx([10, 40, 40])
    assert figure.axes[2].lines[0].get_marker() == "o", "one point is seen"


def test_the_command_writes_the_same_picture_each_time(runs: list[Path], tmp_path: Path) -> None:
    pictures = [tmp_path / "pictures" / name for name in ("one.svg", "two.svg")]
    for picture in pictures:
        assert main([str(tmp_path), "-o", str(picture)]) == 0
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


@pytest.mark.parametrize("backend", ["module://matplotlib_inline.backend_inline", "nonsense", "tkagg"])
def test_a_command_draws_whatever_backend_a_notebook_has(
    backend: str, runs: list[Path], tmp_path: Path
) -> None:
    picture = tmp_path / "curve.png"
    done = subprocess.run(
        [sys.executable, "-m", "agents", "plot", *map(str, runs), "-o", str(picture)], cwd=ROOT,
        env=os.environ | {"MPLBACKEND": backend}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "") and picture.read_bytes().startswith(b"\x89PNG")


def test_rows_without_finite_numbers_are_left_out(runs: list[Path]) -> None:
    with (runs[0] / "curve.csv").open("a") as file:
        file.write("4000,4,4,nan,inf,1,1\n5000,5,5,,,,\n3500,1,1,0.3,30,1,1\n")
    assert [row["steps"] for row in read_run(runs[0]).curve] == [1000, 2000, 3000, 3500]


def test_the_legend_of_many_runs_is_outside_the_axes_and_not_cut(tmp_path: Path) -> None:
    for n in range(9):
        start = f"runs/{'long' * n}" if n else None
        make_run(tmp_path / f"run-{n}", [0.1, 0.5], seed=n, width=8 + n, gamma=0.9 + n / 100, init_from=start)
    with matplotlib.rc_context(STYLE):
        figure = draw_curve([read_run(tmp_path / f"run-{n}") for n in range(9)])
        figure.draw_without_rendering()
    [part] = figure.subfigs
    legend = part.legends[0].get_window_extent()
    assert figure.bbox.x0 <= legend.x0 and legend.x1 <= figure.bbox.x1 and figure.bbox.y0 <= legend.y0
    for axes in part.axes:
        tight = axes.get_tightbbox()
        assert legend.y1 <= tight.y0 and axes.get_window_extent().height > figure.bbox.height / 4
    looks = {(line.get_color(), line.get_linestyle()) for line in part.axes[0].lines}
    assert len(looks) == 9
