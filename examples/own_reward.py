"""A custom reward: a wrapper around one environment, or around the native vector environment.

An empty tableau pile is worth much to a player and nothing to ``reward="progress"``. Potential-based shaping
rewards it without changing which play is best (Ng, Harada and Russell, 1999): ``gamma * potential``
after a step, minus the potential before it, and 0 at the end of the game. Training is that of
``cleanrl_ppo.py``; the deals are compared by games won, as always.

    python examples/own_reward.py --steps 200000 --deals 500
"""

from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from cleanrl_ppo import Agent, Args, evaluate, train

from solitaire_env.core import set_num_threads

GAME = "solitaire_env:Solitaire/BusyAces-v0"
RULES = {"moves": "supermove", "reward": "progress+win", "stall_limit": 40}
GAMMA, SPACE = 0.999, 0.05


def potential(env: Any, cards: np.ndarray) -> Any:
    """The value of the spaces of positions: ``cards`` observations [..., size], float [...]."""
    bases = [part.start for name, part in env.unwrapped.game.slices.items() if name.startswith("t")]
    return SPACE * (cards[..., bases] == 0).sum(-1)


class SpaceReward(gym.Wrapper):
    """Rewards spaces."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Start a new game."""
        cards, info = self.env.reset(**kwargs)
        self.before = potential(self, cards)
        return cards, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        cards, reward, terminated, truncated, info = self.env.step(action)
        after = 0.0 if terminated or truncated else potential(self, cards)
        reward, self.before = reward + GAMMA * after - self.before, after
        return cards, float(reward), terminated, truncated, info


class VectorSpaceReward(gym.vector.VectorWrapper):
    """The same for many games; with ``autoreset_mode="SameStep"`` ``cards`` are those of the next game."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Start new games."""
        cards, infos = self.env.reset(**kwargs)
        self.before = potential(self, cards)
        return cards, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play one action in every game."""
        cards, rewards, terminated, truncated, infos = self.env.step(actions)
        after = potential(self, cards)
        rewards = rewards + GAMMA * np.where(terminated | truncated, 0.0, after) - self.before
        self.before = after
        return cards, rewards, terminated, truncated, infos


def check(steps: int = 200) -> None:
    """Check that both wrappers give the same rewards in the same game."""
    env = SpaceReward(gym.make(GAME, **RULES))
    envs = VectorSpaceReward(gym.make_vec(GAME, num_envs=1, autoreset_mode="SameStep", **RULES))
    _, info = env.reset(seed=0)
    envs.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(steps):
        action = env.action_space.sample(info["action_mask"])
        _, reward, terminated, truncated, info = env.step(action)
        assert np.isclose(envs.step([action])[1][0], reward)
        if terminated or truncated:
            break


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    torch.manual_seed(0)
    check()
    games = gym.make_vec(GAME, num_envs=args.num_envs, autoreset_mode="SameStep", mask_dtype="bool", **RULES)
    agent = Agent(games.unwrapped.game)
    train(VectorSpaceReward(games), agent, args)
    print(evaluate(agent, games.unwrapped.game, args.deals))
