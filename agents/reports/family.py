"""How well policies play many games: one row per game, stored in ``results/family/``, and their page.

``docs/reference/family.md`` is written from the rows only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from agents.config import TrainConfig
from agents.policies import make_policy
from agents.reports.model_card import training_of
from agents.reports.stored import ROOT, STRICT, Training, read_stored, sentence
from agents.reports.tables import cost, table
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Moves, Variant
from solitaire_env.evaluation import evaluate, wilson_interval
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.family import TRAIN
from solitaire_env.policies import Policy
from solitaire_env.policies.shipped import network_folder
from solitaire_env.util.files import write_text
from solitaire_env.util.progress import ProgressLine, bar
from solitaire_env.variants import VARIANTS, get_variant

RESULTS = ROOT / "results" / "family"
PAGE = ROOT / "docs" / "reference" / "family.md"
NETWORK: Final = "network"
"""Name of the trained network in the rows."""
POLICIES: Final = (NETWORK, "greedy", "random")
"""The policies that play every game."""
SPECIALISTS: Final = "shipped"
"""The policy that has its own network for each of some games."""


@dataclass(config=STRICT, frozen=True)
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


@dataclass(config=STRICT, frozen=True)
class About:
    """Description of the network of the rows."""

    games: tuple[str, ...]
    """The games that it was trained on."""
    training: Training
    weights: str
    """See :func:`agents.reports.stored.weights_hash`."""


def rows_file(name: str) -> Path:
    """The file of a policy's rows."""
    return RESULTS / f"{name}.jsonl"


def about_file() -> Path:
    """The file with the description of the network."""
    return RESULTS / f"{NETWORK}.json"


# -------------------------------------------------------------------------------------- playing


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a file by game; empty if there is no file.

    Raises
    ------
    ValueError
        The message names the line and the error.
    """
    rows: dict[str, Row] = {}
    if not path.is_file():
        return rows
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = TypeAdapter(Row).validate_json(line)
        except ValidationError as error:
            raise ValueError(f"{path}, line {number}: {sentence(error)}") from None
        if row.game in rows:
            raise ValueError(f"{path}, line {number}: game {row.game!r} occurs twice, allowed: once")
        rows[row.game] = row
    return rows


def write_rows(path: Path, rows: Rows) -> None:
    """Write a file of rows, in the order of the games."""
    order = {variant.name: place for place, variant in enumerate(VARIANTS)}
    kept = sorted(rows.values(), key=lambda row: (order.get(row.game, len(order)), row.game))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(json.dumps(asdict(row)) + "\n" for row in kept))


def play_games(
    policy: str, games: Sequence[tuple[Variant, Moves | None]], deals: str, path: Path, line: ProgressLine, *,
    name: str | None = None, force: bool = False,
) -> dict[str, Row]:  # fmt: skip
    """Play deals of each game with a policy, and store a row for each; games that have a row are skipped.

    Parameters
    ----------
    games
        The games, and the action set of a policy that leaves it open.
    name
        Name of the policy in the rows.
    force
        Whether to replace rows of other deals or of another policy.

    Raises
    ------
    ValueError
        If the file has such rows.
    """
    rows = read_rows(path)
    for place, (variant, moves) in enumerate(games):
        player = make_policy(policy, GameSpec(variant), moves=moves)
        before = rows.get(variant.name)
        if before is not None and (before.deals, before.fingerprint) == (deals, player.fingerprint):
            continue
        if before is not None and not force:
            raise ValueError(
                f"{path}: {variant.name} was played on deals {before.deals} by policy {before.fingerprint}, "
                f"now it would be {deals} by {player.fingerprint}; --force plays it again"
            )
        share = place / len(games)
        line.count(place, len(games), lambda share=share, variant=variant: (  # type: ignore[misc]
            f"{name or policy} {bar(share)} {variant.title}"
        ))  # fmt: skip
        rows[variant.name] = _play(player, variant, deals, name or policy)
        write_rows(path, rows)
    line.close()
    return rows


def _play(player: Policy, variant: Variant, deals: str, name: str) -> Row:
    done = evaluate(player, variant, parse_deals(deals)).summary
    low, high = done.cards_interval
    return Row(
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


def compare_family(config: TrainConfig, run: Path, *, quiet: bool) -> str:
    """Evaluate the network of a run and the baselines on the games of its training; return the table."""
    line = ProgressLine(quiet)
    games = [(spec.variant, moves) for spec, moves in config.played_games]
    rows = {
        name: play_games(
            str(run.absolute()) if name == NETWORK else name, games, config.eval_deals,
            run / "evaluation" / f"{name}.rows", line, name=name, force=True,
        )
        for name in POLICIES
    }  # fmt: skip
    text = f"Deals {config.eval_deals} of each game\n\n{means_table(rows, [v.name for v, _ in games])}\n\n"
    text += games_table(rows, [variant.name for variant, _ in games])
    write_text(run / "evaluation.txt", text + "\n")
    return text


# --------------------------------------------------------------------------------------- tables


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    return f"{_percent(share)} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"


def games_table(
    rows: Mapping[str, Rows], games: Sequence[str], trained: Mapping[str, str] | None = None
) -> str:
    """A Markdown table with a row per game: games won, and cards home, by each policy.

    ``trained`` has the cost of a training by game, for a last column.
    """
    head = ["", *(f"won: {name}" for name in rows), *(f"cards home: {name}" for name in rows)]
    if trained is not None:
        head.append("trained")
    lines = []
    for game in games:
        of_game = [of_policy.get(game) for of_policy in rows.values()]
        won = [
            "-" if row is None else _with_interval(row.won / row.played, row.win_interval) for row in of_game
        ]
        home = ["-" if row is None else _with_interval(row.cards_home, row.cards_interval) for row in of_game]
        last = [] if trained is None else [trained[game]]
        lines.append([get_variant(game).title, *won, *home, *last])
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


def _better(one: Row, other: Row) -> int:
    """1 if a policy is better than another in a game, -1 if worse, 0 if the intervals overlap.

    Compares games won; if these intervals overlap, cards home.
    """
    for mine, yours in (
        (one.win_interval, other.win_interval),
        (one.cards_interval, other.cards_interval),
    ):
        if mine[0] > yours[1] or yours[0] > mine[1]:
            return 1 if mine[0] > yours[1] else -1
    return 0


def _verdict(rows: Mapping[str, Rows], games: Sequence[str], than: str = "greedy") -> str:
    """In which games the network is better and worse than another policy, in words."""
    network, other = rows.get(NETWORK, {}), rows.get(than, {})
    both = [game for game in games if game in network and game in other]
    if not both:
        return ""
    signs = {game: _better(network[game], other[game]) for game in both}
    titles = {sign: [get_variant(game).title for game in both if signs[game] == sign] for sign in (1, 0, -1)}
    text = f"Against {than} it plays better in {len(titles[1])} of {len(both)} games, worse in "
    text += f"{len(titles[-1])}; in {len(titles[0])} the intervals overlap."
    for sign, what in ((-1, f"**Worse than {than}:**"), (0, "No difference is seen in")):
        if titles[sign]:
            text += f" {what} {', '.join(titles[sign])}."
    return text + "\n\n"


# ----------------------------------------------------------------------------------------- page

NOTE: Final = "<!-- Written by `python -m agents family-table`: change that, or the stored results. -->\n"

PAGE_TEXT: Final = """
# One network, many games

