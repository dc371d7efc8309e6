"""Store a training of an ablation: ``python -m agents ablations add rewards RUN --what "..."``."""

import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import tyro
from pydantic import ValidationError

from agents.commands.options import INTERRUPTED, Subcommand, run_subcommand
from agents.reports import ablations
from agents.reports.ablations import About, read_training, stored_games
from agents.reports.compare import play_policy
from agents.reports.model_card import training_of
from agents.reports.stored import check_name, sentence
from agents.reports.tables import summary_table
from agents.runs.config_files import dump_config, load_config
from solitaire_env.util.files import write_json, write_text
from solitaire_env.util.progress import ProgressLine


@dataclass
class Add:
    """Play deals with the network of a finished run, and store games, configuration and cost."""

    ablation: tyro.conf.Positional[str]
    """Name of the ablation."""
    run: tyro.conf.Positional[Path]
    """Run folder of a training; the first one that is added is the baseline of the others."""
    what: str
    """How it differs from the baseline, in a few words."""
    deals: str = "20000:20500"
    """Deals to play, the same for all trainings of an ablation."""
    quiet: bool = False
    """Hide the progress line."""


def add(a: Add) -> int:
    """Play, store and print the result. After an interruption the same command resumes."""
    check_name(a.ablation)
    config = replace(load_config(a.run / "config.yaml"), eval_deals=a.deals)
    try:
        about = About(a.what, training_of(a.run))
    except ValidationError as error:
        raise ValueError(sentence(error)) from None
    stored = {int(path.stem): read_training(path) for path in stored_games(a.ablation)}
    number = next((n for n, of in stored.items() if of == about), max(stored, default=0) + 1)
    path = ablations.ABLATIONS / a.ablation / f"{number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path.with_suffix(".yaml"), dump_config(config))
    write_json(path.with_suffix(".json"), asdict(about))
    done = play_policy(str(a.run), config, path, ProgressLine(a.quiet), label=a.run.name)
    print(summary_table([(a.what, done.games[0].moves, done.summary)]))
    return 0


COMMANDS: Final = {"add": Subcommand(Add, add)}


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    return run_subcommand("python -m agents ablations", COMMANDS, args, INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
