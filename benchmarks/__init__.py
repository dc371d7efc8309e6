"""Measurements, apart from the package."""

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
"""The games that are measured unless others are named."""
