"""Custom networks: named in a configuration, trained, written to a model folder, and loaded again."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch as th
from torch import nn

from agents.config import TrainConfig
from agents.learners.factory import make_model
from agents.learners.training import learn
from agents.learners.training_env import make_env
from agents.networks import NETWORKS, DenseNetwork, FeaturesNetwork, network_class
from agents.networks.scores import Scores
from agents.policies import make_policy
from agents.runs.checkpoints import load_checkpoint, save_checkpoint
from agents.runs.models import save_model
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.loading import load_policy, trust_folder
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


class Shared(OfMoves):
    """Weights with several names, and buffers that are views of them or of each other."""

    def __init__(self, spec: GameSpec) -> None:
        super().__init__(spec)
        self.again = self.of_move
        self.tied = nn.Linear(*reversed(self.of_position.weight.shape))
        self.tied.weight = self.of_position.weight
        self.turned = nn.Parameter(th.randn(4, 3).t())
        table = th.randn(6, 4)
        views = {
            "table": table, "row": table[2], "column": table[:, 1], "turned_table": table.t(),
            "some": self.of_move.weight.detach()[:, ::2], "empty": table[:0],
        }  # fmt: skip
        for name, view in views.items():
            self.register_buffer(name, view)

    def forward(self, games: th.Tensor, actions: th.Tensor, moves: th.Tensor, positions: th.Tensor) -> Scores:
        scored = super().forward(games, actions, moves, positions)
        more = self.again(moves)[:, 0] + (self.turned * self.table[:3]).sum() + self.row.sum()
        return Scores(games, actions, scored.scores + more, scored.features + self.tied(positions))


class Expanded(OfMoves):
    """A buffer whose elements share a place in memory: torch cannot load it."""

    def __init__(self, spec: GameSpec) -> None:
        super().__init__(spec)
        self.register_buffer("ones", th.ones(1).expand(4))


class Counting(OfMoves):
    """A buffer of integers, which a model folder does not hold."""

    def __init__(self, spec: GameSpec) -> None:
        super().__init__(spec)
        self.register_buffer("count", th.tensor(3))


CONFIG = TrainConfig(
    env="busy-aces", moves="supermove", minutes=None, total_steps=512, num_envs=8, n_steps=16, batch_size=64,
    threads=1, selection_deals=None,
)  # fmt: skip


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    for name in [name for name in NETWORKS if ":" in name]:
        del NETWORKS[name]


@pytest.mark.parametrize("kind", [OfMoves, OfCards, Shared])
def test_a_custom_network_trains_and_is_loaded(kind: type[nn.Module], tmp_path: Path) -> None:
    name = f"{__name__}:{kind.__name__}"
    assert learn(replace(CONFIG, network=name), tmp_path, resume=False, quiet=True)
    policy = load_policy(tmp_path, "busy-aces")
    assert isinstance(policy.network, network_class(name))  # type: ignore[attr-defined]
    games = evaluate(policy, "busy-aces", range(3), max_episode_steps=60).games
    # Another process, which has imported the module, but not used its network.
    del NETWORKS[name]
    again = load_policy(tmp_path, "busy-aces")
    assert evaluate(again, "busy-aces", range(3), max_episode_steps=60).games == games


def test_a_folder_imports_the_module_of_its_network_only_on_request(
    tmp_path: Path, refuses: Refuses, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"net_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(f"from {__name__} import OfMoves as Net")
    monkeypatch.syspath_prepend(tmp_path)
    name, spec = f"{module}:Net", GameSpec(CONFIG.variant)
    save_model(tmp_path / "model", OfMoves(spec), replace(CONFIG, network=name), steps=1)
    for load in (load_policy, lambda folder, game: make_policy(str(folder), game)):
        refuses(
            lambda load=load: load(tmp_path, spec), repr(name), "'moves'", "module first", "--trust-model"
        )
    assert module not in sys.modules
    save_model(tmp_path / "other" / "model", OfMoves(spec), replace(CONFIG, network="no_such:Net"), steps=1)
    refuses(
        lambda: trust_folder(str(tmp_path / "other")), "network 'no_such:Net' cannot be loaded: No module"
    )
    trust_folder(str(tmp_path))
    assert isinstance(load_policy(tmp_path, spec).network, OfMoves)  # type: ignore[attr-defined]
    del NETWORKS[name], sys.modules[module]
    assert make_policy(str(tmp_path), spec, trust_model=True).name == tmp_path.name
    del sys.modules[module]


def test_a_checkpoint_restores_weights_and_moments_also_of_shared_tensors(tmp_path: Path) -> None:
    config = replace(CONFIG, network=f"{__name__}:Shared")
    first, second = (make_model(replace(config, seed=seed), make_env(config)) for seed in (0, 1))
    first.learn(256)
    progress = {"steps": 8, "seconds": 1.5, "games": 0}
    save_checkpoint(tmp_path / "checkpoint", first.policy, progress)
    assert load_checkpoint(tmp_path / "checkpoint", second.policy) == progress
    one, two = (model.policy.state_dict() for model in (first, second))
    assert one.keys() == two.keys() and all(th.equal(one[name], two[name]) for name in one)
    one, two = (model.policy.optimizer.state_dict()["state"] for model in (first, second))
    assert one.keys() == two.keys() and len(one) == len([*first.policy.parameters()])
    assert all(th.equal(one[key][name], two[key][name]) for key in one for name in one[key])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Expanded", ["Expanded': its tensors cannot be loaded", "ones", "single memory location"]),
        ("Counting", ["Counting': its tensor count is torch.int64", "allowed: torch.float32"]),
    ],
)
def test_a_network_that_could_not_be_loaded_is_refused_before_training(
    kind: str, words: list[str], tmp_path: Path, refuses: Refuses
) -> None:
    config = replace(CONFIG, network=f"{__name__}:{kind}")
    refuses(lambda: learn(config, tmp_path, resume=False, quiet=True), *words)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("agents.networks:Wise", ["'agents.networks:Wise'", "Wise"]),
        ("torch.nn:Linear", ["Linear", "FeaturesNetwork", "DenseNetwork"]),
    ],
)
def test_classes_that_are_no_network_are_refused(name: str, words: list[str], refuses: Refuses) -> None:
    refuses(lambda: network_class(name), *words)
