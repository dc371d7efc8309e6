"""Pages written from the stored results: ``docs/reference/leaderboard.md``, model cards, and tables of the
README and of other pages. No game is played.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from agents.reports import stored
from agents.reports.model_card import NOTE, model_card
from agents.reports.search_results import search_table, shipped_of
from agents.reports.solver_results import SolverResult, contradictions, solver_results_of, solver_table
from agents.reports.stored import Entry
from agents.reports.tables import against, cost, home, table, won
from solitaire_env import VARIANTS, env_id
from solitaire_env.evaluation import Game, summarize, wilson_interval
from solitaire_env.policies import shipped as shipped_policy
from solitaire_env.registration import env_variant, step_limit

PAGE: Path = stored.ROOT / "docs" / "reference" / "leaderboard.md"
README: Path = stored.ROOT / "README.md"
SolverResults = Mapping[int | str, SolverResult]
"""Solver results by deal."""
MARK: Final = "<!-- leaderboard -->\n"
"""Before and after the README's table."""
SEARCH_PAGE: Path = stored.ROOT / "docs" / "explanation" / "search-and-solver.md"
SEARCH_MARK: Final = "<!-- search -->\n"
SOLVER_MARK: Final = "<!-- solver -->\n"
"""Before and after the solver's table."""


PAGE_TEXT: Final = """# Leaderboard

{note}
All figures come from the games stored in `results/leaderboard/`, one line per game: deals {standard} of each
game, the best policy first. All policies play by the published rules. If a policy chooses among supermoves,
each supermove is played as single moves, and those are counted.

- **won:** games won, with Wilson's 95 % interval; **cards home:** with a bootstrap interval.
- **of known winnable:** games won / standard deals that the solver or a policy of this page has won.
{held_out}- **against the one above:** deals that only this policy won : deals that only the one above it won;
  McNemar's exact two-sided p. If neither won any: the p of Wilcoxon's signed-rank test on cards home.
- **moves a game:** single moves; a game that repeats positions counts with the length of the step limit.
- **ms a move:** processor time per chosen move, on one thread, {side} games in parallel.

{games}
## The policies

{policies}

[How to add yours](../how-to/evaluate.md#ship-a-network-add-to-the-leaderboard).
"""


# --------------------------------------------------------------------------------------- the page


def known_winnable(entries: Sequence[Entry], solver_results: SolverResults) -> set[int | str]:
    """The standard deals of a game that the solver or a policy has won.

    Raises
    ------
    ValueError
        If a policy has won a deal that the solver proved unwinnable.
    """
    for entry in entries:
        if wrong := contradictions(solver_results, entry.standard + entry.held_out):
            raise ValueError(
                f"{entry.game}: `{entry.about.policy}` won deal {wrong[0]}, which the solver proved "
                "unwinnable: the solver or the rules are wrong"
            )
    solved = {deal for deal, row in solver_results.items() if row.won} & {*stored.STANDARD}
    return solved | {game.deal for entry in entries for game in entry.standard if game.won}


def _solver_text(solver_results: SolverResults) -> str:
    """The solver's results on the standard deals of a game; empty if there are none."""
    of_standard = [solver_results[deal] for deal in stored.STANDARD if deal in solver_results]
    if not of_standard:
        return ""
    n = len(of_standard)
    found = Counter("won" if row.won else str(row.result) for row in of_standard)
    too_long = f"won {found['winnable']} in more steps than the limit, " if found["winnable"] else ""
    seconds = [row.seconds for row in of_standard]
    home = sum(row.cards_home for row in of_standard) / n
    low, high = wilson_interval(found["won"], n)
    return (
        "[The solver](../explanation/search-and-solver.md#the-solver), which knows the stock order, "
        f"{n} deals: it won {found['won']}, "
        f"{100 * found['won'] / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}], "
        f"{too_long}proved {found['unwinnable']} unwinnable, and left {found['unknown']} open; "
        f"{home:.1f} cards home on the "
        f"best lines, {sum(seconds) / n:.2f} s per deal, at most {max(seconds):.1f}."
    )


def _game_table(entries: Sequence[Entry], solver_results: SolverResults) -> str:
    """The table of a game, the best policy first."""
    final = any(entry.held_out for entry in entries)
    winnable = known_winnable(entries, solver_results) if solver_results else set()
    of_winnable = [f"of {len(winnable)} known winnable"] if winnable else []
    head = [
        "policy",
        "moves",
        "won",
        *of_winnable,
        "cards home",
        *([f"won, {range_text(stored.HELD_OUT)}"] if final else []),
    ]
    head += ["against the one above", "moves a game", "ms a move", "training"]
    rows = []
    tests = ["-", *(against(worse.standard, better.standard) for better, worse in pairwise(entries))]
    for entry, test in zip(entries, tests, strict=True):
        row = [
            f"`{entry.about.policy}`",
            entry.moves,
            won(entry.standard),
            *([f"{100 * entry.summary.wins / len(winnable):.1f} %"] if winnable else []),
            home(entry.standard),
            *([won(entry.held_out)] if final else []),
            test,
            f"{entry.summary.steps:.0f}",
            f"{entry.about.speed.ms_per_move:.2g}",
            cost(entry.about.training),
        ]
        rows.append([*map(_narrow, row)])
    return table(head, rows, texts=2)


