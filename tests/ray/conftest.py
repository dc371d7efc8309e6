"""A cluster of two machines with one CPU each; they are processes on this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

ROOT = Path(__file__).parents[2]
ENVIRON = {
    "PYTHONPATH": str(ROOT),
    "SOLITAIRE_ENV_QUIET": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_AUTH_MODE": "disabled",
}
os.environ.update(ENVIRON)


def start_node(cluster: Cluster, **settings: Any) -> Any:
    return cluster.add_node(num_cpus=1, include_dashboard=False, **settings)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The first machine is never removed: the driver is connected to it."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    start_node(cluster)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def two_nodes(cluster: Cluster) -> Cluster:
    """The cluster; its second machine is started again if a test removed it."""
    if not cluster.worker_nodes:
        start_node(cluster)
    return cluster


def start(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    """Start ``python -m`` with arguments in another process."""
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT, env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(*arguments: str, **environ: str) -> str:
    """Run ``python -m`` with arguments; return its stdout."""
    process = start(*arguments, **environ)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out
