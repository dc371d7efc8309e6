"""Train a policy: ``python -m agents.train configs/default.yaml``.

The learners are in :mod:`agents.learners`. A run folder holds
the resolved configuration (``config.yaml``), versions (``versions.json``), TensorBoard logs (``logs/``), the
learning curve (``curve.csv``), the newest checkpoint (``checkpoint.safetensors``), the model (``model/``),
the evaluation (``evaluation/*.jsonl``), a transcript of the best game (``best_game.txt``), and pictures; with
``wandb`` what is sent to Weights & Biases (``wandb/``, ``wandb.txt``).
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from agents.commands.options import parse_options, run_command
from agents.config import TrainConfig
from agents.learners.initial_weights import start_of
from agents.learners.training import check_device, learn
from agents.reports.compare import compare
from agents.reports.plots import plot
from agents.runs.folders import new_run
from agents.runs.tracking import check_wandb, tracked
from solitaire_env import env_id


@dataclass
class Arguments:
    """Train a policy."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    runs: Path = Path("runs")
    """Folder in which run folders are made."""
    resume: Path | None = None
    """Run folder to go on with; its configuration is used."""
    quiet: bool = False
    """No progress line."""


def run_training(config: TrainConfig, run: Path, *, resume: bool, quiet: bool) -> int:
    """Train, compare, and say where things are; the exit status."""
    name = config.variant.title
    if not quiet:
        print(
            f"{name}: training {run}, {_budget(config)}; Ctrl-C stops and keeps what was learned",
            file=sys.stderr,
        )
    with tracked(config, run, quiet=quiet):
        ended = learn(config, run, resume=resume, quiet=quiet)
    plot([run], run, names=("curve",), quiet=quiet)
    if not ended:
        print(f"stopped; go on with: python -m agents.train --resume {run}", file=sys.stderr)
        return 130
    table = compare(config, run, quiet=quiet)
    plot([run], run, names=("win_rates", "endings"), quiet=quiet)
    print(table)
    print(f"\nrun folder      {run}")
    for file, what in (
        ("curve.png", "learning curve"),
        ("win_rates.png", "games won by each policy"),
        ("endings.png", "where games end"),
        ("model", "the network"),
        ("best_game.txt", "its best game"),
        ("evaluation", "every game played, JSON lines"),
    ):
        print(f"  {file:<14}{what}")
    moves = f" --moves '{config.moves}'" if config.moves else ""
    print(
        f"\nnext: python -m agents.evaluate --policy {run} --env {env_id(config.variant)} --deals 1000:2000"
    )
    print(f"      python -m solitaire_env watch {config.variant.name} --policy agents:policy@{run}")
    print(f"      python -m solitaire_env play {config.variant.name}{moves}")
    return 0


def _budget(config: TrainConfig) -> str:
    unit = "minute" if config.minutes == 1 else "minutes"
    parts = [] if config.minutes is None else [f"{config.minutes:g} {unit}"]
    parts += [] if config.total_steps is None else [f"{config.total_steps:,} steps"]
    return " or ".join(parts)


def parse_arguments(args: list[str]) -> Arguments:
    """The command line: a configuration file (or ``--resume RUN``), then any key of it as an option."""
    return parse_options(args, Arguments, "python -m agents.train CONFIG")


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""
    run: Path | None = None

    def begin_or_resume() -> int:
        nonlocal run
        arguments = parse_arguments(sys.argv[1:] if args is None else args)
        check_device(arguments.config.device)
        check_wandb(arguments.config)
        resume = arguments.resume is not None
        if not resume:
            start_of(arguments.config)  # which is refused before anything is made
        run = arguments.resume if arguments.resume is not None else new_run(arguments.runs, arguments.config)
        return run_training(arguments.config, run, resume=resume, quiet=arguments.quiet)

    return run_command(begin_or_resume, lambda: f"stopped; what is done is in {run}" if run else "stopped")


if __name__ == "__main__":
    sys.exit(main())
