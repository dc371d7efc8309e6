"""Transcripts: games as text that can be read and replayed. A head with settings and result, the position at
the start, then an action per line::

    env: Solitaire/BusyAces-v0
    build: same suit                 the rules of the game, including house rules
    spaces: any
    moves: one card
    policy: greedy                   name of the policy, any text in one line
    deal: 7                          or ms:11982, pysol:24; none if it started from a position
    result: won, 104 cards home, 398 steps             or stuck, or truncated
    information: player              or memory, or thoughtful; absent if it is not known

    variant: busy-aces               full position text, the stock known
    stock: 4C TD 9S
    ...

    1. draw                          action text
    2. w>t3  # value 0.412; t3>t5 83.1 %; draw 10.2 %
    ...

``information`` is what the player saw: with ``memory`` also the order of a stock that it had seen, with
``thoughtful`` that of any. Lines have this order, and an empty line separates the parts. A game that was over
at the start has no third part. A truncated game may count more steps than it has actions: a policy that
cycles is not followed to the step limit.

The policy's thought before an action may follow it, after two spaces or more and ``#``: the expected value,
to a thousandth, then its likeliest actions with their probabilities, to a tenth of a percent. Unknown parts
are absent. These actions are of the policy's own action set; if a supermove was played card by card, the
thought is at the first card.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, get_args

from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.core.deals import Deal, check_deal
from solitaire_env.core.observations import INFORMATION
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import format_position, parse_action, parse_position
from solitaire_env.registration import env_id, env_variant
from solitaire_env.util.arguments import check_choice, check_kind
from solitaire_env.util.messages import shown
from solitaire_env.variants import Variant

Result = Literal["won", "stuck", "truncated"]

MAX_TEXT: Final = 1_000_000
"""Maximum length of a transcript, in characters; the longest registered game needs a tenth of it, with
thoughts three quarters."""
MAX_VALUE: Final = 1_000_000
"""Maximum value in a thought."""

_HEAD: Final = ("env", "build", "spaces", "moves", "policy", "deal", "result")
_NUMBER: Final = "0|[1-9][0-9]{0,18}"
_RESULT: Final = re.compile(rf"({'|'.join(get_args(Result))}), ({_NUMBER}) cards home, ({_NUMBER}) steps")
_ACTION: Final = re.compile(r"([0-9]+)\. (\S+)(?:  +# (.*))?")
_VALUE: Final = re.compile(r"value (-?[0-9]{1,7}\.[0-9]{3})")
_PROBABILITY: Final = re.compile(r"(\S+) ([0-9]{1,3}\.[0-9]) %")


class Thought(NamedTuple):
    """A policy's estimates before its choice."""

    value: float | None
    """The expected return; None if unknown."""
    actions: tuple[tuple[str, float], ...]
    """Its likeliest actions, likeliest first: text in the policy's own action set, and probability."""


@dataclass(frozen=True)
class Transcript:
    """One game, from start to end."""

    variant: Variant
    """The game, including house rules."""
    policy: str
    """Name of the policy, one line of text."""
    deal: Deal | None
    """None if the game started from a position."""
    result: Result
    cards_home: int
    """Cards home at the end."""
    steps: int
    """Number of actions; a truncated game may have more steps."""
    start: str
    """Position text, the stock known."""
    actions: tuple[str, ...]
    """Action texts."""
    thoughts: tuple[Thought | None, ...] = ()
    """The policy's thought before each action, None if unknown; empty if all are."""
    information: str | None = None
    """What the player saw, as ``information`` of an environment; None if unknown."""


class Step(NamedTuple):
    """One action of a transcript and its effects."""

    number: int
    """1 for the first."""
    action: int
    """The action's number."""
    text: str
    """The action's text."""
    words: str
    """The action in its position, in words."""
    reward: float
    """Reward by the default scheme."""
    position: str
    """Text of the position after it."""


