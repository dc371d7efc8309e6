"""What search adds to a network, and what it costs: ``python -m agents search-results play forty-thieves``.

Its games stand in ``strength/<game>/<simulations>x<depth>.jsonl``, as ``agents.evaluate --games`` writes
them, and beside them what they took, ``.json``. ``python -m agents leaderboard`` writes the table of
``docs/looking-ahead.md`` from them, and ``python -m agents search-results draw`` the picture of strength against
time beside it, with the shipped networks of the leaderboard and the solver's verdicts.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pydantic.dataclasses
import tyro
from pydantic import TypeAdapter

from agents.commands.options import run_command
from agents.config import make_config
from agents.reports import solver_results as verdicts
from agents.reports import stored as results
from agents.reports.compare import play_policy
from agents.reports.plots import COLORS, STYLE, new_figure
from agents.reports.stored import ROOT, STRICT, Amount, Count, Entry, Plain, read_stored
from agents.reports.tables import home, summary_table, table, won
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
from solitaire_env.evaluation.speed import processor
from solitaire_env.registration import env_variant
from solitaire_env.util.files import read_json, write_json, write_whole
from solitaire_env.util.progress import ProgressLine

STRENGTH: Final = ROOT / "results" / "search"
ROUNDS: Final = ROOT / "rounds"
"""Rounds of expert iteration (:mod:`agents.iterate`): what each was, and the games of expert and networks."""
PICTURE: Final = ROOT / "docs" / "images" / "strength.png"
MOMENTS: Final = 0.1, 1.0, 2.0, 4.0, 10.5
"""Seconds after which it is told what the solver has come to; the last is after its end."""
SIDE_BY_SIDE: Final = 16
"""So many games at a time: Ctrl-C loses those in hand."""


@pydantic.dataclasses.dataclass(config=STRICT, frozen=True)
class Cost:
    """How much was tried before a move, by which network, and what it took."""

    prior: Plain
    simulations: Count
    depth: Count
    candidates: Count
    least: Amount
    playouts: bool
    prior_weight: Amount
    nodes: Count
    """What the solver might play where nothing is hidden; 0: it was not asked."""
    verify: Count
    seconds: Amount | None
    """Of one core, a game; None until a run has come to its end."""
    machine: Plain


# ------------------------------------------------------------------------------------- what is stored


def name_of(variant: Variant, budget: Budget) -> str:
    """What the files of a budget are called."""
    solver = "-solver" if budget.nodes and not variant.stock else ""
    playouts = "-playouts" if budget.playouts else ""
    return f"{budget.simulations}x{budget.depth}{playouts}{solver}"


def trials_of(of: Cost | Budget) -> str:
    """The trials before a move, as tables tell them."""
    return f"{of.simulations} x {of.depth}" + (", playouts" if of.playouts else "")


def read_strength(game: str) -> list[tuple[Cost, tuple[Game, ...]]]:
    """The stored games of search in a game, and what they took, the cheapest first.

    Raises
    ------
    ValueError
        Naming the file and what is wrong with it.
    """
    stored = [
        (read_stored(path.with_suffix(".json"), Cost), tuple(read_games(path)))
        for path in sorted((STRENGTH / game).glob("*.jsonl"))
    ]
    return sorted(stored, key=lambda of: of[0].seconds or 0.0)


def shipped_of(entries: Mapping[str, Sequence[Entry]], game: str) -> Entry | None:
    """The shipped network's games."""
    return next((entry for entry in entries.get(game, ()) if entry.about.policy == "shipped"), None)


def strength_table(entries: Mapping[str, Sequence[Entry]]) -> str:
    """The table of search beside the shipped networks on the same deals."""
    head = ["", "simulations x depth", "deals", "won", "cards home", "`shipped`, the same deals"]
    head += ["only search : only `shipped`", "s a game"]
    rows = []
    for variant in VARIANTS:
        shipped = shipped_of(entries, variant.name)
        by_deal = {game.deal: game for game in shipped.standard} if shipped else {}
        for cost, games in read_strength(variant.name):
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


