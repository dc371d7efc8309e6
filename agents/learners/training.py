"""The training loop in a run folder, with progress, learning curve, checkpoints and the model."""

import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch as th
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, configure

from agents.config import ConfigError, TrainConfig
from agents.learners.factory import Learner, make_model
from agents.learners.pqn import PQN
from agents.learners.selection import BASELINE, Selection
from agents.learners.team import Team, lead
from agents.learners.training_env import TrainingEnv, make_env
from agents.networks.sb3_policy import NetworkPolicy
from agents.runs.checkpoints import load_checkpoint, save_checkpoint
from agents.runs.config_files import dump_config
from agents.runs.folders import CHECKPOINT, CURVE, cut_curve, write_row
from agents.runs.interrupt import Interrupt, first_interrupt
from agents.runs.models import save_model
from solitaire_env.core import max_threads, set_num_threads
from solitaire_env.util.cores import usable_cores
from solitaire_env.util.files import naming, write_text
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine, bar, clock

WINDOW: Final = 1000
"""Number of last games that the rates in progress line and curve refer to."""


MIN_GAMES: Final = 64
"""Minimum number of games of a process."""


class TrainingCallback(BaseCallback):
    """The callback of a training: writes progress line, curve and checkpoints, and ends the training."""

    def __init__(
        self, config: TrainConfig, run: Path, team: Team, selection: Selection, line: ProgressLine,
        progress: dict[str, Any], interrupt: Interrupt,
        on_update: Callable[["TrainingCallback"], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.interrupt = interrupt
        self.on_update = on_update
        self.config = config
        self.run = run
        self.team = team
        self.selection = selection
        self.line = line
        self.games = int(progress["games"])
        self.seconds_before = float(progress["seconds"])
        self.won: deque[bool] = deque(maxlen=WINDOW)
        self.home: deque[int] = deque(maxlen=WINDOW)
        self.lengths: deque[int] = deque(maxlen=WINDOW)
        self.returns: deque[float] = deque(maxlen=WINDOW)

    def _on_training_start(self) -> None:
        self.start = time.monotonic()
        self.steps_before = self.model.num_timesteps
        self.saved = self.start
        self.selection.begin(self.share)

    @property
    def seconds(self) -> float:
        """Training time, including earlier parts of the run."""
        return self.seconds_before + time.monotonic() - self.start

    @property
    def share(self) -> float:
        """The completed share of the training, 0 to 1."""
        shares = []
        if self.config.minutes is not None:
            shares.append(self.seconds / (60 * self.config.minutes))
        if self.config.total_steps is not None:
            shares.append(self.model.num_timesteps / self.config.total_steps)
        return min(1.0, max(shares))

    @property
    def speed(self) -> float:
        """Steps per second, since the start or the last resumption."""
        return (self.model.num_timesteps - self.steps_before) / max(time.monotonic() - self.start, 1e-9)

    @property
    def progress(self) -> dict[str, Any]:
        """The state of a checkpoint besides the tensors."""
        return {"steps": self.model.num_timesteps, "seconds": self.seconds, "games": self.games}

    def _on_rollout_start(self) -> None:
        policy = self.model.policy
        assert isinstance(policy, NetworkPolicy)
        self.selection.evaluate_at(self.share, self.model.num_timesteps)
        value_only = self.model.num_timesteps < self.config.value_warmup_steps
        policy.value_only = self.team.begin_rollout(self.share, value_only)
        self.games_before = self.games

    def _on_step(self) -> bool:
        for row in np.flatnonzero(self.locals["dones"]).tolist():
            info = self.locals["infos"][row]
            self.won.append(info["is_success"])
            self.home.append(info["cards_home"])
            self.lengths.append(info["episode"]["l"])
            self.returns.append(info["episode"]["r"])
            self.games += 1
        self.line.show(self._text)
        return not self.interrupt.requested and self.share < 1.0

    def _text(self) -> str:
        steps = self.model.num_timesteps
        total = self.config.total_steps
        done = f"{steps / 1e6:.2f} M" if total is None else f"{steps / 1e6:.2f} of {total / 1e6:.2f} M"
        rates = "no game has ended yet"
        if self.won:
            rates = f"won {100 * np.mean(self.won):.1f} %, cards home {np.mean(self.home):.1f}"
        if self.selection.baseline_rate is not None:
            rates += f" ({BASELINE}: won {100 * self.selection.baseline_rate:.1f} %)"
        share = self.share
        left = self.seconds * (1 - share) / share if share > 0.01 else None
        ends = f"{clock(left)} left" if left is not None else "starting"
        return f"training {bar(share)} {done} steps, {self.speed:,.0f}/s, {rates}, {ends}"

    def _on_rollout_end(self) -> None:
        # The rates cover only this process's games.
        self.games = self.games_before + int(self.team.sum([self.games - self.games_before])[0])
        if self.won:
            for name, numbers in (
                ("success_rate", self.won), ("cards_home", self.home), ("ep_len_mean", self.lengths),
                ("ep_rew_mean", self.returns),
            ):  # fmt: skip
                self.logger.record(f"rollout/{name}", float(np.mean(numbers)))
        self.logger.record("time/fps", int(self.speed))
        self._write_row()
        if self.on_update is not None:
            self.on_update(self)
        if time.monotonic() - self.saved > 60 * self.config.checkpoint_minutes:
            # Before the next update, so that weights and counts match.
            save_checkpoint(self.run / CHECKPOINT, self.model, self.progress)
            self.saved = time.monotonic()

    def _write_row(self) -> None:
        rates = ("", "", "")
        if self.won:
            rates = (f"{np.mean(self.won):.4f}", f"{np.mean(self.home):.3f}", f"{np.mean(self.lengths):.1f}")
        row = (self.model.num_timesteps, f"{self.seconds / 60:.4f}", self.games, *rates, f"{self.speed:.0f}")
        write_row(self.run / CURVE, row)


@contextmanager
def explained_memory() -> Iterator[None]:
    """Name the keys that may be too large if there is not enough memory."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "memory" not in str(error):  # torch has no class for it
            raise
        raise ConfigError(
            "num_envs, n_steps, batch_size, hidden, width or embedding is too large for the memory "
            f"({one_line(error)})"
        ) from None


@explained_memory()
def learn(
    config: TrainConfig, run: Path, *, resume: bool, quiet: bool,
    on_update: Callable[[TrainingCallback], None] | None = None,
) -> bool:  # fmt: skip
    """Train in a run folder; whether the training was completed. The first Ctrl-C ends it after the step.

    Parameters
    ----------
    on_update
        Called before each update; an exception from it ends the training.
    """
    team = lead(_team_size(config), _run_helper, config, run, resume)
    try:
        env, model, progress = _make(config, run, team, resume=resume)
        model.set_logger(configure(str(run / "logs"), ["tensorboard"]))
        line = ProgressLine(quiet)
        selection = Selection(config, run, lambda folder: _save(config, folder, model, env))
        with first_interrupt(signal.SIGTERM) as interrupt, naming(run):
            callback = TrainingCallback(config, run, team, selection, line, progress, interrupt, on_update)
            try:
                model.learn(total_timesteps=2**62, callback=callback, reset_num_timesteps=False)
            finally:
                line.close()
                model.logger.close()
    finally:
        team.end()
    save_checkpoint(run / CHECKPOINT, model, callback.progress)
    _save(config, run / "model", model, env)
    if not interrupt.requested:
        selection.evaluate_at(callback.share, model.num_timesteps)
        selection.restore_best(run / "model")
    return not interrupt.requested


# ----------------------------------------------------------------------------------- processes


def _team_size(config: TrainConfig) -> int:
    """Number of processes that train together."""
    if config.learner == "maskable-ppo" or config.device != "cpu":
        return 1
    return max(1, min(config.threads or usable_cores(), config.num_envs // MIN_GAMES))


class _Follower(BaseCallback):
    """Callback of the other processes: the counterpart of :class:`TrainingCallback`."""

    def __init__(self, team: Team) -> None:
        super().__init__()
        self.team = team
        self.games = 0

    def _on_rollout_start(self) -> None:
        policy = self.model.policy
        assert isinstance(policy, NetworkPolicy)
        policy.value_only = self.team.begin_rollout(0.0, False)

    def _on_step(self) -> bool:
        self.games += int(np.count_nonzero(self.locals["dones"]))
        return True

    def _on_rollout_end(self) -> None:
        self.team.sum([self.games])
        self.games = 0


@explained_memory()
def _run_helper(team: Team, config: TrainConfig, run: Path, resume: bool) -> None:
    """Main function of the other processes, until they are ended."""
    _, model, _ = _make(config, run, team, resume=resume)
    model.set_logger(Logger(None, []))
    model.learn(total_timesteps=2**62, callback=_Follower(team), reset_num_timesteps=False)


def _make(
    config: TrainConfig, run: Path, team: Team, *, resume: bool
) -> tuple[TrainingEnv, Learner, dict[str, Any]]:
    """The games and the learner of a process, and the progress of the run before."""
    threads = 1 if team.size > 1 else config.threads or usable_cores()
    set_num_threads(min(threads, max_threads()))
    th.set_num_threads(threads)
    # Checking every distribution costs a tenth of the time; masked ones are never invalid.
    th.distributions.Distribution.set_default_validate_args(False)
    env = make_env(config, team.part_of(config.num_envs))
    # A checkpoint replaces the initial weights.
    model = make_model(replace(config, init_from=None) if resume else config, env, team)
    progress = {"steps": 0, "seconds": 0.0, "games": 0}
    if resume:
        progress = load_checkpoint(run / CHECKPOINT, model)
        model.num_timesteps = int(progress["steps"])
    if resume and team.rank == 0:
        write_text(run / "config.yaml", dump_config(config))  # with what the command line changes
        cut_curve(run / CURVE, model.num_timesteps)
    # A resumed run has other deals than at its start, and each process has its own.
    env.seed(config.seed + model.num_timesteps + team.first_of(config.num_envs))
    th.manual_seed(config.seed + team.rank)
    return env, model, progress


def _save(config: TrainConfig, folder: Path, model: Learner, env: TrainingEnv) -> None:
    """Write the current network as a model folder."""
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    values = isinstance(model, PQN)
    save_model(
        folder,
        model.average.module if isinstance(model, PQN) else policy.network,
        env.game,
        kind=config.network,
        sizes=config.network_sizes,
        steps=model.num_timesteps,
        value=None if values else policy.value_net,
        temperature=config.temperature if values else None,
        safe_autoplay=config.safe_autoplay,
    )


def check_device(name: str) -> None:
    """Raise an error if this machine does not have the device; SB3 would silently use the CPU."""
    here = ["auto", "cpu"]
    if th.backends.mps.is_available():
        here.append("mps")
    if th.cuda.is_available():
        here += ["cuda", *(f"cuda:{number}" for number in range(th.cuda.device_count()))]
    if name not in here:
        raise ConfigError(f"device is {name!r}, which this machine does not have, allowed: {', '.join(here)}")
