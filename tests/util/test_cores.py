"""The number of cores, with control groups as containers have them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from solitaire_env.util.cores import cpu_quota, usable_cores

CASES = {
    "no groups": ({}, math.inf),
    "a limit of its own group": (
        {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n"}, 3.0,
    ),
    "a limit of a group around it": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
            "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
        },
        0.5,
    ),
    "a path outside": ({"proc/self/cgroup": "0::/../../other\n"}, math.inf),
    "damaged": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1 0\n"}, math.inf),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_quotas_of_control_groups_limit_the_cores(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, quota = CASES[case]
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert cpu_quota(tmp_path) == quota
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    assert usable_cores(tmp_path) == (64 if quota == math.inf else max(1, int(quota)))


def test_affinity_may_allow_fewer_cores_than_the_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3}, raising=False)
    assert usable_cores(tmp_path) == 2


SHOW = """
import os
os.sched_getaffinity = lambda _: range(8)
from pathlib import Path
from solitaire_env.util import cores
cores.cpu_quota = lambda system=None: 3.5
from solitaire_env.core import get_num_threads, max_threads
print(max_threads(), get_num_threads())
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the script replaces it")
@pytest.mark.parametrize(("chosen", "threads"), [(None, 3), ("6", 6)])
def test_kernels_use_no_more_threads_than_the_quota(chosen: str | None, threads: int) -> None:
    """Unless ``SOLITAIRE_ENV_THREADS`` is set."""
    environ = {name: text for name, text in os.environ.items() if name != "SOLITAIRE_ENV_THREADS"}
    if chosen is not None:
        environ["SOLITAIRE_ENV_THREADS"] = chosen
    done = subprocess.run(
        [sys.executable, "-c", SHOW], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(threads)] * 2
