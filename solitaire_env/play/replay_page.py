"""A game as one self-contained web page: ``python -m solitaire_env replay game.txt -o game.html``.

Every position comes from the engine, by :func:`solitaire_env.transcripts.replay`. The page contains the piles
that each step changes, and no rules.
"""

import base64
import contextlib
import hashlib
import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import parse_position
from solitaire_env.play.web import Board, board, places, source
from solitaire_env.transcripts import Thought, Transcript, parse_transcript, replay
from solitaire_env.util.files import write_text
from solitaire_env.util.messages import shown
from solitaire_env.variants import Variant

BEST_GAME = "best_game.txt"
"""The transcript that is used from a folder with several; each run folder has one."""

NAMES_SHOWN = 8


def replay_data(transcript: Transcript) -> dict[str, Any]:
    """The data of the page: a game as plain data (JSON-able).

    Raises
    ------
    ValueError
        If the transcript does not describe a possible game. The message names the step.
    """
    variant = transcript.variant

    def seen(text: str) -> Board:
        """The board as its player saw it."""
        position = parse_position(text, variant)
        return board(position if transcript.information == "thoughtful" else position.hidden())

    before = seen(transcript.start)
    data: dict[str, Any] = {
        "title": variant.title,
        "cards": variant.cards,
        "policy": transcript.policy,
        "deal": None if transcript.deal is None else str(transcript.deal),
        "result": transcript.result,
        "played": transcript.steps,
        "start": before,
        "steps": [],
        "thoughts": [],
    }
    describer = _ActionDescriber(variant)
    describer.set_position(transcript.start)
    thoughts = iter(transcript.thoughts)
    for step in replay(transcript):
        data["thoughts"].append(describer.thought(next(thoughts, None)))
        after = seen(step.position)
        changed = {name: cards for name, cards in after.items() if cards != before[name]}
        data["steps"].append([step.text, step.words, changed, describer.place(step.text)])
        before = after
        describer.set_position(step.position)
    if not transcript.thoughts:
        data["thoughts"] = []
    return data


class _ActionDescriber:
    """Describes actions in a position, of the game itself and of its action set with supermoves."""

    def __init__(self, variant: Variant) -> None:
        self.envs = [SolitaireEnv(variant)]
        if variant.moves == "one card" and variant.takes_supermoves:
            self.envs.append(SolitaireEnv(variant.with_rules(moves="supermove")))

    def set_position(self, position: str) -> None:
        """Set the position of the actions that follow."""
        self.position = parse_position(position, self.envs[0].variant)
        for env in self.envs:
            env.reset(options={"position": replace(self.position, variant=env.variant)})

    def _legal(self, text: str) -> tuple[SolitaireEnv, int] | None:
        for env in self.envs:
            with contextlib.suppress(ValueError):
                action = env.parse_action(text)
                if action in env.legal_actions():
                    return env, action
        return None

    def place(self, text: str) -> tuple[str, str, int] | None:
        """The start, the target and the number of cards of a legal action; None if it is illegal."""
        legal = self._legal(text)
        if legal is None:
            return None
        env, action = legal
        to = places(self.position, env.move(action))
        return to["source"], to["targets"][0], to["count"]

    def thought(self, thought: Thought | None) -> Any:
        """A thought, with the words and places of its actions."""
        if thought is None:
            return None
        return thought.value, [
            (text, share, self._words(text), self.place(text)) for text, share in thought.actions
        ]

    def _words(self, text: str) -> str:
        legal = self._legal(text)
        return text if legal is None else legal[0].describe_action(legal[1])


def replay_page(transcript: Transcript) -> str:
    """The complete HTML page of a game.

    Raises
    ------
    ValueError
        If the transcript does not describe a possible game. The message names the step.
    """
    data = json.dumps(replay_data(transcript), separators=(",", ":"), ensure_ascii=False)
    # As text inside <script>, only "<" could end it.
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    style = source("board.css") + source("page.css") + source("replay.css")
    scripts = "".join(
        source(f"{name}.js") for name in ("fit", "board", "arrows", "motion", "moves", "replay")
    )
    script = re.sub(r"^import .*\n", "", scripts, flags=re.M)
    deal = "a position" if transcript.deal is None else f"deal {transcript.deal}"
    parts = {
        "title": html.escape(f"{transcript.variant.title}, {deal}, by {transcript.policy}"),
        "style": style,
        "script": script,
        "data": data,
        "policy": f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], source("replay.html"))


def _hash(text: str) -> str:
    """The name of a text in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def find_transcript(path: Path) -> Path:
    """The transcript at a path: the file itself; in a folder, ``best_game.txt`` or the only transcript.

    Raises
    ------
    ValueError
        If a folder has no transcript, or several. The message names them.
    """
    if not path.is_dir():
        return path
    found = sorted(file for file in path.glob("*.txt") if _is_transcript(file))
    best = [file for file in found if file.name == BEST_GAME]
    if best or len(found) == 1:
        return (best or found)[0]
    if not found:
        raise ValueError(f"{str(path)!r} has no transcript, allowed: a transcript or a folder with one")
    names = ", ".join(file.name for file in found[:NAMES_SHOWN])
    more = f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
    raise ValueError(f"{str(path)!r} has {len(found)} transcripts, choose one: {names}{more}")


def _is_transcript(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(5) == b"env: "


def read_transcript(path: Path) -> Transcript:
    """The game in a file.

    Raises
    ------
    ValueError
        If it cannot be read as a transcript. The message names the file and the reason.
    """
    try:
        return parse_transcript(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"cannot read {shown(str(path))}, {reason}; allowed: a transcript") from None


def write_page(path: Path, transcript: Transcript) -> int:
    """Write the page of a game atomically; return its size in bytes."""
    page = replay_page(transcript)
    write_text(path, page)
    return len(page.encode())
