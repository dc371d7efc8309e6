"""Trainings that were compared: ``python -m agents ablations add rewards runs/busy-aces-2 --what "..."``.

What is kept of each stands in ``experiments/<experiment>/<n>``: its games, ``.jsonl``, as ``agents.evaluate
--games`` writes them, its configuration, ``.yaml``, and what it took, ``.json``. ``python -m
agents.commands.leaderboard`` writes the tables of ``docs/training.md`` from them.
"""

import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pydantic.dataclasses
import tyro
from pydantic import ValidationError

from agents.commands.options import run_command
from agents.reports.compare import play_policy
from agents.reports.model_card import training_of
from agents.reports.stored import ROOT, STRICT, Plain, Training, check_name, read_stored, sentence
from agents.reports.tables import against, cost, home, summary_table, table, won
from agents.runs.config_files import dump_config, load_config
from solitaire_env.evaluation import Game, read_games
from solitaire_env.util.files import write_json, write_text
from solitaire_env.util.progress import ProgressLine

EXPERIMENTS: Path = ROOT / "results" / "ablations"


@pydantic.dataclasses.dataclass(config=STRICT, frozen=True)
class Told:
    """What is told of a training."""

    what: Plain
    """How it differs from the first of its experiment."""
    training: Training


class Trained(NamedTuple):
    """A training, and how its network played."""

    told: Told
    games: tuple[Game, ...]


def _stored(experiment: str) -> list[Path]:
    """The games of the trainings of an experiment, in the order in which they were added."""
    return sorted((EXPERIMENTS / experiment).glob("[0-9]*.jsonl"), key=lambda path: int(path.stem))


def read_experiment(experiment: str) -> list[Trained]:
    """The trainings of an experiment.

    Raises
    ------
    ValueError
        Naming the file and what is wrong with it.
    """
    trained: list[Trained] = []
    for path in _stored(experiment):
        told, games = _read_told(path), tuple(read_games(path))
        first = _deals(trained[0].games if trained else games)
        if _deals(games) != first:
            raise ValueError(f"{path}: has deals {_text(_deals(games)) or 'none'}, allowed: {_text(first)}")
        trained.append(Trained(told, games))
    return trained


def _read_told(path: Path) -> Told:
    """What is told of the training whose games stand in a file."""
    return read_stored(path.with_suffix(".json"), Told)


def _deals(games: tuple[Game, ...]) -> tuple[int | str, ...]:
    return tuple(game.deal for game in games)


def _text(deals: tuple[int | str, ...]) -> str:
    """Deals in a few words: those that follow one another as a range."""
    parts: list[list[int | str]] = []
    for deal in deals:
        if parts and isinstance(deal, int) and deal - 1 == parts[-1][-1]:
            parts[-1].append(deal)
        else:
            parts.append([deal])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def experiment_table(experiment: str) -> str:
    """The table of an experiment."""
    trained = read_experiment(experiment)
    if not trained:
        raise ValueError(f"{EXPERIMENTS / experiment}: nothing is stored there")
    deals = _text(_deals(trained[0].games))
    head = ["", "training", f"won, deals {deals}", "cards home", "it alone : the first alone"]
    rows = [
        [told.what, cost(told.training), won(games), home(games), against(games, trained[0].games)]
        for told, games in trained
    ]
    rows[0][-1] = "-"
    return table(head, rows)


def experiments() -> list[str]:
    """Their names."""
    return sorted(path.name for path in EXPERIMENTS.glob("*") if path.is_dir())


# ------------------------------------------------------------------------------------------- command


@dataclass
class Add:
    """Play deals with the network of a finished run, and keep games, configuration and what it took."""

    experiment: tyro.conf.Positional[str]
    """Name of the experiment."""
    run: tyro.conf.Positional[Path]
    """Run folder of agents.train or agents.commands.imitate; the first is what the others are held against."""
    what: str
    """How it differs from the first, a few words."""
    deals: str = "20000:20500"
    """Deals to play, the same in all trainings of an experiment."""
    quiet: bool = False
    """No progress line."""


def add(a: Add) -> int:
    """Play, store, and print what it came to; the same once more goes on with what was stopped."""
    check_name(a.experiment)
    config = replace(load_config(a.run / "config.yaml"), eval_deals=a.deals)
    try:
        told = Told(a.what, training_of(a.run))
    except ValidationError as error:
        raise ValueError(sentence(error)) from None
    stored = {int(path.stem): _read_told(path) for path in _stored(a.experiment)}
    number = next((n for n, of in stored.items() if of == told), max(stored, default=0) + 1)
    path = EXPERIMENTS / a.experiment / f"{number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path.with_suffix(".yaml"), dump_config(config))
    write_json(path.with_suffix(".json"), asdict(told))
    done = play_policy(str(a.run), config, path, ProgressLine(a.quiet), label=a.run.name)
    print(summary_table([(a.what, done.games[0].moves, done.summary)]))
    return 0


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""
    rest = list(sys.argv[1:] if args is None else args)
    if rest[:1] == ["add"]:
        rest.pop(0)
    a = tyro.cli(
        Add, args=rest, prog="python -m agents ablations add", config=(tyro.conf.FlagCreatePairsOff,)
    )
    return run_command(lambda: add(a), "stopped; games that ended are kept, the same command goes on")


if __name__ == "__main__":
    sys.exit(main())
