"""Custom networks: named in a configuration, trained, written to a model folder, and loaded again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch as th
from torch import nn

from agents.config import TrainConfig
from agents.learners.training import learn
from agents.networks import NETWORKS, DenseNetwork, FeaturesNetwork, network_class
from agents.networks.scores import Scores
from agents.policies import make_policy
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.policies import load_policy
from tests.conftest import Refuses


class OfMoves(FeaturesNetwork):
    """A linear function of the features."""

    width = 4

    def __init__(self, spec: GameSpec) -> None:
        super().__init__(spec)
        self.of_move, self.of_position = (nn.Linear(n, k) for n, k in zip(self.sizes, (1, 4), strict=True))

    def forward(self, games: th.Tensor, actions: th.Tensor, moves: th.Tensor, positions: th.Tensor) -> Scores:
        return Scores(games, actions, self.of_move(moves)[:, 0], self.of_position(positions))


class OfCards(DenseNetwork):
    """A linear function of the observation."""

    width = 4

    def __init__(self, spec: GameSpec) -> None:
        super().__init__()
        self.scores = nn.Linear(spec.observation_size, spec.num_actions)
        self.features = nn.Linear(spec.observation_size, 4)

    def forward(self, observations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        return self.scores(observations.float()), self.features(observations.float())


CONFIG = TrainConfig(
    env="busy-aces", moves="supermove", minutes=None, total_steps=512, num_envs=8, n_steps=16, batch_size=64,
    threads=1, held_out_deals=None,
)  # fmt: skip


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    for name in [name for name in NETWORKS if ":" in name]:
        del NETWORKS[name]


@pytest.mark.parametrize("kind", [OfMoves, OfCards])
def test_a_custom_network_trains_and_is_loaded(
    kind: type[nn.Module], tmp_path: Path, refuses: Refuses
) -> None:
    name = f"{__name__}:{kind.__name__}"
    assert learn(replace(CONFIG, network=name), tmp_path, resume=False, quiet=True)
    policy = load_policy(tmp_path, "busy-aces")
    assert isinstance(policy.network, network_class(name))  # type: ignore[attr-defined]
    games = evaluate(policy, "busy-aces", range(3), max_episode_steps=60).games
    # Reading a model folder imports a custom network only on request.
    del NETWORKS[name]
    refuses(lambda: load_policy(tmp_path, "busy-aces"), repr(name), "'moves'", "--trust-model")
    again = make_policy(str(tmp_path), GameSpec(CONFIG.variant), trust_model=True)
    again.name = policy.name
    assert evaluate(again, "busy-aces", range(3), max_episode_steps=60).games == games


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("agents.networks:Wise", ["'agents.networks:Wise'", "Wise"]),
        ("torch.nn:Linear", ["Linear", "FeaturesNetwork", "DenseNetwork"]),
    ],
)
def test_classes_that_are_no_network_are_refused(name: str, words: list[str], refuses: Refuses) -> None:
    refuses(lambda: network_class(name), *words)
