"""Ablations: stored trainings that differ in one setting, and their tables.

``results/ablations/<ablation>/<n>`` holds a training: its games (``.jsonl``, as ``agents.evaluate --games``
writes them), its configuration (``.yaml``), and its cost (``.json``).
"""

from pathlib import Path
from typing import NamedTuple

import pydantic.dataclasses

from agents.reports.stored import ROOT, STRICT, Plain, Training, read_stored
from agents.reports.tables import against, cost, home, table, won
from solitaire_env.evaluation import Game, read_games

ABLATIONS: Path = ROOT / "results" / "ablations"


@pydantic.dataclasses.dataclass(config=STRICT, frozen=True)
class About:
    """The stored description of a training."""

    what: Plain
    """How it differs from the baseline, the first of its ablation."""
    training: Training


class Trained(NamedTuple):
    """A training, and the games of its network."""

    about: About
    games: tuple[Game, ...]


def stored_games(ablation: str) -> list[Path]:
    """The files with the games of each training of an ablation, in the order in which they were added."""
    return sorted((ABLATIONS / ablation).glob("[0-9]*.jsonl"), key=lambda path: int(path.stem))


def read_ablation(ablation: str) -> list[Trained]:
    """The trainings of an ablation, the baseline first.

    Raises
    ------
    ValueError
        The message names the file and the error.
    """
    trained: list[Trained] = []
    for path in stored_games(ablation):
        about, games = read_training(path), tuple(read_games(path))
        first = _deals(trained[0].games if trained else games)
        if _deals(games) != first:
            raise ValueError(f"{path}: has deals {_text(_deals(games)) or 'none'}, allowed: {_text(first)}")
        trained.append(Trained(about, games))
    return trained


def read_training(path: Path) -> About:
    """The stored training whose games are in a file."""
    return read_stored(path.with_suffix(".json"), About)


def _deals(games: tuple[Game, ...]) -> tuple[int | str, ...]:
    return tuple(game.deal for game in games)


def _text(deals: tuple[int | str, ...]) -> str:
    """Deals in a few words: consecutive ones as a range."""
    parts: list[list[int | str]] = []
    for deal in deals:
        if parts and isinstance(deal, int) and deal - 1 == parts[-1][-1]:
            parts[-1].append(deal)
        else:
            parts.append([deal])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def ablation_table(ablation: str) -> str:
    """The table of an ablation."""
    trained = read_ablation(ablation)
    if not trained:
        raise ValueError(f"{ABLATIONS / ablation}: has no stored trainings")
    deals = _text(_deals(trained[0].games))
    head = ["", "training", f"won, deals {deals}", "cards home", "wins only here : wins only baseline"]
    rows = [
        [about.what, cost(about.training), won(games), home(games), against(games, trained[0].games)]
        for about, games in trained
    ]
    rows[0][-1] = "-"
    return table(head, rows)


def ablations() -> list[str]:
    """The names of the stored ablations."""
    return sorted(path.name for path in ABLATIONS.glob("*") if path.is_dir())
