"""Minari: behaviour cloning from recorded games, with illegal actions masked.

The dataset has games of the shipped network, made by ``python -m agents dataset busy-aces/expert`` on deals
that are not for evaluation. ``infos["action_mask"]`` has the legal actions of each position; ``MoveReader``
reads the features of each, and a small network scores them. Only the moves of won games are learned.

    python examples/minari_cloning.py --games 1000 --epochs 2 --deals 1000
"""

from dataclasses import dataclass

import minari
import numpy as np
import torch
import tyro
from torch import nn

import solitaire_env
from agents.commands import dataset
from solitaire_env import GameSpec
from solitaire_env.core import set_num_threads
from solitaire_env.move_features.reader import MoveReader

GAME = "busy-aces"


@dataclass
class Args:
    """Clone the player of a dataset, then play deals that are not in it."""

    games: int = 1000
    """Games of the dataset, if it does not exist yet."""
    epochs: int = 2
    """Passes over the positions."""
    deals: int = 1000
    """Deals 0 to this number are played at the end."""
    batch: int = 256
    learning_rate: float = 2e-3


class Scores(nn.Module):
    """Scores each legal action from its features."""

    def __init__(self, spec: GameSpec, width: int = 64) -> None:
        super().__init__()
        self.reader = MoveReader(spec)
        hidden = nn.Linear(width, width)
        self.layers = nn.Sequential(
            nn.Linear(self.reader.sizes[0], width), nn.ReLU(), hidden, nn.ReLU(), nn.Linear(width, 1)
        )

    def forward(self, cards: np.ndarray, masks: np.ndarray) -> torch.Tensor:
        """Cards int8 [n, size] and masks int8 [n, actions]: logits [n, actions], of illegal actions -inf."""
        games, actions, moves, _ = map(torch.from_numpy, self.reader.read(cards, masks))
        logits = torch.full(masks.shape, -torch.inf)
        logits[games, actions] = self.layers(moves)[:, 0]
        return logits


def load_dataset(args: Args) -> minari.MinariDataset:
    """The dataset, which is made if Minari does not have it."""
    name = f"solitaire/{GAME}/expert-v0"
    if name not in minari.list_local_datasets():
        dataset.run(dataset.Arguments(f"{GAME}/expert", games=args.games))
    return minari.load_dataset(name)


def won_games(data: minari.MinariDataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observations, masks and actions of all decisions in won games."""
    won = [game for game in data if game.infos["is_success"][-1]]
    print(f"{data.id}: {len(data)} games, {len(won)} won, {sum(map(len, won)):,} moves to learn")
    # The last position of a game has no action.
    observations = np.concatenate([game.observations[:-1] for game in won])
    masks = np.concatenate([game.infos["action_mask"][:-1] for game in won])
    return observations, masks, np.concatenate([game.actions for game in won])


def train(data: minari.MinariDataset, args: Args) -> Scores:
    """Learn the moves by cross-entropy over the legal actions."""
    observations, masks, actions = won_games(data)
    scores = Scores(data.recover_environment().unwrapped.game)
    updates = args.epochs * -(-len(actions) // args.batch)
    optimizer = torch.optim.Adam(scores.parameters(), lr=args.learning_rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, updates)
    for epoch in range(args.epochs):
        losses = []
        for rows in torch.randperm(len(actions)).split(args.batch):
            logits = scores(observations[rows], masks[rows])
            loss = nn.functional.cross_entropy(logits, torch.from_numpy(actions[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}")
    return scores


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    torch.manual_seed(0)
    scores = train(load_dataset(args), args)

    @torch.no_grad()
    def clone(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Draw actions: a deterministic policy could repeat positions."""
        return torch.distributions.Categorical(logits=scores(observations, masks)).sample().numpy()

    greedy = solitaire_env.evaluate("greedy", GAME, range(args.deals)).summary
    print(f"greedy: {greedy}")
    print(solitaire_env.evaluate(clone, GAME, range(args.deals)).summary)
