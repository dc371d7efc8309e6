"""Imitation: supervised learning of the moves and returns of a player, from positions of its games."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.utils import get_device

from agents.config import TrainConfig
from agents.learners.initial_weights import initialize
from agents.learners.parallel import MAX_GRAD_NORM
from agents.networks.actor_critic import ActorCritic
from agents.results.transcripts import Positions
from agents.runs.models import save_model
from solitaire_env.util.cores import usable_cores
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]


class Score(NamedTuple):
    """How well moves and returns of the validation deals are predicted."""

    loss: float
    """Cross-entropy of the moves."""
    accuracy: float
    """Share of positions in which the player's move is the most probable."""
    value_error: float
    """Root of the mean squared error of the returns."""


class Student:
    """A network that learns the moves and returns of positions."""

    def __init__(self, config: TrainConfig, positions: Positions) -> None:
        th.manual_seed(config.seed)
        self.config, self.positions = config, positions
        self.actions = config.game.num_actions
        self.device = get_device(config.device)
        self.policy = ActorCritic(config.network, config.game, config.network_sizes, config.learning_rate)
        initialize(config, self.policy)
        self.policy.to(self.device)

    def _batch(self, rows: Array) -> tuple[th.Tensor, Array, th.Tensor, th.Tensor, th.Tensor]:
        """Observations, masks, actions, returns, and whether the moves are learned."""
        p = self.positions
        masks = np.unpackbits(p.masks[rows], axis=1, count=self.actions).view(np.int8)
        observations, actions, returns, learned = (
            th.from_numpy(part[rows]).to(self.device)
            for part in (p.observations, p.actions, p.returns, p.learned)
        )
        return observations, masks, actions, returns, learned

    def learn(self, rows: Array, rate: float) -> None:
        """Take one step of Adam on some positions."""
        observations, masks, actions, returns, learned = self._batch(rows)
        optimizer = self.policy.optimizer
        optimizer.param_groups[0]["lr"] = rate
        seen = self.policy.network.score(observations, masks)
        loss = -(seen.of(actions, seen.logs()) * learned).sum() / learned.sum().clamp(min=1)
        error = (self.policy.value_net(seen.features)[:, 0] - returns).square().mean()
        optimizer.zero_grad()
        (loss + error).backward()
        th.nn.utils.clip_grad_norm_(self.policy.parameters(), MAX_GRAD_NORM)
        optimizer.step()

    @th.no_grad()
    def score(self, rows: Array) -> Score:
        """The score on some positions."""
        taught, losses, hits, errors = 0, 0.0, 0, 0.0
        for first in range(0, len(rows), 4096):
            observations, masks, actions, returns, learned = self._batch(rows[first : first + 4096])
            seen = self.policy.network.score(observations, masks)
            values, logs = self.policy.value_net(seen.features)[:, 0], seen.logs()
            taught += int(learned.sum())
            losses -= float(seen.of(actions, logs)[learned].sum())
            hits += int((seen.actions[seen.choose(logs)] == actions)[learned].sum())
            errors += float((values - returns).square().sum())
        return Score(losses / taught, hits / taught, (errors / len(rows)) ** 0.5)

    def save(self, folder: Path, steps: int) -> None:
        """Write the model."""
        save_model(folder, self.policy.network, self.config, steps=steps, value=self.policy.value_net)


def learn(
    config: TrainConfig, positions: Positions, folder: Path, *, epochs: int, quiet: bool
) -> list[Score]:
    """Take some passes over positions; return the score after each. The model of the lowest loss is kept."""
    th.set_num_threads(config.threads or usable_cores())
    student = Student(config, positions)
    taught, validation = (np.flatnonzero(positions.validation == part) for part in (False, True))
    batches = -(-len(taught) // config.batch_size)
    random = np.random.default_rng(config.seed)
    line = ProgressLine(quiet)
    scores: list[Score] = []
    for epoch in range(epochs):
        for k, rows in enumerate(np.array_split(random.permutation(taught), batches)):
            student.learn(rows, config.rate_at((epoch + k / batches) / epochs))
            line.count(k, batches, f"learning: epoch {epoch + 1} of {epochs}, minibatch {k} of {batches}")
        scores.append(student.score(validation))
        if scores[-1] == min(scores):
            student.save(folder, (epoch + 1) * len(taught))
    line.close()
    return scores
