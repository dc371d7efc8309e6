"""Benchmarks; not part of the package."""

from typing import Final

GAMES: Final = (
    "forty-thieves",
    "eighty-thieves",
    "eights-down",
    "forty-bandits",
    "busy-aces",
    "klondike-draw-3",
    "yukon",
    "freecell",
)
"""Default games of the benchmarks."""
