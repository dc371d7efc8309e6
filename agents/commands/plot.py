"""Draw learning curves: ``python -m agents plot runs/busy-aces-1 runs/busy-aces-2 -o curves.png``.

The picture is described in :mod:`agents.results.plots`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from agents.results.plots import plot
from solitaire_env.util.command_line import parse, run_command


@dataclass
class Arguments:
    """Draw the learning curves of runs."""

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(name="RUN", metavar="RUN...")]
    """Run folders, or folders of runs."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = Path("curve.png")
    """The picture, .png or .svg."""
    trust_model: bool = False
    """Import the modules of custom variants that the runs name, which can run any code."""


def run(a: Arguments) -> int:
    """Draw; the exit status."""
    if a.out.suffix not in (".png", ".svg"):
        raise ValueError(f"out is {str(a.out)!r}, allowed: a file .png or .svg")
    if not plot(a.paths, a.out, trust=a.trust_model):
        raise ValueError(f"{', '.join(map(str, a.paths))}: nothing to draw: no game has ended yet")
    print(a.out)
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents plot")
    return run_command(lambda: run(a))
