"""The picture of strength against time: the networks alone, search, and the solver."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from agents.reports import stored
from agents.reports.plots import COLORS, STYLE, new_figure, save
from agents.reports.solver_results import SolverResult, solver_results
from agents.reports.stored import Entry, read_entries, read_leaderboard
from solitaire_env import VARIANTS

PICTURE: Path = stored.ROOT / "docs" / "images" / "strength.png"
LEGEND: Final = (
    ("o", COLORS[1], "the network alone"),
    ("D", COLORS[0], "search, which knows what a player knows"),
    ("v", COLORS[0], "the same, following the solver's line"),
    ("-", COLORS[2], "the solver, which knows the stock"),
)


def draw_strength() -> Path:
    """Draw the stored results of search and of the solver; return the path of the picture."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        save(figure(), PICTURE)
    return PICTURE


def figure() -> Any:
    """The picture: a panel per game, and one for the legend."""
    entries, searched, solved = read_leaderboard(), read_entries("search"), solver_results()
    games = [variant for variant in VARIANTS if variant.name in searched]
    rows = len(games) // 2 + 1
    drawn = new_figure(2.5 * rows)
    panels = list(drawn.subplots(rows, 2).flat)
    for axes in panels[len(games) :]:
        axes.axis("off")
    for variant, axes in zip(games, panels, strict=False):
        found = [one for deal, one in solved[variant.name].items() if deal in stored.STANDARD]
        # If few games are won, cards home say more.
        by_wins = any(one.won for one in found)
        for entry in entries[variant.name]:
            if entry.name == "shipped" and entry.about.ms_per_move is not None:
                draw_point(axes, entry, entry.about.ms_per_move * entry.summary.steps / 1000, by_wins)
        for entry in searched[variant.name]:
            if entry.about.seconds_per_game is not None:
                draw_point(axes, entry, entry.about.seconds_per_game, by_wins)
        if by_wins:
            draw_solver(axes, found)
        label = "games won, %" if by_wins else "cards home"
        axes.set(title=variant.title, xscale="log", ylabel=label, xlabel="seconds of one core a game")
        axes.set_ylim(0, 1.06 * axes.get_ylim()[1])
    for mark, color, label in LEGEND:
        panels[-1].plot([], [], mark, color=color, label=label)
    panels[-1].legend(loc="center left", title="with 95 % intervals")
    return drawn


def draw_point(axes: Any, entry: Entry, seconds: float, by_wins: bool) -> None:
    """A policy's games won or cards home, with their interval."""
    budget, s = entry.about.budget, entry.summary
    mark, color, _ = LEGEND[0 if budget is None else 2 if budget.nodes else 1]
    value = 100 * s.win_rate if by_wins else s.cards_home
    low, high = (100 * end for end in s.win_interval) if by_wins else s.cards_interval
    errors = [[max(0.0, value - low)], [max(0.0, high - value)]]
    axes.errorbar(seconds, value, yerr=errors, fmt=mark, color=color, capsize=3, markersize=5)


def draw_solver(axes: Any, found: list[SolverResult]) -> None:
    """The share of deals that the solver won within a time."""
    seconds = np.sort([max(one.seconds, 1e-3) for one in found if one.won])
    axes.step(seconds, 100 * np.arange(1, len(seconds) + 1) / len(found), where="post", color=COLORS[2])
