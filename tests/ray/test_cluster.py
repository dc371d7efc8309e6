"""Work on a cluster: each item has one result, even if workers or machines are killed."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from agents.cluster import MAX_LOSSES, connect
from solitaire_env.core import get_num_threads

Squares = Callable[[list[int]], Iterator[list[tuple[int, int]]]]


def prepare_squares(log: Path) -> Squares:
    """Squares numbers, and logs each with its process and machine."""

    def work(numbers: list[int]) -> Iterator[list[tuple[int, int]]]:
        node = ray.get_runtime_context().get_node_id()
        for place, number in enumerate(numbers):
            with log.open("a") as file:
                file.write(f"{number} {os.getpid()} {node}\n")
            time.sleep(0.05)
            yield [(place, number**2)]

    return work


def prepare_failure(_: None) -> Squares:
    def work(numbers: list[int]) -> Iterator[list[tuple[int, int]]]:
        raise ValueError(f"numbers is {numbers}")
        yield []

    return work


def prepare_death(_: None) -> Squares:
    def work(numbers: list[int]) -> Iterator[list[tuple[int, int]]]:
        if 7 in numbers:
            os.kill(os.getpid(), signal.SIGKILL)
        yield [(place, number**2) for place, number in enumerate(numbers)]

    return work


def prepare_threads(_: None) -> Squares:
    return lambda numbers: iter([[(place, get_num_threads()) for place in range(len(numbers))]])


def lines(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def square(cluster: Cluster, log: Path, count: int, disturb: Callable[[], object] = lambda: None) -> None:
    """Square numbers, call a function after twenty results, and check that each number has one result."""
    results: list[tuple[int, int]] = []
    with connect(cluster.address, quiet=True) as connected:
        assert connected is not None
        until = time.monotonic() + 60
        while connected.count_workers() != 2:  # Ray notices a lost machine after some seconds
            assert time.monotonic() < until
            time.sleep(0.2)
        done = False
        for some in connected.spread(prepare_squares, log, range(count), min_size=1, max_size=20):
            results += some
            if len(results) >= 20 and not done:
                done = True
                disturb()
    assert sorted(results) == [(number, number**2) for number in range(count)]


def test_two_machines_share_the_work(two_nodes: Cluster, tmp_path: Path) -> None:
    square(two_nodes, tmp_path / "log", 100)
    said = lines(tmp_path / "log")
    assert sorted(int(number) for number, *_ in said) == list(range(100)), "nothing is done twice"
    assert len({node for *_, node in said}) == 2
    assert len({process for _, process, _ in said}) == 2, "one worker a CPU"


def test_items_of_a_killed_worker_are_repeated(two_nodes: Cluster, tmp_path: Path) -> None:
    log = tmp_path / "log"
    square(two_nodes, log, 100, lambda: os.kill(int(lines(log)[-1][1]), signal.SIGKILL))
    assert 100 <= len(lines(log)) <= 100 + 20, "at most the chunk of that worker is done again"
    assert len({process for _, process, _ in lines(log)}) == 3


@pytest.mark.slow
def test_items_of_a_lost_machine_are_repeated(two_nodes: Cluster, tmp_path: Path) -> None:
    log = tmp_path / "log"
    [node] = two_nodes.worker_nodes
    square(two_nodes, log, 100, lambda: two_nodes.remove_node(node, allow_graceful=False))
    assert 100 <= len(lines(log)) <= 100 + 20


def test_an_error_of_a_worker_is_raised_in_the_driver(two_nodes: Cluster) -> None:
    with connect(two_nodes.address, quiet=True) as connected:
        assert connected is not None
        with pytest.raises(ValueError, match=r"^numbers is \[0, 1, 2\]$"):
            list(connected.spread(prepare_failure, None, range(3), min_size=3, max_size=3))


@pytest.mark.slow
def test_an_item_that_kills_every_worker_is_an_error(two_nodes: Cluster) -> None:
    with connect(two_nodes.address, quiet=True) as connected:
        assert connected is not None
        with pytest.raises(OSError, match=rf"{MAX_LOSSES + 1} workers in a row were lost .* \[7\]"):
            list(connected.spread(prepare_death, None, range(5, 10), min_size=1, max_size=1))


def test_a_worker_has_a_thread_for_each_of_its_cpus(two_nodes: Cluster) -> None:
    with connect(two_nodes.address, quiet=True) as connected:
        assert connected is not None
        [[(_, threads)]] = connected.spread(prepare_threads, None, [0], min_size=1, max_size=1)
    assert threads == 1


def test_a_machine_with_other_code_is_refused(two_nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.cluster.stamp_of", lambda _: "0123456789abcdef")
    with connect(two_nodes.address, quiet=True) as connected:
        assert connected is not None
        with pytest.raises(OSError, match=r"the code of solitaire_env and agents on the machine .* differs"):
            list(connected.spread(prepare_failure, None, range(3), min_size=3, max_size=3))
