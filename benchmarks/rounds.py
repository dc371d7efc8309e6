"""Contestants that alternate in rounds, so that other load on the machine affects all of them equally."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from solitaire_env.util.progress import ProgressLine


class Contestant(NamedTuple):
    """A benchmark whose speed is measured."""

    name: str
    steps: int
    """Number of environment steps, or rows, in a pass."""
    run: Callable[[], float]
    """Run a pass; return its seconds."""
    peer: bool = False
    """Whether it is of another library."""


class Speed(NamedTuple):
    """Steps per second of one contestant."""

    median: float
    slowest: float
    fastest: float


def speed_of(rates: Sequence[float]) -> Speed:
    """The speed from the rates of some rounds."""
    return Speed(median(rates), min(rates), max(rates))


Speeds = Mapping[str, Speed]
"""Speeds of the contestants, by name."""


def take_turns(
    contestants: Sequence[Contestant], rounds: int, seconds: float, *, quiet: bool = False
) -> dict[str, Speed]:
    """The speed of each contestant over some rounds, each with passes for at least ``seconds``.

    The first pass of each, which loads code and fills caches, does not count.
    """
    rates: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    line = ProgressLine(quiet)
    turns = (1 + rounds) * len(contestants)
    for number in range(rounds + 1):
        for place, contestant in enumerate(contestants):
            about = f"round {number} of {rounds}" if number else "first passes"
            line.count(number * len(contestants) + place, turns, f"{about}, {contestant.name}")
            passes, spent = 0, 0.0
            while not passes or (number and spent < seconds):
                spent += contestant.run()
                passes += 1
            if number:
                rates[contestant.name].append(passes * contestant.steps / spent)
    line.close()
    return {name: speed_of(of_one) for name, of_one in rates.items()}