def _narrow(cell: str) -> str:
    """A cell of two lines without further breaks: the figure, and its interval or time."""
    for before, after in ((" [", "<br>["), (", p ", "<br>p "), ("steps, ", "steps<br>")):
        cell = cell.replace(before, after)
    return cell.replace(" ", "\N{NO-BREAK SPACE}")


def _game_text(game: str, entries: Sequence[Entry], solver_results: SolverResults) -> str:
    machines: dict[str, list[str]] = {}
    for entry in entries:
        if entry.about.training is not None and entry.about.training.machine is not None:
            machines.setdefault(entry.about.training.machine, []).append(f"`{entry.about.policy}`")
    trained = [f"{', '.join(names)} on {where}" for where, names in machines.items()]
    timed = ", ".join(sorted({entry.about.speed.machine for entry in entries}))
    variant = env_variant(game)
    parts = (
        f"## {variant.title}",
        f"`{env_id(variant)}`: built by {variant.build}; spaces: {variant.spaces}; moves: {variant.moves}; "
        f"at most {step_limit(variant)} steps.",
        _game_table(entries, solver_results),
        *([text] if (text := _solver_text(solver_results)) else []),
        f"Timed on {timed}." + (f" Trained: {'; '.join(trained)}." if trained else ""),
    )
    return "\n\n".join(parts) + "\n"


def range_text(part: range) -> str:
    """A set of deals in the format of tables."""
    return f"{part[0]}-{part[-1]}"


def page(entries: dict[str, list[Entry]], solver_results: Mapping[str, SolverResults] | None = None) -> str:
    """The text of ``docs/reference/leaderboard.md``; ``solver_results`` by game and deal."""
    order = [variant.name for variant in VARIANTS if variant.name in entries]
    made = {(e.about.policy, e.about.author, e.about.made) for of_game in entries.values() for e in of_game}
    any_held_out = any(entry.held_out for of_game in entries.values() for entry in of_game)
    held_out = (
        f"- **won, {range_text(stored.HELD_OUT)}:** the final test, on deals that no choice was based on.\n"
        if any_held_out
        else ""
    )
    return PAGE_TEXT.format(
        note=NOTE,
        standard=range_text(stored.STANDARD),
        side=stored.TIMED_ENVS,
        held_out=held_out,
        games="\n".join(
            _game_text(game, entries[game], (solver_results or {}).get(game, {})) for game in order
        ),
        policies=table(["policy", "author", "what it is"], [[f"`{p}`", a, m] for p, a, m in sorted(made)], 3),
    )


def readme(text: str, entries: dict[str, list[Entry]]) -> str:
    """The README with an updated table of the project's policies between its marks.

    Raises
    ------
    ValueError
        If it does not have two marks.
    """
    names = ("random", "greedy", "greedy-supermoves", "linear", "shipped")
    head = ["", *(f"`{name}`" for name in names), f"`shipped`, {range_text(stored.HELD_OUT)}"]
    rows = []
    for variant in VARIANTS:
        of_game = {entry.about.policy: entry for entry in entries.get(variant.name, [])}
        played = [of_game[name].standard if name in of_game else () for name in names]
        played.append(of_game["shipped"].held_out if "shipped" in of_game else ())
        if any(played):
            rows.append([variant.title, *map(_short, played)])
    return _between(README, text, MARK, table(head, rows))


def _between(path: Path, text: str, mark: str, written: str) -> str:
    """A page with its text between two marks replaced."""
    parts = text.split(mark)
    if len(parts) != 3:
        raise ValueError(f"{path}: has {len(parts) - 1} lines {mark.strip()!r}, allowed: 2")
    return mark.join((parts[0], written + "\n", parts[2]))


def _short(games: Sequence[Game]) -> str:
    s = summarize(games)
    return f"{100 * s.win_rate:.1f} %, {s.cards_home:.1f}" if games else "-"


def pages() -> dict[Path, str]:
    """The texts of all pages that are written from the stored results, by file.

    Raises
    ------
    ValueError
        If a stored result is impossible, or is of another network than the shipped one.
    """
    entries = stored.read_store(stored.STORE)
    solver_results = {game: solver_results_of(game) for game in entries}
    out = {PAGE: page(entries, solver_results), README: readme(README.read_text(encoding="utf-8"), entries)}
    text = SEARCH_PAGE.read_text(encoding="utf-8")
    text = _between(SEARCH_PAGE, text, SEARCH_MARK, search_table(entries))
    out[SEARCH_PAGE] = _between(SEARCH_PAGE, text, SOLVER_MARK, solver_table())
    for game in shipped_policy.shipped_games():
        folder = shipped_policy.SHIPPED / game
        entry = shipped_of(entries, game)
        if entry is not None and entry.about.weights != stored.weights_hash(folder):
            raise ValueError(
                f"{stored.STORE / game / 'shipped.jsonl'}: played by another network than that in {folder}; "
                f"python -m agents leaderboard add --policy shipped --env {game} --force plays it again"
            )
        out[folder / "README.md"] = model_card(folder, entry)
    return out
