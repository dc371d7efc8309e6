"""A game that is played move by move, in the terminal or in the browser, by a player or by a policy."""

import re
import secrets
from threading import Lock
from typing import Any, Final, NamedTuple

from solitaire_env.core.batch import Start
from solitaire_env.core.layout import action_layout
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
    by: str = ""
    """The policy that chose it; empty for the player's own moves."""
    thought: Thought | None = None
    """The thought of that policy, if it explains itself."""


class Session:
    """A game that has started in an environment, with undo and redo.

    Parameters
    ----------
    env
        The environment, after a reset. From now on only the session may step it.
    """

    def __init__(self, env: SolitaireEnv) -> None:
        self.env = env
        self.id = secrets.token_urlsafe(12)
        """A name that cannot be guessed."""
        self.lock = Lock()
        """For callers in several threads."""
        self.number = new_game_number()
        """The game's number, for stateful policies."""
        self.played: list[PlayedMove] = []
        self.undone: list[PlayedMove] = []
        """Undone moves; the next one to redo is last."""
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
    def line(self) -> list[PlayedMove]:
        """The moves in order, including undone ones."""
        return [*self.played, *reversed(self.undone)]

    @property
    def moves_known(self) -> int:
        """Number of the moves, including undone ones."""
        return len(self.played) + len(self.undone)

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

    def play(
        self, action: int, decides: bool = True, by: str = "", thought: Thought | None = None
    ) -> PlayedMove:
        """Play an action; the other arguments are those of :class:`PlayedMove`.

        Undone moves can still be redone if the action is the next of them; otherwise they are dropped.

        Raises
        ------
        IllegalActionError
            If the action is illegal. The message says why.
        """
        env = self.env
        text, words, move = env.action_text(action), env.describe_action(action), env.moved_cards(action)
        played = PlayedMove(action, text, words, move, decides, by, thought)
        number = len(self.played)
        if self.undone and self.undone[-1].action == action:
            self.undone.pop()
        else:
            self.undone.clear()
            del self.states[number // STATE_EVERY + 1 :]
        if number == STATE_EVERY * len(self.states):
            self.states.append(env.get_state())
        env.step(action)
        self.played.append(played)
        return played

    def go_to(self, move: int) -> None:
        """Undo or redo moves until ``move`` moves are played. At the start, a stateful policy forgets the
        game.

        Raises
        ------
        ValueError
            If the game has fewer moves.
        """
        line = self.line
        if not 0 <= move <= len(line):
            raise ValueError(f"move is {move}, allowed: 0 to {len(line)}")
        known = min(move // STATE_EVERY, len(self.states) - 1)
        first = len(self.played)
        if not STATE_EVERY * known <= first <= move:
            self.env.set_state(self.states[known])
            first = STATE_EVERY * known
        for played in line[first:move]:
            self.env.step(played.action)
        self.played, self.undone = line[:move], line[move:][::-1]
        if move == 0:
            self.number = new_game_number()

    def finish(self) -> list[int]:
        """The moves home that win the game without any other move; empty if there are none."""
        env, before, moves = self.env, self.env.get_state(), []
        kinds = action_layout(env.variant).offsets["home"]
        while home := [action for action in self.legal() if action in range(kinds.start, kinds.stop)]:
            env.step(home[0])
            moves.append(home[0])
        won = self.result == "won"
        env.set_state(before)
        return moves if won else []

    @property
    def player(self) -> str:
        """The name of the player, with the policies that helped."""
        helpers = dict.fromkeys(played.by for played in self.played if played.by)
        return f"human with {', '.join(helpers)}" if helpers else "human"

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
