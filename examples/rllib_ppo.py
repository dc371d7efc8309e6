"""RLlib: PPO on the new API stack, with an RLModule that masks.

RLlib reads the mask from a dict observation with the keys ``observations`` and ``action_mask``, which
``DictObservation`` makes. The module scores each legal move by the same small network. With
``observation="features"`` and RLlib's own ``ActionMaskingTorchRLModule`` its default network learns too, but
each action separately: ``--default-model``.

    python examples/rllib_ppo.py --steps 60000 --deals 500
"""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import ray
import torch
import tyro
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune import register_env
from torch import nn

import solitaire_env
from solitaire_env.core import set_num_threads
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.wrappers import DictObservation

GAME = "Solitaire/BusyAces-v0"
RULES = {"moves": "supermove", "reward": "progress+win", "stall_limit": 40}


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    steps: int = 60_000
    """Training ends after this many steps of all games."""
    deals: int = 500
    """Deals 0 to this number are played at the end."""
    default_model: bool = False
    """Train RLlib's default network on ``observation="features"``."""


def make_env(config: dict[str, Any]) -> gym.Env:
    """One game, observed as ``{"observations": ..., "action_mask": legal actions}``."""
    if config["default_model"]:
        return DictObservation(gym.make(f"solitaire_env:{GAME}", observation="features", **RULES))
    return DictObservation(gym.make(f"solitaire_env:{GAME}", **RULES), dtype=None)


def network(inputs: int, width: int = 64) -> nn.Module:
    """A small perceptron with one output."""
    hidden = nn.Linear(width, width)
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), hidden, nn.ReLU(), nn.Linear(width, 1))


class Scorer(TorchRLModule, ValueFunctionAPI):
    """Scores each legal move from its features; values a position from its own."""

    def setup(self) -> None:
        """Make the networks."""
        self.reader = MoveReader(make_env({"default_model": False}).unwrapped.game)
        self.actor, self.critic = map(network, self.reader.sizes)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, torch.Tensor]:
        seen, masks = batch[Columns.OBS]["observations"], batch[Columns.OBS]["action_mask"]
        read = self.reader.read(seen.numpy().astype(np.int8), masks.numpy().astype(np.int8))
        games, actions, moves, _ = map(torch.from_numpy, read)
        logits = torch.full(masks.shape, -1e9)
        logits[games, actions] = self.actor(moves)[:, 0]
        return {Columns.ACTION_DIST_INPUTS: logits}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Values ``[n]``."""
        seen = batch[Columns.OBS]["observations"].numpy().astype(np.int8)
        return self.critic(torch.from_numpy(self.reader.read_positions(seen)))[:, 0]


def make_config(args: Args) -> PPOConfig:
    """PPO that plays and learns in this process; further env runners play in others."""
    module = ActionMaskingTorchRLModule if args.default_model else Scorer
    return (
        PPOConfig()
        .environment("solitaire", env_config={"default_model": args.default_model})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .learners(num_learners=0)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=module))
        .training(
            train_batch_size_per_learner=2048, minibatch_size=256, num_epochs=3, lr=1e-3, gamma=0.999,
            lambda_=0.95, clip_param=0.15, vf_loss_coeff=1.0, use_kl_loss=False, grad_clip=1.0,
        )
        .debugging(seed=0, log_level="ERROR")
    )  # fmt: skip


if __name__ == "__main__":
    args = tyro.cli(Args)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    register_env("solitaire", make_env)
    algorithm = make_config(args).build_algo()
    while algorithm.train()["num_env_steps_sampled_lifetime"] < args.steps:
        pass
    module = algorithm.get_module()
    game = make_env({"default_model": args.default_model}).unwrapped.game

    @torch.no_grad()
    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Draw actions."""
        batch = {"observations": torch.from_numpy(observations), "action_mask": torch.from_numpy(masks)}
        logits = module.forward_inference({Columns.OBS: batch})[Columns.ACTION_DIST_INPUTS]
        return torch.distributions.Categorical(logits=logits).sample().numpy()

    policy.observation = game.settings.observation
    print(solitaire_env.evaluate(policy, GAME, range(args.deals), moves="supermove").summary)
    ray.shutdown()
