"""Stable-Baselines3: sb3-contrib's MaskablePPO on the native ``VecEnv``.

``SolitaireVecEnv`` replaces ``DummyVecEnv`` and gives MaskablePPO the legal actions.
``MaskablePPO("MlpPolicy", games)`` works with ``observation="features"``, but learns slowly. The policy below
learns faster: it reads the features of each legal move with ``MoveReader`` and scores every move with the
same small network. ``evaluate`` accepts the model.

    python examples/sb3_maskable_ppo.py --steps 200000 --deals 500
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import tyro
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

import solitaire_env
from solitaire_env import GameSpec
from solitaire_env.core import set_num_threads
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.sb3 import SolitaireVecEnv

GAME = "Solitaire/BusyAces-v0"


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    steps: int = 200_000
    """Training ends after this many steps of all games."""
    deals: int = 500
    """Deals 0 to this number are played at the end."""


class MovesPolicy(MaskableActorCriticPolicy):
    """Scores each legal move from its features; values a position from its own."""

    def __init__(self, *args: Any, game: GameSpec, **kwargs: Any) -> None:
        self.game = game
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        self.reader = MoveReader(self.game)
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
            for inputs in self.reader.sizes
        )
        self.optimizer = self.optimizer_class(self.parameters(), lr_schedule(1), **self.optimizer_kwargs)

    def _read(self, obs: torch.Tensor, masks: Any) -> tuple[MaskableCategoricalDistribution, torch.Tensor]:
        """The distribution over the legal moves, and the values ``[n, 1]``."""
        masks = np.asarray(masks).astype(np.int8).reshape(len(obs), -1)
        read = self.reader.read(obs.numpy().astype(np.int8), masks)
        games, actions, moves, positions = map(torch.from_numpy, read)
        logits = torch.full(masks.shape, -1e8)
        logits[games, actions] = self.actor(moves)[:, 0]
        choice = MaskableCategoricalDistribution(masks.shape[1]).proba_distribution(logits)
        choice.apply_masking(masks.astype(bool))
        return choice, self.critic(positions)

    def forward(self, obs: Any, deterministic: bool = False, action_masks: Any = None) -> Any:
        """Actions, values and log probabilities; MaskablePPO calls it to play."""
        choice, values = self._read(obs, action_masks)
        actions = choice.get_actions(deterministic)
        return actions, values, choice.log_prob(actions)

    def evaluate_actions(self, obs: Any, actions: Any, action_masks: Any = None) -> Any:
        """Values, log probabilities and entropies; MaskablePPO calls it to learn."""
        choice, values = self._read(obs, action_masks)
        return values, choice.log_prob(actions), choice.entropy()

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableCategoricalDistribution:
        """The probabilities of the actions, for ``evaluate``."""
        return self._read(obs, action_masks)[0]

    def predict_values(self, obs: torch.Tensor) -> torch.Tensor:
        """Values ``[n, 1]``."""
        return self.critic(torch.from_numpy(self.reader.read_positions(obs.numpy().astype(np.int8))))


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    games = SolitaireVecEnv(
        GAME, 32, moves="supermove", reward="progress+win", stall_limit=40, max_episode_steps="registered"
    )
    model = MaskablePPO(
        MovesPolicy, games, policy_kwargs={"game": games.game}, device="cpu", seed=0,
        n_steps=64, batch_size=256, n_epochs=3, learning_rate=lambda left: 1e-3 * left, gamma=0.999,
        clip_range=0.15, max_grad_norm=1.0,
    )  # fmt: skip
    model.learn(args.steps)
    print(solitaire_env.evaluate(model, GAME, range(args.deals)).summary)
