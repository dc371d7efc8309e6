"""TorchRL: PPO on the native vector environment, or on single ones.

``GymWrapper`` accepts both. The vector environment must not reset by itself (``autoreset_mode="Disabled"``):
TorchRL does that, with ``options={"reset_mask": ...}``. ``auto_register_info_dict`` copies the infos to the
tensordict, including ``action_mask``, which ``MaskedCategorical`` reads.

    python examples/torchrl_ppo.py --steps 100000 --deals 500
    python examples/torchrl_ppo.py --single          # one environment, without the native vector environment
"""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import tyro
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import GymWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import solitaire_env
from solitaire_env.core import set_num_threads
from solitaire_env.move_features.reader import MoveReader

GAME = "Solitaire/BusyAces-v0"
RULES = {"moves": "supermove", "reward": "progress+win", "stall_limit": 40, "mask_dtype": "bool"}


@dataclass
class Args:
    """Train, then play deals that were not trained on."""

    steps: int = 100_000
    """Training ends after this many steps of all games."""
    deals: int = 500
    """Deals 0 to this number are played at the end."""
    single: bool = False
    """Play one game at a time."""
    num_envs: int = 32
    batch: int = 2048
    epochs: int = 3
    minibatch: int = 256


def network(inputs: int, width: int = 64) -> nn.Module:
    """A small perceptron with one output."""
    hidden = nn.Linear(width, width)
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), hidden, nn.ReLU(), nn.Linear(width, 1))


class Scores(nn.Module):
    """Scores each legal move from its features."""

    def __init__(self, reader: MoveReader) -> None:
        super().__init__()
        self.reader, self.layers = reader, network(reader.sizes[0])

    def forward(self, cards: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Cards int8 [..., size] and masks bool [..., actions]: logits [..., actions]."""
        read = self.reader.read(
            cards.reshape(-1, cards.shape[-1]).numpy(), masks.reshape(-1, masks.shape[-1]).numpy()
        )
        games, actions, moves, _ = map(torch.from_numpy, read)
        logits = torch.zeros(masks.shape).reshape(-1, masks.shape[-1])
        logits[games, actions] = self.layers(moves)[:, 0]
        return logits.view(masks.shape)


class Value(nn.Module):
    """Values a position from its features."""

    def __init__(self, reader: MoveReader) -> None:
        super().__init__()
        self.reader, self.layers = reader, network(reader.sizes[1])

    def forward(self, cards: torch.Tensor) -> torch.Tensor:
        """Values [..., 1]."""
        positions = self.reader.read_positions(cards.reshape(-1, cards.shape[-1]).numpy())
        return self.layers(torch.from_numpy(positions)).view(*cards.shape[:-1], 1)


def make_env(args: Args) -> GymWrapper:
    """The games, with their infos in the tensordict."""
    if args.single:
        env = gym.make(GAME, **RULES)
    else:
        env = gym.make_vec(GAME, num_envs=args.num_envs, autoreset_mode="Disabled", **RULES)
    return GymWrapper(env, categorical_action_encoding=True).auto_register_info_dict()


def train(env: GymWrapper, args: Args) -> Scores:
    """Train for ``args.steps`` steps of all games; return the module that scores moves."""
    reader = MoveReader(env.unwrapped.game)
    scores = Scores(reader)
    actor = ProbabilisticActor(
        TensorDictModule(scores, in_keys=["observation", "action_mask"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        spec=env.action_spec,
        return_log_prob=True,
    )
    critic = ValueOperator(Value(reader), in_keys=["observation"])
    collector = Collector(env, actor, frames_per_batch=args.batch, total_frames=args.steps)
    advantage = GAE(gamma=0.999, lmbda=0.95, value_network=critic, deactivate_vmap=True)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(args.batch), sampler=SamplerWithoutReplacement(), batch_size=args.minibatch
    )
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.15, entropy_bonus=False, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    for data in collector:
        with torch.no_grad():
            advantage(data)
        buffer.extend(data.reshape(-1))
        for _ in range(args.epochs):
            for batch in buffer:
                losses = loss(batch)
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"]).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
                optimizer.step()
    return scores


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    torch.manual_seed(0)
    scores = train(make_env(args), args)

    @torch.no_grad()
    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Draw actions."""
        legal = torch.from_numpy(masks).bool()
        return MaskedCategorical(scores(torch.from_numpy(observations), legal), mask=legal).sample().numpy()

    print(solitaire_env.evaluate(policy, GAME, range(args.deals), moves="supermove").summary)
