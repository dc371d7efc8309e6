"""Train a policy: ``python -m agents.train configs/default.yaml``.

The learners are in :mod:`agents.learners`. A run folder holds the resolved configuration (``config.yaml``),
versions (``versions.json``), TensorBoard logs (``logs/``), the learning curve (``curve.csv``), the newest
checkpoint (``checkpoint.safetensors``), the model (``model/``), the evaluation (``evaluation/*.jsonl``), its
score (``score.json``), a transcript of the best game (``best_game.txt``), and a picture; with ``wandb`` the
data sent to Weights & Biases (``wandb/``, ``wandb.txt``).
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from agents.cluster import connect, require_ray
from agents.commands.options import ConfigArguments, RayAddress, next_commands, parse_options, trust_option
from agents.config import TrainConfig
from agents.runs.folders import new_run
from agents.runs.tracking import check_wandb, tracked
from solitaire_env.util.command_line import run_command
from solitaire_env.util.files import locked
from solitaire_env.util.messages import one_line, say


@dataclass
class Arguments(ConfigArguments):
    """Train a policy."""

    resume: Path | None = None
    """Run folder to resume; its configuration is used. Only the budget, the machine's keys and the deals can
    change."""
    ray: RayAddress = None
    """Train by PPO of Ray's RLlib on a cluster: HOST:PORT, auto (the one that runs here), or local (a new one
    on this machine). Without ADDRESS: the one of RAY_ADDRESS or that runs here, else a new one."""
    ray_learners: int = 0
    """Number of workers of the cluster that learn; the others play. 0: this process learns."""


def run_training(a: Arguments, config: TrainConfig, run: Path, *, resume: bool) -> int:
    """Train, compare, and print the paths of the results; the exit status."""
    from agents.playing.comparison import compare, compare_family
    from agents.results.plots import plot

    quiet = a.quiet
    with tracked(config, run, quiet=quiet):
        ended = _learn(a, config, run, resume=resume)
    try:
        plot([run], run / "curve.png")
    except Exception as error:  # matplotlib may raise anything
        say(f"{run / 'curve.png'}: not drawn ({type(error).__name__}, {one_line(error)})")
    if not ended:
        command = f"python -m agents.train --resume {run}{trust_option(config)}"
        print(f"Interrupted. To resume, run: {command}", file=sys.stderr)
        return 130
    table = (compare_family if config.is_family else compare)(config, run, quiet=quiet)
    print(table)
    print(f"\nrun folder      {run}")
    if not config.is_family:
        print("\nnext:", "\n      ".join(next_commands(config, run, "1000:2000")))
    return 0


def _learn(a: Arguments, config: TrainConfig, run: Path, *, resume: bool) -> bool:
    """Train here or on a cluster; whether the training was completed."""
    with connect(a.ray, quiet=a.quiet) as cluster:
        if cluster is None:
            from agents.learners import training

            return training.learn(config, run, resume=resume, quiet=a.quiet)
        from agents.learners import rllib

        return rllib.learn(config, run, cluster, learners=a.ray_learners, resume=resume, quiet=a.quiet)


def check_start(config: TrainConfig, *, resume: bool) -> None:
    """Check that training can start, before any file is written."""
    from agents.learners.initial_weights import initial_weights_of
    from agents.learners.training import check_device
    from agents.networks import network_class

    network_class(config.network)
    check_device(config.device)
    check_wandb(config)
    if not resume:
        initial_weights_of(config)


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""
    run: Path | None = None

    def begin_or_resume() -> int:
        nonlocal run
        arguments = parse_options(args, Arguments, "python -m agents.train CONFIG")
        config, resume = arguments.config, arguments.resume is not None
        check_start(config, resume=resume)
        if arguments.ray is not None:
            require_ray()
            from agents.learners.rllib import check_config

            check_config(config)
        run = arguments.resume if arguments.resume is not None else new_run(arguments.runs, config)
        if not arguments.quiet:
            print(f"run folder: {run}; Ctrl-C ends the training and keeps it", file=sys.stderr, flush=True)
        with locked(run, timeout_s=0):
            return run_training(arguments, config, run, resume=resume)

    return run_command(begin_or_resume, lambda: f"Interrupted.{f' The run folder is {run}.' if run else ''}")


if __name__ == "__main__":
    sys.exit(main())
