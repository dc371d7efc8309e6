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
from typing import Any

from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import parse_position
from solitaire_env.play.piles import Board, board, places, source
from solitaire_env.transcripts import Thought, Transcript, replay
from solitaire_env.variants import Variant


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
    finder = _PlaceFinder(variant)
    finder.set_position(transcript.start)
    thoughts = iter(transcript.thoughts)
    for step in replay(transcript):
        data["thoughts"].append(finder.thought(next(thoughts, None)))
        after = seen(step.position)
        changed = {name: cards for name, cards in after.items() if cards != before[name]}
        data["steps"].append([step.text, changed, finder.place(step.text)])
        before = after
        finder.set_position(step.position)
    if not transcript.thoughts:
        data["thoughts"] = []
    return data


class _PlaceFinder:
    """Finds where actions move cards, those of the game itself and of its action set with supermoves."""

    def __init__(self, variant: Variant) -> None:
        self.envs = [SolitaireEnv(variant)]
        if variant.moves == "one card" and variant.takes_supermoves:
            self.envs.append(SolitaireEnv(variant.with_rules(moves="supermove")))

    def set_position(self, position: str) -> None:
        """Set the position of the actions that follow."""
        self.position = parse_position(position, self.envs[0].variant)
        for env in self.envs:
            env.reset(options={"position": replace(self.position, variant=env.variant)})

    def place(self, text: str) -> tuple[str, str, int] | None:
        """The start of a legal action, its target and the number of cards; None for an illegal one."""
        for env in self.envs:
            with contextlib.suppress(ValueError):
                action = env.parse_action(text)
                if action in env.legal_actions():
                    to = places(self.position, env.moved_cards(action))
                    return to["source"], to["targets"][0], to["count"]
        return None

    def thought(self, thought: Thought | None) -> Any:
        """A thought, with the places of its actions."""
        if thought is None:
            return None
        return thought.value, [(text, share, self.place(text)) for text, share in thought.actions]


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
    deal = "a position" if transcript.deal is None else f"deal {transcript.deal}"
    title = f"{transcript.variant.title}, {deal}, by {transcript.policy}"
    return fill_page(html.escape(title), data)


def fill_page(title: str, data: str) -> str:
    """The page with a title and data, both as text of HTML."""
    style = source("board.css") + source("page.css") + source("replay.css")
    scripts = "".join(
        source(f"{name}.js") for name in ("fit", "board", "arrows", "motion", "moves", "options", "replay")
    )
    script = re.sub(r"^import .*\n", "", scripts, flags=re.M)
    parts = {
        "title": title,
        "style": style,
        "script": script,
        "data": data,
        "policy": f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], source("replay.html"))


def _hash(text: str) -> str:
    """The name of a text in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
