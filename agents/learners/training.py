"""The training in a run folder, with progress, learning curve, checkpoints and the model."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch as th
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, configure

from agents.config import ConfigError, TrainConfig
from agents.learners.factory import AnyLearner, make_model, policy_of, run_learner
from agents.learners.pqn import PQN, TEMPERATURE
from agents.learners.process_group import ProcessGroup, start_processes
from agents.learners.progress import LastGames, Progress, Rates
from agents.learners.selection import Selection
from agents.learners.training_env import derived_seed, make_env
from agents.runs.checkpoints import load_checkpoint, save_checkpoint
from agents.runs.config_files import dump_config, import_games
from agents.runs.folders import CHECKPOINT, CURVE, cut_curve
from agents.runs.interrupt import Interrupt, first_interrupt
from agents.runs.models import save_model
from solitaire_env.core import max_threads, set_num_threads
from solitaire_env.util.cores import usable_cores
from solitaire_env.util.files import naming, write_text
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

MIN_GAMES: Final = 64
"""Minimum number of games of a process."""


class TrainingCallback(BaseCallback):
    """The callback of a training: writes progress line, curve and checkpoints, and ends the training."""

    model: AnyLearner  # type: ignore[assignment]  # SB3 knows only its own

    def __init__(
        self, progress: Progress, group: ProcessGroup, selection: Selection, line: ProgressLine,
        interrupt: Interrupt, on_update: Callable[["TrainingCallback"], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.progress, self.group, self.selection = progress, group, selection
        self.line, self.interrupt, self.on_update = line, interrupt, on_update
        self.last_games = LastGames()
        selection.begin(progress.share)

    @property
    def rates(self) -> Rates | None:
        """The rates of the last games; None if no game has ended."""
        means = self.last_games.means()
        return means and means[0]

    def _on_rollout_start(self) -> None:
        progress = self.progress
        self.selection.evaluate_at(progress.share, progress.steps)
        value_only = progress.steps < progress.config.value_warmup_steps
        policy_of(self.model).value_only = self.group.begin_rollout(progress.share, value_only)
        self.games_before = progress.games

    def _on_step(self) -> bool:
        self.progress.steps = self.model.num_timesteps
        for row in np.flatnonzero(self.locals["dones"]).tolist():
            self.last_games.add(self.locals["infos"][row])
            self.progress.games += 1
        self.line.show(lambda: self.progress.text(self.rates))
        return not self.interrupt.requested and self.progress.share < 1.0

    def _on_rollout_end(self) -> None:
        progress = self.progress
        progress.steps = self.model.num_timesteps
        # The rates cover only this process's games.
        games = progress.games - self.games_before
        progress.games = self.games_before + int(self.group.sum([games])[0])
        if (means := self.last_games.means()) is not None:
            names = ("success_rate", "cards_home", "ep_len_mean", "ep_rew_mean")
            for name, number in zip(names, (*means[0], means[1]), strict=True):
                self.logger.record(f"rollout/{name}", number)
        self.logger.record("time/fps", int(progress.speed))
        progress.write_row(self.rates)
        if self.on_update is not None:
            self.on_update(self)
        if progress.checkpoint_is_due():
            # Before the next update, so that weights and counts match.
            save_checkpoint(progress.run / CHECKPOINT, policy_of(self.model), progress.stored)


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
    group = start_processes(_count_processes(config), _run_worker, config, run, resume)
    try:
        model, stored = _make(config, run, group, resume=resume)
        model.set_logger(configure(str(run / "logs"), ["tensorboard"]))
        line = ProgressLine(quiet)
        selection = Selection(config, run, lambda folder: _save(config, folder, model))
        with first_interrupt(signal.SIGTERM) as interrupt, naming(run):
            progress = Progress(config, run, **stored)
            callback = TrainingCallback(progress, group, selection, line, interrupt, on_update)
            try:
                run_learner(model, callback)
            finally:
                line.close()
                model.logger.close()
    finally:
        group.end()
    save_checkpoint(run / CHECKPOINT, policy_of(model), progress.stored)
    _save(config, run / "model", model)
    if not interrupt.requested:
        selection.evaluate_at(progress.share, progress.steps)
        selection.restore_best(run / "model")
    return not interrupt.requested


# ----------------------------------------------------------------------------------- processes


def _count_processes(config: TrainConfig) -> int:
    """Number of processes that train together."""
    if config.learner == "maskable-ppo" or config.device != "cpu":
        return 1
    return max(1, min(config.threads or usable_cores(), config.num_envs // MIN_GAMES))


class _WorkerCallback(BaseCallback):
    """Callback of the other processes: the counterpart of :class:`TrainingCallback`."""

    model: AnyLearner  # type: ignore[assignment]  # SB3 knows only its own

    def __init__(self, group: ProcessGroup) -> None:
        super().__init__()
        self.group = group
        self.games = 0

    def _on_rollout_start(self) -> None:
        policy_of(self.model).value_only = self.group.begin_rollout(0.0, False)

    def _on_step(self) -> bool:
        self.games += int(np.count_nonzero(self.locals["dones"]))
        return True

    def _on_rollout_end(self) -> None:
        self.group.sum([self.games])
        self.games = 0


def _run_worker(group: ProcessGroup, config: TrainConfig, run: Path, resume: bool) -> None:
    """Main function of the other processes, until they are ended."""
    import_games(config.env, config.games)  # the command has done so, in its process
    model, _ = _make(config, run, group, resume=resume)
    model.set_logger(Logger(None, []))
    run_learner(model, _WorkerCallback(group))


def _make(
    config: TrainConfig, run: Path, group: ProcessGroup, *, resume: bool
) -> tuple[AnyLearner, dict[str, Any]]:
    """The learner of a process, and the progress of the run before."""
    threads = 1 if group.size > 1 else config.threads or usable_cores()
    set_num_threads(min(threads, max_threads()))
    th.set_num_threads(threads)
    # Checking every distribution costs a tenth of the time; masked ones are never invalid.
    th.distributions.Distribution.set_default_validate_args(False)
    env = make_env(config, group.part_of(config.num_envs))
    # A checkpoint replaces the initial weights.
    model = make_model(replace(config, init_from=None) if resume else config, env, group)
    progress = {"steps": 0, "seconds": 0.0, "games": 0}
    if resume:
        progress = load_checkpoint(run / CHECKPOINT, policy_of(model))
        model.num_timesteps = int(progress["steps"])
    if resume and group.rank == 0:
        write_text(run / "config.yaml", dump_config(config))  # with what the command line changes
        cut_curve(run / CURVE, model.num_timesteps)
    # A resumed run has other deals than at its start, and each process has its own.
    own = derived_seed(config.seed, group.rank, model.num_timesteps)
    env.seed(own)
    th.manual_seed(own)
    return model, progress


def _save(config: TrainConfig, folder: Path, model: AnyLearner) -> None:
    """Write the current network as a model folder."""
    steps, policy = model.num_timesteps, policy_of(model)
    if isinstance(model, PQN):
        save_model(folder, model.average.module, config, steps=steps, temperature=TEMPERATURE)
    else:
        save_model(folder, policy.network, config, steps=steps, value=policy.value_net)


def check_device(name: str) -> None:
    """Raise an error if this machine does not have the device; SB3 would silently use the CPU."""
    try:
        th.empty(0, device="cpu" if name == "auto" else name)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(
            f"device is {name!r}, which this machine does not have: {one_line(error)}"
        ) from None
