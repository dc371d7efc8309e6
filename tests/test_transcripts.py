"""Whole games as text: those recorded under ``tests/transcripts/``, and the format for exchange.

A recorded game has, for every step, the output of the environment when it was recorded. If the rules, the
texts or the observations change intentionally, record the games again, read what changed, and commit it::

    python -m tests.test_transcripts

A new game is played at random, for 50 steps of deal 1; the others repeat their actions.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, get_args

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
from tests.games import ALL_GAMES, COMPILED, OPTIONS, PUBLISHED, SAMPLED
from tests.recorded import FOLDER, RECORDED, actions_in, path_of, position_in, recorded_game
from tests.reference import ReferenceGame, ReferenceRules

# -------------------------------------------------------------------------------- recorded games

WHIM = Taste(0.8, 0.7)

FULL_EVERY = 50
"""The whole position is written each time after this number of steps, the changed lines after every step."""


def changed(before: list[str], after: list[str]) -> list[str]:
    """The lines of a position that a step changed. The stock is counted: the waste shows the new cards."""
    lines = [new for old, new in zip(before, after, strict=True) if new != old]
    return [f"stock: {len(line.split()) - 1} cards" if line.startswith("stock") else line for line in lines]


def actions_at_random(variant: Variant) -> list[str]:
    """The first actions of deal 1, for a new game."""
    env, rng = SolitaireEnv(variant), random.Random(1)
    actions: list[str] = []
    env.reset(options={"deal": 1})
    while len(actions) < 50 and (legal := env.legal_actions()):
        actions.append(WHIM.choose([env.action_text(action) for action in legal], rng))
        env.step(env.parse_action(actions[-1]))
    return actions


def record(variant: Variant, deal: int, actions: list[str]) -> Iterator[list[str]]:
    """Play a game; yield lines that describe the start, each step and the end."""
    published = get_variant(variant.name)
    options = {
        field: getattr(variant, field)
        for field in ("build", "spaces", "moves")
        if getattr(variant, field) != getattr(published, field)
    }
    made = gym.make(
        f"solitaire_env:{env_id(variant)}", on_invalid="raise", max_episode_steps=len(actions), **options
    )
    env = made.unwrapped
    assert isinstance(env, SolitaireEnv)
    other = SolitaireEnv(variant, observation="features")

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

    yield [
        f"env: {env_id(variant)}",
        f"options: {', '.join(f'{key}={value!r}' for key, value in options.items()) or 'none'}",
        f"deal: {info['deal']}",
        "",
        *position.split("\n"),
        *seen(),
        "",
    ]
    number, total = 0, 0.0
    for number, text in enumerate(actions, 1):
        assert not ended
        action = env.parse_action(text)
        words = env.describe_action(action)
        before = position.split("\n")
        cards, reward, terminated, truncated, info = made.step(action)
        features = other.step(action)[0]
        position, ended, total = env.position(), terminated or truncated, total + float(reward)
        after = position.split("\n")
        paid = f", reward {reward:.6f}" if reward else ""
        yield [
            f"{number}. {text} ({action}): {words}{paid}",
            *(f"   {line}" for line in [*changed(before, after), *seen()]),
            *(["", *after, ""] if number % FULL_EVERY == 0 and not ended else []),
        ]
    result = "won" if info["is_success"] else "stuck" if terminated else "truncated"
    yield [
        "",
        f"result: {result}, {info['cards_home']} cards home, {number} steps, return {total:.6f}",
        *position.split("\n"),
    ]


def recorded_text(name: str) -> str:
    deal, actions = 1, []
    if path_of(name).is_file():
        text = path_of(name).read_text()
        deal, actions = recorded_game(name).deal, actions_in(text)
    variant = RECORDED[name]
    parts = record(variant, deal, actions or actions_at_random(variant))
    return "".join(f"{line}\n" for lines in parts for line in lines)


@pytest.mark.parametrize("name", {**PUBLISHED, **OPTIONS})
def test_recorded_games_are_repeated(name: str) -> None:
    assert recorded_text(name).split("\n") == path_of(name).read_text().split("\n")


@pytest.mark.parametrize("name", {**PUBLISHED, **OPTIONS})
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


def test_no_recorded_game_is_missing() -> None:
    """Every published game, registered id, house rule and kind of action is recorded; nothing else is."""
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


@pytest.mark.parametrize("name", SAMPLED)
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


@pytest.mark.parametrize("name", {**PUBLISHED, **OPTIONS})
def test_recorded_games_are_replayed(name: str) -> None:
    """The recorded games in the format for exchange."""
    text, transcript = path_of(name).read_text(), recorded_game(name)
    assert parse_transcript(format_transcript(transcript)) == transcript
    assert text.endswith(f"\n{replayed(transcript)}\n")


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
        (Thought(-1e6 - 1, ()), ["value", "-1000001"]),
        (Thought(None, (("draw", 1.01),)), ["'draw'", "1.01", "0 to 1"]),
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
    return recorded_game("eights-down", policy="p")


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (1, "env: Solitaire/BusyAce-v0", ["line 1", "BusyAce-v0", "Solitaire/BusyAces-v0"]),
        (1, "env: eights-down", ["line 1", "'eights-down'", "one of the 76 ids"]),
        (2, "build: up", ["line 2", "'up'", "'same suit', 'alternate color', 'any suit'"]),
        (3, "spaces: all", ["line 3", "'all'", "'any', 'kings', 'none'"]),
        (4, "moves: " + "one " * 50_000, ["line 4", "'one one", "'one card'"]),
        (5, "policy: ", ["line 5", "''", "a line of text"]),
        (6, "deal: -1", ["line 6", "'-1'", "0 to 9223372036854775807", "'ms:N'"]),
        (6, "deal: 9223372036854775808", ["line 6", "9223372036854775808"]),
        (6, "deal: gnome:7", ["line 6", "'gnome:7'", "'pysol:N'"]),
        (7, "result: lost, 3 cards home, 83 steps", ["line 7", "lost", "'won, 104 cards home, 398 steps'"]),
        (7, "result: won, 52 cards home, 84 steps", ["line 7", "84", "83 steps"]),
        (7, "result: truncated, 51 cards home, 82 steps", ["line 7", "82", "83 steps"]),
        (7, "result: won, 51 cards home, 83 steps", ["line 7", "51", "won with 52"]),
        (7, "result: stuck, 52 cards home, 83 steps", ["line 7", "won with 52"]),
        (8, "note: nice", ["line 8", "'note: nice'", "an empty line"]),
        (8, "information: all", ["line 8", "'all'", "'player', 'thoughtful'"]),
        (8, "information: player", ["line 9", "'variant: eights-down'", "an empty line"]),
        (9, "variant: busy-aces", ["line 9", "'busy-aces'", "'eights-down'"]),
        (12, "t1: 9S 9H 5D JS 4H 1H", ["line 9", "'1H'"]),
        (12, "stock: ?? ??", ["line 9", "'stock'"]),
        (20, "1. t1>c", ["line 20"]),
        (21, "2. t1>c", ["line 21", "'2. t1>c'", "'1. '"]),
        (22, "2. t9>c", ["line 22", "'t9>c'", "t1>f"]),
        (23, "", ["line 23", "''", "'3. '"]),
        (22, "2. t1>c # value 0.500", ["line 22", "'t1>c # value 0.500'"]),
        (22, "2. t1>c  # ", ["line 22", "thought has ''", "'value 0.412' from -1000000 to 1000000"]),
        (22, "2. t1>c  # value 0.5", ["line 22", "'value 0.5'"]),
        (22, "2. t1>c  # value 1000000.001", ["line 22", "'value 1000000.001'"]),
        (22, "2. t1>c  # value 0.500; value 0.500", ["line 22", "'value 0.500'"]),
        (22, "2. t1>c  # t1>c 100.1 %", ["line 22", "'t1>c 100.1 %'", "0 to 100 percent"]),
        (22, "2. t1>c  # up 33.0 %", ["line 22", "'up 33.0 %'"]),
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


def cut(game: Transcript, steps: int, **changes: Any) -> Transcript:
    return replace(game, actions=game.actions[:steps], steps=steps, **changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: replace(g, deal=5), ["step 0", "'cells: TD AD", "deal 5"]),
        (lambda g: replace(g, deal="ms:0"), ["ms:0"]),
        (lambda g: replace(g, start=g.start.replace("2H", "9H")), ["2 copies of 9H"]),
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
        (lambda g: cut(g, 5, result="truncated", cards_home=4), ["step 5", "4 cards", "3 cards"]),
    ],
)
def test_replay_refuses_wrong_games(
    change: Callable[[Transcript], Transcript], words: list[str], refuses: Refuses
) -> None:
    refuses(lambda: list(replay(change(won_game()))), *words)


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
