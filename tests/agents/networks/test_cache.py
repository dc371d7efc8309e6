"""Looks that are kept are the looks that would be made."""

from __future__ import annotations

import numpy as np
import pytest

from agents.config import make_config
from agents.learners.factory import make_model
from agents.learners.training_env import make_env
from agents.networks import MovesNetwork
from agents.networks import cache as memory
from agents.networks.cache import Memory
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.reader import MoveFeatures, MoveReader
from solitaire_env.variants import VARIANTS, get_variant

NAMES = [variant.name for variant in VARIANTS]


def same(first: MoveFeatures, second: MoveFeatures) -> None:
    for mine, other in zip(first, second, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("room", [12, 64, 1000])
def test_gives_what_look_gives(name: str, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether positions are new, known, twice in a call, or forgotten; with little room at first."""
    monkeypatch.setattr(memory, "ROOM", 8)
    variant = get_variant(name)
    reader = MoveReader(GameSpec(variant), digs=1 + room % 3)
    kept = Memory(reader.read, reader.sizes, room)
    batch = Batch(GameSpec(variant), 12)
    batch.deal(np.arange(12), range(12))
    random = np.random.default_rng(0)
    played = []
    for _ in range(10):
        observations, masks = batch.observations().copy(), batch.state.mask.copy()
        played.append((observations, masks))
        same(kept.look(observations, masks), reader.read(observations, masks))
        batch.step(np.argmax(masks * random.random(masks.shape), axis=1), batch.everyone)
    everything = [np.concatenate(arrays) for arrays in zip(*played, strict=True)]
    for size in (12, 1, 0, room + 1):
        rows = random.integers(120, size=size)
        observations, masks = (array[rows] for array in everything)
        same(kept.look(observations, masks), reader.read(observations, masks))
        assert kept.size <= room
    kept.forget()
    assert kept.size == 0
    same(kept.look(*played[0]), reader.read(*played[0]))


def test_the_same_position_with_other_legal_moves_is_another() -> None:
    batch = Batch(GameSpec(get_variant("busy-aces")), 1)
    batch.deal(np.arange(1), [0])
    reader = MoveReader(GameSpec(get_variant("busy-aces")))
    kept = Memory(reader.read, reader.sizes, 8)
    observations, masks = batch.observations(), batch.state.mask
    fewer = masks.copy()
    fewer[0, np.flatnonzero(masks[0])[0]] = 0
    for legal in (masks, fewer, masks.astype(np.bool_)):
        same(kept.look(observations, legal), reader.read(observations, legal))
    assert kept.size == 2


@pytest.mark.training
def test_training_looks_once_at_each_step() -> None:
    given = {"env": "busy-aces", "num_envs": 8, "n_steps": 16, "batch_size": 32, "hidden": [8], "width": 8}
    config = make_config(given, "test")
    env = make_env(config)
    model = make_model(config, env)
    network = model.policy.network
    assert isinstance(network, MovesNetwork) and network.memory is not None
    model.learn(8 * 16)
    assert 8 < network.memory.size <= 8 * 16  # positions that come back are kept once
