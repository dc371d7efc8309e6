"""Imitation: supervised learning of the moves of a player and of the returns of its games."""

import csv
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Discrete
from stable_baselines3.common.utils import get_device

from agents.config import TrainConfig
from agents.learners.dataset import Positions
from agents.learners.initial_weights import initialize
from agents.learners.parallel import MAX_GRAD_NORM
from agents.networks.sb3_policy import NetworkPolicy
from agents.runs.interrupt import first_interrupt
from agents.runs.models import save_model
from solitaire_env.env import observation_space
from solitaire_env.util.cores import usable_cores
from solitaire_env.util.files import naming
from solitaire_env.util.progress import ProgressLine, clock

Array = npt.NDArray[Any]

CURVE: Final = "imitation.csv"
"""File of a run folder with a row an epoch."""


class Score(NamedTuple):
    """How well the held-out deals are predicted."""

    loss: float
    """Cross-entropy of the moves."""
    accuracy: float
    """Share of positions in which the player's move is the most probable."""
    value_error: float
    """Root of the mean squared error of the returns."""


class Student:
    """A network that learns the moves and returns of positions.

    Parameters
    ----------
    config
        The network, its initial weights, and the learning rate.
    positions
        The positions to learn from.
    kl_coef
        Weight of the Kullback-Leibler divergence from the initial network.
    """

    def __init__(self, config: TrainConfig, positions: Positions, kl_coef: float = 0.0) -> None:
        th.manual_seed(config.seed)
        self.config = config
        self.kl_coef = kl_coef
        self.game = config.game
        self.actions = self.game.num_actions
        self.positions = positions
        policy = NetworkPolicy(
            observation_space(self.game), Discrete(self.actions), lambda _: config.learning_rate,
            kind=config.network, spec=self.game, sizes=config.network_sizes,
        )  # fmt: skip
        initialize(config, policy)
        self.policy = policy.to(get_device(config.device))
        self.initial = deepcopy(self.policy).requires_grad_(False) if kl_coef else None

    def _batch(self, rows: Array) -> tuple[th.Tensor, Array, th.Tensor, th.Tensor, th.Tensor]:
        """Observations, masks, actions, returns, and whether the moves are learned."""
        p, device = self.positions, self.policy.device
        masks = np.unpackbits(p.masks[rows], axis=1, count=self.actions).view(np.int8)
        tensors = (p.observations[rows], p.actions[rows].astype(np.int64), p.returns[rows], p.learned[rows])
        observations, actions, returns, learned = (th.from_numpy(part).to(device) for part in tensors)
        return observations, masks, actions, returns, learned

    def learn(self, rows: Array, rate: float) -> float:
        """Take one step of Adam on some positions; return the loss of their moves."""
        observations, masks, actions, returns, learned = self._batch(rows)
        optimizer = self.policy.optimizer
        for group in optimizer.param_groups:
            group["lr"] = rate
        seen, logs = self.policy.log_probabilities(observations, masks)
        loss = -(seen.of(actions, logs) * learned).sum() / learned.sum().clamp(min=1)
        error = (self.policy.value_net(seen.features)[:, 0] - returns).square().mean()
        total = loss + error
        if self.initial is not None:
            _, before = self.initial.log_probabilities(observations, masks)
            total = total + self.kl_coef * (before.exp() * (before - logs)).sum() / len(rows)
        optimizer.zero_grad()
        total.backward()
        th.nn.utils.clip_grad_norm_(self.policy.parameters(), MAX_GRAD_NORM)
        optimizer.step()
        return loss.item()

    @th.no_grad()
    def score(self, rows: Array) -> Score:
        """The score on some positions."""
        taught, losses, hits, errors = 0, 0.0, 0, 0.0
        for first in range(0, len(rows), 4096):
            observations, masks, actions, returns, learned = self._batch(rows[first : first + 4096])
            values, logs, _ = self.policy.evaluate_actions(observations, actions, masks)
            likeliest, *_ = self.policy(observations, deterministic=True, action_masks=masks)
            taught += int(learned.sum())
            losses -= float(logs[learned].sum())
            hits += int((likeliest == actions)[learned].sum())
            errors += float((values[:, 0] - returns).square().sum())
        return Score(losses / taught, hits / taught, (errors / len(rows)) ** 0.5)

    def save(self, folder: Path, steps: int) -> None:
        """Write the model."""
        save_model(
            folder,
            self.policy.network,
            self.game,
            kind=self.config.network,
            sizes=self.config.network_sizes,
            steps=steps,
            value=self.policy.value_net,
            safe_autoplay=self.config.safe_autoplay,
        )


def learn(
    config: TrainConfig, positions: Positions, run: Path, *, epochs: int | None, kl_coef: float, quiet: bool
) -> tuple[Score, bool]:
    """Learn positions in a run folder: the best score, and whether the learning was completed.

    The model with the lowest loss on the held-out deals is kept. The first Ctrl-C ends learning after the
    current step.

    Parameters
    ----------
    epochs
        Learning ends after this many passes over the positions, or after ``config.minutes``.
    kl_coef
        See :class:`Student`.
    """
    th.set_num_threads(config.threads or usable_cores())
    student = Student(config, positions, kl_coef)
    taught, held = (np.flatnonzero(positions.held_out == kept) for kept in (False, True))
    random = np.random.default_rng(config.seed)
    line = ProgressLine(quiet)
    start, seen = time.monotonic(), 0
    share = _share_of(config.minutes, epochs)
    best: Score | None = None
    losses: list[float] = []
    with first_interrupt() as interrupt:
        try:
            while True:
                score = student.score(held)
                passes, seconds = seen / len(taught), time.monotonic() - start
                _write_row(run / CURVE, passes, seconds, losses, score)
                if best is None or score.loss < best.loss:
                    best = score
                    student.save(run / "model", seen)
                if interrupt.requested or share(passes, seconds) >= 1:
                    return best, not interrupt.requested
                losses = []
                for rows in np.array_split(random.permutation(taught), -(-len(taught) // config.batch_size)):
                    done = share(seen / len(taught), time.monotonic() - start)
                    if interrupt.requested or done >= 1:
                        break
                    losses.append(student.learn(rows, config.rate_at(done)))
                    seen += len(rows)
                    line.show(partial(_text, seen / len(taught), done, time.monotonic() - start, score))
        finally:
            line.close()


def _share_of(minutes: float | None, epochs: int | None) -> Callable[[float, float], float]:
    """A function of epochs and seconds: the completed share of the learning, 0 to 1."""

    def share(passes: float, seconds: float) -> float:
        of_time = seconds / (60 * minutes) if minutes else 0.0
        return min(1.0, max(of_time, passes / epochs if epochs else 0.0))

    return share


def _text(epochs: float, share: float, seconds: float, score: Score) -> str:
    left = f"{clock(seconds * (1 - share) / share)} left" if share > 0.01 else "starting"
    return (
        f"learning: {epochs:.1f} epochs; on held-out deals {100 * score.accuracy:.1f} % of moves, "
        f"loss {score.loss:.3f}, {left}"
    )


def _write_row(path: Path, epochs: float, seconds: float, losses: list[float], score: Score) -> None:
    loss = f"{np.mean(losses):.5f}" if losses else ""
    new = not path.exists()
    with naming(path), path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(("epochs", "minutes", "train_loss", *Score._fields))
        writer.writerow((f"{epochs:.3f}", f"{seconds / 60:.4f}", loss, *(f"{x:.5f}" for x in score)))
