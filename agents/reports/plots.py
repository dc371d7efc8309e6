"""Pictures of results, drawn by ``python -m agents plot`` and by training.

``curve``
    Learning curves: games won and cards home, of the last 1,000 games, against steps. Runs whose
    configurations differ only by the seed are drawn as their mean, with a band from the lowest to the highest
    of them, up to the end of the shortest; thin lines are the single runs.
``win_rates``
    Games won by each policy on the evaluated deals, with Wilson's 95 % interval.
``endings``
    Ends of games. Each policy has a histogram of cards home, by how the game ended, and a point for each
    game that was not won, cards home against steps: it shows whether games get stuck early or late, or move
    cards to and fro until the step limit, and how close they are to a win.
"""

import contextlib
import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle, groupby
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents.config import TrainConfig
from agents.runs.config_files import load_config
from agents.runs.folders import BASELINES, policy_name
from solitaire_env import VARIANTS, env_id
from solitaire_env.evaluation import Game, read_games, summarize
from solitaire_env.registration import env_variant
from solitaire_env.util.files import write_whole
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colors, which color-blind people can distinguish."""
ENDINGS: Final = {"won": ("#009E73", "o"), "stuck": ("#D55E00", "x"), "truncated": ("#0072B2", "+")}
"""Possible ends of a game: color and mark."""
LEGEND: Final = {
    "won": "won",
    "stuck": "stuck: no move was legal",
    "truncated": "truncated: at the step limit, or after repeating positions",
}
ALLOWED: Final = "a folder that agents.train made, or a JSON-lines file of agents.evaluate --games"
PICTURES: Final = ("curve", "win_rates", "endings")
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


@dataclass(frozen=True)
class Played:
    """The games of one policy under one set of rules."""

    env: str
    policy: str
    moves: str
    rules: str
    folder: str
    """Folder of the run that trained the policy; else empty."""
    games: tuple[Game, ...]

    @property
    def cards(self) -> int:
        """Number of cards of the game."""
        with contextlib.suppress(ValueError):
            return env_variant(self.env).cards
        return max(game.cards_home for game in self.games)  # a custom variant


def read_curve(run: Path, name: str = "curve.csv") -> list[dict[str, float]]:
    """The learning curve of a run: numbers by column, a row per update."""
    path = run / name
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [{key: float(value) for key, value in row.items() if value} for row in rows]
    except (csv.Error, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a learning curve ({one_line(error)})") from None


def read_run(folder: Path) -> Run:
    """The configuration and curve of a run folder."""
    rows = read_curve(folder)
    columns = ("steps", "win_rate", "cards_home")
    if any("steps" not in row for row in rows):
        raise ValueError(f"{folder / 'curve.csv'}: not a learning curve (it has no column steps)")
    rated = [row for row in rows if all(math.isfinite(row.get(column, math.nan)) for column in columns)]
    return Run(folder, load_config(folder / "config.yaml"), sorted(rated, key=lambda row: row["steps"]))


def find(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The run folders and the results files in some paths: runs, folders of runs, JSON-lines files.

    Raises
    ------
    ValueError
        If a path is none of these. The message names it.
    """
    runs: list[Path] = []
    files: list[Path] = []
    for path in paths:
        if path.is_file():
            files.append(path)
            continue
        if not path.is_dir():
            raise ValueError(f"{path}: not found, allowed: {ALLOWED}")
        found = (
            [path]
            if (path / "config.yaml").is_file()
            else sorted(folder.parent for folder in path.glob("*/config.yaml"))
        )
        loose = sorted(path.glob("*.jsonl"))
        if not found and not loose:
            raise ValueError(f"{path}: holds neither runs nor results, allowed: {ALLOWED}")
        runs += found
        files += loose + [file for run in found for file in sorted(run.glob("evaluation/*.jsonl"))]
    return list(dict.fromkeys(runs)), list(dict.fromkeys(files))


def read_played(files: Iterable[Path]) -> list[Played]:
    """The games of results files by policy, in the order of the games' list; each deal counts once."""
    found: dict[tuple[str, str, str, str, str], dict[int | str, Game]] = {}
    for file in files:
        run = file.parent.parent
        for game in read_games(file):
            # Only the run's own policy differs between run folders.
            own = file.parent.name == "evaluation" and game.policy == policy_name(run)
            folder = str(run) if own else ""
            key = (game.env, game.policy, game.moves, game.rules, folder)
            found.setdefault(key, {}).setdefault(game.deal, game)
    known = {env_id(variant): place for place, variant in enumerate(VARIANTS)}
    plain = {name: place for place, name in enumerate(BASELINES)}

    def place(of: Played) -> tuple[Any, ...]:
        digits = [(part.zfill(9) if part.isdecimal() else part) for part in re.split("([0-9]+)", of.policy)]
        return (
            known.get(of.env, 99),
            of.env,
            plain.get(of.policy, len(plain)),
            digits,
            of.moves,
            of.rules,
            of.folder,
        )

    return sorted((Played(*key, tuple(games.values())) for key, games in found.items()), key=place)


