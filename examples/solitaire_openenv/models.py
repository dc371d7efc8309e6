"""What clients send and receive."""

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class SolitaireAction(Action):
    """The answer of a player."""

    answer: str = Field(description="A move such as draw or t3>f; among other moves marked, as in move: t3>f")


class SolitaireObservation(Observation):
    """The game after an answer. The rewards of a won game sum to 1."""

    text: str = Field(description="The board and the legal moves, or why the answer was not played")
    rules: str = Field(default="", description="After a reset: the rules of the game and how to answer")
    cards_home: int = Field(default=0, description="Cards on the foundations")
    won: bool = Field(default=False, description="Whether the game is won")
