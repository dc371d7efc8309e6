"""Commands with ``--ray`` write the same bytes as without it."""

import json
import time
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from tests.ray.conftest import run, start

GREEDY = ("agents.evaluate", "--policy", "greedy", "--env", "busy-aces", "--quiet")


def test_games_and_transcripts_are_the_same_bytes(two_nodes: Cluster, tmp_path: Path) -> None:
    files = []
    # Games do not depend on what is played in parallel: small chunks on the cluster, one batch here.
    for name, ray in (("alone", ()), ("ray", ("--ray", two_nodes.address, "--num-envs", "8"))):
        folder = tmp_path / name
        folder.mkdir()
        out = run(
            *GREEDY, "--deals", "0:100", "--games", str(folder / "games.jsonl"),
            "--transcripts", str(folder / "transcripts"), "--json", str(folder / "summary.json"), *ray,
        )  # fmt: skip
        made = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        files.append((out, made))
    assert files[0] == files[1] and len(files[0][1]) > 20


@pytest.mark.slow
def test_a_killed_driver_resumes_from_its_rows(two_nodes: Cluster, tmp_path: Path) -> None:
    alone, games = tmp_path / "alone.jsonl", tmp_path / "games.jsonl"
    run(*GREEDY, "--deals", "0:200", "--games", str(alone))
    command = (
        *GREEDY, "--deals", "0:200", "--games", str(games), "--num-envs", "4", "--ray", two_nodes.address,
    )  # fmt: skip
    driver = start(*command)
    until = time.monotonic() + 180
    while not games.exists() or games.read_bytes().count(b"\n") < 20:
        assert driver.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    driver.kill()
    driver.communicate()
    rows = games.read_text().splitlines()[:-1]
    assert 10 < len(rows) < 200, "it was killed in the middle"
    run(*command)
    assert games.read_bytes() == alone.read_bytes()


def solver_rows(path: Path) -> list[dict[str, object]]:
    """Solver results without the seconds that the search took."""
    return [
        {key: value for key, value in json.loads(line).items() if key != "seconds"}
        for line in path.read_text().splitlines()
    ]


@pytest.mark.slow
def test_solver_results_are_the_same(two_nodes: Cluster, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone.jsonl", tmp_path / "ray.jsonl"
    command = (
        "agents.solve", "busy-aces", "--deals", "0:30", "--seconds", "60", "--network", "none", "--quiet",
    )  # fmt: skip
    run(*command, "--out", str(alone))
    run(*command, "--out", str(together), "--ray", two_nodes.address)
    assert solver_rows(alone) == solver_rows(together)
    before = together.read_bytes()
    run(*command, "--out", str(together), "--ray", two_nodes.address)
    assert together.read_bytes() == before, "nothing is solved again"


def test_a_wrong_address_is_one_error_line() -> None:
    driver = start(*GREEDY, "--ray", "127.0.0.1:1")
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 2 and out == ""
    assert err.splitlines()[-1].startswith("error: no Ray cluster at 127.0.0.1:1")
