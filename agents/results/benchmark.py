"""The data of :mod:`solitaire_env.benchmark` and :mod:`solitaire_env.splits`, from the stored results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from agents.results.by_game import RowsByGame, stored_rows
from agents.results.solver_results import SolverResult, solver_results
from agents.results.stored import STANDARD, Entry, deals_text, read_entries
from solitaire_env import VARIANTS, Variant
from solitaire_env.benchmark import Reference
from solitaire_env.evaluation import Summary, summarize
from solitaire_env.splits import SPLITS, WINNABLE, pack_deals

DEALS: Final = deals_text(STANDARD)


def benchmark_data(entries: Mapping[str, Sequence[Entry]]) -> str:
    """The text of :data:`solitaire_env.benchmark.DATA`, from the entries of the leaderboard by game."""
    searched, solved, of_family = read_entries("search"), solver_results(), stored_rows()
    references = {}
    for variant in VARIANTS:
        name = variant.name
        found = [*_played(entries.get(name, ()), searched.get(name, ())), *_family(variant, of_family)]
        known = {one.policy: one for one in found[::-1] if one.policy in ("random", "greedy")}
        if found:
            known["best"] = max(found, key=lambda one: (one.cards_home, one.win_rate))
        if name in solved and solved[name].keys() >= {*STANDARD}:
            known["thoughtful"] = _solver(solved[name])
        references[name] = {role: asdict(one) for role, one in known.items()}
    return json.dumps({"references": references}, indent=1) + "\n"


def splits_data(entries: Mapping[str, Sequence[Entry]]) -> str:
    """The text of :data:`solitaire_env.splits.DATA`: the deals of splits that stored games and solver results
    win, a bit each in base 64, for each game of which the solver has played them all.
    """
    packed: dict[str, dict[str, str]] = {}
    for split in WINNABLE:
        deals = SPLITS[split].deals
        packed[split] = {}
        for game, results in solver_results().items():
            won = known_winnable(deals, entries.get(game, ()), results)
            if won and results.keys() >= {*deals}:
                packed[split][game] = pack_deals(deals, won)
    return json.dumps(packed, indent=1) + "\n"


def known_winnable(
    deals: range, entries: Sequence[Entry], results: Mapping[int | str, SolverResult]
) -> set[int | str]:
    """The deals of a range that the solver or a policy has won."""
    by_solver = {deal for deal, row in results.items() if row.playable and deal in deals}
    return by_solver | {game.deal for entry in entries for game in entry.of(deals) if game.won}


def _played(entries: Sequence[Entry], searched: Sequence[Entry]) -> list[Reference]:
    """The results of the leaderboard and of search."""
    found = [_reference(entry.name, DEALS, entry.summary) for entry in entries]
    for entry in searched:
        simulations = entry.name.partition("-")[0]
        deals = deals_text(range(len(entry.games)))  # a search plays the first of the standard deals
        found.append(_reference(f"search, {simulations} simulations", deals, summarize(entry.games)))
    return found


def _reference(policy: str, deals: str, s: Summary) -> Reference:
    return Reference(policy, deals, s.win_rate, s.cards_home)


def _family(variant: Variant, rows: Mapping[str, RowsByGame]) -> list[Reference]:
    """The results of the policies that play every game."""
    of_game = [rows[policy][variant.name] for policy in rows if variant.name in rows[policy]]
    return [
        Reference(row.policy, row.deals, row.won / row.played, round(row.cards_home * variant.cards, 3))
        for row in of_game
    ]


def _solver(results: Mapping[int | str, SolverResult]) -> Reference:
    """The result of the solver."""
    rows = [row for deal, row in results.items() if deal in STANDARD]
    won = sum(row.playable for row in rows) / len(rows)
    return Reference("solver", DEALS, won, sum(row.cards_home for row in rows) / len(rows))
