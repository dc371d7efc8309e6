"""Whole games as text: those that are recorded (see :mod:`tests.recorded`), and the format for exchange."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import unified_diff
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solitaire_env.core.layout import action_layout
from solitaire_env.evaluation import evaluate
from solitaire_env.notation import action_text
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
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.damage import DAMAGE, damaged_texts, read_or_refused
from tests.games import ALL_GAMES, COMPILED, FURTHER, ONE_PER_RULE, OPTIONS, PUBLISHED, THE_FIVE
from tests.recorded import FOLDER, GAMES, HASHES, hash_of, path_of, recorded_game, recorded_text

# -------------------------------------------------------------------------------- recorded games

STORED = {name: hash_ for hash_, _, name in (line.partition(" ") for line in HASHES.read_text().splitlines())}


@pytest.mark.parametrize("name", THE_FIVE)
def test_recorded_games_are_repeated(name: str) -> None:
    expected, got = path_of(name).read_text(), recorded_text(name)
    lines = unified_diff(expected.splitlines(), got.splitlines(), "recorded", "now", lineterm="")
    if expected != got:
        pytest.fail("\n".join(islice(lines, 40)), pytrace=False)


@pytest.mark.parametrize("name", STORED)
def test_hashes_of_recorded_games_are_repeated(name: str) -> None:
    assert hash_of(name) == STORED[name], f"compare python -m tests.recorded '{name}' with that of main"


def test_no_recorded_game_is_missing() -> None:
    assert set(STORED) | set(THE_FIVE) == set(GAMES), "run python -m tests.recorded"
    assert sorted(FOLDER.iterdir()) == sorted([HASHES, *map(path_of, THE_FIVE)])


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


@pytest.mark.parametrize("name", {**ONE_PER_RULE, **OPTIONS, **FURTHER})
def test_transcripts_round_trip(name: str) -> None:
    variant = ALL_GAMES[name]
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


def test_results_are_won_stuck_or_truncated() -> None:
    """Also a deal that is stuck, which has no actions, and one of another program."""
    transcripts = [
        parse_transcript(text, variant)
        for variant in (TINY, ALL_GAMES["short-5, same suit, any, sequence"])
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


# ------------------------------------------------------------------------------------- thoughts

FORMS = sorted({action_text(game, n) for game in GAMES.values() for n in range(action_layout(game).size)})
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
    return replace(recorded_game("eights-down"), policy="p")


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (1, "env: Solitaire/BusyAce-v0", ["BusyAce-v0", "Solitaire/BusyAces-v0"]),
        (1, "env: eights-down", ["'eights-down'", "'Solitaire/EightsDown-v0'"]),
        (2, "build: up", ["'up'", "'same suit', 'alternate color', 'any suit'"]),
        (4, "moves: " + "one " * 50_000, ["'one one", "'one card'"]),
        (5, "policy: ", ["''", "a line of text"]),
        (6, "deal: " + "9" * 5000, ["'99", "'ms:N'"]),
        (7, f"result: stuck, {'9' * 6000} cards home, 83 steps", ["'stuck, 99", "'won, 104 cards home"]),
        (8, "note: nice", ["'note'", "and information or not"]),
        (7, "result: won, 52 cards home, 83 steps\ninformation: all", ["'all'", "'player', 'thoughtful'"]),
        (9, "variant: busy-aces", ["'busy-aces'", "'eights-down'"]),
        (12, "t1: 9S 9H 5D JS 4H 2H 2H", ["53 cards"]),
        (21, "2. t1>c", ["'2. t1>c'", "'1. '"]),
        (22, "2. t9>c", ["step 2", "'t9>c'", "t1>f"]),
        (23, "", ["4 parts"]),
        (22, "2. t1>c  # value 1000000.001", ["1000000.001", "-1000000 to 1000000"]),
        (22, "2. t1>c  # t1>c 90.0 %; value 0.500", ["'value 0.500'"]),
        (22, "2. t1>c  # t1>c 100.1 %", ["'t1>c'", "1.001", "0 to 1"]),
        (22, "2. t1>c" + " " * 900_000 + "x# ", ["'2. t1>c "]),
    ],
)
def test_invalid_lines_raise_an_error(line: int, text: str, words: list[str], refuses: Refuses) -> None:
    lines = format_transcript(won_game()).split("\n")
    lines[line - 1] = text
    refuses(lambda: parse_transcript("\n".join(lines)), *words)


def test_invalid_texts_raise_an_error(refuses: Refuses) -> None:
    text = format_transcript(won_game())
    refuses(lambda: parse_transcript(""), "1 parts")
    refuses(lambda: parse_transcript("\n" * MAX_TEXT), "1 parts")
    refuses(lambda: parse_transcript(text + "\n" * MAX_TEXT), "at most 1000000")
    refuses(lambda: parse_transcript(text.encode()), "bytes")  # type: ignore[arg-type]
    refuses(lambda: parse_transcript(text, TINY), "EightsDown", "'Solitaire/Tiny-v0'")
    hidden = played_at_random(get_variant("busy-aces"), [1])[0]
    hidden = re.sub("(?m)^stock: .*$", "stock:" + " ??" * 92, hidden)
    refuses(lambda: parse_transcript(hidden), "'stock' has '??'")


@pytest.mark.parametrize("name", ["", "a\nb", "\ud800"])
def test_the_name_of_a_policy_is_one_line(name: str, refuses: Refuses) -> None:
    refuses(lambda: format_transcript(replace(won_game(), policy=name)), "policy", "a line of text")


DAMAGED = [
    format_transcript(recorded_game("eights-down")),
    *played_at_random(get_variant("forty-bandits"), [1, 2], limit=10),
    *played_at_random(get_variant("klondike"), [3], limit=3),
]


@DAMAGE
@given(text=damaged_texts(DAMAGED, ("won", "stuck", "\n\n", "t3>s", "2. t1>c", "  # value 0.500")))
def test_damaged_transcripts(text: str) -> None:
    transcript = read_or_refused(parse_transcript, text)
    if transcript is not None:
        assert parse_transcript(format_transcript(transcript)) == transcript
        read_or_refused(lambda game: list(replay(game)), transcript)


def cut(game: Transcript, steps: int, **changes: Any) -> Transcript:
    return replace(game, actions=game.actions[:steps], steps=steps, **changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: replace(g, deal=5), ["step 0", "'cells: TD AD", "deal 5"]),
        (
            lambda g: replace(g, actions=(*g.actions[:4], "t1>t2", *g.actions[5:])),
            ["step 5, 't1>t2'", "illegal"],
        ),
        (lambda g: replace(g, actions=(*g.actions, "t1>c"), steps=84), ["step 84, 't1>c'", "finished"]),
        (lambda g: replace(g, result="stuck"), ["step 83", "says stuck, 52", "is won, 52"]),
        (
            lambda g: cut(g, 82, result="stuck", cards_home=51),
            ["step 82", "says stuck, 51", "is not over, 51"],
        ),
    ],
)
def test_replay_refuses_wrong_games(
    change: Callable[[Transcript], Transcript], words: list[str], refuses: Refuses
) -> None:
    refuses(lambda: list(replay(change(won_game()))), *words)
