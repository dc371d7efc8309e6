"""Training by RLlib on a cluster writes a run folder with a model that plays."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from ray.cluster_utils import Cluster

from agents.config import ConfigError, make_config
from agents.learners.rllib import check_config, make_vector_env
from tests.ray.conftest import run

CONFIG = """
Solitaire/BusyAces-v0:
  moves: supermove
  minutes: null
  total_steps: 1500
  num_envs: 16
  n_steps: 48
  batch_size: 256
  n_epochs: 1
  hidden: [8]
  width: 8
  dig_out: 1
  init_linear_temperature: 0.5
  selection_deals: null
  eval_deals: "0:20"
"""


def test_a_training_makes_a_model_that_plays(two_nodes: Cluster, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    runs = tmp_path / "runs"
    run("agents.train", str(config), "--runs", str(runs), "--ray", two_nodes.address, "--quiet")
    folder = runs / "busy-aces-1"
    with (folder / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["steps"]) for row in rows] == sorted({int(row["steps"]) for row in rows})
    assert len(rows) >= 2 and int(rows[-1]["steps"]) >= 1500
    summary = tmp_path / "summary.json"
    run(
        "agents.evaluate", "--policy", str(folder), "--env", "busy-aces", "--deals", "0:20", "--quiet",
        "--json", str(summary),
    )  # fmt: skip
    # It started from the linear policy, which wins 16 of these deals; with permuted actions it wins none.
    assert json.loads(summary.read_text())["wins"] >= 8
    run(
        "agents.train", "--resume", str(folder), "--total-steps", "2300", "--ray", two_nodes.address,
        "--ray-learners", "1", "--quiet",
    )  # fmt: skip
    with (folder / "curve.csv").open() as file:
        resumed = list(csv.DictReader(file))
    assert resumed[: len(rows)] == rows and int(resumed[-1]["steps"]) >= 2300


def test_observations_end_with_the_mask() -> None:
    config = make_config({"env": "busy-aces", "stall_limit": 3, "num_envs": 4}, "test")
    env = make_vector_env(config, 4)
    seen, _ = env.reset(seed=0)
    size = config.game.observation_size
    ends = 0
    random = np.random.default_rng(0)
    for _ in range(300):
        masks = seen[:, size:]
        assert env.observation_space.contains(seen) and (seen[:, :size] == env.env.batch.observations()).all()
        seen, _, ended, truncated, infos = env.step((masks * random.random(masks.shape)).argmax(1))
        assert not truncated.any() and (infos["_is_success"] == ended).all()
        assert (seen[ended, size:] == 0).all() and (seen[~ended, size:].sum(1) > 0).all()
        ends += np.count_nonzero(ended)
    assert ends > 4


def test_env_runners_draw_the_chosen_deals() -> None:
    config = make_config({"env": "busy-aces", "deals": "2000000:2000003"}, "test")
    env = make_vector_env(config, 32)
    env.reset(seed=0)
    assert {*env.env.batch.deal_numbers.tolist()} == {*range(2_000_000, 2_000_003)}


def test_env_runners_with_consecutive_seeds_share_no_deal() -> None:
    env = make_vector_env(make_config({"env": "busy-aces"}, "test"), 32)
    found: set[int] = set()
    for seed in range(5):
        env.reset(seed=seed)
        found.update(env.env.batch.deal_numbers.tolist())
    assert len(found) == 5 * 32


def test_keys_that_rllib_does_not_support_are_refused() -> None:
    with pytest.raises(ConfigError, match="learner is 'pqn', allowed with --ray: 'ppo', 'maskable-ppo'"):
        check_config(make_config({"learner": "pqn"}, "test"))
