"""What search adds to a network.

Its games stand in ``strength/<game>/<name>.jsonl``, as ``agents.evaluate --games`` writes them, and beside
them what they took, ``<name>.json``. ``python -m agents.leaderboard`` writes the table of
``docs/looking-ahead.md`` from them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from agents.model_card import home, table, won
from agents.results import ROOT, STRICT, Amount, Count, Entry, Plain, sentence
from solitaire_env import VARIANTS
from solitaire_env.evaluation import Game, mcnemar, read_games

STRENGTH: Final = ROOT / "strength"


@dataclass(config=STRICT, frozen=True)
class Cost:
    """How much was tried before a move, and what it took."""

    simulations: Count
    depth: Count
    candidates: Count
    seconds: Amount
    """Of one core, a game."""
    machine: Plain


def read_strength(game: str) -> list[tuple[Cost, tuple[Game, ...]]]:
    """The stored games of search in a game, and what they took, the cheapest first.

    Raises
    ------
    ValueError
        Naming the file and what is wrong with it.
    """
    stored = []
    for path in sorted((STRENGTH / game).glob("*.jsonl")):
        about = path.with_suffix(".json")
        try:
            cost = TypeAdapter(Cost).validate_json(about.read_text(encoding="utf-8"))
        except ValidationError as error:
            raise ValueError(f"{about}: {sentence(error)}") from None
        except OSError as error:
            raise ValueError(f"{about}: cannot be read ({error.strerror})") from None
        stored.append((cost, tuple(read_games(path))))
    return sorted(stored, key=lambda of: of[0].seconds)


def strength_table(entries: Mapping[str, Sequence[Entry]]) -> str:
    """The table of search beside the shipped networks on the same deals."""
    head = ["", "simulations x depth", "deals", "won", "cards home", "`shipped`, the same deals"]
    head += ["only search : only `shipped`", "s a game"]
    rows = []
    for variant in VARIANTS:
        shipped = {
            game.deal: game
            for entry in entries.get(variant.name, ())
            if entry.about.policy == "shipped"
            for game in entry.standard
        }
        for cost, games in read_strength(variant.name):
            same = tuple(shipped[game.deal] for game in games if game.deal in shipped)
            paired = "-"
            if len(same) == len(games):
                only, only_shipped, p = mcnemar(games, same)
                paired = f"{only} : {only_shipped}, p = {p:.2g}"
            row = [
                variant.title,
                f"{cost.simulations} x {cost.depth}",
                f"{len(games)}",
                won(games),
                home(games),
            ]
            row += [f"{won(same)}, {home(same)}" if same else "-", paired, f"{cost.seconds:.1f}"]
            rows.append(row)
    return table(head, rows) if rows else ""
