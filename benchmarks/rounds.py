"""Contestants that take turns in rounds, so that whatever else the machine does meets each of them alike."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from solitaire_env.util.progress import ProgressLine


class Contestant(NamedTuple):
    """Something whose speed is measured."""

    name: str
    steps: int
    """Environment steps, or rows, in a pass."""
    run: Callable[[], float]
    """Run a pass; the seconds that it took."""
    peer: bool = False
    """Whether it is another library's."""


class Speed(NamedTuple):
    """Steps a second of one contestant."""

    median: float
    slowest: float
    fastest: float


def speed_of(rates: Sequence[float]) -> Speed:
    """The speed that the rates of some rounds come to."""
    return Speed(median(rates), min(rates), max(rates))


Speeds = Mapping[str, Speed]
"""Of each contestant, by its name."""


def take_turns(
    contestants: Sequence[Contestant], rounds: int, seconds: float, *, quiet: bool = False
) -> dict[str, Speed]:
    """The speed of each contestant over some rounds, in which each runs passes for ``seconds`` at least.

    A first pass of each, which compiles and fills caches, does not count.
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
