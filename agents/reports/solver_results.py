"""Which deals can be won: ``verdicts/<game>.jsonl``, a line a deal, as ``agents.solve`` writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from agents.reports.stored import ROOT, STRICT, Amount, Count, sentence
from solitaire_env.evaluation import Game

VERDICTS: Final = ROOT / "results" / "solver"


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
    """The verdicts of a file.

    Raises
    ------
    ValueError
        Naming the line and what is wrong with it.
    """
    adapter = TypeAdapter(Verdict)
    verdicts = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            verdicts.append(adapter.validate_json(line))
        except ValidationError as error:
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
