"""A game that is played move by move, by a player in the terminal or by a policy."""

import re
from typing import Any, Final, NamedTuple

from solitaire_env.core.batch import Start
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation.runner import new_game_number
from solitaire_env.notation import Move, Position, parse_position
from solitaire_env.transcripts import Result, Thought, Transcript
from solitaire_env.variants import Variant

STATE_EVERY: Final = 100
"""Number of moves between two states of the environment that are kept. Undo plays the moves after a state
again; a state for each move would take four times the memory of the moves."""


class PlayedMove(NamedTuple):
    """A played move."""

    action: int
    text: str
    """Action text."""
    words: str
    """The move in words."""
    move: Move
    """The cards and piles."""
    decides: bool = True
    """Whether it started a decision; False for the second and further cards of a supermove."""
    thought: Thought | None = None
    """The thought of the policy that chose it, if it explains itself."""


class Session:
    """A game that has started in an environment; moves can be taken back.

    Parameters
    ----------
    env
        The environment, after a reset. From now on only the session may step it.
    """

    def __init__(self, env: SolitaireEnv) -> None:
        self.env = env
        self.number = new_game_number()
        """The game's number, for stateful policies."""
        self.played: list[PlayedMove] = []
        self.states: list[dict[str, Any]] = []
        """States of the environment before moves 1, 1 + :data:`STATE_EVERY`, 1 + 2 * STATE_EVERY, ..."""
        self.deal: int | str | None = env.get_state()["deal"]
        """None if the game started from a position."""
        self.start_text = env.position()
        """Position text of the start, including the stock."""

    @property
    def start(self) -> Start:
        """The start of the game: its deal or its position."""
        return parse_position(self.start_text, self.env.variant) if self.deal is None else self.deal

    @property
    def title(self) -> str:
        """The game and its start: ``Busy Aces, deal 7``."""
        return f"{self.env.variant.title}, {'from a position' if self.deal is None else f'deal {self.deal}'}"

    @property
    def decisions(self) -> int:
        """Number of decisions in the game."""
        return sum(played.decides for played in self.played)

    @property
    def last(self) -> PlayedMove | None:
        """The last move."""
        return self.played[-1] if self.played else None

    def position(self) -> Position:
        """The position as the player sees it."""
        return parse_position(self.env.position(hidden=True), self.env.variant)

    def full_position(self) -> Position:
        """The full position, including the stock."""
        return parse_position(self.env.position(), self.env.variant)

    @property
    def cards_home(self) -> int:
        """Cards on the foundations."""
        return sum(map(sum, self.position().foundations))

    @property
    def result(self) -> Result:
        """The result of the game; ``truncated`` while it is not over."""
        if self.cards_home == self.env.variant.cards:
            return "won"
        return "truncated" if self.legal() else "stuck"

    def legal(self) -> list[int]:
        """The legal actions; empty if the game is finished."""
        return self.env.legal_actions()

    def play(self, action: int, decides: bool = True, thought: Thought | None = None) -> PlayedMove:
        """Play an action; the other arguments are those of :class:`PlayedMove`.

        Raises
        ------
        IllegalActionError
            If the action is illegal. The message says why.
        """
        env = self.env
        text, words, move = env.action_text(action), env.describe_action(action), env.moved_cards(action)
        if len(self.played) == STATE_EVERY * len(self.states):
            self.states.append(env.get_state())
        env.step(action)
        self.played.append(PlayedMove(action, text, words, move, decides, thought))
        return self.played[-1]

    def go_to(self, move: int) -> None:
        """Take moves back until ``move`` moves are played. At the start, a stateful policy forgets the game.

        Raises
        ------
        ValueError
            If the game has fewer moves.
        """
        if not 0 <= move <= len(self.played):
            raise ValueError(f"move is {move}, allowed: 0 to {len(self.played)}")
        if move < len(self.played):
            known = min(move // STATE_EVERY, len(self.states) - 1)
            self.env.set_state(self.states[known])
            for played in self.played[STATE_EVERY * known : move]:
                self.env.step(played.action)
            del self.states[known + 1 :], self.played[move:]
        if move == 0:
            self.number = new_game_number()

    def transcript(self, policy: str, information: str | None = None, steps: int | None = None) -> Transcript:
        """The game up to now; ``policy`` is the name of its player."""
        thoughts = tuple(played.thought for played in self.played)
        return Transcript(
            variant=self.env.variant,
            policy=policy,
            deal=self.deal,
            result=self.result,
            cards_home=self.cards_home,
            steps=len(self.played) if steps is None else steps,
            start=self.start_text,
            actions=tuple(played.text for played in self.played),
            thoughts=thoughts if any(thoughts) else (),
            information=information,
        )


def named_deal(text: int | str) -> int | str:
    """A deal, whose number may be given as text."""
    return int(text) if isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,30}", text) else text


def new_session(variant: Variant, deal: int | str | None = None, position: str | None = None) -> Session:
    """A new game: from a deal, which may be a number as text, or from position text; else a random deal."""
    env = SolitaireEnv(variant, on_invalid="raise")
    if position is not None:
        options: dict[str, Any] = {"position": position}
    else:
        options = {} if deal is None else {"deal": named_deal(deal)}
    env.reset(options=options)
    return Session(env)
