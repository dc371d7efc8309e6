"""A game that is played move by move: in a terminal, in a window, in a browser."""

from typing import Any, NamedTuple

from solitaire_env.core.batch import Start
from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.core.layout import Action, action_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation.runner import new_game_number
from solitaire_env.notation import Move, Position, parse_position
from solitaire_env.transcripts import Result


class Played(NamedTuple):
    """A played move."""

    before: dict[str, Any]
    """State of the environment before it."""
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


class Session:
    """A game that has started in an environment, with undo and redo.

    Parameters
    ----------
    env
        The environment, after a reset. From now on only the session may step it.
    """

    def __init__(self, env: SolitaireEnv) -> None:
        self.env = env
        self.number = new_game_number()
        """The game's number, for stateful policies."""
        self.played: list[Played] = []
        self.undone: list[Played] = []
        """Undone moves; the next one to redo is last."""
        deal = env.get_state()["deal"]
        self.start: Start = self.full_position() if deal is None else deal
        """The start of the game."""

    @property
    def decisions(self) -> int:
        """Number of decisions in the game."""
        return sum(played.decides for played in self.played)

    def full_position(self) -> Position:
        """The full position, including the stock."""
        return parse_position(self.env.position(), self.env.variant)

    @property
    def line(self) -> list[Played]:
        """The moves in order, including undone ones."""
        return [*self.played, *reversed(self.undone)]

    @property
    def last(self) -> Played | None:
        """The last move."""
        return self.played[-1] if self.played else None

    def position(self) -> Position:
        """The position as the player sees it."""
        return parse_position(self.env.position(hidden=True), self.env.variant)

    @property
    def cards_home(self) -> int:
        """Cards on the foundations."""
        return sum(map(sum, self.position().foundations))

    @property
    def won(self) -> bool:
        """Whether all cards are home."""
        return self.cards_home == self.env.variant.cards

    @property
    def result(self) -> Result:
        """The result of the game; ``truncated`` while it is not over."""
        if self.won:
            return "won"
        return "truncated" if self.legal() else "stuck"

    def legal(self) -> list[int]:
        """The legal actions; empty if the game is finished."""
        return self.env.legal_actions()

    def play(self, action: int, decides: bool = True, by: str = "") -> Played:
        """Play an action; ``decides`` and ``by`` are those of :class:`Played`.

        Undone moves can still be redone if the action is the next of them; otherwise they are dropped.

        Raises
        ------
        IllegalActionError
            If the action is illegal. The message says why.
        """
        env = self.env
        played = Played(
            before=env.get_state(),
            action=action,
            text=env.action_text(action),
            words=env.describe_action(action),
            move=env.move(action),
            decides=decides,
            by=by,
        )
        env.step(action)
        self.played.append(played)
        if self.undone and self.undone[-1].action == action:
            self.undone.pop()
        else:
            self.undone.clear()
        return played

    def undo(self) -> Played:
        """Take the last move back and return it.

        Raises
        ------
        ValueError
            If no move was played.
        """
        if not self.played:
            raise ValueError("there is no move to take back")
        played = self.played[-1]
        self.go_to(len(self.played) - 1)
        return played

    def go_to(self, move: int) -> None:
        """Undo or redo moves until ``move`` moves are played.

        Raises
        ------
        ValueError
            If the game has fewer moves.
        """
        line = self.line
        if not 0 <= move <= len(line):
            raise ValueError(f"move is {move}, allowed: 0 to {len(line)}")
        if move < len(self.played):
            self.env.set_state(self.played[move].before)
        for played in line[len(self.played) : move]:
            self.env.step(played.action)
        self.played, self.undone = line[:move], line[move:][::-1]

    def moves_home(self) -> list[int]:
        """The moves that win the game, if all cards are visible and only moves home are left; otherwise
        empty.
        """
        layout = action_layout(self.env.variant)

        def next_home(env: SolitaireEnv) -> int | None:
            return next((a for a in env.legal_actions() if layout.decode(a).kind == "home"), None)

        position = self.position()
        move = next_home(self.env)
        if move is None or any(FACE_DOWN in pile for pile in (position.stock, *position.tableau)):
            return []
        trial = SolitaireEnv(self.env.variant)
        trial.set_state(self.env.get_state())
        moves: list[int] = []
        won = False
        while move is not None:
            moves.append(move)
            won = bool(trial.step(move)[-1]["is_success"])
            move = next_home(trial)
        return moves if won else []

    def hint(self) -> int | None:
        """A sensible legal action, None if there is none. It evaluates single moves and is no solver.

        The order is: home, onto a pile, draw, redeal, to a space, to a cell, back from a foundation. Moves
        that can be undone by the next move come after these; moves that repeat a position of this game come
        last. A move that turns a card up cannot be undone: it shows a new card.
        """
        env = self.env
        layout = action_layout(env.variant)
        piles = layout.rules.piles
        seen = {tuple(played.before["row"]) for played in self.played}
        tableau = self.position().tableau
        counted = layout.rules.tableau_counts > 1
        trial = SolitaireEnv(env.variant)
        here = env.get_state()

        def badness(number: int) -> tuple[bool, bool, int]:
            action = layout.decode(number)
            trial.set_state(here)
            trial.step(number)
            undone = False
            if action.source < piles and action.kind in ("tableau", "space"):
                target = tableau.index(()) if action.kind == "space" else action.target
                count = len(env.move(number).cards)
                below = tableau[action.source][:-count]
                back = Action("tableau", target, action.source, count if counted else 1)
                turned = below[-1:] == (FACE_DOWN,)
                undone = not turned and bool(trial.action_masks()[layout.encode(back)])
            kinds = ("home", "tableau", "draw", "redeal", "space", "cell", "worry")
            order = kinds.index(action.kind)
            return tuple(trial.get_state()["row"]) in seen, undone, order

        return min(self.legal(), key=badness, default=None)
