"""Watching: an adviser plays a game, in a terminal move by move."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import PlayedMove, Session
from solitaire_env.registration import step_limit
from solitaire_env.transcripts import Transcript, format_thought

_ENTER: Final = "\033[?1049h\033[?25l\033[?7l"
"""Switch to the terminal's alternate screen, without a cursor; long lines are cut."""
_LEAVE: Final = "\033[?7h\033[?25h\033[?1049l"


class WatchedGame:
    """A game that an adviser plays, move by move.

    Parameters
    ----------
    session
        A new game.
    adviser
        The policy that plays.
    limit
        Maximum number of moves; by default the registered step limit.
    """

    def __init__(self, session: Session, adviser: Adviser, limit: int | None = None) -> None:
        self.session = session
        self.adviser = adviser
        self.limit = limit or step_limit(session.env.variant)
        self.cycles = False
        """Whether a deterministic policy has repeated a position, so that it would cycle."""

    def play(self) -> Iterator[PlayedMove]:
        """Play to the end; yield each move after it is played."""
        session = self.session
        seen: set[str] = set()
        while len(session.played) < self.limit and not self.cycles:
            position = session.env.position()
            self.cycles = self.adviser.deterministic and position in seen
            seen.add(position)
            advice = self.adviser.advise(session)
            if advice is None:
                return
            for number, action in enumerate(advice.actions[: self.limit - len(session.played)]):
                thought = None if number else advice.thought
                yield session.play(action, decides=number == 0, thought=thought)

    def summary(self) -> str:
        """The result of the game, in one line."""
        session = self.session
        moves, result = len(session.played), session.result
        if result == "won":
            return f"Won in {moves} moves."
        after = f"after {moves} moves, {session.cards_home} of {session.env.variant.cards} cards home"
        if result == "stuck":
            return f"Stuck {after}: no move is legal."
        if self.cycles:
            return f"Truncated {after}: {self.adviser.name} repeated a position and would cycle."
        return f"Truncated {after}: the step limit." if moves >= self.limit else f"Stopped {after}."

    def transcript(self) -> Transcript:
        """The game up to now."""
        cycles = self.cycles and self.session.result == "truncated"
        adviser = self.adviser
        return self.session.transcript(adviser.name, adviser.information, self.limit if cycles else None)


def watch_in_terminal(watched: WatchedGame, fps: float, draw: Callable[[], str]) -> None:
    """Play a game on the terminal's alternate screen, ``fps`` moves per second; ``draw`` returns the
    board.
    """
    sys.stdout.write(_ENTER)
    try:
        _show(_frame(watched, draw()))
        due = time.monotonic() + 1 / fps
        for _ in watched.play():
            time.sleep(max(0.0, due - time.monotonic()))
            _show(_frame(watched, draw()))
            due = max(due, time.monotonic()) + 1 / fps
        time.sleep(max(0.0, due - time.monotonic()))
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


def _show(lines: list[str]) -> None:
    """Draw a frame over the last one in a single write, so that nothing flickers."""
    rows = shutil.get_terminal_size().lines
    if len(lines) > rows:
        missing = len(lines) - rows + 1
        lines = [*lines[: rows - 1], f"... {missing} more lines: the terminal is too small"]
    sys.stdout.write("\033[H" + "\033[K\r\n".join(lines) + "\033[K\033[J")
    sys.stdout.flush()


def _frame(watched: WatchedGame, board: str) -> list[str]:
    """The lines of a frame: player and last move, the thought before it, and the board."""
    played = watched.session.played
    head = f"{watched.adviser.name}, move {len(played)}"
    if played:
        head += f": {played[-1].words} ({played[-1].text})"
    lines = [head]
    if watched.adviser.explains:
        thought = next((move.thought for move in reversed(played) if move.thought), None)
        # Always a line, so that the board does not move.
        lines.append(format_thought(thought) if thought else "")
    return [*lines, "", *board.split("\n")]
