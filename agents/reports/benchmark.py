"""The data of :mod:`solitaire_env.benchmark`, from the stored results."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

import numpy as np

from agents.reports import family
from agents.reports.solver_results import SolverResult, solver_results
from agents.reports.stored import STANDARD, Entry, deals_text, read_entries
from solitaire_env import VARIANTS, Variant
from solitaire_env.benchmark import Reference
from solitaire_env.evaluation import Game, summarize

DEALS: Final = deals_text(STANDARD)


def benchmark_data(entries: Mapping[str, Sequence[Entry]], winnable: Mapping[str, set[int | str]]) -> str:
    """The text of :data:`solitaire_env.benchmark.DATA`.

    Parameters
    ----------
    entries
        Those of the leaderboard, by game.
    winnable
        The standard deals that a stored line wins, of each game that the solver has played.
    """
    searched, solved, of_family = read_entries("search"), solver_results(), family.stored_rows()
    references = {}
    for variant in VARIANTS:
        name = variant.name
        found = [*_played(entries.get(name, ()), searched.get(name, ())), *_family(variant, of_family)]
        known = {one.policy: one for one in found[::-1] if one.policy in ("random", "greedy")}
        if found:
            known["best"] = max(found, key=lambda one: (one.cards_home, one.win_rate))
        if name in winnable:
            known["thoughtful"] = _solver(solved[name])
        references[name] = {role: asdict(one) for role, one in known.items()}
    packed = {game: _pack(deals) for game, deals in winnable.items() if deals}
    return json.dumps({"references": references, "winnable": packed}, indent=1) + "\n"


def _played(entries: Sequence[Entry], searched: Sequence[Entry]) -> list[Reference]:
    """The results of the leaderboard and of search."""
    found = [_reference(entry.name, DEALS, entry.standard) for entry in entries]
    for entry in searched:
        simulations = entry.name.partition("-")[0]
        deals = deals_text(range(len(entry.games)))  # a search plays the first of the standard deals
        found.append(_reference(f"search, {simulations} simulations", deals, entry.games))
    return found


def _reference(policy: str, deals: str, games: Sequence[Game]) -> Reference:
    s = summarize(games)
    return Reference(policy, deals, s.win_rate, s.cards_home)


def _family(variant: Variant, rows: Mapping[str, family.Rows]) -> list[Reference]:
    """The results of the policies that play every game."""
    of_game = [rows[policy][variant.name] for policy in rows if variant.name in rows[policy]]
    return [
        Reference(row.policy, row.deals, row.won / row.played, round(row.cards_home * variant.cards, 3))
        for row in of_game
    ]


def _solver(results: Mapping[int | str, SolverResult]) -> Reference:
    """The result of the solver."""
    rows = [row for deal, row in results.items() if deal in STANDARD]
    won = sum(row.won for row in rows) / len(rows)
    return Reference("solver", DEALS, won, sum(row.cards_home for row in rows) / len(rows))


def _pack(deals: set[int | str]) -> str:
    """A bit for each standard deal, in base 64."""
    bits = np.zeros(len(STANDARD), dtype=np.bool_)
    bits[[deal for deal in deals if isinstance(deal, int)]] = True
    return base64.b64encode(np.packbits(bits).tobytes()).decode()
