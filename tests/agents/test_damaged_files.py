"""Damaged files that agents read: configurations, model folders, checkpoints, learning curves, deals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from hypothesis import given, reject

from agents.config import ConfigError, TrainConfig, make_config
from agents.learners.factory import make_model
from agents.learners.training_env import make_env
from agents.networks import NETWORKS
from agents.results.plots import read_curve
from agents.runs.checkpoints import load_checkpoint, save_checkpoint
from agents.runs.config_files import dump_config, load_config
from agents.runs.folders import CURVE_COLUMNS
from agents.runs.models import load_model, save_model
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies.model_files import CARD, WEIGHTS
from solitaire_env.policies.network import load_network
from solitaire_env.splits import parse_deals
from solitaire_env.variants import get_variant
from tests.damage import DAMAGE, damaged_bytes, damaged_records, damaged_texts, read_or_refused

GAME = GameSpec(get_variant("eights-down"))
SIZES: dict[str, dict[str, Any]] = {
    "moves": {"hidden": [4, 3], "width": 4, "dig_out": 1},
    "mlp": {"hidden": [4]},
}
CONFIGS = [
    dump_config(TrainConfig()),
    "Solitaire/BusyAces-v0: {width: 48, moves: supermove}\n",
    "busy-aces:\n  hidden: [64, 64]\n",
    "busy-aces: {hidden: &a [*a]}",
    # Aliases: a short text of a huge value.
    "busy-aces:\n  a: &a [0]\n"
    + "".join(
        f"  {b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghijklmno", "bcdefghijklmnop", strict=True)
    ),
]
YAML_WORDS = (
    "\n  ",
    ": ",
    "- ",
    "!!binary",
    "&a ",
    "*a",
    "<<: *a",
    "~",
    "2001-01-01",
    ".nan",
    "0o17",
    "{a: " * 500,
)
CURVE_ROWS = ["256,0.1000,0,,,,2600", "512,0.2000,7,0.1429,31.000,80.1,2600"]
CURVE = "\r\n".join([",".join(CURVE_COLUMNS), *CURVE_ROWS]) + "\r\n"


@DAMAGE
@given(text=damaged_texts(CONFIGS, YAML_WORDS))
def test_damaged_configurations(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "config.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    config = read_or_refused(lambda path: load_config(path), path, (ConfigError,))
    if config is not None:
        path.write_text(dump_config(config), encoding="utf-8")
        assert load_config(path) == config


@DAMAGE
@given(text=damaged_texts(["0:1000", "7", "ms:11982", "0:3,5,pysol:24"]))
def test_damaged_deals(text: str) -> None:
    deals = read_or_refused(parse_deals, text, (ValueError, ConfigError))
    assert deals is None or parse_deals(",".join(map(str, deals[:1000]))) == deals[:1000]


@DAMAGE
@given(text=damaged_texts([CURVE], CURVE_COLUMNS))
def test_damaged_curves(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "curve.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    for row in read_or_refused(read_curve, folder) or ():
        assert all(isinstance(key, str) and isinstance(number, float) for key, number in row.items())


@pytest.fixture(scope="module", params=SIZES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small network."""
    folder = tmp_path_factory.mktemp(request.param)
    network = NETWORKS[request.param](GAME, **SIZES[request.param])
    config = make_config({"env": "eights-down", "network": request.param, **SIZES[request.param]}, "test")
    save_model(folder, network, config, steps=7)
    return folder


def play_or_refuse(folder: Path) -> None:
    """A model is refused, or plays legal moves."""
    batch = Batch(GAME, 2)
    batch.deal(np.arange(2), [0, 1])
    readers = [lambda folder: load_model(folder, GAME, "model")]
    readers += [lambda folder: load_network(folder, GAME, "model")] if "moves" in folder.name else []
    for read in readers:
        player = read_or_refused(read, folder, (ValueError, ConfigError))
        if player is not None:
            actions = player(batch.observations(), batch.state.mask)
            assert batch.state.mask[np.arange(2), actions].all()


def test_damaged_model_cards(model: Path) -> None:
    card = json.loads((model / CARD).read_text(encoding="utf-8"))

    @DAMAGE
    @given(damaged_records([card]))
    def check(data: Any) -> None:
        try:
            (model / CARD).write_text(json.dumps(data, default=str), encoding="utf-8")
        except ValueError:  # a number of too many digits
            reject()
        play_or_refuse(model)

    check()
    (model / CARD).write_text(json.dumps(card), encoding="utf-8")


def test_damaged_weights(model: Path) -> None:
    good = (model / WEIGHTS).read_bytes()

    @DAMAGE
    @given(damaged_bytes([good]))
    def check(data: bytes) -> None:
        (model / WEIGHTS).unlink()  # it may still be mapped into memory
        (model / WEIGHTS).write_bytes(data)
        play_or_refuse(model)

    check()


def test_damaged_checkpoints(tmp_path: Path) -> None:
    values = {"env": "eights-down", **SIZES["moves"], "num_envs": 2, "n_steps": 4, "batch_size": 4}
    config = make_config(values, "test")
    trainee = make_model(config, make_env(config))
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, trainee.policy, {"steps": 8, "seconds": 1.5, "games": 0})
    good = path.read_bytes()

    @DAMAGE
    @given(damaged_bytes([good]))
    def check(data: bytes) -> None:
        path.unlink()
        path.write_bytes(data)
        progress = read_or_refused(
            lambda path: load_checkpoint(path, trainee.policy), path, (ValueError, ConfigError)
        )
        if progress is not None:
            for parameters in trainee.policy.parameters():
                parameters.grad = th.zeros_like(parameters)
            trainee.policy.optimizer.step()

    check()
