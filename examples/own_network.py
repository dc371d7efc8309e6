"""A custom network in ``agents.train``: moves that see each other.

A custom network derives from ``FeaturesNetwork``, which reads the features of each legal move, or from
``DenseNetwork``, which gets the observation; ``module:Class`` names it in a configuration. Everything else
is unchanged: training in parallel processes, checkpoints, the run folder, evaluation. This is the same as

    PYTHONPATH=examples python -m agents.train configs/busy-aces.yaml --network own_network:MoveSet \\
        --init-linear-temperature None --total-steps 400000

    python examples/own_network.py --steps 400000 --deals 500
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from torch import nn

import solitaire_env
from agents.config import TrainConfig
from agents.learners.training import learn
from agents.networks import FeaturesNetwork
from agents.networks.scores import Scores
from solitaire_env import GameSpec


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    steps: int = 400_000
    """Training ends after this many steps of all games."""
    deals: int = 500
    """Deals 0 to this number are played at the end."""


class MoveSet(FeaturesNetwork):
    """Scores a move from its features and from the mean over all legal moves of the game."""

    width = 64

    def __init__(self, spec: GameSpec, hidden: int = 64) -> None:
        super().__init__(spec)
        move, position = self.sizes
        self.read_move = nn.Sequential(nn.Linear(move, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.read_others = nn.Linear(hidden, hidden)
        self.head = nn.Sequential(nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.to_value = nn.Sequential(nn.Linear(position, self.width), nn.ReLU())

    def forward(
        self, games: torch.Tensor, actions: torch.Tensor, moves: torch.Tensor, positions: torch.Tensor
    ) -> Scores:
        """Score moves [moves, features]; games is the position of each, as in FeaturesNetwork."""
        hidden = self.read_move(moves)
        total = hidden.new_zeros(len(positions), hidden.shape[1]).index_add(0, games, hidden)
        mean = total / torch.bincount(games, minlength=len(positions)).clamp(min=1)[:, None]
        scores = self.head(hidden + self.read_others(mean)[games])[:, 0]
        return Scores(games, actions, scores, self.to_value(positions))


def main(args: Args) -> None:
    """Train and evaluate."""
    config = TrainConfig(
        env="busy-aces", moves="supermove", network="own_network:MoveSet",
        minutes=None, total_steps=args.steps, num_envs=128, n_steps=32, batch_size=512, selection_deals=None,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        learn(config, run, resume=False, quiet=True)
        policy = solitaire_env.load_policy(run, "busy-aces")
        print(solitaire_env.evaluate(policy, "busy-aces", range(args.deals)).summary)


if __name__ == "__main__":
    main(tyro.cli(Args))
