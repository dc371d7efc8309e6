"""Recurrent PPO with masks in one file, in the manner of CleanRL.

A GRU reads the cards of each position and remembers the game. Its state and the features of a legal move give
the score of the move; the illegal ones have a score of minus infinity. Each rollout is a sequence of
``num_steps`` positions of each game: gradients flow back to its start, the state before it is a constant, and
where a game begins the state is zero. ``--no-memory`` replaces the GRU by a layer that sees one position;
``--information memory`` and ``thoughtful`` show the stock instead of remembering it.

    python examples/recurrent_ppo.py --steps 300000 --deals 500
"""

import csv
import time
from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
import tyro
from torch import nn
from torch.distributions import Categorical

from solitaire_env import GameSpec, evaluate
from solitaire_env.core import set_num_threads
from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.evaluation import draw
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.reader import MoveReader


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    env: str = "KlondikeDraw3"
    """Name of the game in its id."""
    information: str = "player"
    """What the network sees: the cards of a player, "memory" or "thoughtful"."""
    memory: bool = True
    """Whether the network is recurrent."""
    steps: int = 300_000
    """Training ends after this many steps of all games."""
    seed: int = 0
    deals: int = 500
    """Deals 0 to this number are played at the end."""
    curve: Path = Path("runs/recurrent_ppo.csv")
    """File for the learning curve."""
    num_envs: int = 32
    num_steps: int = 64
    epochs: int = 3
    minibatches: int = 4
    learning_rate: float = 1e-3
    gamma: float = 0.999
    gae_lambda: float = 0.95
    clip: float = 0.15


class Agent(nn.Module):
    """Scores each legal move, and values the position, from what was seen of the game."""

    def __init__(self, game: GameSpec, memory: bool, width: int = 64) -> None:
        super().__init__()
        self.width, self.player = width, GameSpec(game.variant)
        self.reader = MoveReader(self.player)
        self.cards = nn.Embedding(128, 8)  # codes of cards; face-down ones are above 64 if they are known
        self.encoder = nn.Sequential(nn.Linear(8 * game.observation_size, width), nn.ReLU())
        self.memory = nn.GRUCell(width, width) if memory else None
        self.without = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.actor = nn.Sequential(nn.Linear(NUM_MOVE + width, width), nn.ReLU(), nn.Linear(width, 1))
        self.critic = nn.Linear(width, 1)

    def forward(
        self, cards: torch.Tensor, masks: torch.Tensor, starts: torch.Tensor, state: torch.Tensor
    ) -> tuple[Categorical, torch.Tensor, torch.Tensor]:
        """Cards int8 [T, n, size], masks bool [T, n, actions], starts of games [T, n] and the state
        [n, width] before: choices and values, each [T, n], and the state after.
        """
        hidden = self.encoder(self.cards(cards.int()).flatten(2))
        if self.memory is None:
            hidden = self.without(hidden)
        else:
            states = [state]
            for seen, start in zip(hidden, starts, strict=True):
                states.append(self.memory(seen, states[-1] * (1 - start)[:, None]))
            hidden, state = torch.stack(states[1:]), states[-1]
        visible = cards[..., : self.player.observation_size].flatten(0, 1).numpy()
        read = self.reader.read_moves(np.where(visible > 64, FACE_DOWN, visible), masks.flatten(0, 1).numpy())
        games, actions, moves = map(torch.from_numpy, read[:3])
        logits = torch.full(masks.flatten(0, 1).shape, -torch.inf)
        logits[games, actions] = self.actor(torch.cat([moves, hidden.flatten(0, 1)[games]], 1))[:, 0]
        choice = Categorical(logits=logits.view(masks.shape), validate_args=False)
        return choice, self.critic(hidden)[..., 0], state


