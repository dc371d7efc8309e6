"""Stored games of the policy ``search``: gain over the network alone, and cost; table and picture.

``results/search/<game>/<simulations>x<depth>.jsonl`` holds the games, as ``agents.evaluate --games`` writes
them, and the ``.json`` beside it the budget and the time.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pydantic.dataclasses

from agents.reports import stored
from agents.reports.plots import COLORS, new_figure
from agents.reports.solver_results import SolverResult, solver_results_of
from agents.reports.stored import ROOT, STRICT, Amount, Count, Entry, Plain, read_stored
from agents.reports.tables import home, table, won
from agents.search.budget import Budget
from solitaire_env import VARIANTS, Variant
from solitaire_env.evaluation import (
    Game,
    bootstrap_interval,
    mcnemar,
    read_games,
    summarize,
    wilson_interval,
)

SEARCH: Final = ROOT / "results" / "search"


@pydantic.dataclasses.dataclass(config=STRICT, frozen=True)
class Cost:
    """The budget of a search, its network, and the time that it took."""

    prior: Plain
    simulations: Count
    depth: Count
    candidates: Count
    min_prob: Amount
    playouts: bool
    prior_weight: Amount
    nodes: Count
    """Solver budget if nothing is hidden; 0: not used."""
    verify: Count
    seconds: Amount | None
    """Seconds of one core per game; None until a run is complete."""
    machine: Plain


# --------------------------------------------------------------------------------------- the table


def name_of(variant: Variant, budget: Budget) -> str:
    """The name of the files of a budget."""
    solver = "-solver" if budget.nodes and not variant.stock else ""
    playouts = "-playouts" if budget.playouts else ""
    return f"{budget.simulations}x{budget.depth}{playouts}{solver}"


def trials_of(of: Cost | Budget) -> str:
    """The simulations of each move, as tables show them."""
    return f"{of.simulations} x {of.depth}" + (", playouts" if of.playouts else "")


def read_search(game: str) -> list[tuple[Cost, tuple[Game, ...]]]:
    """The stored games of search in a game, and their cost, the cheapest first.

    Raises
    ------
    ValueError
        The message names the file and the error.
    """
    games = [
        (read_stored(path.with_suffix(".json"), Cost), tuple(read_games(path)))
        for path in sorted((SEARCH / game).glob("*.jsonl"))
    ]
    return sorted(games, key=lambda of: of[0].seconds or 0.0)


def shipped_of(entries: Mapping[str, Sequence[Entry]], game: str) -> Entry | None:
    """The shipped network's games."""
    return next((entry for entry in entries.get(game, ()) if entry.about.policy == "shipped"), None)


def search_table(entries: Mapping[str, Sequence[Entry]]) -> str:
    """The table of search and the shipped networks on the same deals."""
    head = ["", "simulations x depth", "deals", "won", "cards home", "`shipped`, the same deals"]
    head += ["only search : only `shipped`", "s a game"]
    rows = []
    for variant in VARIANTS:
        shipped = shipped_of(entries, variant.name)
        by_deal = {game.deal: game for game in shipped.standard} if shipped else {}
        for cost, games in read_search(variant.name):
            same = tuple(by_deal[game.deal] for game in games if game.deal in by_deal)
            paired = "-"
            if len(same) == len(games):
                only, only_shipped, p = mcnemar(games, same)
                paired = f"{only} : {only_shipped}, p = {p:.2g}"
            solver = ", solver" if cost.nodes else ""
            row = [
                variant.title,
                f"{trials_of(cost)}{solver}",
                f"{len(games)}",
                won(games),
                home(games),
            ]
            seconds = "-" if cost.seconds is None else f"{cost.seconds:.1f}"
            row += [f"{won(same)}, {home(same)}" if same else "-", paired, seconds]
            rows.append(row)
    return table(head, rows) if rows else ""


# ------------------------------------------------------------------------------------- the picture