{network}
`greedy` and `random` need no training. All play the same deals, {deals} of each game. A one-card game is
played by supermoves where it takes them; each counts as the single moves that it stands for. Rows:
`results/family/`.

- **won:** share of the deals, with Wilson's 95 % interval.
- **cards home:** share of all cards, the mean of the deals, with a bootstrap interval. In games that are
  hardly ever won this says more.

{parts}
"""

TRAINED: Final = """One network was trained on {games} games ({cost}). It reads the same features of each
legal move in every game, the rules of the game among them, and has the same weights for all: so it also plays
games that it never saw.
"""
BESIDE: Final = """## Beside specialists

`shipped` has its own network for each of these games. The last column has the cost of its training, with that
of the network that it started from, if there is one. For the network of many games it was
{cost} in total.

{verdict}{table}
"""
NOT_TRAINED: Final = "No network has been stored yet.\n"


def _part(title: str, rows: Mapping[str, Rows], games: Sequence[str]) -> str:
    return f"## {title}\n\n{means_table(rows, games)}\n\n{_verdict(rows, games)}{games_table(rows, games)}\n"


def _beside_specialists(rows: Mapping[str, Rows], about: About) -> str:
    """The part of the page that compares the network with the networks of single games."""
    games = list(rows[SPECIALISTS])
    return BESIDE.format(
        cost=cost(about.training),
        verdict=_verdict(rows, games, SPECIALISTS),
        table=games_table(
            rows, games, {game: cost(training_of(network_folder(SPECIALISTS, game))) for game in games}
        ),
    )


def page() -> str:
    """The text of ``docs/reference/family.md``, from the stored rows.

    Raises
    ------
    ValueError
        If the policies were not played on the same deals.
    """
    rows = {name: of_policy for name in POLICIES if (of_policy := read_rows(rows_file(name)))}
    specialists = read_rows(rows_file(SPECIALISTS))
    played = (*rows.values(), specialists)
    deals = sorted({row.deals for of_policy in played for row in of_policy.values()})
    if len(deals) != 1:
        raise ValueError(f"{RESULTS}: rows are of deals {' and '.join(deals) or 'none'}, allowed: the same")
    about = read_stored(about_file(), About) if NETWORK in rows else None
    network, trained = NOT_TRAINED, TRAIN
    names = ("Games of the split `test`", "Games of the split `train`")
    if about is not None:
        network, trained = TRAINED.format(games=len(about.games), cost=cost(about.training)), about.games
        names = ("Games that the network never saw", "Games that it was trained on")
    splits = ([v.name for v in VARIANTS if v.name not in trained], trained)
    parts = [_part(name, rows, games) for name, games in zip(names, splits, strict=True) if games]
    if about is not None and specialists:
        parts.append(_beside_specialists({NETWORK: rows[NETWORK], SPECIALISTS: specialists}, about))
    return NOTE + PAGE_TEXT.format(network=network, deals=deals[0], parts="\n".join(parts))
