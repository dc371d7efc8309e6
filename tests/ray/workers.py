"""A cluster of one machine with two CPUs, whose workers begin with nothing compiled; a script for the tests.

It prints, for workers of one CPU and of two: how many there were, the threads of each, and how many functions
they compiled together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import numpy as np
from ray.cluster_utils import Cluster

from agents.cluster import connect
from solitaire_env.core import Batch, GameSpec, get_num_threads, on_compiled
from solitaire_env.variants import get_variant

Said = tuple[int, int, int]
"""Process, threads of its kernels, and functions that it compiled."""


def prepare_deals(_: None) -> Callable[[list[int]], Iterator[list[tuple[int, Said]]]]:
    compiled: list[None] = []
    on_compiled(lambda: compiled.append(None))

    def work(deals: list[int]) -> Iterator[list[tuple[int, Said]]]:
        for place, deal in enumerate(deals):
            batch = Batch(GameSpec(get_variant("busy-aces")), 2)
            batch.deal(np.arange(2), [deal, deal + 1])
            time.sleep(0.1)
            yield [(place, (os.getpid(), get_num_threads(), len(compiled)))]

    return work


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    for cpus in (1, 2):
        with connect(cluster.address, cpus, quiet=True) as connected:
            assert connected is not None
            said = [
                one
                for some in connected.spread(prepare_deals, None, range(40), min_size=1, max_size=4)
                for _, one in some
            ]
        counts = {process: max(n for p, _, n in said if p == process) for process, *_ in said}
        threads = {threads for _, threads, _ in said}
        print(len(counts), *threads, sum(counts.values()))
    cluster.shutdown()


if __name__ == "__main__":
    main()
