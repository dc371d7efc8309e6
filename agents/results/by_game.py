"""How well policies play many games: a row per game, and tables of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from agents.results.stored import read_rows
from agents.results.tables import interval, percent, share, table
from solitaire_env.util.files import read_lines
from solitaire_env.variants import get_variant

NETWORK: Final = "network"
"""Name of the trained network in the rows."""
POLICIES: Final = (NETWORK, "greedy", "random")
"""The policies that play every game."""
SPECIALISTS: Final = "shipped"
"""The policy that has its own network for each of some games."""


@dataclass(frozen=True)
class Row:
    """The results of a policy in one game."""

    game: str
    policy: str
    moves: str
    """The action set of the policy."""
    fingerprint: str
    deals: str
    """In the format of the commands: ``0:200``."""
    played: int
    won: int
    cards_home: float
    """Mean share of the cards that are home."""
    cards_interval: tuple[float, float]
    """Bootstrap interval of 95 % of that mean."""
    truncated: float
    """Share of games that were truncated at the step limit."""


RowsByGame = Mapping[str, Row]
"""Rows by game."""


def rows_of(lines: Sequence[dict[str, Any]]) -> dict[str, Row]:
    """Rows by game, from their JSON objects."""
    return {line["game"]: Row(**{**line, "cards_interval": tuple(line["cards_interval"])}) for line in lines}


def stored_rows() -> dict[str, RowsByGame]:
    """The rows of the table ``family`` by policy, those of :data:`POLICIES` first."""
    rows = read_rows("family")
    return {name: rows_of(rows[name]) for name in (*POLICIES, SPECIALISTS) if name in rows}


def read_file(path: Path) -> dict[str, Row]:
    """The rows of a file by game; empty if there is no file."""
    return rows_of(read_lines(path) if path.is_file() else [])


# --------------------------------------------------------------------------------------- tables


def games_table(rows: Mapping[str, RowsByGame], games: Sequence[str]) -> str:
    """A Markdown table with a row per game: games won, and cards home, by each policy."""
    head = ["", *(f"won: {name}" for name in rows), *(f"cards home: {name}" for name in rows)]
    lines = []
    for game in games:
        of_game = [of_policy.get(game) for of_policy in rows.values()]
        won = [row and share(row.won, row.played) for row in of_game]
        home = [row and f"{percent(row.cards_home)} {interval(row.cards_interval, 100)}" for row in of_game]
        lines.append([get_variant(game).title, *(cell or "-" for cell in (*won, *home))])
    return table(head, lines)


def means_table(rows: Mapping[str, RowsByGame], games: Sequence[str]) -> str:
    """A Markdown table with a row per policy: means over the games."""
    lines = []
    for name, of_policy in rows.items():
        played = [of_policy[game] for game in games if game in of_policy]
        if played:
            won, home = fmean(row.won / row.played for row in played), fmean(row.cards_home for row in played)
            never = sum(row.won == 0 for row in played)
            lines.append([name, f"{len(played)}", percent(won), percent(home), f"{never}"])
    return table(["", "games", "won, mean", "cards home, mean", "games never won"], lines)
