"""Whole games as text: those recorded under ``tests/transcripts/``, and the format for exchange.

A recorded game has, for every step, the output of the environment when it was recorded. If the rules, the
texts or the observations change intentionally, record the games again, read what changed, and commit it::

    python -m tests.test_transcripts
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solitaire_env.core.layout import action_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import evaluate
from solitaire_env.notation import action_text
from solitaire_env.registration import env_id
from solitaire_env.transcripts import (
    MAX_TEXT,
    MAX_VALUE,
    Thought,
    Transcript,
    format_thought,
    format_transcript,
    parse_thought,
    parse_transcript,
    replay,
)
from solitaire_env.variants import Build, Moves, Spaces, Variant, get_variant
from tests.conftest import Refuses
from tests.core.test_random_games import Taste
from tests.games import ALL, COMPILED, EACH, EVERY, OPTIONS, PUBLISHED, SHOWN, THE_FIVE
from tests.reference import ReferenceGame, ReferenceRules, rank

# -------------------------------------------------------------------------------- recorded games

FOLDER = Path(__file__).parent / "transcripts"

RECORDED = {**PUBLISHED, **OPTIONS}

DEALS = {
    "forty-thieves": 3282,
    "eighty-thieves": 41,
    "eights-down": 132,
    "forty-bandits": 245,
    "busy-aces": 78,
    "forty-thieves, supermove": 104,
    "eighty-thieves, supermove": 116,
    "busy-aces, supermove": 155,
    "eights-down, any": 76,
    "eights-down, alternate color": 162,
    "eights-down, alternate color, any": 0,
    "eights-down, one card": 3410,
    "forty-bandits, any suit, kings": 15,
    "forty-thieves, alternate color, none": 2177,
}
"""Deals that the player below wins in few steps; if none was found, deals in which it gets far."""

OTHERS = [name for name in PUBLISHED if name not in THE_FIVE]
"""Games with recorded first steps of a deal, played at random."""
DEALS |= dict.fromkeys(OTHERS, 1) | {"klondike-draw-3": 3, "squadron": 12}
STEPS = 50
"""Maximum number of steps of one of these."""

WHIM = Taste(0.8, 0.7)

FULL_EVERY = 50
"""The whole position is written each time after this number of steps, the changed lines after every step."""


def worth(piles: dict[str, list[str]], rules: ReferenceRules, text: str) -> float:
    """A score of a move; below zero for moves that only go back and forth."""
    if text == "draw":
        return 5
    origin, _, target = text.partition(">")
    name, _, count = origin.partition("x")
    pile = piles[name]
    if target == "f":
        return 20 - rank(pile[-1]) / 20
    if target == "c":
        return 2 - len(pile) / 10
    if name[0] != "t":
        return (4 if target == "s" else 9) + rank(pile[-1]) / 20
    if target != "s":
        onto = rank(piles[target][-1])
    else:
        onto = rules.ranks + 1 if rules.spaces == "kings" else rank(pile[-1]) + 1
    number = int(count) if count else onto - rank(pile[-1])
    if number < len(pile) and rules.fits(pile[-number], pile[-number - 1]):
        return -10
    return 6 - len(pile) / 3 if target == "s" else 10 + 2 * (number == len(pile)) - len(pile) / 10


def choose(position: str, rules: ReferenceRules, legal: list[str], rng: random.Random) -> str:
    """One of the moves with the best score."""
    piles = {name: cards.split() for name, _, cards in (line.partition(":") for line in position.split("\n"))}
    piles["w"] = piles.get("waste", [])
    piles |= {f"c{number}": [card] for number, card in enumerate(piles.get("cells", []), 1)}
    return max(legal, key=lambda text: worth(piles, rules, text) + 2 * rng.random())


def changed(before: list[str], after: list[str]) -> list[str]:
    """The lines of a position that a step changed. The stock is counted: the waste shows the new cards."""
    lines = [new for old, new in zip(before, after, strict=True) if new != old]
    return [f"stock: {len(line.split()) - 1} cards" if line.startswith("stock") else line for line in lines]


class Block(NamedTuple):
    """The text of one moment of a game."""

    lines: list[str]
    position: str


def record(name: str, deal: int) -> Iterator[Block]:
    """Play a game, and describe the start, each step and the end."""
    variant = RECORDED[name]
    published = get_variant(variant.name)
    options = {
        field: getattr(variant, field)
        for field in ("build", "spaces", "moves")
        if getattr(variant, field) != getattr(published, field)
    }
    limit = {"max_episode_steps": STEPS} if name in OTHERS else {}
    made = gym.make(f"solitaire_env:{env_id(variant)}", on_invalid="raise", **options, **limit)
    env = made.unwrapped
    assert isinstance(env, SolitaireEnv)
    other = SolitaireEnv(variant, observation="features")
    rules, rng = ReferenceRules.of(variant), random.Random(deal)
    player = "WHIM" if name in OTHERS else "choose"

    cards, info = made.reset(options={"deal": deal})
    features, _ = other.reset(options={"deal": deal})
    position, ended = env.position(), False

    def legal() -> list[str]:
        return [env.action_text(action) for action in np.flatnonzero(info["action_mask"])]

    def seen() -> list[str]:
        # The mask of a finished game is all ones.
        texts = ["none"] if ended and info["action_mask"].all() else legal()
        return [
            f"legal: {' '.join(texts)}",
            f"observations: cards {zlib.crc32(cards.tobytes()):08x}, "
            f"features {zlib.crc32(features.tobytes()):08x}",
        ]

    yield Block(
        [
            f"env: {env_id(variant)}",
            f"options: {', '.join(f'{key}={value!r}' for key, value in options.items()) or 'none'}",
            f"deal: {info['deal']}",
            f"player: {player} in tests/test_transcripts.py, its chances from the number of the deal",
            "",
            *position.split("\n"),
            *seen(),
            "",
        ],
        position,
    )
    number, total = 0, 0.0
    while not ended:
        number += 1
        if name in OTHERS:
            text = WHIM.choose(legal(), rng)
        else:
            text = choose(env.position(hidden=True), rules, legal(), rng)
        action = env.parse_action(text)
        words = env.describe_action(action)
        before = position.split("\n")
        cards, reward, terminated, truncated, info = made.step(action)
        features = other.step(action)[0]
        position, ended, total = env.position(), terminated or truncated, total + float(reward)
        after = position.split("\n")
        paid = f", reward {reward:.6f}" if reward else ""
        yield Block(
            [
                f"{number}. {text} ({action}): {words}{paid}",
                *(f"   {line}" for line in [*changed(before, after), *seen()]),
                *(["", *after, ""] if number % FULL_EVERY == 0 and not ended else []),
            ],
            position,
        )
    result = "won" if info["is_success"] else "stuck" if terminated else "truncated"
    yield Block(
        [
            "",
            f"result: {result}, {info['cards_home']} cards home, {number} steps, return {total:.6f}",
            *position.split("\n"),
        ],
        position,
    )


def path_of(name: str) -> Path:
    return FOLDER / f"{name.replace(', ', '-').replace(' ', '-')}.txt"


def recorded_text(name: str) -> str:
    return "".join(f"{line}\n" for block in record(name, DEALS[name]) for line in block.lines)


def first_difference(name: str, expected: str, blocks: Iterable[Block]) -> str | None:
    """The first difference from the recorded game: step, line, position; None if there is none."""
    lines = expected.split("\n")
    at, step = 0, "the start"
    for block in blocks:
        for line in block.lines:
            if re.match(r"\d+\. ", line):
                step = f"step {line}"
            if (wanted := lines[at] if at < len(lines) else "the end") != line:
                words, got = wanted.split(), line.split()
                return (
                    f"{path_of(name).name}, line {at + 1}, {step}\n"
                    f"expected: {wanted.strip()}\n"
                    f"got:      {line.strip()}\n"
                    f"missing: {' '.join(word for word in words if word not in got) or 'none'}; "
                    f"added: {' '.join(word for word in got if word not in words) or 'none'}\n"
                    f"position:\n{block.position}"
                )
            at += 1
    if lines[at:] != [""]:
        return f"{path_of(name).name}, line {at + 1}: expected {lines[at : at + 1]}, got the end"
    return None


@pytest.mark.parametrize("name", {**SHOWN, **OPTIONS})
def test_recorded_games_are_repeated(name: str) -> None:
    if fault := first_difference(name, path_of(name).read_bytes().decode(), record(name, DEALS[name])):
        pytest.fail(fault, pytrace=False)


@pytest.mark.reference
@pytest.mark.parametrize("name", {**SHOWN, **OPTIONS})
def test_recorded_games_equal_the_reference_implementation(name: str) -> None:
    """Its positions and legal actions are those of the file."""
    text = path_of(name).read_text()
    reference = ReferenceGame.from_text(position_in(text), ReferenceRules.of(RECORDED[name]))
    start, *steps = re.split(r"^(?=\d+\. )", text, flags=re.M)
    assert f"\nlegal: {' '.join(reference.legal_actions())}\n" in start
    for step, action in zip(steps, actions_in(text), strict=True):
        before = reference.text().split("\n")
        reference.play(action)
        told = [line[3:] for line in step.split("\n") if line.startswith("   ")]
        legal = " ".join(reference.legal_actions()) or "none"
        assert told[:-1] == [*changed(before, reference.text().split("\n")), f"legal: {legal}"], step
        if "variant:" in step:
            assert f"\n{reference.text()}\n" in step
    result = {"playing": "truncated"}.get(reference.status(), reference.status())
    assert f"\nresult: {result}, {reference.cards_home()} cards home, {len(steps)} steps," in text
    at_deal = RECORDED[name].home_at_deal
    progress = (reference.cards_home() - at_deal) / (len(reference.cards()) - at_deal)
    assert text.endswith(f", return {progress:.6f}\n{reference.text()}\n")


def position_in(text: str) -> str:
    """The first position of a recorded game."""
    return text[text.index("variant:") : text.index("\nlegal:")]


def actions_in(text: str) -> list[str]:
    """The actions of a recorded game."""
    numbered = re.findall(r"^(\d+)\. (\S+) \(\d+\): ", text, re.M)
    assert [int(number) for number, _ in numbered] == [*range(1, len(numbered) + 1)]
    return [action for _, action in numbered]


def test_no_recorded_game_is_missing() -> None:
    """Every published game, registered id, house rule and kind of action is recorded; nothing else is."""
    assert set(DEALS) == set(RECORDED)
    assert sorted(FOLDER.iterdir()) == sorted(map(path_of, RECORDED)), "run python -m tests.test_transcripts"
    texts = [path_of(name).read_text() for name in RECORDED]
    # Those that a test registers have their rules as a dict.
    ids = {
        spec.id
        for spec in gym.registry.values()
        if spec.namespace == "Solitaire" and isinstance(spec.kwargs.get("variant"), str)
    }
    assert {text.split("\n")[0] for text in texts} == {f"env: {name}" for name in ids}
    rules = {word for v in RECORDED.values() for word in (v.build, "spaces " + v.spaces, v.moves)}
    assert rules == {*get_args(Build), *("spaces " + word for word in get_args(Spaces)), *get_args(Moves)}
    kinds = {re.sub(r"x?\d+|[CDHS]", "", action) for text in texts for action in actions_in(text)}
    sources = {f"{source}>{target}" for source in "twc" for target in "fts"}
    assert kinds == {"draw", "redeal", "t>c", "w>c", "f>t"} | sources


def test_a_difference_is_shown() -> None:
    name = "eights-down"
    text = path_of(name).read_text()
    lines = text.split("\n")
    number = lines.index(next(line for line in lines if line.startswith("9. ")))
    legal = next(k for k in range(number, len(lines)) if "legal:" in lines[k])
    lines[legal] = lines[legal].replace(" t1>c", "").replace(": ", ": t9>f ")
    fault = first_difference(name, "\n".join(lines), record(name, DEALS[name])) or ""
    where, expected, got, words, *position = fault.split("\n")
    assert where == f"eights-down.txt, line {legal + 1}, step {lines[number]}"
    assert expected == f"expected: {lines[legal].strip()}" and " t1>c " in got
    assert words == "missing: t9>f; added: t1>c"
    assert position[:2] == ["position:", "variant: eights-down"]
    short, long = (first_difference(name, t, record(name, DEALS[name])) for t in (text[:-20], text + "x\n"))
    assert "expected:" in str(short) and "got the end" in str(long)


# ------------------------------------------------------------------------------ there and back

LIMIT = 60 if COMPILED else 25
TINY = Variant("tiny", "Tiny", decks=1, tableau=(5, 5, 5, 5), ranks=5)


def played_at_random(variant: Variant, deals: Iterable[int | str], limit: int = LIMIT) -> list[str]:
    """Games of a policy without preferences."""
    rng = np.random.default_rng(0)

    def whim(observations: Any, masks: Any) -> Any:
        return (masks * (1 - rng.random(masks.shape))).argmax(1)

    done = evaluate(
        whim, variant, list(deals), num_envs=1, max_episode_steps=limit, transcripts=True, name="a whim"
    )
    return list(done.transcripts.values())


def replayed(transcript: Transcript) -> str:
    """The last position of a game."""
    steps = list(replay(transcript))
    assert [(step.number, step.text) for step in steps] == [*enumerate(transcript.actions, 1)]
    v = transcript.variant
    progress = (transcript.cards_home - v.home_at_deal) / (v.cards - v.home_at_deal)
    assert sum(step.reward for step in steps) == pytest.approx(progress)
    return steps[-1].position if steps else transcript.start


@pytest.mark.parametrize("name", EACH)
def test_transcripts_round_trip(name: str) -> None:
    variant = EVERY[name]
    for text in played_at_random(variant, range(3)):
        known = None if variant.name in PUBLISHED else get_shape(variant)
        transcript = parse_transcript(text, known)
        assert transcript.variant == variant and format_transcript(transcript) == text
        replayed(transcript)
        moved = replace(transcript, deal=None, policy="Ada, by hand: 2")
        assert parse_transcript(format_transcript(moved), known) == moved
        assert replayed(moved) == replayed(transcript)


def get_shape(variant: Variant) -> Variant:
    """The game with other house rules than those that were played."""
    return variant.with_rules(build="same suit", spaces="none", moves="one card")


@pytest.mark.parametrize("name", {**SHOWN, **OPTIONS})
def test_recorded_games_are_replayed(name: str) -> None:
    """The recorded games in the format for exchange."""
    text = path_of(name).read_text()
    actions = actions_in(text)
    result, home = re.findall(r"^result: (\w+), (\d+) ", text, re.M)[0]
    transcript = Transcript(
        variant=RECORDED[name],
        policy="recorded",
        deal=DEALS[name],
        result=result,
        cards_home=int(home),
        steps=len(actions),
        start=position_in(text),
        actions=tuple(actions),
    )
    assert parse_transcript(format_transcript(transcript)) == transcript
    assert text.endswith(f"\n{replayed(transcript)}\n")


def test_results_are_won_stuck_or_truncated() -> None:
    """Also a deal that is stuck, which has no actions, and one of another program."""
    transcripts = [
        parse_transcript(text, variant)
        for variant in (TINY, ALL["short-5, same suit, any, sequence"])
        for text in played_at_random(variant, range(20), limit=60)
    ]
    assert {(t.result, t.steps > 0) for t in transcripts} == {
        ("won", True), ("stuck", True), ("stuck", False), ("truncated", True)
    }  # fmt: skip
    for transcript in transcripts:
        replayed(transcript)
    named = parse_transcript(played_at_random(get_variant("eights-down"), ["ms:11982"])[0])
    assert named.deal == "ms:11982"
    replayed(named)


def test_a_cycle_is_not_played_to_the_limit() -> None:
    class First:
        deterministic = True

        def __call__(self, observations: Any, masks: Any) -> Any:
            return masks.argmax(1)

    done = evaluate(First(), "busy-aces", range(8), max_episode_steps=500, transcripts=True)
    transcripts = [parse_transcript(text) for text in done.transcripts.values()]
    circles = [t for t in transcripts if t.steps > len(t.actions)]
    assert circles and {(t.result, t.steps) for t in circles} == {("truncated", 500)}
    for transcript in circles:
        replayed(transcript)


def test_information_is_what_the_player_saw(refuses: Refuses) -> None:
    class Thoughtful:
        information = "thoughtful"

        def __call__(self, observations: Any, masks: Any) -> Any:
            return masks.argmax(1)

    for policy, saw in ((Thoughtful(), "thoughtful"), (Thoughtful().__call__, "player")):
        done = evaluate(policy, "busy-aces", [1], max_episode_steps=5, transcripts=True)
        assert f"5 steps\ninformation: {saw}\n\nvariant" in done.transcripts[1]
        game = parse_transcript(done.transcripts[1])
        assert game.information == saw and format_transcript(game) == done.transcripts[1]
        replayed(game)
    unknown = replace(game, information=None)
    assert "information" not in format_transcript(unknown)
    assert parse_transcript(format_transcript(unknown)) == unknown
    refuses(lambda: format_transcript(replace(game, information="all")), "'all'", "'player', 'thoughtful'")


# ------------------------------------------------------------------------------------- thoughts

FORMS = sorted({action_text(game, n) for game in RECORDED.values() for n in range(action_layout(game).size)})
"""Every kind of action text."""


@st.composite
def thoughts(draw: st.DrawFn) -> Thought:
    actions = draw(st.lists(st.tuples(st.sampled_from(FORMS), st.floats(0, 1)), max_size=5))
    value = st.floats(-MAX_VALUE, MAX_VALUE)
    return Thought(draw(value if not actions else st.none() | value), tuple(actions))


@given(thoughts())
def test_thoughts_round_trip(thought: Thought) -> None:
    """A text has thousandths only; read and written again it is the same."""
    text = format_thought(thought)
    read = parse_thought(text)
    assert format_thought(read) == text and parse_thought(format_thought(read)) == read
    assert [name for name, _ in read.actions] == [name for name, _ in thought.actions]
    for (_, before), (_, after) in zip(thought.actions, read.actions, strict=True):
        assert abs(before - after) <= 0.0005 + 1e-12
    if thought.value is None or read.value is None:
        assert thought.value is read.value is None
    else:
        assert abs(thought.value - read.value) <= 0.0005 + 1e-9


def test_every_probability_round_trips() -> None:
    for tenths in range(1001):
        text = f"draw {tenths // 10}.{tenths % 10} %"
        assert format_thought(parse_thought(text)) == text


def test_thoughts_are_written_in_one_line() -> None:
    thought = Thought(0.41249, (("t3>t5", 0.8312), ("t2x4>s", 0.1), ("w>f", 1e-9)))
    text = "value 0.412; t3>t5 83.1 %; t2x4>s 10.0 %; w>f 0.0 %"
    assert format_thought(thought) == text
    assert parse_thought(text) == Thought(0.412, (("t3>t5", 0.831), ("t2x4>s", 0.1), ("w>f", 0.0)))
    assert format_thought(Thought(-1e-9, ())) == "value 0.000"


@pytest.mark.parametrize(
    ("thought", "words"),
    [
        (Thought(None, ()), ["empty"]),
        (Thought(float("nan"), ()), ["value", "nan", "-1000000 to 1000000"]),
        (Thought(float("inf"), ()), ["value", "inf"]),
        (Thought(-1e6 - 1, ()), ["value", "-1000001"]),
        (Thought(None, (("draw", 1.01),)), ["'draw'", "1.01", "0 to 1"]),
        (Thought(None, (("draw", float("nan")),)), ["'draw'", "nan"]),
    ],
)
def test_invalid_thoughts_raise_an_error(thought: Thought, words: list[str], refuses: Refuses) -> None:
    refuses(lambda: format_thought(thought), *words)


def test_transcripts_contain_thoughts(refuses: Refuses) -> None:
    game = won_game()
    plain = format_transcript(game)
    assert "#" not in plain and parse_transcript(plain).thoughts == ()
    thought = Thought(0.5, (("t1>t2", 0.25),))
    some = replace(game, thoughts=(None, thought, *[None] * 81))
    text = format_transcript(some)
    assert text == plain.replace(
        f"\n2. {game.actions[1]}\n", f"\n2. {game.actions[1]}  # value 0.500; t1>t2 25.0 %\n"
    )
    assert parse_transcript(text) == some == parse_transcript(text.replace("  # ", "     # "))
    replayed(some)
    assert format_transcript(replace(game, thoughts=(None,) * 83)) == plain
    refuses(lambda: format_transcript(replace(game, thoughts=(thought,))), "1 thoughts for 83 actions")


# ------------------------------------------------------------------------------- what is refused


def won_game() -> Transcript:
    """The recorded win of Eights Down."""
    text = path_of("eights-down").read_text()
    actions = tuple(actions_in(text))
    deal, steps = DEALS["eights-down"], len(actions)
    return Transcript(get_variant("eights-down"), "p", deal, "won", 52, steps, position_in(text), actions)


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (1, "env: Solitaire/BusyAce-v0", ["line 1", "BusyAce-v0", "Solitaire/BusyAces-v0"]),
        (1, "env: eights-down", ["line 1", "'eights-down'", "one of the 76 ids"]),
        (1, "env:Solitaire/EightsDown-v0", ["line 1", "'env: ...'"]),
        (1, "", ["line 1", "''", "'env: ...'"]),
        (2, "build: up", ["line 2", "'up'", "'same suit', 'alternate color', 'any suit'"]),
        (2, "spaces: any", ["line 2", "'spaces: any'", "'build: ...'"]),
        (3, "spaces: all", ["line 3", "'all'", "'any', 'kings', 'none'"]),
        (4, "moves: " + "one " * 50_000, ["line 4", "'one one", "'one card'"]),
        (5, "policy: ", ["line 5", "''", "a line of text"]),
        (5, "policy: a\tb", ["line 5", "a line of text"]),
        (5, "policy: \ud800", ["line 5", "a line of text"]),
        (6, "deal: -1", ["line 6", "'-1'", "0 to 9223372036854775807", "'ms:N'"]),
        (6, "deal: 9223372036854775808", ["line 6", "9223372036854775808"]),
        (6, "deal: 007", ["line 6", "'007'"]),
        (6, "deal: ٣", ["line 6"]),
        (6, "deal: " + "9" * 5000, ["line 6", "99..."]),
        (6, "deal: None", ["line 6", "'None'", "'none'"]),
        (6, "deal: gnome:7", ["line 6", "'gnome:7'", "'pysol:N'"]),
        (7, "result: lost, 3 cards home, 83 steps", ["line 7", "lost", "'won, 104 cards home, 398 steps'"]),
        (7, "result: won, 52 cards home, 83.0 steps", ["line 7", "83.0"]),
        (7, "result: won, 52 cards home, 84 steps", ["line 7", "84", "83 steps"]),
        (7, "result: truncated, 51 cards home, 82 steps", ["line 7", "82", "83 steps"]),
        (7, "result: won, 51 cards home, 83 steps", ["line 7", "51", "won with 52"]),
        (7, "result: stuck, 52 cards home, 83 steps", ["line 7", "won with 52"]),
        (7, "result: stuck, 53 cards home, 83 steps", ["line 7", "53"]),
        (7, f"result: stuck, {'9' * 6000} cards home, 83 steps", ["line 7", "stuck, 99"]),
        (8, "note: nice", ["line 8", "'note: nice'", "an empty line"]),
        (8, "information: all", ["line 8", "'all'", "'player', 'thoughtful'"]),
        (8, "information: player", ["line 9", "'variant: eights-down'", "an empty line"]),
        (9, "variant: busy-aces", ["line 9", "'busy-aces'", "'eights-down'"]),
        (9, "", ["line 9", "variant: name"]),
        (12, "t1: 9S 9H 5D JS 4H 2H 2H", ["line 9", "53 cards"]),
        (12, "t1: 9S 9H 5D JS 4H 1H", ["line 9", "'1H'"]),
        (12, "stock: ?? ??", ["line 9", "'stock'"]),
        (20, "1. t1>c", ["line 20"]),
        (21, "2. t1>c", ["line 21", "'2. t1>c'", "'1. '"]),
        (21, "1.t1>c", ["line 21", "'1. '"]),
        (22, "2. t9>c", ["line 22", "'t9>c'", "t1>f"]),
        (22, "2. t1>c 0.5", ["line 22", "'t1>c 0.5'", "t1>f"]),
        (22, "2. ", ["line 22", "''", "t1>f"]),
        (23, "", ["line 23", "''", "'3. '"]),
        (22, "2. t1>c # value 0.500", ["line 22", "'t1>c # value 0.500'"]),
        (22, "2. t1>c  #value 0.500", ["line 22", "#value 0.500'"]),
        (22, "2. t1>c  # ", ["line 22", "thought has ''", "'value 0.412' from -1000000 to 1000000"]),
        (22, "2. t1>c  # value nan", ["line 22", "'value nan'"]),
        (22, "2. t1>c  # value 0.5", ["line 22", "'value 0.5'"]),
        (22, "2. t1>c  # value 1000000.001", ["line 22", "'value 1000000.001'"]),
        (22, "2. t1>c  # value 0.500; value 0.500", ["line 22", "'value 0.500'"]),
        (22, "2. t1>c  # t1>c 90.0 %; value 0.500", ["line 22", "'value 0.500'"]),
        (22, "2. t1>c  # t1>c 100.1 %", ["line 22", "'t1>c 100.1 %'", "0 to 100 percent"]),
        (22, "2. t1>c  # t1>c -0.1 %", ["line 22", "'t1>c -0.1 %'"]),
        (22, "2. t1>c  # t1>c 33 %", ["line 22", "'t1>c 33 %'"]),
        (22, "2. t1>c  # up 33.0 %", ["line 22", "'up 33.0 %'"]),
        (22, "2. t1>c  # t0>c 33.0 %", ["line 22", "'t0>c 33.0 %'"]),
        (22, "2. t1>c  # t1>c 90.0 %;", ["line 22", "'t1>c 90.0 %;'"]),
        (22, "2. t1>c  # value 0.500  # value 0.500", ["line 22", "'value 0.500 # value 0.500'"]),
        (22, "2. t1>c" + " " * 900_000 + "x# ", ["line 22", "'t1>c "]),
    ],
)
def test_invalid_lines_raise_an_error(line: int, text: str, words: list[str], refuses: Refuses) -> None:
    lines = format_transcript(won_game()).split("\n")
    lines[line - 1] = text
    refuses(lambda: parse_transcript("\n".join(lines)), *words)


def test_invalid_texts_raise_an_error(refuses: Refuses) -> None:
    text = format_transcript(won_game())
    refuses(lambda: parse_transcript(""), "line 1", "'env: ...'")
    refuses(lambda: parse_transcript("\n" * MAX_TEXT), "line 1", "'env: ...'")
    refuses(lambda: parse_transcript(text + "\n" * MAX_TEXT), "at most 1000000")
    refuses(lambda: parse_transcript(text.encode()), "bytes")  # type: ignore[arg-type]
    refuses(lambda: parse_transcript(text, TINY), "line 1", "EightsDown", "'Solitaire/Tiny-v0'")
    hidden = played_at_random(get_variant("busy-aces"), [1])[0]
    hidden = re.sub("(?m)^stock: .*$", "stock:" + " ??" * 92, hidden)
    refuses(lambda: parse_transcript(hidden), "line 10", "'stock' has '??'")
    for length in range(9, text.index("\n\n1. ")):
        refuses(lambda length=length: parse_transcript(text[:length]), "line ")  # type: ignore[misc]


@pytest.mark.parametrize("name", ["", "a\nb", " a", "a\x00", "\ud800"])
def test_the_name_of_a_policy_is_one_line(name: str, refuses: Refuses) -> None:
    refuses(lambda: format_transcript(replace(won_game(), policy=name)), "policy", "a line of text")
    if name:
        refuses(
            lambda: evaluate(print, "busy-aces", [1], name=name, transcripts=True), "policy", "a line of text"
        )


TOKENS = ["\x00", "\u2028", "\r", "\x0b", "٣", "??", "--", "\n", "\n\n", " ", ":", "-1", "9" * 5000, "t3>s"]


def test_damaged_texts_are_refused_or_valid(refuses: Refuses) -> None:
    """A damaged text is refused, or read as a game that can be written."""
    rng = random.Random(1)
    games = [
        format_transcript(won_game()),
        *played_at_random(get_variant("forty-bandits"), [1, 2], limit=10),
        *played_at_random(get_variant("eights-down"), [3], limit=3),
    ]
    read = 0
    for _ in range(2000 if COMPILED else 500):
        text = rng.choice(games)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            start = rng.randrange(len(text) + 1)
            stop = min(len(text), start + rng.choice((0, 0, 1, 1, 5, 60)))
            put = rng.choice((*TOKENS, "", "", chr(rng.randrange(32, 127)), text[stop : stop + 20]))
            text = text[:start] + put + text[stop:]
        try:
            transcript = parse_transcript(text)
        except ValueError:
            refuses(lambda text=text: parse_transcript(text))  # type: ignore[misc]
        else:
            read += 1
            assert parse_transcript(format_transcript(transcript)) == transcript
    assert read > 10


def cut(game: Transcript, steps: int, **changes: Any) -> Transcript:
    return replace(game, actions=game.actions[:steps], steps=steps, **changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: replace(g, deal=5), ["step 0", "'cells: TD AD", "deal 5"]),
        (lambda g: replace(g, deal="ms:0"), ["ms:0"]),
        (lambda g: replace(g, start=g.start.replace("2H", "9H")), ["2 copies of 9H"]),
        (lambda g: replace(g, start=g.start.replace("2H", "??")), ["'??'"]),
        (
            lambda g: replace(g, variant=g.variant.with_rules(spaces="none")),
            ["step 26, 'c3>s'", "no action 'c3>s'"],
        ),
        (lambda g: replace(g, actions=("t9>f", *g.actions[1:])), ["step 1, 't9>f'", "no action 't9>f'"]),
        (
            lambda g: replace(g, actions=(*g.actions[:4], "t1>t2", *g.actions[5:])),
            ["step 5, 't1>t2'", "illegal"],
        ),
        (lambda g: replace(g, actions=(*g.actions, "t1>c"), steps=84), ["step 84, 't1>c'", "finished"]),
        (lambda g: replace(g, result="stuck"), ["step 83", "says stuck, 52", "is won, 52"]),
        (lambda g: replace(g, cards_home=51), ["step 83", "51 cards", "52 cards"]),
        (lambda g: replace(g, steps=84), ["step 83", "84 steps", "83 steps"]),
        (lambda g: cut(g, 82), ["step 82", "says won, 52", "is not over, 51"]),
        (
            lambda g: cut(g, 82, result="stuck", cards_home=51),
            ["step 82", "says stuck, 51", "is not over, 51"],
        ),
        (lambda g: cut(g, 0, result="stuck", cards_home=0), ["step 0", "says stuck", "is not over, 0"]),
        (lambda g: cut(g, 5, result="truncated", cards_home=4), ["step 5", "4 cards", "3 cards"]),
    ],
)
def test_replay_refuses_wrong_games(
    change: Callable[[Transcript], Transcript], words: list[str], refuses: Refuses
) -> None:
    refuses(lambda: list(replay(change(won_game()))), *words)


def test_replay_yields_each_step() -> None:
    game = won_game()
    steps = list(replay(game))
    env = SolitaireEnv("eights-down")
    env.reset(options={"deal": game.deal})
    for step in steps:
        assert (step.action, step.words) == (env.parse_action(step.text), env.describe_action(step.action))
        reward = env.step(step.action)[1]
        assert (step.reward, step.position) == (reward, env.position())
    assert replayed(cut(game, 5, result="truncated", cards_home=3)) == steps[4].position


def main() -> None:
    """Record every game again."""
    FOLDER.mkdir(exist_ok=True)
    for path in set(FOLDER.iterdir()) - set(map(path_of, RECORDED)):
        path.unlink()
    for name in RECORDED:
        text = recorded_text(name)
        path_of(name).write_bytes(text.encode())
        print(f"{path_of(name).name}: {text[text.rindex('result: ') :].splitlines()[0]}, {len(text):,} bytes")


if __name__ == "__main__":
    main()
