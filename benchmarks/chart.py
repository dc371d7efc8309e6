"""The bar chart of steps per second."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.rounds import Contestant, Speeds
from benchmarks.table import short

OURS: Final = "#0b6e4f"
THEIRS: Final = "#9aa5b1"


def draw(path: Path, contestants: Sequence[Contestant], speeds: Speeds, title: str) -> None:
    """Draw bars on a logarithmic axis, the fastest first, each with its number."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    order = sorted(contestants, key=lambda contestant: speeds[contestant.name].median)
    rates = [speeds[contestant.name].median for contestant in order]
    figure = Figure(figsize=(9, 1.4 + 0.32 * len(order)), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    colors = [THEIRS if contestant.peer else OURS for contestant in order]
    bars = axes.barh([contestant.name for contestant in order], rates, color=colors)
    axes.bar_label(bars, [short(rate) for rate in rates], padding=4, fontsize=9)
    axes.set_xscale("log")
    axes.set(xlabel="environment steps a second", xlim=(min(rates) / 3, max(rates) * 3))
    figure.suptitle(title, fontsize=11)  # centered over names and bars
    axes.margins(y=0.01)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    keys = [Patch(color=OURS, label="solitaire-env"), Patch(color=THEIRS, label="other libraries")]
    axes.legend(handles=keys, loc="lower right", frameon=False)
    figure.savefig(path, dpi=130)