def train(envs: gym.vector.VectorEnv, agent: Agent, args: Args) -> None:
    """Train the agent for ``args.steps`` steps of all games, and write the curve."""
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    shape = (args.num_steps, args.num_envs)
    cards = torch.zeros(shape + envs.single_observation_space.shape, dtype=torch.int8)
    masks = torch.zeros((*shape, envs.single_action_space.n), dtype=torch.bool)
    actions = torch.zeros(shape, dtype=torch.long)
    logs, rewards, ends, values, advantages, starts = (torch.zeros(shape) for _ in range(6))
    # Row i has seed + i: with consecutive seeds, two trainings would share most deals.
    observations, infos = envs.reset(seed=args.seed * args.num_envs)
    start, state = torch.ones(args.num_envs), torch.zeros(args.num_envs, agent.width)
    updates, began, ended = max(1, args.steps // actions.numel()), time.perf_counter(), []
    args.curve.parent.mkdir(parents=True, exist_ok=True)
    with args.curve.open("w", newline="") as file:
        curve = csv.writer(file)
        curve.writerow(["steps", "minutes", "games", "win_rate", "cards_home"])
        for update in range(updates):
            optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - 0.9 * update / updates)
            before = state
            for t in range(args.num_steps):
                cards[t], masks[t] = map(torch.from_numpy, (observations, infos["action_mask"]))
                starts[t] = start
                with torch.no_grad():
                    choice, value, state = agent(*(x[t : t + 1] for x in (cards, masks, starts)), state)
                actions[t], values[t] = choice.sample()[0], value[0]
                logs[t] = choice.log_prob(actions[t])[0]
                observations, reward, terminated, truncated, infos = envs.step(actions[t].numpy())
                rewards[t], start = torch.from_numpy(reward), torch.from_numpy(terminated | truncated).float()
                ends[t] = start
                if start.any():
                    last, over = infos["final_info"], infos["_final_info"]
                    ended += zip(last["is_success"][over], last["cards_home"][over], strict=True)
            with torch.no_grad():
                now = (torch.from_numpy(x)[None] for x in (observations, infos["action_mask"]))
                after = agent(*now, start[None], state)[1][0]
            trace = torch.zeros(args.num_envs)
            for t in reversed(range(args.num_steps)):
                discount = args.gamma * (1 - ends[t])
                trace = rewards[t] + discount * after - values[t] + args.gae_lambda * discount * trace
                advantages[t], after = trace, values[t]
            batch = (actions, logs, advantages, advantages + values)
            for _ in range(args.epochs):
                for rows in torch.randperm(args.num_envs).chunk(args.minibatches):
                    choice, value, _ = agent(*(x[:, rows] for x in (cards, masks, starts)), before[rows])
                    a, old_log, advantage, target = (x[:, rows] for x in batch)
                    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                    ratio = (choice.log_prob(a) - old_log).exp()
                    clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                    gain = torch.min(advantage * ratio, advantage * clipped).mean()
                    loss = (value - target).square().mean() - gain
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
                    optimizer.step()
            if len(ended) >= 100 or update == updates - 1:
                rates = np.mean(ended, axis=0).round(4) if ended else ("", "")
                minutes = (time.perf_counter() - began) / 60
                curve.writerow([(update + 1) * actions.numel(), round(minutes, 2), len(ended), *rates])
                file.flush()
                ended.clear()


class Player:
    """The agent as a policy that remembers its games."""

    name, stochastic, fingerprint = "recurrent-ppo", True, "recurrent-ppo"

    def __init__(self, agent: Agent, information: str) -> None:
        self.agent, self.information = agent, information
        self.state = torch.zeros(1024, agent.width)

    def reset(self, rows: np.ndarray) -> None:
        """New games begin in some rows."""
        self.state[rows] = 0

    @torch.no_grad()
    def __call__(self, observations, masks, *, rows, uniforms):
        """Draw legal actions."""
        given = (torch.from_numpy(x)[None] for x in (observations, masks.astype(bool)))
        choice, _, self.state[rows] = self.agent(*given, torch.zeros(1, len(rows)), self.state[rows])
        return draw(choice.probs[0].numpy(), uniforms)


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    torch.manual_seed(args.seed)
    envs = gym.make_vec(
        f"solitaire_env:Solitaire/{args.env}-v0", num_envs=args.num_envs, autoreset_mode="SameStep",
        information=args.information, reward="progress+win", stall_limit=60, mask_dtype="bool",
    )  # fmt: skip
    agent = Agent(envs.unwrapped.game, args.memory)
    train(envs, agent, args)
    player = Player(agent, args.information)
    print(evaluate(player, envs.unwrapped.game.variant, range(args.deals), max_episode_steps=500).summary)
