"""Tianshou: PPO with its own policy, collector and trainer.

Tianshou reads the mask from a dict observation with the keys ``obs`` and ``mask``, which ``DictObservation``
makes. DQN uses the mask itself; for PPO the actor below sets the illegal scores to minus infinity.

    python examples/tianshou_ppo.py --steps 60000 --deals 500
"""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch import nn

import solitaire_env
from solitaire_env.core import set_num_threads
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.wrappers import DictObservation

GAME = "Solitaire/BusyAces-v0"


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    steps: int = 60_000
    """Training ends after this many steps of all games."""
    deals: int = 500
    """Deals 0 to this number are played at the end."""
    num_envs: int = 16


def make_env() -> gym.Env:
    """One game, observed as ``{"obs": card codes, "mask": legal actions}``."""
    game = gym.make(GAME, moves="supermove", reward="progress+win", stall_limit=40)
    return DictObservation(game, obs_key="obs", mask_key="mask", dtype=None)


def network(inputs: int, width: int = 64) -> nn.Module:
    """A small perceptron with one output."""
    hidden = nn.Linear(width, width)
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), hidden, nn.ReLU(), nn.Linear(width, 1))


class Scores(nn.Module):
    """Scores each legal move from its features; illegal ones get minus infinity."""

    def __init__(self, reader: MoveReader) -> None:
        super().__init__()
        self.reader, self.layers = reader, network(reader.sizes[0])

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        """Logits ``[n, actions]`` of a batch with ``obs`` and ``mask``, and the state."""
        games, actions, moves, _ = map(torch.from_numpy, self.reader.read(obs.obs, obs.mask))
        logits = torch.full(obs.mask.shape, -torch.inf)
        logits[games, actions] = self.layers(moves)[:, 0]
        return logits, state


class Value(nn.Module):
    """Values a position from its features."""

    def __init__(self, reader: MoveReader) -> None:
        super().__init__()
        self.reader, self.layers = reader, network(reader.sizes[1])

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> torch.Tensor:
        """Values ``[n, 1]``."""
        return self.layers(torch.from_numpy(self.reader.read_positions(obs.obs)))


def train(args: Args) -> DiscreteActorPolicy:
    """Train a policy."""
    env = make_env()
    reader = MoveReader(env.unwrapped.game)
    policy = DiscreteActorPolicy(
        actor=Scores(reader), action_space=env.action_space,
        dist_fn=lambda logits: torch.distributions.Categorical(logits=logits, validate_args=False),
    )  # fmt: skip
    ppo = PPO(
        policy=policy, critic=Value(reader), optim=AdamOptimizerFactory(lr=1e-3),
        gamma=0.999, eps_clip=0.15, ent_coef=0.0, vf_coef=1.0, max_grad_norm=1.0,
    )  # fmt: skip
    envs = DummyVectorEnv([make_env for _ in range(args.num_envs)])
    collector = Collector(ppo, envs, VectorReplayBuffer(2048, args.num_envs))
    params = OnPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=args.steps, batch_size=256,
        collection_step_num_env_steps=2048, update_step_num_repetitions=3, show_progress=False,
    )  # fmt: skip
    ppo.run_training(params)
    return policy


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    torch.manual_seed(0)
    trained = train(args)

    @torch.no_grad()
    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Draw actions."""
        seen = Batch(obs=Batch(obs=observations, mask=masks), info=Batch())
        return trained(seen).act.numpy()

    print(solitaire_env.evaluate(policy, GAME, range(args.deals), moves="supermove").summary)
