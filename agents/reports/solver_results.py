"""Results of the solver, ``results/solver/<game>.jsonl``: a line a deal, as ``agents.solve`` writes them."""

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

VERDICTS: Final = ROOT / "results" / "solver"
MOMENTS: Final = 0.1, 1.0, 2.0, 4.0, 10.5
"""Seconds after which the table shows the solver's results; the last is after its end."""


@dataclass(config=STRICT, frozen=True)
class Verdict:
    """What the solver found out about a deal."""

    env: str
    rules: str
    """In words (:func:`solitaire_env.evaluation.game_rules`)."""
    deal: int | str
    result: Literal["winnable", "unwinnable", "unknown"]
    cards_home: Count
    """On the best line."""
    steps: Count | None
    """Of the winning line; None where there is none."""
    nodes: Count
    """Moves that the search played."""
    seconds: Amount
    gains: tuple[tuple[Amount, Count], ...] = ()
    """Of a deal left open: after so many seconds a line brought so many cards home, the most until then."""


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts of a file. A last line that was cut off is left out.

    Raises
    ------
    ValueError
        Naming the line and what is wrong with it.
    """
    adapter = TypeAdapter(Verdict)
    verdicts = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            verdicts.append(adapter.validate_json(line))
        except ValidationError as error:
            if number == len(lines):
                break
            raise ValueError(f"{path}, line {number}: not a verdict ({sentence(error)})") from None
    return verdicts


def of_game(game: str) -> dict[int | str, Verdict]:
    """The stored verdicts of a game by deal; none where none are stored."""
    path = VERDICTS / f"{game}.jsonl"
    return {verdict.deal: verdict for verdict in read_verdicts(path)} if path.is_file() else {}


def contradictions(verdicts: Mapping[int | str, Verdict], games: Sequence[Game]) -> list[int | str]:
    """Deals that cannot be won, and were."""
    return [
        game.deal
        for game in games
        if game.won and game.deal in verdicts and verdicts[game.deal].result == "unwinnable"
    ]


def solver_table() -> str:
    """The table of the solver's results after some seconds."""
    rows = []
    for variant in VARIANTS:
        found = [one for deal, one in of_game(variant.name).items() if deal in stored.STANDARD]
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


def _home_after(one: Verdict, seconds: float) -> int:
    """Cards home on the best line that was known after some seconds."""
    return max((home for spent, home in one.gains if spent <= seconds), default=0)