# ------------------------------------------------------------------------------------- the pictures


def new_figure(height: float) -> Any:
    """An empty picture, without a window or global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(figure)
    return figure


def title_of(env: str) -> str:
    """The title of the game with this id."""
    with contextlib.suppress(ValueError):
        return env_variant(env).title
    return env


def draw_curve(runs: Sequence[Run]) -> Any:
    """Learning curves: a row per game, games won on the left, cards home on the right."""
    by_env: dict[str, list[Run]] = {}
    for run in runs:
        if run.curve:
            by_env.setdefault(run.config.env_id, []).append(run)
    figure = new_figure(0.5 + 2.9 * len(by_env))
    rows = figure.subplots(len(by_env), 2, squeeze=False)
    for (env, of_game), (left, right) in zip(sorted(by_env.items()), rows, strict=True):
        for color, (label, seeds) in zip(cycle(COLORS), group(of_game).items(), strict=False):
            draw_seeds(left, seeds, "win_rate", 100, color, label)
            draw_seeds(right, seeds, "cards_home", 1, color, label)
        left.set(title=title_of(env), xlabel="million steps", ylabel="games won, % of the last 1,000")
        right.set(xlabel="million steps", ylabel="cards home, mean of the last 1,000")
        for axes in (left, right):
            axes.set_xlim(left=0)
            axes.set_ylim(0, max(5, axes.get_ylim()[1]))
        right.legend(loc="lower right")
    return figure


def group(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs of one game that differ only by the seed, by the settings that distinguish them from others."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(json.dumps({**asdict(run.config), "seed": None}, sort_keys=True), []).append(run)
    configs = [json.loads(key) for key in groups]
    differ = [key for key in configs[0] if any(config[key] != configs[0][key] for config in configs)]
    labels = {}
    for config, seeds in zip(configs, groups.values(), strict=True):
        parts = [f"{key} {config[key]}" for key in differ]
        parts.append(f"seed {seeds[0].config.seed}" if len(seeds) == 1 else f"{len(seeds)} seeds")
        labels[one_line(", ".join(parts), 60)] = seeds
    return labels


def draw_seeds(axes: Any, seeds: Sequence[Run], column: str, scale: float, color: str, label: str) -> None:
    """The curves of runs that differ only by the seed: mean, band from lowest to highest, and each run."""
    curves = [
        (
            np.array([row["steps"] / 1e6 for row in run.curve]),
            np.array([scale * row[column] for row in run.curve]),
        )
        for run in seeds
    ]
    if len(curves) == 1:
        # With a mark, to show curves of one point.
        axes.plot(*curves[0], color=color, label=label, marker="o" if len(curves[0][0]) == 1 else "")
        return
    for steps, values in curves:
        axes.plot(steps, values, color=color, linewidth=0.8, alpha=0.4)
    first, last = max(steps[0] for steps, _ in curves), min(steps[-1] for steps, _ in curves)
    common = np.linspace(first, max(first, last), 200)
    all_values = np.array([np.interp(common, steps, values) for steps, values in curves])
    axes.fill_between(common, all_values.min(0), all_values.max(0), color=color, alpha=0.2, linewidth=0)
    axes.plot(common, all_values.mean(0), color=color, linewidth=2, label=f"{label}: mean, lowest to highest")


def labels_of(played: Sequence[Played]) -> list[str]:
    """Labels of the policies of one game: name, and the settings that distinguish equal names."""
    labels = []
    for one in played:
        same = [other for other in played if other.policy == one.policy]
        parts = [one.policy]
        for name in ("moves", "rules", "folder"):
            if len({getattr(other, name) for other in same}) > 1:
                # The last parts of a folder, enough to distinguish it.
                parts.append(
                    "/".join(Path(one.folder).parts[-2:]) if name == "folder" else getattr(one, name)
                )
        labels.append(one_line(", ".join(parts), 40))
    return labels


def draw_win_rates(played: Sequence[Played]) -> Any:
    """Bars of the games won: a panel per game, a bar per policy, with Wilson's interval."""
    panels = [list(of_game) for _, of_game in groupby(played, key=lambda one: one.env)]
    figure = new_figure(0.5 + sum(0.5 + 0.34 * len(panel) for panel in panels))
    rows = figure.subplots(
        len(panels), 1, squeeze=False, sharex=True, height_ratios=[0.6 + len(panel) for panel in panels]
    )[:, 0]
    highest = 0.0
    for panel, axes in zip(panels, rows, strict=True):
        summaries = [summarize(one.games) for one in panel]
        rates = np.array([100 * s.win_rate for s in summaries])
        ends = 100 * np.array([s.win_interval for s in summaries])
        highest = max(highest, ends.max())
        # In the order of the list from the top; by index, as names may be equal.
        places = -np.arange(len(panel))
        axes.barh(places, rates, 0.7, color=COLORS[0], alpha=0.85)
        errors = np.array([rates - ends[:, 0], ends[:, 1] - rates]).clip(0)
        axes.errorbar(rates, places, xerr=errors, fmt="none", ecolor="black", capsize=3, linewidth=1.2)
        for place, s, (_, end) in zip(places, summaries, ends, strict=True):
            text = f"{100 * s.win_rate:.1f} % of {s.games:,}"
            axes.annotate(text, (end, place), (6, 0), textcoords="offset points", va="center")
        axes.set(yticks=places, yticklabels=labels_of(panel), title=title_of(panel[0].env))
        axes.set_ylim(-len(panel) + 0.4, 0.6)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    rows[-1].set(xlabel="games won, %, with Wilson's 95 % interval", xlim=(0, max(10.0, 1.28 * highest)))
    return figure


