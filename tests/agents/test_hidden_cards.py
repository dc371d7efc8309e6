"""Networks that read the features of hidden cards: their start, their model folders, and what they see."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from agents.config import TrainConfig, make_config
from agents.learners.factory import make_model
from agents.learners.initial_weights import initial_weights_of
from agents.learners.training_env import TrainingEnv, make_env
from agents.runs.models import load_model, save_model
from solitaire_env import load_policy
from solitaire_env.core import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.policies.network import load_network
from solitaire_env.variants import get_variant
from tests.conftest import Refuses

FAMILY = {"env": "Solitaire/Family-v0", "games": "klondike,yukon"}
SMALL: dict[str, Any] = {
    "width": 8, "hidden": [8, 4], "num_envs": 8, "n_steps": 8, "threads": 1, "selection_deals": None,
}  # fmt: skip
READS: dict[str, Any] = {"information": "memory", "family": 1, "hidden_cards": 1}


def made(**values: Any) -> TrainConfig:
    return make_config({**SMALL, **values}, "test")


def written(folder: Path, config: TrainConfig) -> Any:
    """The policy of a model folder with random weights."""
    th.manual_seed(0)
    policy = make_model(config, make_env(config)).policy
    with th.no_grad():
        for tensor in policy.network.parameters():
            tensor.copy_(th.randn_like(tensor))
    save_model(folder, policy.network, config, steps=1, value=policy.value_net)
    return policy


def played(env: TrainingEnv, steps: int) -> tuple[Any, Any]:
    """Observations and masks after random moves."""
    env.seed(1)
    observations, random = env.reset(), np.random.default_rng(0)
    for _ in range(steps):
        masks = env.action_masks()
        observations = env.step((masks * (1 - random.random(masks.shape))).argmax(1))[0]
    return observations, env.action_masks()


@pytest.mark.parametrize("values", [{"env": "klondike-draw-3"}, FAMILY], ids=["one game", "family"])
def test_training_starts_from_a_network_that_does_not_read_them(
    values: dict[str, Any], tmp_path: Path, refuses: Refuses
) -> None:
    """The new network scores every move as the old one does."""
    old = written(tmp_path / "old", made(**FAMILY))
    config = made(**values, **READS, init_from=str(tmp_path / "old"))
    env = make_env(config)
    new = make_model(config, env).policy
    observations, masks = played(env, 60)
    seen = new.network.read_features(np.asarray(observations), masks)
    move, position = old.network.sizes
    assert seen.moves.shape[1] > move and seen.moves[:, move:].any()
    known = seen._replace(moves=seen.moves[:, :move], positions=seen.positions[:, :position])
    device = th.device("cpu")
    scores, expected = new.network.score_features(seen, device), old.network.score_features(known, device)
    th.testing.assert_close(scores.scores, expected.scores)
    th.testing.assert_close(new.value_net(scores.features), old.value_net(expected.features))
    # The other way round, features would be missing.
    written(tmp_path / "new", config)
    narrow = made(**values | READS | {"hidden_cards": 0}, init_from=str(tmp_path / "new"))
    refuses(lambda: initial_weights_of(narrow), "'hidden_cards': 1", "allowed: that of the configuration")


@pytest.mark.parametrize("values", [{"env": "klondike-draw-3"}, FAMILY], ids=["one game", "family"])
def test_a_model_is_read_with_its_features_and_its_memory(values: dict[str, Any], tmp_path: Path) -> None:
    config = made(**values, **READS)
    written(tmp_path / "model", config)
    game = GameSpec(get_variant("klondike-draw-3"))
    torch, ours = load_model(tmp_path / "model", game), load_network(tmp_path / "model", game)
    assert torch.information == ours.information == "memory"
    observations, masks = played(make_env(made(env="klondike-draw-3", **READS)), 60)
    for one, other in zip(torch.explain(observations, masks), ours.explain(observations, masks), strict=True):
        assert one is not None and other is not None
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    policy = load_policy(tmp_path / "model", game.variant)
    done = evaluate(policy, game.variant, range(2), max_episode_steps=60)
    assert done.information == "memory"
