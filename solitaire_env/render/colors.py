"""The colors of all pictures."""

from typing import Final

TABLE: Final = "#1d5c43"
FACE: Final = "#fdfdf8"
DOWN_FACE: Final = "#b9c6e2"
"""Color of a face-down card that is known."""
EDGE: Final = "#6f7a74"
RED: Final = "#c01820"
BLACK: Final = "#161616"
BACK: Final = "#2c4f93"
BACK_LINES: Final = "#8fa9dc"
PLACE: Final = "#5f9a80"
EMPTY_PLACE: Final = "#195139"
CAPTION: Final = "#ffffff"
NAME: Final = "#c4dfd2"
MARK: Final = "#ffb400"
"""Of the last move."""