def format_transcript(transcript: Transcript) -> str:
    """The transcript of a game, see the module."""
    t = check_kind("transcript", transcript, Transcript)
    head = (
        env_id(t.variant),
        t.variant.build,
        t.variant.spaces,
        t.variant.moves,
        check_policy_name(t.policy),
        "none" if t.deal is None else t.deal,
        f"{t.result}, {t.cards_home} cards home, {t.steps} steps",
    )
    head_lines = [f"{name}: {value}" for name, value in zip(_HEAD, head, strict=True)]
    if t.information is not None:
        check_choice("information", t.information, INFORMATION)
        head_lines.append(f"information: {t.information}")
    parts = ["\n".join(head_lines), t.start]
    if t.thoughts and len(t.thoughts) != len(t.actions):
        raise ValueError(
            f"{len(t.thoughts)} thoughts for {len(t.actions)} actions, allowed: one for each, or none"
        )
    if t.actions:
        comments = (
            f"  # {format_thought(thought)}" if thought else ""
            for thought in t.thoughts or [None] * len(t.actions)
        )
        lines = zip(t.actions, comments, strict=True)
        parts.append("\n".join(f"{number}. {action}{more}" for number, (action, more) in enumerate(lines, 1)))
    return "\n\n".join(parts) + "\n"


def format_thought(thought: Thought) -> str:
    """A thought in one line of a transcript: ``value 0.412; t3>t5 83.1 %; draw 10.2 %``.

    Raises
    ------
    ValueError
        If its value is beyond :data:`MAX_VALUE`, a probability is invalid, or it is empty.
    """
    value, actions = check_kind("thought", thought, Thought)
    if value is None and not actions:
        raise ValueError("the thought is empty, allowed: a value, actions or both")
    parts = []
    if value is not None:
        if not abs(value) <= MAX_VALUE:
            raise ValueError(f"value of a thought is {value}, allowed: -{MAX_VALUE} to {MAX_VALUE}")
        parts.append(f"value {round(value, 3) + 0.0:.3f}")  # + 0.0: no minus before zero
    for text, probability in actions:
        if not 0 <= probability <= 1:
            raise ValueError(f"probability of {shown(text)} is {probability}, allowed: 0 to 1")
        parts.append(f"{text} {100 * probability:.1f} %")
    return "; ".join(parts)


def parse_thought(text: str) -> Thought:
    """The thought of a line, the inverse of :func:`format_thought`. Its actions are not checked.

    Raises
    ------
    ValueError
        The message names the wrong part and what is allowed.
    """
    value, actions = None, []
    for place, part in enumerate(check_kind("thought", text, str, "text").split("; ")):
        if place == 0 and (found := _VALUE.fullmatch(part)):
            value = float(found[1])
        elif found := _PROBABILITY.fullmatch(part):
            actions.append((found[1], float(found[2]) / 100))
        else:
            raise ValueError(
                f"thought has {shown(part)}, allowed: 'value 0.412', then actions such as 't3>t5 83.1 %', "
                "separated by '; '"
            )
    thought = Thought(value, tuple(actions))
    format_thought(thought)  # checks the numbers
    return thought


def check_policy_name(name: str) -> str:
    """Check that the name of a policy fits in a line."""
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        raise ValueError(f"policy is {shown(name)}, allowed: a line of text without spaces at its ends")
    return name


def parse_transcript(text: str, variant: Variant | None = None) -> Transcript:
    """The game of a text, the inverse of :func:`format_transcript`.

    Actions and result are not played: :func:`replay` does that.

    Parameters
    ----------
    variant
        The game, if its id is not registered; the text must have the same id. House rules are the text's.

    Raises
    ------
    ValueError
        The message names the wrong value and what is allowed.
    """
    check_kind("transcript", text, str, "text")
    if variant is not None:
        check_kind("variant", variant, Variant)
    if len(text) > MAX_TEXT:
        raise ValueError(f"transcript has {len(text)} characters, allowed: at most {MAX_TEXT}")
    head, *parts = text.rstrip("\n").split("\n\n")
    if len(parts) not in (1, 2):
        raise ValueError(
            f"transcript has {len(parts) + 1} parts, allowed: head, position and actions, with an empty line "
            "between them"
        )
    transcript = _parse_head(head.split("\n"), variant)
    start = _read_start(parts[0], transcript.variant)
    actions, thoughts = _parse_actions(parts[1:], transcript.variant)
    return replace(
        transcript,
        start=start,
        actions=tuple(actions),
        thoughts=tuple(thoughts) if any(thoughts) else (),
    )


