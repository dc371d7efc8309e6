"""A cluster of one machine with two CPUs; a script for the tests.

It prints, for workers of one CPU and of two: how many there were, and the threads of each.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from ray.cluster_utils import Cluster

from agents.cluster import connect
from solitaire_env.core import get_num_threads

Said = tuple[int, int]
"""Process, and threads of its kernels."""


def prepare(_: None) -> Callable[[list[int]], Iterator[list[tuple[int, Said]]]]:
    def work(items: list[int]) -> Iterator[list[tuple[int, Said]]]:
        for place in range(len(items)):
            time.sleep(0.1)
            yield [(place, (os.getpid(), get_num_threads()))]

    return work


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    for cpus in (1, 2):
        with connect(cluster.address, cpus, quiet=True) as connected:
            assert connected is not None
            said = {
                one
                for some in connected.spread(prepare, None, range(40), min_size=1, max_size=4)
                for _, one in some
            }
        print(len({process for process, _ in said}), *{threads for _, threads in said})
    cluster.shutdown()


if __name__ == "__main__":
    main()
