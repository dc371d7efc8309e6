"""Learning curves, drawn by ``python -m agents plot`` and by training.

Games won and cards home, of the last 1,000 games, against steps: a line for each run.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from agents.config import TrainConfig
from agents.runs.config_files import load_config
from solitaire_env.util.files import read_text, write_whole
from solitaire_env.util.messages import one_line

COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colors, which color-blind people can distinguish."""
STYLE: Final[Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "solitaire-env",
}
WIDTH: Final = 8.0
"""Width of every picture, in inches."""


# ----------------------------------------------------------------------------------- reading results


@dataclass(frozen=True)
class Run:
    """A training run."""

    folder: Path
    config: TrainConfig
    curve: list[dict[str, float]]
    """Numbers by column, a row per update; only rows with rates."""


def read_curve(run: Path) -> list[dict[str, float]]:
    """The learning curve of a run: numbers by column, a row per update."""
    path = run / "curve.csv"
    if not path.exists():
        return []
    try:
        rows = list(csv.DictReader(read_text(path).split("\n")))
        return [{key: float(value) for key, value in row.items() if value} for row in rows]
    except (csv.Error, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a learning curve ({one_line(error)})") from None


def read_run(folder: Path, *, trust: bool = False) -> Run:
    """The configuration and curve of a run folder."""
    rows = read_curve(folder)
    columns = ("steps", "win_rate", "cards_home")
    if any("steps" not in row for row in rows):
        raise ValueError(f"{folder / 'curve.csv'}: not a learning curve (it has no column steps)")
    rated = [row for row in rows if all(math.isfinite(row.get(column, math.nan)) for column in columns)]
    return Run(
        folder, load_config(folder / "config.yaml", trust=trust), sorted(rated, key=lambda row: row["steps"])
    )


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """The run folders in some paths: runs, and folders of runs.

    Raises
    ------
    ValueError
        If a path is neither. The message names it.
    """
    runs: list[Path] = []
    for path in paths:
        inside = sorted(folder.parent for folder in path.glob("*/config.yaml"))
        found = [path] if (path / "config.yaml").is_file() else inside
        if not found:
            raise ValueError(f"{path}: has no runs, allowed: a folder that agents.train made")
        runs += found
    return list(dict.fromkeys(runs))


# ------------------------------------------------------------------------------------- the pictures


def labels(runs: Sequence[Run]) -> list[str]:
    """The name of each run's folder, and the keys of the configurations that differ between the runs."""
    names = [run.folder.name for run in runs]
    if len({*names}) < len(names):
        names = [str(run.folder) for run in runs]
    configs = [{**asdict(run.config), "env": None} for run in runs]  # a game's name and its id are alike
    differ = [key for key in configs[0] if any(config[key] != configs[0][key] for config in configs)]
    texts = [", ".join(f"{key} {one_line(config[key], 30)}" for key in differ) for config in configs]
    return [fill(f"{name}: {text}" if text else name, 100) for name, text in zip(names, texts, strict=True)]


def draw_curve(runs: Sequence[Run]) -> Any:
    """Learning curves: a row per game, games won on the left, cards home on the right, the runs below."""
    from matplotlib.figure import Figure

    by_game: dict[str, list[Run]] = {}
    for run in runs:
        by_game.setdefault(run.config.title, []).append(run)
    legends = {title: labels(of_game) for title, of_game in by_game.items()}
    heights = [3.4 + 0.17 * "\n".join(texts).count("\n") for texts in legends.values()]
    figure = Figure(figsize=(WIDTH, sum(heights)))
    parts = figure.subfigures(len(by_game), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, (title, of_game) in zip(parts, by_game.items(), strict=True):
        left, right = part.subplots(1, 2)
        for place, (run, label) in enumerate(zip(of_game, legends[title], strict=True)):
            style: dict[str, Any] = {
                "color": COLORS[place % len(COLORS)],
                "linestyle": ("-", "--", ":")[place // len(COLORS) % 3],
                "marker": "o" if len(run.curve) == 1 else "",  # to show curves of one point
            }
            steps = [row["steps"] / 1e6 for row in run.curve]
            left.plot(steps, [100 * row["win_rate"] for row in run.curve], label=label, **style)
            right.plot(steps, [row["cards_home"] for row in run.curve], **style)
        left.set(title=title, xlabel="million steps", ylabel="games won, % of the last 1,000")
        right.set(xlabel="million steps", ylabel="cards home, mean of the last 1,000")
        for axes in (left, right):
            axes.set_xlim(left=0)
            axes.set_ylim(0, max(5, axes.get_ylim()[1]))
        part.legend(loc="outside lower left", fontsize=9)
    return figure


def plot(paths: Sequence[Path], path: Path, *, trust: bool = False) -> bool:
    """Draw the curves of runs to a file, ``.png`` or ``.svg``; whether any has a curve.

    Parameters
    ----------
    paths
        Run folders, folders of them.
    trust
        Import the modules of custom variants that the runs name.

    Raises
    ------
    ValueError
        If a file or folder is invalid.
    """
    import matplotlib

    runs = [run for folder in find_runs(paths) if (run := read_run(folder, trust=trust)).curve]
    if runs:
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = path.suffix[1:]
        metadata = {"Date": None} if kind == "svg" else {}  # the same curves give the same bytes
        with matplotlib.rc_context(STYLE):
            save = partial(draw_curve(runs).savefig, format=kind, metadata=metadata)
            write_whole(path, save)
    return bool(runs)