def _parse_head(lines: list[str], variant: Variant | None) -> Transcript:
    """The head of a text, as a transcript without start and actions."""
    pairs = [line.partition(": ") for line in lines]
    names = tuple(name for name, _, _ in pairs)
    if names not in (_HEAD, (*_HEAD, "information")):
        allowed = ", ".join(_HEAD)
        raise ValueError(f"transcript head has {shown(names)}, allowed: {allowed}, and information or not")
    values: dict[str, Any] = {name: value for name, _, value in pairs}
    game = env_variant(values["env"]) if variant is None else variant
    if env_id(game) != values["env"]:
        raise ValueError(f"transcript is of {shown(values['env'])}, allowed: {env_id(game)!r}")
    ended = _RESULT.fullmatch(values["result"])
    if ended is None:
        raise ValueError(
            f"result of the transcript is {shown(values['result'])}, "
            "allowed: 'won, 104 cards home, 398 steps', or stuck, or truncated"
        )
    game = game.with_rules(build=values["build"], spaces=values["spaces"], moves=values["moves"])
    deal = values["deal"]
    return Transcript(
        game,
        policy=check_policy_name(values["policy"]),
        deal=None if deal == "none" else check_deal(game, int(deal) if re.fullmatch(_NUMBER, deal) else deal),
        result=ended[1],  # type: ignore[arg-type]  # the pattern's word
        cards_home=int(ended[2]),
        steps=int(ended[3]),
        start="",
        actions=(),
        information=check_choice("information", values.get("information"), (None, *INFORMATION)),
    )


def _parse_actions(parts: list[str], variant: Variant) -> tuple[list[str], list[Thought | None]]:
    """The actions in the last part, if there is one, and the thought before each."""
    actions: list[str] = []
    thoughts: list[Thought | None] = []
    lines = parts[0].split("\n") if parts else []
    for number, line in enumerate(lines, 1):
        found = _ACTION.fullmatch(line)
        if found is None or found[1] != str(number):
            raise ValueError(f"transcript has {shown(line)}, allowed: '{number}. ' and an action")
        try:
            parse_action(variant, found[2])
            thoughts.append(None if found[3] is None else parse_thought(found[3]))
        except ValueError as error:
            raise ValueError(f"step {number}: {error}") from None
        actions.append(found[2])
    return actions, thoughts


def replay(transcript: Transcript) -> Iterator[Step]:
    """Play a transcript in a single environment; yield its steps.

    Raises
    ------
    ValueError
        If the deal has another start, an action is illegal, or the game does not end there and as stated. The
        message names the step. The end is checked after the last step.
    ImportError
        If a deal is named that needs pysol-cards, and it is not installed.
    """
    t = check_kind("transcript", transcript, Transcript)
    env = SolitaireEnv(t.variant, on_invalid="raise")
    start = _read_start(t.start, t.variant)
    _, info = env.reset(options={"position": start} if t.deal is None else {"deal": t.deal})
    for expected, got in zip(start.split("\n"), env.position().split("\n"), strict=True):
        if expected != got:
            raise ValueError(
                f"step 0: the transcript starts with {shown(expected)}, deal {t.deal} with {shown(got)}"
            )
    for number, text in enumerate(t.actions, 1):
        try:
            action = env.parse_action(text)
            words = env.describe_action(action)
        except ValueError as error:
            raise ValueError(f"step {number}, {shown(text)}: {error}") from None
        _, reward, _, _, info = env.step(action)
        yield Step(number, action, text, words, reward, env.position())
    result = "won" if info["is_success"] else "truncated" if env.legal_actions() else "stuck"
    counted = t.steps == len(t.actions) or (t.result == "truncated" and t.steps > len(t.actions))
    if (t.result, t.cards_home) != (result, info["cards_home"]) or not counted:
        raise ValueError(
            f"step {len(t.actions)}, the last: the transcript says {t.result}, {t.cards_home} cards home, "
            f"{t.steps} steps; the game is {result if result != 'truncated' else 'not over'}, "
            f"{info['cards_home']} cards home, {len(t.actions)} steps"
        )


def _read_start(text: str, variant: Variant) -> str:
    position = parse_position(text, variant)
    if FACE_DOWN in (*position.stock, *chain(*position.tableau)):
        line = "stock" if FACE_DOWN in position.stock else "t1 and on"
        raise ValueError(f"position line {line!r} has '??', allowed in a transcript: cards")
    return format_position(position)