def ending(game: Game) -> str:
    """The end of a game in words."""
    return "won" if game.won else "truncated" if game.truncated else "stuck"


def draw_endings(played: Sequence[Played]) -> Any:
    """Ends of games: a row per policy, histograms of cards home, and cards home against steps if not won."""
    from matplotlib.patches import Patch
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    figure = new_figure(0.8 + 2.1 * len(played))
    rows = figure.subplots(len(played), 2, squeeze=False)
    # Logarithmic: a game without moves counts as one.
    steps_of = [max(1, game.steps) for one in played for game in one.games]
    steps_shown = (10 if min(steps_of) >= 10 else 0.8, 2 * max(10, *steps_of))
    labels = [
        label for _, panel in groupby(played, key=lambda one: one.env) for label in labels_of(list(panel))
    ]
    for label, one, (left, right) in zip(labels, played, rows, strict=True):
        width = max(1, one.cards // 52)
        edges = np.arange(-0.5, one.cards + width, width)
        bottom = np.zeros(len(edges) - 1)
        for name in ("truncated", "stuck", "won"):
            color, mark = ENDINGS[name]
            games = [game for game in one.games if ending(game) == name]
            home = [game.cards_home for game in games]
            if name == "won":
                # Wins are all in one bar, much higher than those of lost games.
                left.set_ylim(0, 1.2 * max(1, bottom.max()))
                if games:
                    left.annotate(
                        f"{len(games):,} won", (0.95, 0.88), xycoords="axes fraction", ha="right", color=color
                    )
            else:
                steps = [max(1, game.steps) for game in games]
                right.scatter(
                    home, steps, 18, color=color, marker=mark, linewidths=1, alpha=0.5, rasterized=True
                )
            counts, _ = np.histogram(home, edges)
            left.bar(edges[:-1], counts, width, bottom, align="edge", color=color)
            bottom += counts
        wins = sum(game.won for game in one.games)
        left.set(title=f"{title_of(one.env)}, {label}: {wins:,} of {len(one.games):,} won", ylabel="games")
        left.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
        right.set(yscale="log", ylabel="steps", ylim=steps_shown)
        right.yaxis.set_major_locator(LogLocator(10))
        right.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        right.yaxis.set_minor_formatter(NullFormatter())
        for axes in (left, right):
            axes.set_xlim(-1, one.cards + width + 0.5)
    left.set_xlabel("cards home at the end")
    right.set_xlabel("cards home at the end, games not won")
    patches = [Patch(color=color, label=LEGEND[name]) for name, (color, _) in ENDINGS.items()]
    figure.legend(handles=patches, loc="outside upper left", ncols=len(patches))
    return figure


# --------------------------------------------------------------------------------- pictures as files


def plot(
    paths: Sequence[Path],
    folder: Path,
    kind: str = "png",
    names: Sequence[str] = PICTURES,
    quiet: bool = True,
) -> list[Path]:
    """Draw pictures of runs and results files; return the paths of the pictures.

    Parameters
    ----------
    paths
        Run folders, folders of them, results files.
    folder
        Where the pictures are written.
    kind
        ``png`` or ``svg``.
    names
        Some of :data:`PICTURES`; those without data are left out.

    Raises
    ------
    ValueError
        If a file or folder is invalid.
    """
    import matplotlib

    run_folders, files = find(paths)
    runs = [read_run(run) for run in run_folders]
    played = read_played(files)
    drawn: dict[str, Callable[[], Any]] = {}
    if any(run.curve for run in runs):
        drawn["curve"] = lambda: draw_curve(runs)
    if played:
        drawn["win_rates"] = lambda: draw_win_rates(played)
        drawn["endings"] = lambda: draw_endings(played)
    folder.mkdir(parents=True, exist_ok=True)
    line = ProgressLine(quiet)
    written: list[Path] = []
    for name in [name for name in names if name in drawn]:
        path = folder / f"{name}.{kind}"
        line.count(len(written), len(names), f"drawing {path}")
        with matplotlib.rc_context(STYLE):
            figure = drawn[name]()
            # Without a date: the same results give the same bytes.
            options = {"format": kind, "metadata": {"Date": None} if kind == "svg" else {}}
            write_whole(path, partial(figure.savefig, **options))
        written.append(path)
    line.close()
    return written
