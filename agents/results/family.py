"""How well policies play many games: a row per game, and tables of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from agents.config import TrainConfig
from agents.policies import make_policy
from agents.results.compare import count_trained_on, warning_of
from agents.results.stored import read_rows
from agents.results.tables import table
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Moves, Variant
from solitaire_env.evaluation import evaluate, wilson_interval
from solitaire_env.splits import parse_deals
from solitaire_env.util.files import json_lines, read_lines, write_text
from solitaire_env.util.progress import ProgressLine, bar
from solitaire_env.variants import get_variant, known_variants

NETWORK: Final = "network"
"""Name of the trained network in the rows."""
POLICIES: Final = (NETWORK, "greedy", "random")
"""The policies that play every game."""
DEALS: Final = "0:20"
"""Deals of each game if a configuration names none."""
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

    @property
    def win_interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % of the share of games won."""
        return wilson_interval(self.won, self.played)


Rows = Mapping[str, Row]
"""Rows by game."""


def rows_of(lines: Sequence[dict[str, Any]]) -> dict[str, Row]:
    """Rows by game, from their JSON objects."""
    return {line["game"]: Row(**{**line, "cards_interval": tuple(line["cards_interval"])}) for line in lines}


def stored_rows() -> dict[str, Rows]:
    """The rows of the table ``family`` by policy, those of :data:`POLICIES` first."""
    rows = read_rows("family")
    return {name: rows_of(rows[name]) for name in (*POLICIES, SPECIALISTS) if name in rows}


def read_file(path: Path) -> dict[str, Row]:
    """The rows of a file by game; empty if there is no file."""
    return rows_of([json.loads(line) for _, line in read_lines(path)] if path.is_file() else [])


def play_games(
    policy: str, games: Sequence[tuple[Variant, Moves | None]], deals: str, path: Path, line: ProgressLine, *,
    name: str,
) -> Rows:  # fmt: skip
    """Play deals of each game with a policy, and write a row for each to a file as JSON lines.

    Games that the same policy has played on these deals are skipped.

    Parameters
    ----------
    games
        The games, and the action set of a policy that leaves it open.
    name
        Name of the policy in the rows.
    """
    order = [variant.name for variant in known_variants()]
    rows = read_file(path)
    for place, (variant, moves) in enumerate(games):
        player = make_policy(policy, GameSpec(variant), moves=moves)
        before = rows.get(variant.name)
        if before is not None and (before.deals, before.fingerprint) == (deals, player.fingerprint):
            continue
        line.count(place, len(games), f"{name} {bar(place / len(games))} {variant.title}")
        done = evaluate(player, variant, parse_deals(deals)).summary
        low, high = done.cards_interval
        rows[variant.name] = Row(
            game=variant.name,
            policy=name,
            moves=player.moves or variant.moves,
            fingerprint=player.fingerprint,
            deals=deals,
            played=done.games,
            won=done.wins,
            cards_home=round(done.cards_home / variant.cards, 4),
            cards_interval=(round(low / variant.cards, 4), round(high / variant.cards, 4)),
            truncated=round(done.truncated, 4),
        )
        kept = sorted(rows.values(), key=lambda row: order.index(row.game))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json_lines(map(asdict, kept)))
    line.close()
    return rows


def compare_family(config: TrainConfig, run: Path, *, quiet: bool) -> str:
    """Evaluate the network of a run and the baselines on the games of its training; return the table."""
    line = ProgressLine(quiet)
    games = [(spec.variant, moves) for spec, moves in config.played_games]
    deals = config.eval_deals or DEALS
    rows = {
        name: play_games(
            str(run.absolute()) if name == NETWORK else name, games, deals,
            run / "evaluation" / f"{name}.rows", line, name=name,
        )
        for name in POLICIES
    }  # fmt: skip
    names = [variant.name for variant, _ in games]
    tables = means_table(rows, names), games_table(rows, names)
    text = "\n\n".join((f"Deals {deals} of each game", *tables))
    write_text(run / "evaluation.txt", text + "\n")
    return text + warning_of(count_trained_on(config, run, deals))


# --------------------------------------------------------------------------------------- tables


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    return f"{_percent(share)} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"


def games_table(rows: Mapping[str, Rows], games: Sequence[str]) -> str:
    """A Markdown table with a row per game: games won, and cards home, by each policy."""
    head = ["", *(f"won: {name}" for name in rows), *(f"cards home: {name}" for name in rows)]
    lines = []
    for game in games:
        of_game = [of_policy.get(game) for of_policy in rows.values()]
        won = [row and _with_interval(row.won / row.played, row.win_interval) for row in of_game]
        home = [row and _with_interval(row.cards_home, row.cards_interval) for row in of_game]
        lines.append([get_variant(game).title, *(cell or "-" for cell in (*won, *home))])
    return table(head, lines)


def means_table(rows: Mapping[str, Rows], games: Sequence[str]) -> str:
    """A Markdown table with a row per policy: means over the games."""
    lines = []
    for name, of_policy in rows.items():
        played = [of_policy[game] for game in games if game in of_policy]
        if played:
            won, home = fmean(row.won / row.played for row in played), fmean(row.cards_home for row in played)
            never = sum(row.won == 0 for row in played)
            lines.append([name, f"{len(played)}", _percent(won), _percent(home), f"{never}"])
    return table(["", "games", "won, mean", "cards home, mean", "games never won"], lines)
