"""Train a policy: ``python -m agents.train configs/default.yaml``.

sb3-contrib's MaskablePPO, or PQN (:mod:`agents.learners.pqn`), over the native vector environment. A run folder holds
the resolved configuration (``config.yaml``), versions (``versions.json``), TensorBoard logs (``logs/``), the
learning curve (``curve.csv``), the newest checkpoint (``checkpoint.safetensors``), the model (``model/``),
the evaluation (``evaluation/*.jsonl``), a transcript of the best game (``best_game.txt``), and pictures; with
``wandb`` what is sent to Weights & Biases (``wandb/``, ``wandb.txt``).
"""

import csv
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch as th
import tyro
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from agents.commands.options import parse_options, run_command
from agents.config import TrainConfig
from agents.learners.ppo import check_device, make_env, make_model, start_of, warm_up
from agents.learners.pqn import PQN
from agents.networks import MovesNetwork
from agents.networks.sb3_policy import NetworkPolicy
from agents.reports.compare import compare
from agents.reports.plots import plot
from agents.runs.checkpoints import load_checkpoint, save_checkpoint
from agents.runs.config_files import dump_config
from agents.runs.folders import CHECKPOINT, CURVE, CURVE_COLUMNS, cut_curve, new_run
from agents.runs.models import save_model
from agents.runs.tracking import check_wandb, tracked
from solitaire_env import env_id
from solitaire_env.util.files import write_text
from solitaire_env.util.progress import ProgressLine, clock

WINDOW = 1000
"""Rates in progress line and curve are of the last so many games."""


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


class Watch(BaseCallback):
    """Progress line, curve, checkpoints and the end of training."""

    def __init__(
        self, config: TrainConfig, run: Path, line: ProgressLine, progress: dict[str, Any],
        told: Callable[["Watch"], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.told = told
        self.config = config
        self.run = run
        self.line = line
        self.games = int(progress["games"])
        self.seconds_before = float(progress["seconds"])
        self.stop = False
        """Set to end training after the step in hand."""
        self.won: deque[bool] = deque(maxlen=WINDOW)
        self.home: deque[int] = deque(maxlen=WINDOW)
        self.lengths: deque[int] = deque(maxlen=WINDOW)

    def _on_training_start(self) -> None:
        self.start = time.monotonic()
        self.steps_before = self.model.num_timesteps
        self.saved = self.start

    @property
    def seconds(self) -> float:
        """Training time, of earlier parts of the run too."""
        return self.seconds_before + time.monotonic() - self.start

    @property
    def share(self) -> float:
        """How much of the training is done, 0 to 1."""
        shares = []
        if self.config.minutes is not None:
            shares.append(self.seconds / (60 * self.config.minutes))
        if self.config.total_steps is not None:
            shares.append(self.model.num_timesteps / self.config.total_steps)
        return min(1.0, max(shares))

    @property
    def progress(self) -> dict[str, Any]:
        """What a checkpoint keeps besides the tensors."""
        return {"steps": self.model.num_timesteps, "seconds": self.seconds, "games": self.games}

    def _on_rollout_start(self) -> None:
        policy = self.model.policy
        assert isinstance(policy, NetworkPolicy)
        policy.value_only = self.model.num_timesteps < self.config.value_steps
        if isinstance(policy.network, MovesNetwork) and policy.network.memory:
            policy.network.memory.forget()

    def _on_step(self) -> bool:
        for row in np.flatnonzero(self.locals["dones"]).tolist():
            info = self.locals["infos"][row]
            self.won.append(info["is_success"])
            self.home.append(info["cards_home"])
            self.lengths.append(info["episode"]["l"])
            self.games += 1
        self.line.show(self._text)
        return not self.stop and self.share < 1.0

    def _text(self) -> str:
        steps = self.model.num_timesteps
        speed = (steps - self.steps_before) / max(time.monotonic() - self.start, 1e-9)
        rates = "no game has ended yet"
        if self.won:
            rates = f"won {100 * np.mean(self.won):.1f} %, cards home {np.mean(self.home):.1f}"
        share = self.share
        left = self.seconds * (1 - share) / share if share > 0.01 else None
        ends = f"{clock(left)} left" if left is not None else "starting"
        return f"training: {steps / 1e6:.2f} M steps, {speed:,.0f}/s, {rates}, {ends}"

    def _on_rollout_end(self) -> None:
        if self.won:
            self.logger.record("rollout/cards_home", float(np.mean(self.home)))
        self._write_row()
        if self.told is not None:
            self.told(self)
        if time.monotonic() - self.saved > 60 * self.config.checkpoint_minutes:
            # Before the update that follows: weights and counts belong together.
            save_checkpoint(self.run / CHECKPOINT, self.model, self.progress)  # type: ignore[arg-type]
            self.saved = time.monotonic()

    def _write_row(self) -> None:
        path = self.run / CURVE
        speed = (self.model.num_timesteps - self.steps_before) / max(time.monotonic() - self.start, 1e-9)
        rates = ("", "", "")
        if self.won:
            rates = (f"{np.mean(self.won):.4f}", f"{np.mean(self.home):.3f}", f"{np.mean(self.lengths):.1f}")
        row = (self.model.num_timesteps, f"{self.seconds / 60:.4f}", self.games, *rates, f"{speed:.0f}")
        new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(CURVE_COLUMNS)
            writer.writerow(row)


def learn(
    config: TrainConfig, run: Path, *, resume: bool, quiet: bool, told: Callable[[Watch], None] | None = None
) -> bool:
    """Train in a run folder; whether it came to its end. A first Ctrl-C ends it after the step in hand.

    ``told``, if given, is called before each update; what it raises ends the training.
    """
    th.set_num_threads(config.threads or os.cpu_count() or 1)
    # Checking every distribution costs a tenth of the time; the mask leaves none that could fail.
    th.distributions.Distribution.set_default_validate_args(False)
    warm_up(config)
    env = make_env(config)
    watch: Watch | None = None
    # A checkpoint takes the place of what the training started from.
    first = replace(config, start=None) if resume else config
    model = make_model(first, env, lambda: watch.share if watch is not None else 0.0)
    progress: dict[str, Any] = {"steps": 0, "seconds": 0.0, "games": 0}
    if resume:
        progress = load_checkpoint(run / CHECKPOINT, model)
        write_text(run / "config.yaml", dump_config(config))  # with what the command line changes
        model.num_timesteps = int(progress["steps"])
        cut_curve(run / CURVE, model.num_timesteps)
        # Not the deals again with which the run began.
        env.seed(config.seed + model.num_timesteps)
    else:
        env.seed(config.seed)
    model.set_logger(configure(str(run / "logs"), ["tensorboard"]))
    line = ProgressLine(quiet)
    watch = Watch(config, run, line, progress, told)

    def end(*_: Any) -> None:
        assert watch is not None
        watch.stop = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, end)
    terminate = signal.signal(signal.SIGTERM, end)
    try:
        model.learn(total_timesteps=2**62, callback=watch, reset_num_timesteps=False)
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, terminate)
        line.close()
        model.logger.close()
    save_checkpoint(run / CHECKPOINT, model, watch.progress)
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    save_model(
        run / "model",
        model.average.module if isinstance(model, PQN) else policy.network,
        env.game,
        kind=config.network,
        sizes=config.network_sizes,
        steps=model.num_timesteps,
        value=None if config.learner == "pqn" else policy.value_net,
        temperature=config.temperature if config.learner == "pqn" else None,
        sure_home=config.sure_home,
    )
    plot([run], run, names=("curve",), quiet=quiet)
    return not watch.stop


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
