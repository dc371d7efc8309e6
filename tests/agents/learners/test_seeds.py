"""Trainings with different seeds play different deals."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.config import TrainConfig, make_config
from agents.learners import training
from agents.learners.factory import make_model
from agents.learners.process_group import ProcessGroup
from agents.learners.training_env import derived_seed, make_env
from tests.agents.test_train import VALUES
from tests.core.test_random_numbers import closest, streams_of

SEEDS = range(5)
SMALL = VALUES | {"env": "eights-down", "total_steps": 600, "num_envs": 16, "n_steps": 8, "stall_limit": 4}


def config_of(seed: int, **values: Any) -> TrainConfig:
    return make_config({**SMALL, **values, "seed": seed}, "test")


def deals_of(config: TrainConfig, run: Path, *, resume: bool = False) -> set[int]:
    """The deals of a training, looked up before each update."""
    met: set[int] = set()
    run.mkdir(exist_ok=True)
    training.learn(
        config, run, resume=resume, quiet=True,
        on_update=lambda callback: met.update(callback.model.env.batch.deal_numbers.tolist()),  # type: ignore[union-attr]
    )  # fmt: skip
    return met


def share_none(found: dict[Any, set[int]]) -> bool:
    """Whether no two sets share a deal, as expected of random sets: there are 2**63 deals."""
    assert all(len(deals) >= 16 for deals in found.values())
    return all(not found[a] & found[b] for a, b in combinations(found, 2))


@pytest.mark.parametrize(
    "learner", ["maskable-ppo", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ppo", "pqn"))]
)
def test_trainings_with_other_seeds_and_resumed_ones_share_no_deal(learner: str, tmp_path: Path) -> None:
    found = {}
    for seed in SEEDS:
        start, more = (config_of(seed, learner=learner, total_steps=steps) for steps in (600, 1_200))
        found[seed, "start"] = deals_of(start, tmp_path / f"run-{seed}")
        found[seed, "resumed"] = deals_of(more, tmp_path / f"run-{seed}", resume=True)
    assert share_none(found)
    again = deals_of(config_of(0, learner=learner), tmp_path / "again")
    assert again & found[0, "start"], "the same seed has the same deals"


def test_processes_of_trainings_share_no_deal() -> None:
    found = {}
    for seed in SEEDS:
        for rank in range(3):
            config = config_of(seed)
            env = make_env(config)
            make_model(config, env, ProcessGroup(rank, 3))
            env.reset()
            found[seed, rank] = {*env.batch.deal_numbers.tolist()}
    assert share_none(found)


def test_streams_of_trainings_do_not_meet() -> None:
    """Of seeds, processes and the steps at which a training is resumed, and those of plain environments."""
    seeds = [
        derived_seed(seed, rank, steps)
        for seed in (*range(8), 2**31)
        for rank in range(3)
        for steps in (0, 512, 10**6)
    ]
    streams = [streams_of(range(seed, seed + 32)) for seed in (0, *seeds)]
    assert closest(np.concatenate(streams)) > 10**9