def rounds_table() -> str:
    """The table of what rounds of expert iteration brought."""
    head = ["", "expert", "its games", "it won", "deals", "network before", "after"]
    head.append("only after : only before")
    rows = []
    for path in sorted(ROUNDS.glob("*/round.json")):
        told = read_json(path)
        expert, before, after = (
            tuple(read_games(path.with_name(f"{name}.jsonl"))) for name in ("games", "before", "after")
        )
        only_after, only_before, p = mcnemar(after, before)
        budget = Budget(**told["search"])
        row = [env_variant(told["env"]).title]
        row.append(f"verified, {budget.verify:,} nodes" if budget.verify else trials_of(budget))
        row += [f"{len(expert)}", won(expert), told["eval_deals"], won(before), won(after)]
        rows.append([*row, f"{only_after} : {only_before}, p = {p:.2g}"])
    return table(head, rows) if rows else ""


def solver_table() -> str:
    """The table of what the solver, who knows the stock, comes to as time goes on."""
    rows = []
    for variant in VARIANTS:
        found = [one for deal, one in verdicts.of_game(variant.name).items() if deal in results.STANDARD]
        won_in = [one.seconds for one in found if one.result == "winnable"]
        open_ones = [one for one in found if one.gains]
        if won_in:
            cells = [f"{100 * sum(spent <= t for spent in won_in) / len(found):.1f} % won" for t in MOMENTS]
        elif open_ones:
            cells = [
                f"{sum(_home_after(one, t) for one in open_ones) / len(open_ones):.1f} home" for t in MOMENTS
            ]
        else:
            continue
        rows.append([variant.title, f"{len(found if won_in else open_ones)}", *cells])
    return table(["", "deals", *(f"{t:g} s" for t in MOMENTS)], rows) if rows else ""


def _home_after(one: verdicts.Verdict, seconds: float) -> int:
    """Cards home on the best line that was known after a time."""
    return max((home for spent, home in one.gains if spent <= seconds), default=0)


# ---------------------------------------------------------------------------------------- the picture


def draw(entries: Mapping[str, Sequence[Entry]]) -> Any:
    """Strength against time, a panel a game: the network alone, search, and the thoughtful solver."""
    figure = new_figure(7.5)
    *panels, last = figure.subplots(3, 2).flat
    for variant, axes in zip(VARIANTS, panels, strict=True):
        # Where hardly anything is won, cards home tell more.
        found = [one for deal, one in verdicts.of_game(variant.name).items() if deal in results.STANDARD]
        winnable = any(one.result == "winnable" for one in found)
        _draw_players(axes, variant, shipped_of(entries, variant.name), by_wins=winnable)
        if winnable:
            _draw_solver(axes, found)
        else:
            _draw_lines(axes, [one for one in found if one.gains])
        label = "games won, %" if winnable else "cards home"
        axes.set(title=variant.title, xscale="log", ylabel=label, xlabel="seconds of one core a game")
        axes.set_ylim(0, 1.06 * axes.get_ylim()[1])
    last.axis("off")
    told = (
        ("o", COLORS[1], "the network alone"),
        ("D", COLORS[0], "search, which knows what a player does"),
        ("v", COLORS[0], "the same, keeping to the solver's line"),
        ("s-", COLORS[2], "the solver, which knows the stock"),
    )
    for mark, color, label in told:
        last.plot([], [], mark, color=color, label=label)
    last.legend(loc="center left", title="with 95 % intervals")
    return figure


def _draw_players(axes: Any, variant: Variant, shipped: Entry | None, *, by_wins: bool) -> None:
    """The network alone and search, each with its interval."""
    points = []
    if shipped is not None:
        seconds = shipped.about.speed.ms_per_move * shipped.summary.steps / 1000
        points.append((seconds, shipped.standard, "o", COLORS[1]))
    for cost, games in read_strength(variant.name):
        if cost.seconds is not None:
            points.append((cost.seconds, games, "v" if cost.nodes else "D", COLORS[0]))
    for seconds, games, mark, color in points:
        s = summarize(games)
        factor = 100 if by_wins else 1
        value = factor * (s.win_rate if by_wins else s.cards_home)
        low, high = (factor * end for end in (s.win_interval if by_wins else s.cards_interval))
        errors = [[max(0.0, value - low)], [max(0.0, high - value)]]
        axes.errorbar(seconds, value, yerr=errors, fmt=mark, color=color, capsize=3, markersize=5)


