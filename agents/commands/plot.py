"""Draw results: ``python -m agents plot runs/busy-aces-1 runs/busy-aces-2 -o pictures``.

The pictures are described in :mod:`agents.reports.plots`.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from agents.commands.options import run_command
from agents.reports.plots import plot


@dataclass
class Arguments:
    """Draw learning curves, win rates, and where games end."""

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(name="RUN", metavar="RUN...")]
    """Run folders, folders of runs, or JSON-lines files that agents.evaluate --games wrote."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Folder for the pictures; by default that of the run, or "pictures" for more than one."""
    format: Literal["png", "svg"] = "png"
    """Format of the pictures."""
    quiet: tyro.conf.FlagCreatePairsOff[bool] = False
    """Hide the progress line."""


def run(a: Arguments) -> int:
    """Draw, and print the paths of the pictures; the exit status."""
    single = len(a.paths) == 1 and (a.paths[0] / "config.yaml").is_file()
    folder = a.out or (a.paths[0] if single else Path("pictures"))
    written = plot(a.paths, folder, a.format, quiet=a.quiet)
    if not written:
        raise ValueError(f"{', '.join(map(str, a.paths))}: nothing to draw: no game has ended yet")
    print(*written, sep="\n")
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = tyro.cli(Arguments, args=args, prog="python -m agents plot")
    return run_command(lambda: run(a))


if __name__ == "__main__":
    sys.exit(main())
