"""Solver results, ``results/solver/<game>.jsonl``: a line per deal, as ``agents.solve`` writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from agents.reports import stored
from agents.reports.stored import ROOT, STRICT, Amount, Count, sentence
from agents.reports.tables import table
from solitaire_env import VARIANTS
from solitaire_env.evaluation import Game
from solitaire_env.registration import env_variant, step_limit

SOLVER_RESULTS: Final = ROOT / "results" / "solver"
MOMENTS: Final = 0.1, 1.0, 2.0, 4.0, 10.5
"""Times in seconds of the table of solver results; the last is after the solver's end."""


@dataclass(config=STRICT, frozen=True)
class SolverResult:
    """The solver's result of a deal."""

    env: str
    rules: str
    """In words (:func:`solitaire_env.evaluation.game_rules`)."""
    deal: int | str
    result: Literal["winnable", "unwinnable", "unknown"]
    cards_home: Count
    """Cards home on the best line."""
    steps: Count | None
    """Length of the winning line; None without one."""
    nodes: Count
    """Number of moves that the search played."""
    seconds: Amount
    gains: tuple[tuple[Amount, Count], ...] = ()
    """For an unknown deal: each new maximum of cards home, with the seconds after which it was found."""

    @property
    def won(self) -> bool:
        """Whether the winning line fits the registered step limit. Without that, no policy can play it."""
        return self.steps is not None and self.steps <= step_limit(env_variant(self.env))


def read_solver_results(path: Path) -> list[SolverResult]:
    """The results in a file. An incomplete last line is ignored.

    Raises
    ------
    ValueError
        The message names the line and the error.
    """
    adapter = TypeAdapter(SolverResult)
    rows = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            rows.append(adapter.validate_json(line))
        except ValidationError as error:
            if number == len(lines):
                break
            raise ValueError(f"{path}, line {number}: not a solver result ({sentence(error)})") from None
    return rows


def solver_results_of(game: str) -> dict[int | str, SolverResult]:
    """The stored results of a game by deal; empty if there are none."""
    path = SOLVER_RESULTS / f"{game}.jsonl"
    return {row.deal: row for row in read_solver_results(path)} if path.is_file() else {}


def contradictions(rows: Mapping[int | str, SolverResult], games: Sequence[Game]) -> list[int | str]:
    """Deals proved unwinnable that were won."""
    return [
        game.deal
        for game in games
        if game.won and game.deal in rows and rows[game.deal].result == "unwinnable"
    ]


def solver_table() -> str:
    """The table of the solver's results after some seconds."""
    rows = []
    for variant in VARIANTS:
        found = [one for deal, one in solver_results_of(variant.name).items() if deal in stored.STANDARD]
        won_in = [one.seconds for one in found if one.won]
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


def _home_after(one: SolverResult, seconds: float) -> int:
    """Cards home on the best line known after some seconds."""
    return max((home for spent, home in one.gains if spent <= seconds), default=0)
