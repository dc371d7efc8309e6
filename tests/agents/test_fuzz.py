"""Fuzzing of the files that agents read: configurations, model folders, checkpoints, learning curves, deals.

See :mod:`tests.fuzz`, whose script runs these targets too.
"""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch as th

from agents.config import ConfigError, TrainConfig, make_config
from agents.learners.factory import make_model as make_learner
from agents.learners.training_env import make_env
from agents.networks import NETWORKS
from agents.networks.player import NetworkPlayer
from agents.reports.plots import read_curve
from agents.runs.checkpoints import load_checkpoint, save_checkpoint
from agents.runs.config_files import dump_config, load_config
from agents.runs.folders import CURVE_COLUMNS
from agents.runs.models import load_model, save_model
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.policies import Policy
from solitaire_env.policies.model_files import CARD, WEIGHTS
from solitaire_env.policies.network import CompiledNetwork, load_network
from solitaire_env.variants import VARIANTS, get_variant
from tests.fuzz import Records, Target, Texts, as_bytes, expect, folder, try_cases, written

# --------------------------------------------------------------------------------- configurations

CONFIGS = [path.read_text() for path in sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))]
CONFIG_TEXTS = Texts(
    [
        *CONFIGS,
        dump_config(TrainConfig()),
        dump_config(TrainConfig(env="eights-down", network="mlp", minutes=None, total_steps=7)),
        "default: {width: 32, minutes: 1}\nSolitaire/BusyAces-v0: {width: 48, moves: supermove}\n",
    ],
    [
        *TrainConfig.__dataclass_fields__,
        *[variant.name for variant in VARIANTS],
        *["\n  ", "\n", ": ", "- ", "? ", "|", ">", "!!int", "!!float", "!!set", "!!binary", "!!null"],
        *["&a ", "*a", "<<: *a", "null", "~", "yes", "2001-01-01", "1:30:00", ".nan", ".inf", "0o17", "1e-4"],
        *["[" * 2000, "{a: " * 500, "default:", "supermove", "0:1000", "any suit"],
    ],
)  # fmt: skip


def make_config_file(rng: Random) -> tuple[bytes, str | None]:
    env = rng.choice((None, None, "busy-aces", "eights-down", "busy-ace"))
    return as_bytes(rng, CONFIG_TEXTS.make(rng)), env


def read_config(case: tuple[bytes, str | None]) -> TrainConfig:
    return load_config(written("config.yaml", case[0]), case[1])


def check_config(_: object, config: TrainConfig) -> None:
    again = load_config(written("config.yaml", dump_config(config).encode()))
    expect("configuration, written and read", config, again)


DEALS = Texts(
    ["0:1000", "7", "ms:11982", "0:3,5,pysol:24", "1000:2000, 3"],
    ["0", "7", "1000", "9999999", ":", ",", "ms:", "pysol:", "-"],
)


def check_deals(text: str, deals: list[int | str]) -> None:
    """All deals are different, and each can be parsed alone."""
    assert deals and len(set(deals)) == len(deals)
    some = deals[:1000]
    expect("deals one by one", some, parse_deals(",".join(map(str, some))))


# --------------------------------------------------------------------------------------- networks

GAME = "eights-down"
SIZES: dict[str, dict[str, Any]] = {
    "moves": {"hidden": [4, 3], "width": 4, "dig_out": 1},
    "mlp": {"hidden": [4]},
}


@cache
def models() -> tuple[list[dict[str, Any]], list[bytes]]:
    """Cards and weights of a model of each kind."""
    cards, weights = [], []
    spec = GameSpec(get_variant(GAME))
    for kind, sizes in SIZES.items():
        th.manual_seed(0)
        about: dict[str, Any] = {"kind": kind, "sizes": sizes}
        save_model(folder() / kind, NETWORKS[kind](spec, **sizes), spec, steps=7, **about)
        cards.append(json.loads((folder() / kind / CARD).read_text()))
        weights.append((folder() / kind / WEIGHTS).read_bytes())
    return cards, weights


@cache
def card_texts() -> tuple[Records, Texts]:
    cards = models()[0]
    words = [*cards[0], *cards[0]["layout"], *SIZES["moves"], *NETWORKS, "{", "}", "null", "1e5"]
    texts = Texts([json.dumps(card, indent=indent) for card in cards for indent in (None, 2)], words)
    return Records(cards, texts, plain=True), texts


def change_tensors(rng: Random, data: bytes) -> bytes:
    """A safetensors file with other bytes, another header, or other tensors."""
    how = rng.randrange(6)
    size = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + size], data[8 + size :]
    if how == 0:
        return data[: rng.randrange(len(data) + 1)]
    if how == 1:
        wrong = rng.choice((0, 1, size - 1, size + 1, len(data), 2**31, 2**32, 2**63, 2**64 - 1))
        return wrong.to_bytes(8, "little") + header + body
    if how == 2:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 10))):
            place = rng.randrange(rng.choice((8, 8 + size, len(data))))
            changed[place] = rng.choice((0, 255, changed[place] ^ 1 << rng.randrange(8)))
        return bytes(changed)
    about = json.loads(header)
    names = [name for name in about if name != "__metadata__"]
    if how == 3:
        words = [*names, "F64", "F16", "BF16", "I64", "BOOL", "U8", "F8_E4M3", "F8_E8M0", "C64", "F4"]
        about = Records([about], Texts(names, words), plain=True).change(rng, about)
        header = json.dumps(about).encode()
    elif how == 4:
        words = ["dtype", "shape", "data_offsets", "F32", "__metadata__", "{", "}", "[" * 1000]
        header = as_bytes(rng, Texts([header.decode()], words).change(rng, header.decode()))
    else:
        body = body[: rng.randrange(len(body) + 1)] + rng.randbytes(rng.randrange(8))
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + body


