"""PufferLib: its trainer PuffeRL on the native vector environment, as a native ``PufferEnv``.

A ``PufferEnv`` writes the games of many agents into PufferLib's buffers: here those of one vector
environment, so that no process and no emulation is needed. PuffeRL does not support masks: the mask is part
of the observation, and the network gives illegal actions no probability. ``pufferlib-core`` requires torch
2.9.0; with ``--no-deps`` it can be installed with a newer one.

    python examples/pufferlib_ppo.py --steps 100000 --deals 500
"""

import tempfile
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pufferlib
import pufferlib.pytorch
import torch
import tyro
from pufferlib import pufferl
from torch import nn

import solitaire_env
from solitaire_env import GameSpec
from solitaire_env.core import set_num_threads
from solitaire_env.move_features.reader import MoveReader

GAME = "Solitaire/BusyAces-v0"
RULES = {"moves": "supermove", "reward": "progress+win", "stall_limit": 40}


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    steps: int = 100_000
    """Training ends after this many steps of all games."""
    deals: int = 500
    """Deals 0 to this number are played at the end."""


class Games(pufferlib.PufferEnv):
    """Games of one native vector environment; each is an agent that observes card codes, then the mask."""

    def __init__(self, num_envs: int = 32, buf: Any = None, seed: int = 0) -> None:
        self.envs = gym.make_vec(
            f"solitaire_env:{GAME}", num_envs=num_envs, autoreset_mode="SameStep", **RULES
        )
        self.single_action_space = self.envs.single_action_space
        size = self.envs.single_observation_space.shape[0] + int(self.single_action_space.n)
        self.single_observation_space = gym.spaces.Box(0, 127, (size,), np.int8)
        self.num_agents = num_envs
        super().__init__(buf)

    def reset(self, seed: int = 0) -> tuple[np.ndarray, list[Any]]:
        """Start new games."""
        cards, infos = self.envs.reset(seed=seed)
        self.observations[:] = np.hstack([cards, infos["action_mask"]])
        return self.observations, []

    def step(self, actions: np.ndarray) -> tuple[Any, Any, Any, Any, list[Any]]:
        """Play one action in every game."""
        cards, self.rewards[:], terminated, truncated, infos = self.envs.step(actions.astype(np.int64))
        self.observations[:] = np.hstack([cards, infos["action_mask"]])
        self.terminals[:] = terminated | truncated  # PuffeRL ignores truncations
        self.truncations[:] = truncated
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class Policy(nn.Module):
    """Scores each legal move from its features; values a position from its own."""

    def __init__(self, game: GameSpec) -> None:
        super().__init__()
        self.size, self.reader = game.observation_size, MoveReader(game)
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
            for inputs in self.reader.sizes
        )

    def forward(self, observations: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits ``[n, actions]`` and values ``[n, 1]``."""
        cards, masks = observations[:, : self.size].numpy(), observations[:, self.size :].numpy()
        games, actions, moves, positions = map(torch.from_numpy, self.reader.read(cards, masks))
        logits = torch.full(masks.shape, -1e9)
        logits[games, actions] = self.actor(moves)[:, 0]
        return logits, self.critic(positions)

    forward_eval = forward


def estimate_advantages(
    values: Any, rewards: Any, terminals: Any, ratio: Any, out: Any, gamma: float, gae_lambda: float,
    rho_clip: float, c_clip: float,
) -> torch.Tensor:  # fmt: skip
    """The same as PuffeRL's compiled kernel, which needs the torch that it was built for, with CUDA."""
    rho, c = ratio.clamp(max=rho_clip), ratio.clamp(max=c_clip)
    trace = torch.zeros(len(values))
    for t in reversed(range(values.shape[1] - 1)):
        goes_on = gamma * (1 - terminals[:, t + 1])
        delta = rho[:, t] * (rewards[:, t + 1] + goes_on * values[:, t + 1] - values[:, t])
        out[:, t] = trace = delta + goes_on * gae_lambda * c[:, t] * trace
    return out


CONFIG = {
    "seed": 0, "torch_deterministic": True, "device": "cpu", "cpu_offload": False, "precision": "float32",
    "compile": False, "optimizer": "adam", "learning_rate": 1e-3, "anneal_lr": True, "adam_beta1": 0.9,
    "adam_beta2": 0.999, "adam_eps": 1e-5, "gamma": 0.999, "gae_lambda": 0.95, "update_epochs": 3,
    "clip_coef": 0.15, "vf_coef": 1.0, "vf_clip_coef": 0.2, "max_grad_norm": 1.0, "ent_coef": 0.0,
    "prio_alpha": 0.0, "prio_beta0": 1.0, "vtrace_rho_clip": 1.0, "vtrace_c_clip": 1.0, "use_rnn": False,
    "batch_size": "auto", "bptt_horizon": 64, "minibatch_size": 256, "max_minibatch_size": 256,
    "checkpoint_interval": 10**9, "env": "busy-aces",
}  # fmt: skip

if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    torch.manual_seed(0)
    pufferl.PuffeRL.print_dashboard = lambda *args, **kwargs: None
    if not pufferl._C_AVAILABLE:
        pufferl.compute_puff_advantage = estimate_advantages
    games = Games()
    network = Policy(games.envs.unwrapped.game)
    with tempfile.TemporaryDirectory() as folder:
        config = {**CONFIG, "total_timesteps": args.steps, "data_dir": folder}
        trainer = pufferl.PuffeRL(config, games, network)
        while trainer.global_step < args.steps:
            trainer.evaluate()
            trainer.train()
        trainer.close()

    @torch.no_grad()
    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Draw actions."""
        logits, _ = network(torch.from_numpy(np.hstack([observations, masks])))
        return pufferlib.pytorch.sample_logits(logits)[0].numpy().astype(np.int64)

    print(solitaire_env.evaluate(policy, GAME, range(args.deals), moves="supermove").summary)
