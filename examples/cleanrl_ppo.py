"""PPO in one file, in the manner of CleanRL: masked, on the native vector environment.

``gym.make_vec`` plays all games in one compiled step and gives the legal actions of each game in
``infos["action_mask"]``. ``MoveReader`` turns the card codes into features of each legal move, so one small
network scores every move. The illegal ones have a score of minus infinity. With ``autoreset_mode="SameStep"``
every step is a step of a game; nothing has to be left out of the batch.

    python examples/cleanrl_ppo.py --steps 200000 --deals 500
"""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import tyro
from torch import nn
from torch.distributions import Categorical

import solitaire_env
from solitaire_env import GameSpec
from solitaire_env.core import set_num_threads
from solitaire_env.evaluation import Summary
from solitaire_env.move_features.reader import MoveReader


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    steps: int = 200_000
    """Training ends after this many steps of all games."""
    deals: int = 500
    """Deals 0 to this number are played at the end."""
    num_envs: int = 32
    num_steps: int = 64
    epochs: int = 3
    minibatch: int = 256
    learning_rate: float = 1e-3
    gamma: float = 0.999
    gae_lambda: float = 0.95
    clip: float = 0.15


class Agent(nn.Module):
    """Scores each legal move from its features; values a position from its own."""

    def __init__(self, game: GameSpec, width: int = 64) -> None:
        super().__init__()
        self.reader = MoveReader(game)
        move, position = self.reader.sizes
        self.actor, self.critic = (
            nn.Sequential(
                nn.Linear(n, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
            )
            for n in (move, position)
        )

    def forward(self, cards: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Cards int8 [n, size] and masks bool [n, actions]: a choice and a value, each [n]."""
        read = self.reader.read(cards.numpy(), masks.numpy())
        games, actions, moves, positions = map(torch.from_numpy, read)
        logits = torch.full(masks.shape, -torch.inf)
        logits[games, actions] = self.actor(moves)[:, 0]
        return Categorical(logits=logits, validate_args=False), self.critic(positions)[:, 0]


def train(envs: gym.vector.VectorEnv, agent: Agent, args: Args) -> None:
    """Train the agent for ``args.steps`` steps of all games."""
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    shape = (args.num_steps, args.num_envs)
    cards = torch.zeros(shape + envs.single_observation_space.shape, dtype=torch.int8)
    masks = torch.zeros((*shape, envs.single_action_space.n), dtype=torch.bool)
    actions = torch.zeros(shape, dtype=torch.long)
    logs, rewards, ends, values, advantages = (torch.zeros(shape) for _ in range(5))
    observations, infos = envs.reset(seed=0)
    batch_size = actions.numel()
    for update in range(max(1, args.steps // batch_size)):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - 0.9 * update * batch_size / args.steps)
        for t in range(args.num_steps):
            cards[t] = torch.from_numpy(observations)
            masks[t] = torch.from_numpy(infos["action_mask"])
            with torch.no_grad():
                choice, values[t] = agent(cards[t], masks[t])
                actions[t] = choice.sample()
                logs[t] = choice.log_prob(actions[t])
            observations, reward, terminated, truncated, infos = envs.step(actions[t].numpy())
            rewards[t] = torch.from_numpy(reward)
            ends[t] = torch.from_numpy(terminated | truncated)
        with torch.no_grad():
            _, after = agent(torch.from_numpy(observations), torch.from_numpy(infos["action_mask"]))
        trace = torch.zeros(args.num_envs)
        for t in reversed(range(args.num_steps)):
            discount = args.gamma * (1 - ends[t])
            trace = rewards[t] + discount * after - values[t] + args.gae_lambda * discount * trace
            advantages[t], after = trace, values[t]
        batch = [x.flatten(0, 1) for x in (cards, masks, actions, logs, advantages, advantages + values)]
        for _ in range(args.epochs):
            for rows in torch.randperm(batch_size).split(args.minibatch):
                c, legal, a, old_log, advantage, target = (x[rows] for x in batch)
                choice, value = agent(c, legal)
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                ratio = (choice.log_prob(a) - old_log).exp()
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                gain = torch.min(advantage * ratio, advantage * clipped).mean()
                loss = (value - target).square().mean() - gain
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
                optimizer.step()


def evaluate(agent: Agent, game: GameSpec, deals: int) -> Summary:
    """Play deals by draws from the agent's probabilities."""

    @torch.no_grad()
    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return agent(torch.from_numpy(observations), torch.from_numpy(masks).bool())[0].sample().numpy()

    return solitaire_env.evaluate(policy, game.variant, range(deals)).summary


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    torch.manual_seed(0)
    envs = gym.make_vec(
        "solitaire_env:Solitaire/BusyAces-v0", num_envs=args.num_envs, autoreset_mode="SameStep",
        moves="supermove", reward="progress+win", stall_limit=40, mask_dtype="bool",
    )  # fmt: skip
    agent = Agent(envs.unwrapped.game)
    train(envs, agent, args)
    print(evaluate(agent, envs.unwrapped.game, args.deals))
