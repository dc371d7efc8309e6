"""The number of cores, with the quota of a container."""

import os
from pathlib import Path

import pytest

from solitaire_env.util.cores import usable_cores


@pytest.mark.parametrize(
    ("quota", "cores"),
    [(None, 8), ("max 100000\n", 8), ("350000 100000\n", 3), ("50000 100000\n", 1), ("6400000 100000\n", 8)],
)
def test_affinity_and_quota_limit_the_cores(
    quota: str | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota)
    assert usable_cores(tmp_path / "cpu.max") == cores
