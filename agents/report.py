"""Tables and pictures of results."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from solitaire_env.evaluation import Summary
from solitaire_env.files import write_whole
from solitaire_env.messages import one_line


def summary_table(rows: Sequence[tuple[str, str, Summary]]) -> str:
    """Policies with their rates and 95 % intervals as text: name, action set and summary of each."""
    head = ("policy", "moves", "games", "win rate", "", "cards home", "", "steps", "truncated", "repeated")
    lines = [head]
    for name, moves, s in rows:
        lines.append(
            (
                name,
                moves,
                str(s.games),
                f"{100 * s.win_rate:.1f} %",
                f"[{100 * s.win_interval[0]:.1f}, {100 * s.win_interval[1]:.1f}]",
                f"{s.cards_home:.1f}",
                f"[{s.cards_interval[0]:.1f}, {s.cards_interval[1]:.1f}]",
                f"{s.steps:.0f}",
                f"{100 * s.truncated:.1f} %",
                f"{100 * s.repeated:.1f} %",
            )
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            f"{cell:<{w}}" if k < 2 else f"{cell:>{w}}"
            for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def read_curve(run: Path) -> list[dict[str, float]]:
    """The learning curve of a run: numbers by column, a row an update."""
    path = run / "curve.csv"
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [{key: float(value) for key, value in row.items() if value} for row in rows]
    except (csv.Error, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a learning curve ({one_line(error)})") from None


def plot_curve(run: Path, title: str, cards: int) -> Path:
    """Draw the learning curve of a run: games won and cards home against steps."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [row for row in read_curve(run) if "win_rate" in row]
    steps = [row["steps"] / 1e6 for row in rows]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    axes.plot(steps, [100 * row["win_rate"] for row in rows], color="#0b6e4f", label="games won")
    axes.plot(steps, [100 * row["cards_home"] / cards for row in rows], color="#c8553d", label="cards home")
    axes.set(title=title, xlabel="million steps", ylabel="percent, last 1,000 games", ylim=(0, 100))
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", frameon=False)
    if rows:
        last = rows[-1]
        axes.set_xlim(0, steps[-1])
        rates = f"{100 * last['win_rate']:.1f} % won, {last['cards_home']:.1f} of {cards} cards home"
        note = f"{last['minutes']:.1f} min, {rates}"
        axes.annotate(note, (0.99, 0.02), xycoords="axes fraction", ha="right", fontsize=9, alpha=0.7)
    path = run / "curve.png"
    write_whole(path, lambda part: figure.savefig(part, format="png", dpi=150))
    return path