def make_model(rng: Random, kinds: int = len(SIZES)) -> tuple[bytes | None, bytes | None]:
    """A card and weights of the built-in networks; None for a missing file."""
    cards, weights = models()
    records, texts = card_texts()
    place = rng.randrange(kinds)
    card, tensors = json.dumps(cards[place]).encode(), weights[place]
    kind = rng.random()
    if kind < 0.25:
        card = json.dumps(records.make(rng)).encode()
    elif kind < 0.4:  # only the sizes: the tensors keep theirs
        sizes = {**SIZES["moves"], **SIZES["mlp"]} if rng.random() < 0.1 else cards[place]["sizes"]
        sizes = Records([sizes], texts, plain=True).make(rng)
        card = json.dumps({**cards[place], "sizes": sizes}).encode()
    elif kind < 0.5:
        card = as_bytes(rng, texts.make(rng))
    elif kind < 0.95:
        tensors = change_tensors(rng, tensors)
    elif kind < 0.98:
        tensors = rng.choice((b"", rng.randbytes(100), weights[1 - place]))
    return None if kind > 0.995 else card, None if 0.98 < kind < 0.985 else tensors


def write_model(case: tuple[bytes | None, bytes | None]) -> None:
    for name, data in zip((CARD, WEIGHTS), case, strict=True):
        if data is None:
            (folder() / name).unlink(missing_ok=True)
        else:
            written(name, data)


def read_model(case: tuple[bytes | None, bytes | None]) -> NetworkPlayer:
    write_model(case)
    return load_model(folder(), GameSpec(get_variant(GAME)), "model")


def read_compiled(case: tuple[bytes | None, bytes | None]) -> CompiledNetwork:
    write_model(case)
    return load_network(folder(), GameSpec(get_variant(GAME)), "model")


@cache
def some_games() -> Batch:
    batch = Batch(GameSpec(get_variant(GAME)), 4)
    batch.deal(np.arange(4), [0, 1, 2, 3])
    return batch


def check_model(_: object, player: Policy) -> None:
    batch = some_games()
    actions = player(batch.observations(), batch.state.mask)
    assert batch.state.mask[np.arange(4), actions].all(), "an illegal action"


# -------------------------------------------------------------------------------- training folders


@cache
def trainee() -> Any:
    """A model of a training, and two checkpoints of it, the second after an update."""
    values = {"env": GAME, "width": 4, "num_envs": 2, "n_steps": 4, "batch_size": 4, "n_epochs": 1}
    config = make_config(values, "test")
    env = make_env(config)
    model = make_learner(config, env)
    checkpoints = []
    for _ in range(2):
        path = folder() / "made"
        save_checkpoint(path, model, {"steps": 8, "seconds": 1.5, "games": 0})
        checkpoints.append(path.read_bytes())
        if len(checkpoints) == 1:
            model.learn(8)
    return model, checkpoints


def make_checkpoint(rng: Random) -> bytes:
    data: bytes = rng.choice(trainee()[1])
    return change_tensors(rng, data) if rng.random() < 0.95 else data


def read_checkpoint(data: bytes) -> dict[str, Any]:
    return load_checkpoint(written("checkpoint.safetensors", data), trainee()[0])


def check_checkpoint(_: object, progress: dict[str, Any]) -> None:
    assert [int(progress["steps"]), float(progress["seconds"]), int(progress["games"])]
    model = trainee()[0]
    for parameters in model.policy.parameters():
        parameters.grad = th.zeros_like(parameters)
    model.policy.optimizer.step()
    save_checkpoint(folder() / "again", model, progress)
    expect("progress, written and read", progress, load_checkpoint(folder() / "again", model))


CURVE_ROWS = ["256,0.1000,0,,,,2600", "512,0.2000,7,0.1429,31.000,80.1,2600", "768,0.3,9,0.2,32.5,81.0,2599"]
CURVES = Texts(
    ["", *("\r\n".join([",".join(CURVE_COLUMNS), *CURVE_ROWS[:count]]) + "\r\n" for count in range(4))],
    [*CURVE_COLUMNS, ",", '"', "\r\n", "\r", "1e5", "x" * 200_000],
)


def make_curve(rng: Random) -> bytes:
    return as_bytes(rng, CURVES.make(rng))


def curve(data: bytes) -> list[dict[str, float]]:
    written("curve.csv", data)
    return read_curve(folder())


def check_curve(_: object, rows: list[dict[str, float]]) -> None:
    assert all(isinstance(key, str) and isinstance(n, float) for row in rows for key, n in row.items())


ERRORS = (ValueError, ConfigError)
TARGETS = (
    Target("config", make_config_file, read_config, check_config, (ConfigError,)),
    Target("deals", DEALS.make, parse_deals, check_deals, ERRORS),
    Target("model", make_model, read_model, check_model, ERRORS, share=2),
    Target("compiled model", partial(make_model, kinds=1), read_compiled, check_model, ERRORS, share=2),
    Target("checkpoint", make_checkpoint, read_checkpoint, check_checkpoint, ERRORS, share=1),
    Target("curve", make_curve, curve, check_curve, ERRORS),
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_inputs_are_read_or_refused(target: Target) -> None:
    try_cases(target, 50)
