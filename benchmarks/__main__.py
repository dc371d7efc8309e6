"""Speed and size of the environments, compared with other libraries in the same run.

::

    python -m benchmarks                                      our environments
    python -m benchmarks --parts vector                       the vector environment only
    python -m benchmarks --peers --out benchmarks/results     with the other libraries, if installed
"""

import sys
from collections.abc import Sequence
from datetime import date
from itertools import chain
from typing import Final

from benchmarks import peers
from benchmarks.chart import draw
from benchmarks.parts import Arguments, make_parts
from benchmarks.rounds import take_turns
from benchmarks.speed import TIMED, machine
from benchmarks.table import HEAD, markdown, short
from solitaire_env.util.command_line import parse

PROG: Final = "python -m benchmarks"


def main(args: Sequence[str] | None = None) -> int:
    """Run the benchmarks that the command line selects, and print the table; the exit code."""
    arguments = parse(Arguments, args, PROG)
    try:
        parts = make_parts(arguments)
        if arguments.out is not None:
            arguments.out.mkdir(parents=True, exist_ok=True)
    except (ValueError, ImportError, MemoryError, OSError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 2
    contestants = list(chain.from_iterable(part.contestants for part in parts))
    speeds = take_turns(contestants, arguments.rounds, arguments.seconds, quiet=arguments.quiet)
    rows = list(chain.from_iterable(part.rows(speeds) for part in parts))
    text = f"{markdown(HEAD, rows)}\n\n{description(arguments)}"
    print(text)
    if arguments.out is not None:
        every = [[name, *map(short, speed)] for name, speed in speeds.items()]
        all_speeds = markdown(("steps/s", "median", "slowest round", "fastest round"), every)
        (arguments.out / "table.md").write_text(f"{text}\n\n{all_speeds}\n", encoding="utf-8")
        charted = list(chain.from_iterable(part.contestants for part in parts if part.charted))
        size = f"{arguments.num_envs:,} environments (gym.make, OpenSpiel: one), {arguments.threads} threads"
        if charted:
            draw(arguments.out / "throughput.png", charted, speeds, f"{size}, {today()}")
    return 0


def description(arguments: Arguments) -> str:
    """Date, method and machine of the measurements."""
    lines = [
        f"{today()}. {arguments.num_envs:,} environments and {arguments.threads} threads unless "
        f"the row says otherwise. Rounds in which all take turns: {arguments.rounds}; the median counts.",
        *TIMED.splitlines(),
        machine(),
    ]
    if arguments.peers:
        lines.append(f"Peers: {peers.versions()}")
    return "\n".join(lines)


def today() -> str:
    """The date, such as 21 November 2026."""
    return f"{date.today():%-d %B %Y}"


if __name__ == "__main__":
    sys.exit(main())
