"""What search adds to a network.

Its games stand in ``strength/<game>/<name>.jsonl``, as ``agents.evaluate --games`` writes them, and beside
them what they took, ``<name>.json``. ``python -m agents.leaderboard`` writes the table of
``docs/looking-ahead.md`` from them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from agents.model_card import home, table, won
from agents.results import ROOT, Amount, Entry, Plain, sentence
from solitaire_env import VARIANTS
from solitaire_env.evaluation import Game, mcnemar, read_games

STRENGTH: Final = ROOT / "strength"

_Count = Annotated[int, Field(ge=0)]


@dataclass(config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False), frozen=True)
class Cost:
    """How much was tried before a move, and what it took."""

    simulations: _Count
    depth: _Count
    candidates: _Count
    seconds: Amount
    """Of one core, a game."""
    machine: Plain


def read_strength(folder: Path) -> list[tuple[str, Cost, tuple[Game, ...]]]:
    """All stored games of search: the name of the game, what they took, and they themselves.

    Raises
    ------
    ValueError
        Naming the file and what is wrong with it.
    """
    stored = []
    for variant in VARIANTS:
        for path in sorted((folder / variant.name).glob("*.jsonl")):
            about = path.with_suffix(".json")
            try:
                cost = TypeAdapter(Cost).validate_json(about.read_text(encoding="utf-8"))
            except ValidationError as error:
                raise ValueError(f"{about}: {sentence(error)}") from None
            except OSError as error:
                raise ValueError(f"{about}: cannot be read ({error.strerror})") from None
            stored.append((variant.title, cost, tuple(read_games(path))))
    return sorted(stored, key=lambda of: of[1].seconds)


def strength_table(entries: Mapping[str, Sequence[Entry]]) -> str:
    """The table of search beside the shipped networks on the same deals."""
    head = ["", "simulations x depth", "deals", "won", "cards home", "`shipped`, the same deals"]
    head += ["only search : only `shipped`", "s a game"]
    rows = []
    stored = read_strength(STRENGTH)
    for variant in VARIANTS:
        shipped = {
            game.deal: game
            for entry in entries.get(variant.name, ())
            if entry.about.policy == "shipped"
            for game in entry.standard
        }
        for title, cost, games in stored:
            if title != variant.title:
                continue
            same = tuple(shipped[game.deal] for game in games if game.deal in shipped)
            paired = "-"
            if len(same) == len(games):
                only, only_shipped, p = mcnemar(games, same)
                paired = f"{only} : {only_shipped}, p = {p:.2g}"
            trials = f"{cost.simulations} x {cost.depth}" if cost.simulations else "the solver"
            rows.append(
                [
                    title,
                    trials,
                    f"{len(games)}",
                    won(games),
                    home(games),
                    f"{won(same)}, {home(same)}" if same else "-",
                    paired,
                    f"{cost.seconds:.1f}",
                ]
            )
    return table(head, rows) if rows else ""
