"""Model folders and SB3 zips: a loaded model plays the same; damaged files are refused."""

import base64
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch as th
from sb3_contrib import MaskablePPO

from agents.config import TrainConfig, make_config
from agents.networks import NETWORKS
from agents.networks.player import TorchPlayer
from agents.policies import make_policy
from agents.runs.models import load_model, save_model
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import Game, evaluate
from solitaire_env.sb3 import SolitaireVecEnv
from tests.conftest import Refuses
from tests.policies.model_folders import edit_card, edit_weights, played

SIZES: dict[str, dict[str, Any]] = {
    "moves": {"hidden": [8, 4], "width": 8, "dig_out": 3, "rollout_lookahead": 4, "relaxed_reachability": 2},
    "mlp": {"hidden": [16]},
}


SPEC = GameSpec(get_variant("busy-aces").with_rules(moves="supermove"))
"""What the networks see."""


def game(env: str, **rules: Any) -> GameSpec:
    """The specification of a game to play."""
    return GameSpec(get_variant(env).with_rules(**rules))


def config_of(kind: str) -> TrainConfig:
    """The configuration of a network that plays Busy Aces with supermoves."""
    return make_config({"env": "busy-aces", "moves": "supermove", "network": kind, **SIZES[kind]}, "test")


def play(player: Any) -> list[Game]:
    return evaluate(player, "busy-aces", range(3), max_episode_steps=60).games


def saved(folder: Path, kind: str = "mlp") -> Any:
    """A network that plays Busy Aces with supermoves."""
    th.manual_seed(0)
    network = NETWORKS[kind](SPEC, **SIZES[kind])
    save_model(folder, network, config_of(kind), steps=7)
    return network


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_loaded_model_plays_the_same(tmp_path: Path, kind: str) -> None:
    network = saved(tmp_path / "model", kind)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    loaded = load_model(tmp_path / "model", game("busy-aces"))
    assert (loaded.name, loaded.moves, loaded.observation, loaded.information) == (
        ("model", "supermove", "cards", "player")
    )
    weights = network.state_dict()
    assert loaded.network.state_dict().keys() == weights.keys()
    for name, tensor in loaded.network.state_dict().items():
        assert (tensor == weights[name]).all() and tensor.dtype == th.float64
    before = TorchPlayer(network, SPEC, "model")
    games = [play(player) for player in (before, loaded)]
    assert games[0] == games[1]


def test_weights_of_a_diverged_network_are_not_saved(folder: Path, refuses: Refuses) -> None:
    before = (folder / "model.safetensors").read_bytes()
    head = th.nn.Linear(16, 1)
    th.nn.init.constant_(head.weight, th.nan)
    network = NETWORKS["mlp"](SPEC, **SIZES["mlp"])
    refuses(
        lambda: save_model(folder, network, config_of("mlp"), steps=1, value=head),
        "the network has diverged", "learning_rate",
    )  # fmt: skip
    assert (folder / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("kind", NETWORKS)
def test_games_do_not_depend_on_num_envs(folder: Path, tmp_path: Path, kind: str) -> None:
    saved(tmp_path / kind, kind)
    runs = [
        evaluate(
            load_model(tmp_path / kind, game("busy-aces"), "net"),
            "busy-aces", deals, max_episode_steps=100, num_envs=num_envs,
        ).games
        for num_envs, deals in ((1, range(12)), (7, range(12)), (256, range(11, -1, -1)), (256, range(5, 8)))
    ]  # fmt: skip
    assert runs[0] == runs[1] == runs[2][::-1] and runs[0][5:8] == runs[3]


def test_explain_returns_the_probabilities_and_values(tmp_path: Path) -> None:
    network, value = saved(tmp_path / "plain"), th.nn.Linear(16, 1)
    save_model(tmp_path / "m", network, config_of("mlp"), steps=7, value=value)
    player = load_model(tmp_path / "m", game("busy-aces"))
    other = load_model(tmp_path / "plain", game("busy-aces"))
    batch = played(SPEC, 20, 64)
    observations, masks = batch.observations().copy(), batch.state.mask.copy()
    probabilities, values = player.explain(observations, masks)
    with th.inference_mode():
        seen = network.score(th.from_numpy(observations), masks)
        expected = seen.dense(masks.shape[1]).softmax(1).numpy()
        assert values == pytest.approx(value(seen.features)[:, 0].numpy())
    assert probabilities == pytest.approx(expected, abs=1e-5) and not probabilities[masks == 0].any()
    # Equal observations are scored once; these change in place, as in an environment with copy=False.
    observations[:], masks[:] = observations[::-1].copy(), masks[::-1].copy()
    assert player.explain(observations, masks)[0][::-1] == pytest.approx(probabilities, abs=1e-5)
    assert other.explain(observations, masks)[1] is None
    assert play(other) == play(load_model(tmp_path / "m", game("busy-aces"), "plain"))


WEIGHTS, CARD = "model.safetensors", "model.json"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: edit_card(folder, sizes={"length": 3}), [CARD, "{'length': 3}", "'mlp'"]),
        (lambda folder: edit_card(folder, sizes={"hidden": [10]}), [WEIGHTS, "size mismatch"]),
        (
            lambda folder: edit_weights(folder, value_head__weight=np.zeros((1, 9), dtype=np.float32)),
            [WEIGHTS, "not weights of this network"],
        ),
    ],
)
def test_damaged_models_are_refused(
    folder: Path, damage: Callable[[Path], Any], words: list[str], refuses: Refuses
) -> None:
    """Others are in ``tests/policies/test_model_files.py``."""
    damage(folder)
    refuses(lambda: load_model(folder, game("busy-aces")), str(folder), *words)


def test_a_zip_needs_trust_model(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "mine.zip"
    env = SolitaireVecEnv("busy-aces", 1, observation="features", moves="supermove")
    MaskablePPO("MlpPolicy", env, n_steps=8, policy_kwargs={"net_arch": [8]}, device="cpu").save(path)
    refuses(lambda: make_policy(str(path), game("busy-aces")), str(path), "run code", "--trust-model")
    players = [make_policy(str(path), game("busy-aces"), trust_model=True) for _ in range(2)]
    assert (players[0].name, players[0].moves, players[0].observation) == ("mine", "supermove", "features")
    assert play(players[0]) == play(players[1])
    with pytest.raises(ValueError, match="eights-down has observations of"):
        make_policy(str(path), game("eights-down"), trust_model=True)


class CreatesFile:
    """Creates a file in the working directory when it is unpickled."""

    def __reduce__(self) -> Any:
        return (os.mkdir, ("it-ran",))


def test_a_malicious_zip_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.chdir(tmp_path)
    path, trace = tmp_path / "evil.zip", tmp_path / "it-ran"
    evil = {":type:": "x", ":serialized:": base64.b64encode(cloudpickle.dumps(CreatesFile())).decode()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps({"policy_class": evil}))
    refuses(lambda: make_policy(str(path), game("busy-aces")), str(path), "run code", "--trust-model")
    assert not trace.exists()
    # The zip does run code when it is opened with trust.
    refuses(lambda: make_policy(str(path), game("busy-aces"), trust_model=True), "not a MaskablePPO zip")
    assert trace.exists()
