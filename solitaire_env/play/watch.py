"""Watching: a policy plays a game in a terminal, in a window or into a video."""

import contextlib
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import Played, Session
from solitaire_env.registration import step_limit
from solitaire_env.transcripts import Thought, Transcript, format_thought

HINTS: Final = "hints"
"""Name of the player without a policy: the built-in hints."""
VIDEOS: Final = (".mp4", ".gif")
_ENTER: Final = "\033[?1049h\033[?25l\033[?7l"
"""Switch to the terminal's alternate screen, without a cursor; long lines are cut."""
_LEAVE: Final = "\033[?7h\033[?25h\033[?1049l"


class Turn(NamedTuple):
    """A played move and its thought."""

    played: Played
    thought: Thought | None
    """The policy's thought before it; None for the second and further cards of a supermove."""


class WatchedGame:
    """A game that a policy plays, move by move.

    Parameters
    ----------
    session
        The game; the policy continues from its current position.
    adviser
        The policy; without one the built-in hints play.
    limit
        Maximum number of moves; by default the registered step limit.
    """

    def __init__(self, session: Session, adviser: Adviser | None, limit: int | None = None) -> None:
        self.session = session
        self.adviser = adviser
        self.name = HINTS if adviser is None else adviser.name
        self.explains = adviser is not None and adviser.policy.explains
        self.limit = limit or step_limit(session.env.variant)
        self.start = session.env.position()
        self.turns: list[Turn] = []
        self.cycles = False
        """Whether a deterministic policy has repeated a position, so that it would cycle."""

    def play(self) -> Iterator[Turn]:
        """Play to the end; yield each turn after it is played."""
        session = self.session
        deterministic = self.adviser is not None and self.adviser.policy.deterministic
        seen: set[str] = set()
        while session.legal() and len(self.turns) < self.limit and not self.cycles:
            position = session.env.position()
            self.cycles = deterministic and position in seen
            seen.add(position)
            for number, (action, thought) in enumerate(self._choose()[: self.limit - len(self.turns)]):
                self.turns.append(Turn(session.play(action, decides=number == 0), thought))
                yield self.turns[-1]

    def _choose(self) -> list[tuple[int, Thought | None]]:
        """The next actions; the first one has the thought."""
        if self.adviser is None:
            hint = self.session.hint()
            assert hint is not None  # play() calls this only if an action is legal
            return [(hint, None)]
        advice = self.adviser.advise(self.session)
        assert advice is not None
        first, *others = advice.actions
        return [(first, advice.thought), *((action, None) for action in others)]

    def summary(self) -> str:
        """The result of the game, in one line."""
        moves = len(self.turns)
        result = self.session.result
        if result == "won":
            return f"Won in {moves} moves."
        after = (
            f"after {moves} moves, {self.session.cards_home} of {self.session.env.variant.cards} cards home"
        )
        if result == "stuck":
            return f"Stuck {after}: no move is legal."
        if self.cycles:
            return f"Truncated {after}: {self.name} repeated a position and would cycle."
        return f"Truncated {after}: the step limit." if moves >= self.limit else f"Stopped {after}."

    def transcript(self) -> Transcript:
        """The game up to now."""
        session, result = self.session, self.session.result
        thoughts = tuple(turn.thought for turn in self.turns)
        return Transcript(
            variant=session.env.variant,
            policy=self.name,
            deal=session.env.get_state()["deal"],
            result=result,
            cards_home=session.cards_home,
            steps=self.limit if self.cycles and result == "truncated" else len(self.turns),
            start=self.start,
            actions=tuple(turn.played.text for turn in self.turns),
            thoughts=thoughts if any(thoughts) else (),
            information="player" if self.adviser is None else self.adviser.information,
        )


def watch_in_terminal(watched: WatchedGame, fps: float, draw: Callable[[], str]) -> None:
    """Play a game on the terminal's alternate screen, ``fps`` moves per second; ``draw`` returns the
    board.
    """
    with _other_screen():
        _show(_frame(watched, draw()))
        due = time.monotonic() + 1 / fps
        for _ in watched.play():
            time.sleep(max(0.0, due - time.monotonic()))
            _show(_frame(watched, draw()))
            due = max(due, time.monotonic()) + 1 / fps
        time.sleep(max(0.0, due - time.monotonic()))


def watch_in_window(watched: WatchedGame, fps: float) -> None:
    """Play a game in a window, ``fps`` moves per second, until the user closes it or presses q or Escape.

    The environment must have ``render_mode="rgb_array"``.
    """
    from solitaire_env.render import need

    need("pygame", "a window")
    from solitaire_env.render.screen import Screen, pygame

    env = watched.session.env
    screen = Screen(f"{env.variant.title}, {watched.name}")

    def is_open(patience: int = 0) -> bool:
        """Handle events; return whether the window is still open."""
        for event in screen.events(patience):
            if event.type == pygame.KEYDOWN and event.key in (pygame.K_q, pygame.K_ESCAPE):
                screen.close()
        return not screen.closed

    try:
        screen.show(env.render())
        due = time.monotonic() + 1 / fps
        for _ in watched.play():
            while (left := due - time.monotonic()) > 0 and is_open(patience=max(1, round(1000 * left))):
                pass
            if not is_open():
                return
            screen.show(env.render())
            due = max(due, time.monotonic()) + 1 / fps
        while is_open(patience=1000):
            pass
    finally:
        screen.close()


def write_video(
    watched: WatchedGame, path: Path, fps: float, show: Callable[[], object] = lambda: None
) -> None:
    """Play a game and write it as a video, mp4 or gif by the file name; the last frame stays for 2 seconds.

    The file is written atomically. The environment must have ``render_mode="rgb_array"``. ``show`` is called
    after each move.
    """
    from solitaire_env.render import need

    kind = path.suffix.lower()
    if kind not in VIDEOS:
        raise ValueError(f"video is {str(path)!r}, allowed: a file name that ends in {' or '.join(VIDEOS)}")
    need("imageio", "a video")
    if kind == ".mp4":
        need("imageio_ffmpeg", "an mp4 video")
    from imageio.v2 import get_writer

    options: dict[str, Any] = {"duration": 1000 / fps, "loop": 0}
    if kind == ".mp4":
        options = {"fps": fps, "macro_block_size": 2}
    env = watched.session.env
    # imageio reads the format from the end of the name.
    with TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder, path.name)
        video: Any
        with get_writer(part, **options) as video:
            video.append_data(env.render())
            for _ in watched.play():
                video.append_data(env.render())
                show()
            for _ in range(round(2 * fps)):
                video.append_data(env.render())
        part.replace(path)


@contextlib.contextmanager
def _other_screen() -> Iterator[None]:
    sys.stdout.write(_ENTER)
    try:
        yield
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
    head = f"{watched.name}, move {len(watched.turns)}"
    if watched.turns:
        played = watched.turns[-1].played
        head += f": {played.words} ({played.text})"
    lines = [head]
    if watched.explains:
        thought = next((turn.thought for turn in reversed(watched.turns) if turn.thought), None)
        whole = format_thought(thought) if thought else ""
        # It is broken only between its parts, and always has two lines, so that the board does not move.
        parts = textwrap.wrap(
            whole.replace(" ", "\u00a0").replace(";\u00a0", "; "), shutil.get_terminal_size().columns
        )
        lines += [part.replace("\u00a0", " ") for part in [*parts, "", ""][:2]]
    return [*lines, "", *board.split("\n")]