def _draw_solver(axes: Any, found: Sequence[verdicts.Verdict]) -> None:
    """The share of deals won within a time, as the solver went on."""
    seconds = np.sort([max(one.seconds, 1e-3) for one in found if one.result == "winnable"])
    shares = 100 * np.arange(1, len(seconds) + 1) / len(found)
    axes.step(seconds, shares, where="post", color=COLORS[2])
    low, high = wilson_interval(len(seconds), len(found))
    errors = [[shares[-1] - 100 * low], [100 * high - shares[-1]]]
    axes.errorbar(seconds[-1], shares[-1], yerr=errors, fmt="s", color=COLORS[2], capsize=3, markersize=5)


def _draw_lines(axes: Any, found: Sequence[verdicts.Verdict]) -> None:
    """Cards home on the best line of each deal, on average, as the solver went on."""
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


# ------------------------------------------------------------------------------------------- commands


@dataclass
class Play:
    """Play standard deals by search, and store the games and what they took."""

    env: tyro.conf.Positional[str]
    """Gymnasium id, or name of a variant."""
    deals: str = "0:200"
    """Of the standard deals, 0-999."""
    prior: str = "shipped"
    """The network that it goes by."""
    search: Annotated[Budget, tyro.conf.arg(name="search")] = field(default_factory=Budget)
    """What a move may cost."""
    quiet: bool = False
    """No progress line."""


@dataclass
class Draw:
    """Draw strength against time, from what is stored."""

    out: Path = PICTURE
    """Where to."""


def play(a: Play) -> int:
    """Play, store, and print what it came to."""
    variant = env_variant(a.env)
    path = STRENGTH / variant.name / f"{name_of(variant, a.search)}.jsonl"
    beside = path.with_suffix(".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    before = len(read_games(path)) if path.is_file() else 0
    cost = read_stored(beside, Cost) if beside.is_file() else None
    b = a.search
    if b.milliseconds is not None:
        raise ValueError("stored games do not hang on the machine: allowed is --search.simulations alone")
    nodes = 0 if variant.stock else b.nodes
    told = Cost(
        a.prior, b.simulations, b.depth, b.candidates, b.least, b.playouts, b.prior_weight, nodes, b.verify,
        cost.seconds if cost else None, cost.machine if cost else processor(),
    )  # fmt: skip
    if before and cost is not None and told != cost:
        raise ValueError(f"{path} holds games by other settings, {cost}; remove it, or take those")
    config = make_config({"env": a.env, "eval_deals": a.deals}, "command line")
    # Games that are kept when this is stopped belong to their settings.
    _write_cost(beside, told)
    done = play_policy(
        "search", config, path, ProgressLine(a.quiet),
        num_envs=SIDE_BY_SIDE, prior=a.prior, budget=a.search,
    )  # fmt: skip
    after = read_games(path)
    timed = 0 if told.seconds is None else before
    if played := len(after) - before:
        spent = done.answer_seconds + timed * (told.seconds or 0.0)
        seconds = round(spent / (timed + played), 3)
        _write_cost(beside, replace(told, seconds=seconds, machine=processor()))
        print(f"{seconds:.2f} s of one core a game\n")
    print(summary_table([("search", done.games[0].moves, summarize(after))]))
    return 0


def _write_cost(path: Path, cost: Cost) -> None:
    write_json(path, TypeAdapter(Cost).dump_python(cost))


def draw_all(a: Draw) -> int:
    """Draw, and say where it is."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = draw(results.read_store(results.STORE))
        write_whole(a.out, partial(figure.savefig, format="png"))
    print(a.out)
    return 0


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""
    rest = list(sys.argv[1:] if args is None else args)
    command = rest.pop(0) if rest and rest[0] in ("play", "draw") else ""
    arguments: Any = Draw if command == "draw" else Play
    a = tyro.cli(
        arguments, args=rest, prog=f"python -m agents search-results {command or '{play,draw}'}",
        config=(tyro.conf.FlagCreatePairsOff,),
    )  # fmt: skip
    return run_command(
        lambda: draw_all(a) if isinstance(a, Draw) else play(a),
        "stopped; games that ended are kept, the same command goes on",
    )


if __name__ == "__main__":
    sys.exit(main())
