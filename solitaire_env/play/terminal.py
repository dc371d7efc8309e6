"""A game in a terminal: its board, and play by typed moves."""

import contextlib
import io
import os
import re
import sys
import textwrap

from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import parse_position
from solitaire_env.play.hints import Adviser, suggest
from solitaire_env.play.session import Played, Session
from solitaire_env.render.ansi import render_ansi
from solitaire_env.variants import get_variant

WORDS = {"help": "?", "hint": "h", "undo": "u", "quit": "q"}
"""Words that can replace the letters."""


def board(env: SolitaireEnv, last: Played | None = None, words: bool = True) -> str:
    """The board as text, with the last move marked and described in the last line."""
    caption = f"{last.words} ({last.text})" if last is not None and words else None
    move = None if last is None else last.move
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    position = parse_position(env.position(hidden=True), env.variant)
    return render_ansi(position, caption, color=color, move=move)


def print_continuation(session: Session) -> None:
    """Print how to continue the game, without the order of a hidden stock."""
    env, variant = session.env, session.env.variant
    if env.position() == env.position(hidden=True):
        print(f"To continue, save these lines to a file for --position FILE:\n\n{env.position()}")
        return
    deal = env.get_state()["deal"]
    own = get_variant(variant.name)
    rules = "".join(
        f' --{rule} "{getattr(variant, rule)}"'
        for rule in ("build", "spaces", "moves")
        if getattr(variant, rule) != getattr(own, rule)
    )
    start = "--position FILE" if deal is None else f"--deal {deal}"
    print(f"To continue: python -m solitaire_env play {variant.name}{rules} {start}")
    if session.played:
        moves = " ".join(played.text for played in session.played)
        print("and enter these moves, on one line or several:\n\n" + textwrap.fill(moves, 80))


def _run_word(session: Session, adviser: Adviser | None, word: str) -> str | None:
    """Run one word of input; return the text to print, or None if a move was made or taken back."""

    def describe(action: int) -> str:
        return f"{session.env.action_text(action):<8}{session.env.describe_action(action)}"

    if word == "?":
        return "\n".join(map(describe, session.legal())) or "no move is legal; u takes a move back"
    if word == "h":
        hint = suggest(session, adviser)
        return "no move is legal; u takes a move back" if hint is None else hint[1]
    if word == "u":
        session.undo()
        return None
    # Typed words are in lower case; the suit of a foundation, as in fC>t3, is not.
    legal = {session.env.action_text(action).lower(): action for action in session.legal()}
    if word not in legal:
        session.env.parse_action(re.sub("^f[cdhs]", lambda found: f"f{found[0][1].upper()}", word))
        raise ValueError(f"{word} is not legal here; ? lists the legal moves")
    session.play(legal[word])
    return None


def play(env: SolitaireEnv, adviser: Adviser | None = None) -> None:
    """Play the game that has started in ``env``, with input lines from stdin, until it is won or left.

    A line contains words: action text, ``?``, ``h``, ``u`` or ``q``. At the end of the input, at ``q`` and at
    Ctrl-C the lines for continuing the game are printed.
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - input() then edits lines
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    session = Session(env)
    deal = env.get_state()["deal"]
    print(f"{env.variant.title}, {'from a position' if deal is None else f'deal {deal}'}.")
    print("? lists the legal moves, h gives a hint, u takes a move back, q quits.")
    changed = True
    try:
        while True:
            if changed:
                print(f"\n{board(env, session.last)}\n")
                if session.won:
                    print(f"Won, in {len(session.played)} moves.")
                    return
                if not session.legal():
                    print("Stuck: no move is legal. u takes a move back, q quits.")
            changed = False
            line = input(f"move {len(session.played) + 1}> ")
            if not sys.stdin.isatty():
                print(line)
            for typed in line.lower().split():
                word = WORDS.get(typed, typed)
                if word == "q":
                    raise EOFError
                try:
                    reply = _run_word(session, adviser, word)
                except ValueError as error:
                    print(error)
                    break
                changed = changed or reply is None
                if reply is not None:
                    print(reply)
    except (EOFError, KeyboardInterrupt):
        print("\n")
        print_continuation(session)