def draw(entries: Mapping[str, Sequence[Entry]]) -> Any:
    """Results against time, a panel per game: the network alone, search, and the thoughtful solver."""
    games = [variant for variant in VARIANTS if read_search(variant.name)]
    rows = len(games) // 2 + 1  # a panel more, for the legend
    figure = new_figure(2.5 * rows)
    panels = list(figure.subplots(rows, 2).flat)
    last = panels[-1]
    for axes in panels[len(games) :]:
        axes.axis("off")
    for variant, axes in zip(games, panels, strict=False):
        # If few games are won, cards home say more.
        found = [one for deal, one in solver_results_of(variant.name).items() if deal in stored.STANDARD]
        winnable = any(one.won for one in found)
        draw_players(axes, variant, shipped_of(entries, variant.name), by_wins=winnable)
        if winnable:
            draw_solver(axes, found)
        else:
            draw_lines(axes, [one for one in found if one.gains])
        label = "games won, %" if winnable else "cards home"
        axes.set(title=variant.title, xscale="log", ylabel=label, xlabel="seconds of one core a game")
        axes.set_ylim(0, 1.06 * axes.get_ylim()[1])
    legend = (
        ("o", COLORS[1], "the network alone"),
        ("D", COLORS[0], "search, which knows what a player knows"),
        ("v", COLORS[0], "the same, following the solver's line"),
        ("s-", COLORS[2], "the solver, which knows the stock"),
    )
    for mark, color, label in legend:
        last.plot([], [], mark, color=color, label=label)
    last.legend(loc="center left", title="with 95 % intervals")
    return figure


def draw_players(axes: Any, variant: Variant, shipped: Entry | None, *, by_wins: bool) -> None:
    """The network alone and search, each with its interval."""
    points = []
    if shipped is not None:
        seconds = shipped.about.speed.ms_per_move * shipped.summary.steps / 1000
        points.append((seconds, shipped.standard, "o", COLORS[1]))
    for cost, games in read_search(variant.name):
        if cost.seconds is not None:
            points.append((cost.seconds, games, "v" if cost.nodes else "D", COLORS[0]))
    for seconds, games, mark, color in points:
        s = summarize(games)
        factor = 100 if by_wins else 1
        value = factor * (s.win_rate if by_wins else s.cards_home)
        low, high = (factor * end for end in (s.win_interval if by_wins else s.cards_interval))
        errors = [[max(0.0, value - low)], [max(0.0, high - value)]]
        axes.errorbar(seconds, value, yerr=errors, fmt=mark, color=color, capsize=3, markersize=5)


def draw_solver(axes: Any, found: Sequence[SolverResult]) -> None:
    """The share of deals won within a time, by the solver."""
    seconds = np.sort([max(one.seconds, 1e-3) for one in found if one.won])
    shares = 100 * np.arange(1, len(seconds) + 1) / len(found)
    axes.step(seconds, shares, where="post", color=COLORS[2])
    low, high = wilson_interval(len(seconds), len(found))
    errors = [[shares[-1] - 100 * low], [100 * high - shares[-1]]]
    axes.errorbar(seconds[-1], shares[-1], yerr=errors, fmt="s", color=COLORS[2], capsize=3, markersize=5)


def draw_lines(axes: Any, found: Sequence[SolverResult]) -> None:
    """Mean cards home on the solver's best line of each deal, within a time."""
    if not found:
        return
    gains = []
    for one in found:
        before = 0
        for seconds, reached in one.gains:
            gains.append((max(seconds, 1e-3), reached - before))
            before = reached
    when, more = np.array(sorted(gains)).T
    mean = more.cumsum() / len(found)
    axes.step(when, mean, where="post", color=COLORS[2])
    low, high = bootstrap_interval([one.gains[-1][1] for one in found])
    errors = [[mean[-1] - low], [high - mean[-1]]]
    axes.errorbar(when[-1], mean[-1], yerr=errors, fmt="s", color=COLORS[2], capsize=3, markersize=5)
