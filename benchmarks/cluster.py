"""Workers of a Ray cluster against plain processes, on the same cores: ``python -m benchmarks.cluster``.

Both play the same deals with the same policies, alternately: each plain process an equal share, the workers
of a new cluster on this machine the chunks that they get. Starting, compiling and loading are not measured.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import tyro

from agents.cluster import Cluster, connect
from agents.config import make_config
from agents.reports.compare import play_policy
from agents.reports.tables import table
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.util.cores import processor, usable_cores
from solitaire_env.util.progress import ProgressLine

WARM_UP: Final = "1000:1256"
"""Deals that are played before timing."""
DEALS: Final = {"random": 8192, "greedy": 32768, "linear": 8192, "shipped": 3072}
"""Deals in a round, which take up to a minute; 256 for other policies. The last games of a chunk are few at a
time, so a cluster loses more of a short round."""


@dataclass
class Arguments:
    """Compare workers of a Ray cluster with plain processes."""

    policies: tuple[str, ...] = ("greedy", "linear", "shipped")
    """Policies that play."""
    env: str = "busy-aces"
    """Gymnasium id, or name of a variant."""
    scale: float = 1.0
    """Factor of the number of deals in a round."""
    processes: int = 2
    """Number of plain processes, and of workers with one CPU."""
    rounds: int = 3
    """Number of rounds; the result is the median."""
    plain: bool = False
    """Run as one of the plain processes: play the deals of each line of stdin, and print the seconds."""


def play(policy: str, env: str, deals: str, cluster: Cluster | None = None) -> float:
    """Play deals; return the seconds."""
    config = make_config({"env": env, "eval_deals": deals}, "benchmark")
    start = time.perf_counter()
    play_policy(policy, config, None, ProgressLine(True), cluster=cluster)
    return time.perf_counter() - start


def serve(a: Arguments) -> int:
    """Main function of a plain process."""
    for line in sys.stdin:
        policy, deals = line.split()
        print(play(policy, a.env, deals), flush=True)
    return 0


class Plain:
    """The plain processes."""

    def __init__(self, a: Arguments) -> None:
        command = [sys.executable, "-m", "benchmarks.cluster", "--plain", "--env", a.env]
        one_thread = {"SOLITAIRE_ENV_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.processes = [
            subprocess.Popen(
                command, cwd=Path(__file__).parents[1], env={**os.environ, **one_thread}, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )
            for _ in range(a.processes)
        ]  # fmt: skip

    def play(self, policy: str, deals: str) -> float:
        """Let each play its share of FIRST:END; return the longest time in seconds."""
        numbers = parse_deals(deals)
        first, n = int(numbers[0]), len(numbers)
        ends = [first + n * k // len(self.processes) for k in range(len(self.processes) + 1)]
        for process, begin, end in zip(self.processes, ends, ends[1:], strict=False):
            assert process.stdin is not None
            process.stdin.write(f"{policy} {begin}:{end}\n")
            process.stdin.flush()
        seconds = []
        for process in self.processes:
            assert process.stdout is not None
            seconds.append(float(process.stdout.readline()))
        return max(seconds)

    def end(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.communicate()


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = tyro.cli(Arguments, args=args, prog="python -m benchmarks.cluster")
    if a.plain:
        return serve(a)
    rows = []
    load = os.getloadavg()[0]
    plain = Plain(a)
    line = ProgressLine()
    with connect("local", quiet=True) as cluster:
        assert cluster is not None
        if cluster.count_workers() != a.processes:
            raise ValueError(f"processes is {a.processes}, allowed here: {cluster.count_workers()}")
        for policy in a.policies:
            count = int(a.scale * DEALS.get(policy, 256))
            times: tuple[list[float], list[float]] = ([], [])
            for number in range(a.rounds + 1):
                deals = f"0:{count}" if number else WARM_UP
                line.count(number, a.rounds, f"{policy}, round {number} of {a.rounds}")
                for seconds, of_one in zip(
                    (plain.play(policy, deals), play(policy, a.env, deals, cluster)), times, strict=True
                ):
                    if number:
                        of_one.append(seconds)
            alone, together = (count / median(of_one) for of_one in times)
            rows.append([policy, f"{count}", f"{alone:.1f}", f"{together:.1f}", f"{together / alone:.2f}"])
    line.close()
    plain.end()
    print(f"{a.env}, median of {a.rounds} rounds; games a second\n")
    print(table(["policy", "deals", f"{a.processes} processes", f"{a.processes} workers", "ratio"], rows))
    print(f"\n{processor()}, {usable_cores()} cores; load before the start {load:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
