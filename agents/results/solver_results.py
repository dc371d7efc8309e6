"""Solver results: a row per deal, as ``agents.solve`` writes them."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from agents.results import stored
from agents.results.stored import STRICT, Amount, Count, read_rows, sentence
from agents.results.tables import share, table
from solitaire_env import VARIANTS
from solitaire_env.registration import env_variant, step_limit
from solitaire_env.search.solver import Status
from solitaire_env.util.files import read_lines


@dataclass(config=STRICT, frozen=True)
class SolverResult:
    """The solver's result of a deal."""

    env: str
    rules: str
    """In words (:func:`solitaire_env.evaluation.game_rules`)."""
    deal: int | str
    status: Status
    cards_home: Count
    """Cards home on the best line."""
    steps: Count | None
    """Length of the winning line; None without one."""
    positions: Count
    """Number of positions that the search reached."""
    seconds: Amount

    @property
    def playable(self) -> bool:
        """Whether the winning line fits the registered step limit. Without that, no policy can play it."""
        return self.steps is not None and self.steps <= step_limit(env_variant(self.env))


def read_solver_results(path: Path) -> list[SolverResult]:
    """The results in a file of JSON lines. An incomplete last line is ignored.

    Raises
    ------
    ValueError
        The message names the line and the error.
    """
    adapter = TypeAdapter(SolverResult)

    def read(line: str) -> SolverResult:
        try:
            return adapter.validate_json(line)
        except ValidationError as error:
            raise ValueError(sentence(error)) from None

    return read_lines(path, read, "a solver result")


def solver_results() -> dict[str, dict[int | str, SolverResult]]:
    """The stored results by game and deal."""
    adapter = TypeAdapter(list[SolverResult])
    return {
        game: {row.deal: row for row in adapter.validate_python(rows, strict=False)}
        for game, rows in read_rows("solver").items()
    }


def solver_table() -> str:
    """The table of the solver's results, for games of which it has played all standard deals."""
    rows = []
    results = solver_results()
    for variant in VARIANTS:
        found = [one for deal, one in results.get(variant.name, {}).items() if deal in stored.STANDARD]
        if len(found) < len(stored.STANDARD):
            continue
        n = len(found)
        rows.append(
            [
                variant.title,
                f"{n}",
                share(sum(one.playable for one in found), n),
                f"{sum(one.status == 'unwinnable' for one in found)}",
                f"{sum(one.status == 'open' for one in found)}",
                f"{sum(one.cards_home for one in found) / n:.1f}",
                f"{sum(one.seconds for one in found) / n:.2f}",
            ]
        )
    return table(["", "deals", "won", "proved unwinnable", "open", "cards home", "s a deal"], rows)
