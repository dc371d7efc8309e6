"""Steps per second of training, compared with another commit in the same run.

::

    python -m benchmarks.learning --against ../before                      the six configurations
    python -m benchmarks.learning --against ../before --configs default    one of them

``../before`` is a clone of another commit with its own environment (``make env`` there). Each side runs
``python -m agents.train`` with its own configuration file, alternately; the speed is that of the learning
curve after the first update. Games on held-out deals, which only choose the best network, are not played.
"""

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.speed import machine
from benchmarks.table import markdown
from solitaire_env.util.command_line import parse

PROG: Final = "python -m benchmarks.learning"
ROOT: Final = Path(__file__).parents[1]
CONFIGS: Final = ("default", "busy-aces", "forty-thieves", "eighty-thieves", "forty-bandits", "eights-down")


@dataclass
class Arguments:
    """Compare the steps per second of training with another commit."""

    against: Path
    """Clone of the other commit, with its environment in ``.venv``."""
    configs: tuple[str, ...] = CONFIGS
    """Names of the files in ``configs/``."""
    minutes: float = 1.5
    """Minutes of each training."""
    rounds: int = 1
    """Number of rounds, in which the two alternate; the result is the median."""
    threads: int = 2
    """Threads of each training."""


def train(checkout: Path, config: str, arguments: Arguments) -> float:
    """Steps per second of one training."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                ".venv/bin/python", "-m", "agents.train", f"configs/{config}.yaml", "--runs", folder,
                "--minutes", str(arguments.minutes), "--total-steps", "None",
                "--threads", str(arguments.threads), "--eval-deals", "0", "--quiet",
                "--value-warmup-steps", "0", "--held-out-deals", "None",
            ],
            cwd=checkout, check=True, stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": "", "SOLITAIRE_ENV_QUIET": "1"},
        )  # fmt: skip
        [curve] = Path(folder).glob("*/curve.csv")
        with curve.open(encoding="utf-8", newline="") as file:
            rows = [(int(row["steps"]), 60 * float(row["minutes"])) for row in csv.DictReader(file)]
    (first, begun), (last, ended) = rows[0], rows[-1]
    if len(rows) < 3:
        raise ValueError(
            f"{checkout}: {config} made {len(rows)} updates in {arguments.minutes} minutes, allowed: at "
            "least 3; raise --minutes"
        )
    return (last - first) / (ended - begun)


def compare(config: str, arguments: Arguments) -> list[str]:
    """A row of the table."""
    before, now = [], []
    for _ in range(arguments.rounds):
        before.append(train(arguments.against, config, arguments))
        now.append(train(ROOT, config, arguments))
    ratio = median(new / old for old, new in zip(before, now, strict=True))
    return [config, f"{median(before):,.0f}", f"{median(now):,.0f}", f"{ratio:.2f}"]


def main(args: Sequence[str] | None = None) -> int:
    """Measure and print the table; the exit status."""
    arguments = parse(Arguments, args, PROG)
    rows = []
    try:
        for config in arguments.configs:
            rows.append(compare(config, arguments))
            print(" ".join(rows[-1]), file=sys.stderr)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 2
    print(markdown(("configuration", "before, steps/s", "now, steps/s", "ratio"), rows))
    print(f"\n{arguments.rounds} rounds of {arguments.minutes} minutes, {arguments.threads} threads each.")
    print(machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
