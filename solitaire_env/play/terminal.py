"""A game in a terminal: its board, and play by typed moves."""

import contextlib
import os
import re
import sys
import textwrap
from shlex import quote

from solitaire_env.core.variant import HOUSE_RULES
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import Session
from solitaire_env.render.ansi import render_ansi
from solitaire_env.variants import get_variant

NO_MOVE = "no move is legal; u takes a move back"
HELP = (
    "? or help lists the legal moves, h or hint gives a hint, u or undo takes a move back, q or quit quits."
)


def board(session: Session, words: bool = True) -> str:
    """The board as text, with the last move marked and described in the last line."""
    last = session.last
    caption = f"{last.words} ({last.text})" if last is not None and words else None
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return render_ansi(session.position(), caption, color=color, move=last and last.move)


def print_continuation(session: Session, game: str) -> None:
    """Print how to continue the game, without the order of a hidden stock. ``game`` is its name as given."""
    variant = session.env.variant
    own = get_variant(variant.name)
    rules = "".join(
        f' --{rule} "{getattr(variant, rule)}"'
        for rule in HOUSE_RULES
        if getattr(variant, rule) != getattr(own, rule)
    )
    start = "--position FILE" if session.deal is None else f"--deal {session.deal}"
    print(f"To continue: python -m solitaire_env play {quote(game)}{rules} {start}")
    if session.played:
        moves = " ".join(played.text for played in session.played)
        print("and enter these moves, on one line or several:\n\n" + textwrap.fill(moves, 80))


def _run_word(session: Session, adviser: Adviser, word: str) -> str | None:
    """Run one word of input; return the text to print, or None if a move was made or taken back."""
    env = session.env
    if word in ("?", "help"):
        lines = (f"{env.action_text(action):<8}{env.describe_action(action)}" for action in session.legal())
        return "\n".join(lines) or NO_MOVE
    if word in ("h", "hint"):
        advice = adviser.advise(session, likeliest=True)
        return NO_MOVE if advice is None else f"{adviser.name}: {advice.text:<8}{advice.words}"
    if word in ("u", "undo"):
        if not session.played:
            raise ValueError("there is no move to take back")
        session.go_to(len(session.played) - 1)
        return None
    # Typed words are in lower case; the suit of a foundation, as in fC>t3, is not.
    legal = {env.action_text(action).lower(): action for action in session.legal()}
    if word not in legal:
        env.parse_action(re.sub("^f[cdhs]", lambda found: f"f{found[0][1].upper()}", word))
        raise ValueError(f"{word} is not legal here; ? lists the legal moves")
    session.play(legal[word])
    return None


def play(session: Session, adviser: Adviser, game: str) -> None:
    """Play a game with input lines from stdin, until it is won or left.

    A line contains words: action text, or those of :data:`HELP`. At the end of the input, at ``q`` and at
    Ctrl-C the lines for continuing the game are printed.
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - input() then edits lines
    print(f"{session.title}.")
    print(HELP)
    changed = True
    try:
        while True:
            if changed:
                print(f"\n{board(session)}\n")
                if session.result == "won":
                    print(f"Won, in {len(session.played)} moves.")
                    return
                if session.result == "stuck":
                    print("Stuck: no move is legal. u takes a move back, q quits.")
            line = input(f"move {len(session.played) + 1}> ")
            if not sys.stdin.isatty():
                print(line)
            changed = _run_line(session, adviser, line)
    except (EOFError, KeyboardInterrupt):
        print("\n")
        print_continuation(session, game)


def _run_line(session: Session, adviser: Adviser, line: str) -> bool:
    """Run the words of a line up to the first error; return whether the position has changed."""
    changed = False
    for word in line.lower().split():
        if word in ("q", "quit"):
            raise EOFError
        try:
            reply = _run_word(session, adviser, word)
        except ValueError as error:
            print(error)
            break
        changed = changed or reply is None
        if reply is not None:
            print(reply)
    return changed
