"""Transcripts: games as text that can be read and replayed. A head with settings and result, the position at
the start, then an action per line::

    env: Solitaire/BusyAces-v0
    build: same suit                 the rules of the game, including house rules
    spaces: any
    moves: one card
    policy: greedy                   name of the policy, any text in one line
    deal: 7                          or ms:11982, pysol:24; absent if it started from a position
    result: won, 104 cards home, 398 steps             or stuck, or truncated
    information: player              or thoughtful; absent if it is not known

    variant: busy-aces               full position text, the stock known
    stock: 4C TD 9S
    ...

    1. draw                          action text
    2. w>t3  # value 0.412; t3>t5 83.1 %; draw 10.2 %
    ...

``information`` is what the player saw: with ``thoughtful`` also the order of the stock. Lines have this
order, and an empty line separates the parts. A game that was over at the start has no third part. A truncated
game may count more steps than it has actions: a policy that cycles is not followed to the step limit.

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
from solitaire_env.core.deals import MAX_DEAL, Deal
from solitaire_env.core.observations import INFORMATION
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import ACTION, format_position, parse_action, parse_position
from solitaire_env.registration import env_id
from solitaire_env.util.arguments import check_choice, check_kind
from solitaire_env.util.messages import one_of_many, shown
from solitaire_env.variants import Build, Moves, Spaces, Variant, known_variants

Result = Literal["won", "stuck", "truncated"]

MAX_TEXT: Final = 1_000_000
"""Maximum length of a transcript, in characters; the longest registered game needs a tenth of it, with
thoughts three quarters."""
MAX_VALUE: Final = 1_000_000
"""Maximum value in a thought."""

_HEAD: Final = ("env", "build", "spaces", "moves", "policy", "deal", "result")
_NUMBER: Final = "0|[1-9][0-9]{0,18}"
_VALUE: Final = re.compile(r"value (-?(?:0|[1-9][0-9]{0,6})\.[0-9]{3})")
_PROBABILITY: Final = re.compile(rf"({ACTION}) (0|[1-9][0-9]{{0,2}})\.([0-9]) %")
_RESULT: Final = re.compile(rf"({'|'.join(get_args(Result))}), ({_NUMBER}) cards home, ({_NUMBER}) steps")


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
    """The thought of a line, the inverse of :func:`format_thought`. Actions are only checked for their form.

    Raises
    ------
    ValueError
        The message names the wrong part and what is allowed.
    """
    value, actions = None, []
    parts = check_kind("thought", text, str, "text").split("; ")
    for place, part in enumerate(parts):
        if place == 0 and (found := _VALUE.fullmatch(part)) and abs(float(found[1])) <= MAX_VALUE:
            value = float(found[1]) + 0.0
        elif (found := _PROBABILITY.fullmatch(part)) and int(found[2] + found[3]) <= 1000:
            actions.append((found[1], int(found[2] + found[3]) / 1000))
        else:
            raise ValueError(
                f"thought has {shown(part)}, allowed: 'value 0.412' from -{MAX_VALUE} to {MAX_VALUE}, "
                "then actions with 0 to 100 percent such as 't3>t5 83.1 %', separated by '; '"
            )
    return Thought(value, tuple(actions))


def check_policy_name(name: str) -> str:
    """Check that the name of a policy fits in a line."""
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        raise ValueError(f"policy is {shown(name)}, allowed: a line of text without spaces at its ends")
    return name


def parse_transcript(text: str, variant: Variant | None = None) -> Transcript:
    """The game of a text, the inverse of :func:`format_transcript`.

    It is checked as far as possible without playing; :func:`replay` plays it.

    Parameters
    ----------
    variant
        The game, if its id is not registered; the text must have the same id. House rules are the text's.

    Raises
    ------
    ValueError
        The message names the line, its content and what is allowed.
    """
    check_kind("transcript", text, str, "text")
    if variant is not None:
        check_kind("variant", variant, Variant)
    if len(text) > MAX_TEXT:
        raise ValueError(f"transcript has {len(text)} characters, allowed: at most {MAX_TEXT}")
    lines = text.rstrip("\n").split("\n")
    head = _parse_head(lines, variant)
    first = len(_HEAD) + 2
    information = None
    if lines[first - 2 : first - 1] and lines[first - 2].startswith("information: "):
        information = lines[first - 2].removeprefix("information: ")
        _check_word(first - 1, information, INFORMATION)
        first += 1
    if lines[first - 2 : first - 1] not in ([], [""]):
        raise _error(first - 1, lines[first - 2], "an empty line before the position")
    end = lines.index("", first - 1) if "" in lines[first - 1 :] else len(lines)
    try:
        # Empty lines first, so that errors count the lines of the whole text.
        start = _read_start("\n".join([""] * (first - 1) + lines[first - 1 : end]), head.variant)
    except ValueError as error:
        raise ValueError(f"transcript from line {first} on, the start: {error}") from None
    actions, thoughts = _parse_actions(lines, end, head.variant)
    transcript = replace(
        head,
        start=start,
        actions=tuple(actions),
        thoughts=tuple(thoughts) if any(thoughts) else (),
        information=information,
    )
    if not _steps_fit(transcript):
        allowed = f"{len(actions)} steps, as many as there are actions, or more if truncated"
        raise _error(7, lines[6].removeprefix("result: "), allowed)
    return transcript


def _parse_head(lines: list[str], variant: Variant | None) -> Transcript:
    """The head of a text, as a transcript without start and actions."""
    values = []
    for number, name in enumerate(_HEAD, 1):
        line = lines[number - 1] if number <= len(lines) else ""
        if not line.startswith(f"{name}: "):
            raise _error(number, line, f"'{name}: ...'")
        values.append(line.removeprefix(f"{name}: "))
    named, build, spaces, moves, policy, deal, result = values
    games = {env_id(known): known for known in (known_variants() if variant is None else (variant,))}
    if named not in games:
        ids = {name: id for id, known in games.items() for name in (id, known.name)}
        many = one_of_many(named, ids, "ids").removeprefix("allowed: ")
        raise _error(1, named, repr(env_id(variant)) if variant is not None else many)
    for number, word, words in ((2, build, Build), (3, spaces, Spaces), (4, moves, Moves)):
        _check_word(number, word, get_args(words))
    rules: dict[str, Any] = {"build": build, "spaces": spaces, "moves": moves}
    variant = games[named].with_rules(**rules)
    try:
        check_policy_name(policy)
    except ValueError as error:
        raise ValueError(f"transcript line 5: {error}") from None
    dealt = _parse_deal(deal)
    ended = _RESULT.fullmatch(result)
    if ended is None:
        raise _error(7, result, "'won, 104 cards home, 398 steps', or stuck, or truncated, in whole numbers")
    home, steps = int(ended[2]), int(ended[3])
    if home > variant.cards or (home == variant.cards) != (ended[1] == "won"):
        raise _error(7, result, f"won with {variant.cards} cards home, stuck or truncated with fewer")
    outcome: Result = ended[1]  # type: ignore[assignment]  # the pattern's word
    return Transcript(variant, policy, dealt, outcome, home, steps, "", ())


def _parse_actions(lines: list[str], end: int, variant: Variant) -> tuple[list[str], list[Thought | None]]:
    """The actions after line ``end``, and the thought before each."""
    actions: list[str] = []
    thoughts: list[Thought | None] = []
    for number, line in enumerate(lines[end + 1 :], 1):
        rest = line.removeprefix(f"{number}. ")
        if rest == line:
            raise _error(end + 1 + number, line, f"'{number}. ' and an action")
        action, mark, thought = rest.partition("# ")
        if mark:
            action = action.rstrip(" ") if action.endswith("  ") else rest
        try:
            parse_action(variant, action)
            thoughts.append(parse_thought(thought) if mark else None)
        except ValueError as error:
            raise ValueError(f"transcript line {end + 1 + number}: {error}") from None
        actions.append(action)
    return actions, thoughts


def replay(transcript: Transcript) -> Iterator[Step]:
    """Play a transcript in a single environment; yield its steps.

    Raises
    ------
    ValueError
        If the deal has another start, an action is illegal, or the game does not end there and as stated. The
        message names the step. The end is checked after the last step.
    ImportError
        If another program's deal is named, and pysol-cards is not installed.
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
    if (t.result, t.cards_home) != (result, info["cards_home"]) or not _steps_fit(t):
        raise ValueError(
            f"step {len(t.actions)}, the last: the transcript says {t.result}, {t.cards_home} cards home, "
            f"{t.steps} steps; the game is {result if result != 'truncated' else 'not over'}, "
            f"{info['cards_home']} cards home, {len(t.actions)} steps"
        )


def _steps_fit(t: Transcript) -> bool:
    return t.steps == len(t.actions) or (t.result == "truncated" and t.steps > len(t.actions))


def _read_start(text: str, variant: Variant) -> str:
    position = parse_position(text, variant)
    if FACE_DOWN in (*position.stock, *chain(*position.tableau)):
        line = "stock" if FACE_DOWN in position.stock else "t1 and on"
        raise ValueError(f"position line {line!r} has '??', allowed in a transcript: cards")
    return format_position(position)


def _parse_deal(text: str) -> Deal | None:
    if re.fullmatch(_NUMBER, text) and int(text) <= MAX_DEAL:
        return int(text)
    if re.fullmatch("(ms|pysol):[0-9]{1,20}", text):
        return text
    if text != "none":
        raise _error(6, text, f"0 to {MAX_DEAL}, 'ms:N', 'pysol:N' or 'none'")
    return None


def _check_word(line: int, word: str, allowed: tuple[str, ...]) -> None:
    if word not in allowed:
        raise _error(line, word, ", ".join(map(repr, allowed)))


def _error(line: int, value: str, allowed: str) -> ValueError:
    return ValueError(f"transcript line {line}: {shown(value)}, allowed: {allowed}")
