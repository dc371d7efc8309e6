"""Fuzzing of everything that reads user input: texts, records, files, command lines.

Inputs are noise, words of a format in any order, and valid inputs with small changes. Each is either accepted
or refused. An accepted input must be valid: written and read again it is the same, and a state passes
``check_state``. An input must be refused by a ``raise`` of the project's own, with a documented type of error
and a message of at most two printable lines.

A target's name and a seed determine an input. pytest tries some (``tests/test_fuzz.py``), this many::

    python -m tests.fuzz --cases 1000000
    python -m tests.fuzz --target position --seed 12345 --cases 1  # one case again
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import dis
import faulthandler
import io
import json
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from random import Random
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, get_args

import gymnasium as gym
import numpy as np

from solitaire_env import cli
from solitaire_env.core.batch import Batch
from solitaire_env.core.deals import MAX_DEAL, deal_order, ordered_pack
from solitaire_env.core.layout import action_layout, make_rules, observation_layout
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import Game, evaluate, read_games
from solitaire_env.notation import (
    Position,
    action_text,
    format_position,
    parse_action,
    parse_position,
    position_faults,
    position_from_row,
    position_to_row,
)
from solitaire_env.registration import env_id, env_variant
from solitaire_env.testing import check_state
from solitaire_env.transcripts import Step, Transcript, format_transcript, parse_transcript, replay
from solitaire_env.variants import (
    Build,
    Moves,
    Spaces,
    Variant,
    get_variant,
    known_variants,
    variant_from_dict,
    variant_to_dict,
)
from tests.games import ALL_GAMES, COMPILED, FURTHER, ODD, ONE_PER_RULE

MESSAGE_LINES, MESSAGE_SIZE = 2, 600
LONGEST_CASE = 10
"""Seconds after which the script treats a case as a hang."""
MEMORY = 2**30
"""Bytes that the script may allocate, besides those of the first case of each target."""


class Refused(Exception):
    """An input was refused as it should be, without an error."""


class Hang(BaseException):
    """An input takes too long. No reader catches this."""


class Finding(AssertionError):
    """An input that is neither accepted nor refused correctly."""

    def __init__(self, message: str, where: str) -> None:
        super().__init__(message)
        self.where = where
        """The line of the project that it came from."""


@dataclass(frozen=True)
class Target:
    """A reader."""

    name: str
    make: Callable[[Random], Any]
    """An input."""
    read: Callable[[Any], Any]
    """Read an input; an error refuses it."""
    check: Callable[[Any, Any], None]
    """Raises an error unless the result, the second argument, is valid."""
    errors: tuple[type[Exception], ...] = (ValueError, TypeError)
    """The documented types of its errors, exactly these."""
    share: int = 10
    """Its share of the cases of a run over all targets."""


class Outcome(NamedTuple):
    """The result of a case."""

    accepted: bool
    seconds: float


def try_case(target: Target, seed: int) -> Outcome:
    """Make an input, read it, and check the result.

    Raises
    ------
    Finding
        With the target, the seed, the input and the fault.
    """
    case = target.make(Random(f"{target.name} {seed}"))
    began = time.monotonic()
    try:
        try:
            value = target.read(case)
        except Refused:
            return Outcome(False, time.monotonic() - began)
        except target.errors as error:
            if type(error) not in target.errors or not _is_raised_here(error.__traceback__):
                raise
            check_message(str(error))
            return Outcome(False, time.monotonic() - began)
        target.check(case, value)
    except (Exception, Hang) as error:
        where = _where(error)
        raise Finding(
            f"{type(error).__name__}: {show(str(error), 1000)}\n"
            f"  at: {where}\n"
            f"  again: python -m tests.fuzz --target {target.name} --seed {seed} --cases 1\n"
            f"  input: {show(case)}",
            where,
        ) from error
    return Outcome(True, time.monotonic() - began)


def try_cases(target: Target, cases: int) -> None:
    """Try a number of cases, times the target's share; some inputs must be accepted, others refused."""
    accepted = [try_case(target, seed).accepted for seed in range(cases * target.share)]
    assert 0 < sum(accepted) < len(accepted), f"{sum(accepted)} of {len(accepted)} inputs were accepted"


def check_message(message: str) -> None:
    """Whether an error message has one or two printable lines."""
    assert message, "an empty message"
    assert len(message) <= MESSAGE_SIZE, f"a message of {len(message)} characters: {message}"
    lines = message.splitlines()
    assert len(lines) <= MESSAGE_LINES, f"a message of {len(lines)} lines: {message}"
    assert all(map(str.isprintable, lines)), f"a message with control characters: {message!a}"


def _is_raised_here(trace: TracebackType | None) -> bool:
    """Whether an error comes from a ``raise`` statement of the project, not from what it calls."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and _is_own_raise(trace.tb_frame.f_code, trace.tb_lasti)


@cache
def _is_own_raise(code: CodeType, place: int) -> bool:
    return _is_own(code.co_filename) and code.co_code[place] == dis.opmap["RAISE_VARARGS"]


OWN = (Path(cli.__file__).parent, Path(__file__).parents[1] / "agents")
"""Folders of the project's own code."""


@cache
def _is_own(file: str) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in OWN)


def _where(error: BaseException) -> str:
    """The last line of the project that an error, or its cause, has passed."""
    traces = [traceback.extract_tb(e.__traceback__) for e in (error.__context__, error) if e is not None]
    frames = [frame for trace in traces for frame in trace]
    frame = ([frame for frame in frames if _is_own(frame.filename)] or frames)[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}: {frame.line}"


def show(value: object, size: int = 2000) -> str:
    """A case as text, shortened if it is long."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError) as error:
        text = f"a {type(value).__name__} that cannot be shown ({error})"
    return text if len(text) <= size else f"{text[:size]}... ({len(text)} characters)"


def expect(what: str, expected: object, got: object) -> None:
    assert expected == got, f"{what}: expected {show(expected, 300)}, got {show(got, 300)}"


# ------------------------------------------------------------------------------------------ texts

ODD_NUMBERS = (
    *("0", "-1", "+1", "00", "1.5", "1e999", "-0.0", "NaN", "inf", "0x10", "1_000", "1,000"),
    *(str(2**31), str(2**63 - 1), str(2**63), str(2**64), str(10**40), "9" * 5000, "0x" + "f" * 5000),
    # Digits to Python, not to us: Arabic-Indic, full width, mathematical; and what looks like digits.
    *("\u0663", "\uff13", "\U0001d7db", "\u00b2", "\u00bd", "\u2167"),
)  # fmt: skip
ODD_TEXTS = (
    *("", " ", "\t", "\n", "\r", "\r\n", "\0", "\x0b", "\x1c", "\x7f", "\x85", "\xa0", "\x1b[31m"),
    *("\u200b", "\u2028", "\u202e", "\u3000", "\ufeff", "\ud800", "\udcff", "\U0001f0a1", "é", "ß", "İ", "ﬁ"),
    *(":", ",", "--", "??", "'", '"', "\\", "#", "&", "*", "%s", "{0}", "{", "[", "]", "}", "/", "../", "<<"),
)
LONG = (30, 100, 300, 1000, 5000, 30_000, 150_000)


def noise(rng: Random) -> str:
    """Any characters."""
    top = rng.choice((128, 256, 0x800, 0x110000))
    return "".join(chr(rng.randrange(top)) for _ in range(rng.choice((0, 1, 2, 10, 100, 1000))))


@dataclass(frozen=True)
class Texts:
    """Texts of a format."""

    good: Sequence[str]
    words: Sequence[str]
    """Its words, combined in any order."""

    def make(self, rng: Random) -> str:
        kind = rng.random()
        if kind < 0.04:
            return noise(rng)
        if kind < 0.15:
            between = rng.choice(("", " ", " ", "\n", ": "))
            return between.join(self.word(rng) for _ in range(rng.choice((1, 2, 3, 10, 100))))
        text = rng.choice(self.good)
        if kind < 0.2:
            return text
        for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
            text = self.change(rng, text)[: 2 * LONG[-1]]
        return text

    def word(self, rng: Random) -> str:
        return rng.choice(rng.choice((self.words, self.words, self.words, ODD_NUMBERS, ODD_TEXTS)))

    def change(self, rng: Random, text: str) -> str:
        """The text with one thing changed."""
        how = rng.randrange(12)
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 1, 2, 10, 100)))
        if how == 0:
            return text[:start] + text[end:]
        if how == 1:
            return text[:start] + self.word(rng) + text[end:]
        if how == 2:
            return text[:start] + noise(rng)[:3] + text[end:]
        if how == 3:  # the start of this text, the end of another
            other = rng.choice(self.good)
            return text[:start] + other[rng.randrange(len(other) + 1) :]
        if how == 4:
            part = text[start:end] or "x"
            return text[:start] + part * (rng.choice(LONG) // len(part)) + text[end:]
        if how == 5:
            return rng.choice((str.upper, str.lower, str.swapcase, str.strip, str.title))(text)
        if how == 6:
            return rng.choice((text[::-1], text[:start], text[start:], text + text, "\ufeff" + text))
        if how in (7, 8):
            numbers = list(re.finditer(r"\d+", text))
            if not numbers:
                return text + rng.choice(ODD_NUMBERS)
            number = rng.choice(numbers)
            return text[: number.start()] + rng.choice(ODD_NUMBERS) + text[number.end() :]
        pattern = r"[^\n]*\n|[^\n]+" if how == 9 else r"\w+|\s+|[^\w\s]"
        return "".join(change_list(rng, re.findall(pattern, text), lambda: self.word(rng)))


def change_list(rng: Random, items: Sequence[Any], new: Callable[[], Any]) -> list[Any]:
    """The list with an item removed, added, repeated, replaced or moved."""
    items = list(items)
    place, other = (rng.randrange(len(items)) if items else 0 for _ in range(2))
    how = rng.randrange(5)
    if not items or how == 0:
        items.insert(place, new())
    elif how == 1:
        del items[place]
    elif how == 2:
        items.insert(other, items[place])
    elif how == 3:
        items[place] = new()
    else:
        items[place], items[other] = items[other], items[place]
    return items


# ---------------------------------------------------------------------------------------- records


def nested(depth: int) -> list[Any]:
    """Lists in lists."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**64, 10**40, 0.0, -0.0, 1.5, 1e308),
    *(float("nan"), float("inf"), [], {}, [[]], [0], {"": 0}, [None, {"a": [1]}]),
    *("x" * size for size in LONG),
    *ODD_TEXTS[::4],
    *ODD_NUMBERS[::4],
)
"""Values of JSON."""
ODDER_VALUES: tuple[Any, ...] = (
    *(b"x", (), (1, 2), {1, 2}, frozenset(), object, 1j, 10**5000, nested(10_000), [0] * 100_000),
    *(np.int64(3), np.float32(1), np.bool_(True), np.arange(3), np.array("x")),
)


def odd_value(rng: Random, plain: bool = False) -> Any:
    """Any value; with ``plain`` only values of JSON."""
    return rng.choice(ODD_VALUES if plain or rng.random() < 0.6 else ODDER_VALUES)


@dataclass(frozen=True)
class Records:
    """Plain data of a format."""

    good: Sequence[Any]
    words: Texts
    plain: bool = False
    """Whether only the types of JSON are allowed."""

    def make(self, rng: Random) -> Any:
        kind = rng.random()
        if kind < 0.02:
            return odd_value(rng, self.plain)
        data = rng.choice(self.good)
        if kind < 0.05:
            return data
        if kind < 0.15 and isinstance(data, dict):
            other = rng.choice(self.good)
            return {key: rng.choice((data, other)).get(key) for key in data}
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            data = self.change(rng, data)
        return data

    def new(self, rng: Random) -> Any:
        return self.words.word(rng) if rng.random() < 0.3 else odd_value(rng, self.plain)

    def change(self, rng: Random, data: Any) -> Any:
        """A copy of the data with one place changed."""
        deeper = rng.random() < 0.8
        if isinstance(data, dict) and data:
            key = rng.choice(list(data))
            if deeper:
                return {**data, key: self.change(rng, data[key])}
            how = rng.randrange(4)
            if how == 0:
                return {k: v for k, v in data.items() if k != key}
            if how == 1:
                return {**data, key: data[rng.choice(list(data))]}
            name = self.words.word(rng)
            if how == 2:
                return {name if k == key else k: v for k, v in data.items()}
            odd = rng.choice((None, 7, 1.5, True, (1, 2), b"x"))
            return {**data, (name if self.plain or rng.random() < 0.5 else odd): self.new(rng)}
        if isinstance(data, list) and data:
            if deeper and rng.random() < 0.5:
                place = rng.randrange(len(data))
                return [*data[:place], self.change(rng, data[place]), *data[place + 1 :]]
            return change_list(rng, data, lambda: self.new(rng))
        if isinstance(data, bool) or data is None or rng.random() < 0.3:
            return self.new(rng)
        if isinstance(data, int):
            return rng.choice((data + 1, data - 1, -data, 2 * data, data ^ 1 << rng.randrange(8), data // 2))
        if isinstance(data, str):
            return self.words.change(rng, data)
        return self.new(rng)


def as_bytes(rng: Random, text: str) -> bytes:
    """The bytes of a text in a file, sometimes with other bytes."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if rng.random() < 0.1:
        return text.encode("utf-16", "surrogatepass")
    if rng.random() < 0.3:
        for _ in range(rng.choice((1, 1, 5))):
            place = rng.randrange(len(data) + 1)
            data[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(data)


@cache
def folder() -> Path:
    """The folder for input files."""
    place = tempfile.mkdtemp(prefix="fuzz-")
    atexit.register(shutil.rmtree, place)
    return Path(place)


def written(name: str, data: bytes) -> Path:
    """A new file with these bytes; the one before may still be mapped into memory."""
    path = folder() / name
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path


# -------------------------------------------------------------------------------------- positions

GAMES = [
    *ONE_PER_RULE.values(),
    *FURTHER.values(),
    ALL_GAMES["short-4, alternate color, kings, supermove"],
    ALL_GAMES["short-5, same suit, any, sequence"],
    *ODD.values(),
]


@cache
def games(variant: Variant) -> list[tuple[str, dict[str, Any]]]:
    """Position texts and states of some random games, from the deal on."""
    size = 3
    batch = Batch(GameSpec(variant), size)
    rng = np.random.default_rng(0)
    batch.deal(np.arange(size), list(range(size)))
    found = []
    for step in range(101 if COMPILED else 11):
        if step in (0, 1, 10, 30, 60, 100):
            found += [(format_position(batch.position(row)), batch.get_state(row)) for row in range(size)]
        batch.step(np.argmax(batch.state.mask * rng.random(batch.state.mask.shape), axis=1), batch.everyone)
    return found


@cache
def game(variant: Variant) -> SolitaireEnv:
    """An environment that is reset repeatedly."""
    env = SolitaireEnv(variant, on_invalid="raise")
    env.reset(options={"deal": 0})
    return env


def changes_nothing(env: SolitaireEnv, call: Callable[[], Any]) -> Any:
    """The result of a call; if it refuses, the game must be unchanged."""
    before = env.get_state()
    try:
        return call()
    except BaseException:
        expect("state after a refusal", before, env.get_state())
        raise


def check_game(env: SolitaireEnv) -> None:
    """Check that a game that was started is valid and can continue."""
    expect("faults of the state", [], check_state(env))
    saved = env.get_state()
    env.step(int(env.action_masks().argmax()))
    expect("faults after a step", [], check_state(env))
    expect("steps after a step", saved["steps"] + 1, env.get_state()["steps"])
    env.set_state(saved)


@cache
def position_texts(variant: Variant) -> Texts:
    texts = [text for text, _ in games(variant)]
    texts += [format_position(parse_position(text, variant).hidden()) for text in texts[::4]]
    labels = {line.partition(":")[0] + ":" for line in texts[0].splitlines()}
    words = [*sorted(labels), *sorted(set(" ".join(texts).split())), variant.name, variant.title]
    return Texts([*texts, *(f"{text}\n" for text in texts[:2])], [*words, "??", "--", "\n", "t0:", "t11:"])


def make_position(rng: Random) -> tuple[Variant, Any]:
    variant = rng.choice(GAMES)
    texts = position_texts(variant)
    kind = rng.random()
    if kind < 0.02:
        return variant, odd_value(rng)
    if kind < 0.7:
        return variant, texts.make(rng)
    # The same cards in other places, the lines in another order: mostly a possible position.
    lines = rng.choice(texts.good).splitlines()
    for _ in range(rng.choice((1, 2, 20))):
        words = "\n".join(lines).split(" ")
        place, other = (rng.randrange(len(words)) for _ in range(2))
        if "\n" not in words[place] + words[other]:
            words[place], words[other] = words[other], words[place]
        else:
            words.insert(other, words.pop(place))
        lines = " ".join(words).split("\n")
    rng.shuffle(lines)
    return variant, rng.choice(("\n", "\r\n", "\n\n \n")).join(lines)


def read_position(case: tuple[Variant, Any]) -> Position:
    return parse_position(case[1], case[0])


def read_published_position(case: tuple[Variant, Any]) -> Position:
    return parse_position(case[1])


def check_position(_: object, position: Position) -> None:
    expect("faults", [], position_faults(position))
    text = format_position(position)
    expect("position, written and read", position, parse_position(text, position.variant))
    expect("text, read and written", text, format_position(parse_position(text, position.variant)))
    if position.stock == position.hidden().stock:
        return
    expect("position of its row", position, position_from_row(position.variant, position_to_row(position)))


def start_position(case: tuple[Variant, Any]) -> Any:
    env = game(case[0])
    return changes_nothing(env, lambda: env.reset(options={"position": case[1]}))


def check_start(case: tuple[Variant, Any], result: Any) -> None:
    env, position = game(case[0]), parse_position(case[1], case[0])
    hidden = position.stock == position.hidden().stock
    shown = format_position(position.hidden() if hidden else position)
    expect("position of the game", shown, env.position(hidden=hidden))
    expect("deal of the game", (-1, None), (result[1]["deal"], env.deal))
    check_game(env)


def make_observation(rng: Random) -> tuple[Variant, Any]:
    variant = rng.choice(GAMES)
    row = np.array(rng.choice(games(variant))[1]["row"], dtype=np.int8)
    kind = rng.random()
    if kind < 0.05:
        return variant, odd_value(rng)
    if kind < 0.5:
        row = row[: make_rules(variant).row_stock]
    for _ in range(rng.choice((0, 1, 1, 2, 30))):
        place, other = rng.randrange(len(row)), rng.randrange(len(row))
        row[place] = rng.choice((0, 1, 2, 3, 4, 55, 56, 64, 127, -1, -128, rng.randrange(64), row[other]))
    if kind < 0.2:
        shapes = (row[:-1], row[:0], row[None], np.append(row, 0), row.reshape(-1, 1), row.tolist())
        return variant, rng.choice(shapes)
    if kind < 0.3:
        kinds = ("u1", "i8", "u8", "f4", "c8", "?", "O", "U2", "M8[s]")
        return variant, row.astype(rng.choice(kinds))
    return variant, row


def read_observation(case: tuple[Variant, Any]) -> Position:
    return game(case[0]).decode_observation(case[1])


def check_observation(case: tuple[Variant, Any], position: Position) -> None:
    """The decoded position must be possible."""
    expect("faults", [], position_faults(position))
    assert position == parse_position(format_position(position), position.variant)


# ---------------------------------------------------------------------------- actions, deals, states


@cache
def action_texts(variant: Variant) -> Texts:
    texts = [action_text(variant, number) for number in range(action_layout(variant).size)]
    return Texts(texts, ["draw", "t", "w", "c", "s", "f", "x", ">", "t1", "t2x4", "c1", *map(str, range(20))])


def make_action(rng: Random) -> tuple[Variant, Any]:
    variant = rng.choice(GAMES)
    return variant, odd_value(rng) if rng.random() < 0.05 else action_texts(variant).make(rng)


def read_action(case: tuple[Variant, Any]) -> int:
    return parse_action(*case)


def check_action(case: tuple[Variant, Any], number: int) -> None:
    expect("action, read and written", case[1], action_text(case[0], number))


DEALS = Texts(
    ["0", "7", "1000000", "ms:1", "ms:11982", "ms:8589934591", "pysol:24", "pysol:99999999999999999999"],
    ["ms", "pysol", ":", "0", "1", "24", "617", "-", "+", " ", "none"],
)


def make_deal(rng: Random) -> tuple[Variant, Any]:
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(GAMES), odd_value(rng)
    if kind < 0.6:
        number = rng.choice((0, 1, 2**31, 2**63 - 1, 2**63, 2**64)) + rng.randrange(-2, 3)
        kinds = [int] + [np.int64] * (abs(number) < 2**63) + [np.uint64] * (0 <= number < 2**64)
        return rng.choice(GAMES), rng.choice(kinds)(number)
    return rng.choice(GAMES), DEALS.make(rng)


def read_deal(case: tuple[Variant, Any]) -> Any:
    return deal_order(*case)


def check_deal(case: tuple[Variant, Any], order: Any) -> None:
    expect("cards of the deal", sorted(ordered_pack(case[0]).tolist()), sorted(order.tolist()))
    assert isinstance(case[1], str) or 0 <= case[1] <= MAX_DEAL
    expect("the deal again", order.tolist(), deal_order(*case).tolist())


def start_deal(case: tuple[Variant, Any]) -> Any:
    env = game(case[0])
    return changes_nothing(env, lambda: env.reset(options={"deal": case[1]}))


def check_dealt(case: tuple[Variant, Any], result: Any) -> None:
    number = -1 if isinstance(case[1], str) else case[1]
    expect("deal of the game", (number, case[1]), (result[1]["deal"], game(case[0]).deal))
    check_game(game(case[0]))
    json.dumps(game(case[0]).get_state())


OPTIONS = Records([{"deal": 7}, {"deal": "ms:5"}, {}], DEALS)


def make_options(rng: Random) -> tuple[Variant, Any]:
    return rng.choice(GAMES), OPTIONS.make(rng)


def start_anyhow(case: tuple[Variant, Any]) -> Any:
    env = game(case[0])
    return changes_nothing(env, lambda: env.reset(options=case[1]))


def check_started(case: tuple[Variant, Any], _: object) -> None:
    check_game(game(case[0]))


@cache
def states(variant: Variant) -> Records:
    return Records([state for _, state in games(variant)], DEALS)


def make_state(rng: Random) -> tuple[Variant, Any]:
    variant = rng.choice(GAMES)
    state = states(variant).make(rng)
    if isinstance(state, dict) and isinstance(state.get("row"), list) and rng.random() < 0.5:
        # Swap two cards: a valid state, as long as there are no gaps.
        row = list(state["row"])
        if row:
            place, other = rng.randrange(len(row)), rng.randrange(len(row))
            row[place], row[other] = row[other], row[place]
        state = {**state, "row": row}
    return variant, state


def read_state(case: tuple[Variant, Any]) -> Any:
    env = game(case[0])
    return changes_nothing(env, lambda: env.set_state(case[1]))


def check_set_state(case: tuple[Variant, Any], _: object) -> None:
    env = game(case[0])
    expect("state, set and got", case[1], env.get_state())
    expect("state as JSON", env.get_state(), json.loads(json.dumps(env.get_state())))
    check_game(env)


# --------------------------------------------------------------------------------------- variants

RULE_WORDS = [word for words in (Build, Spaces, Moves) for word in get_args(words)]
RECORDS = Records(
    [variant_to_dict(variant) for variant in GAMES],
    Texts([variant.title for variant in GAMES], [*(field.name for field in fields(Variant)), *RULE_WORDS]),
)


def make_record(rng: Random) -> Any:
    data = RECORDS.make(rng)
    if rng.random() < 0.2 and isinstance(data, dict):
        data = {**data, "tableau": [rng.randrange(9) for _ in range(rng.randrange(40))]}
    return data


def check_record(_: object, variant: Variant) -> None:
    data = json.loads(json.dumps(variant_to_dict(variant)))
    expect("variant, written and read", variant, variant_from_dict(data))
    described = variant.describe()
    assert all(map(str.isprintable, described.split("\n"))), described
    namespace, name, version = gym.envs.registration.parse_env_id(env_id(variant))
    assert (namespace, bool(name), version) == ("Solitaire", True, 0), env_id(variant)
    env = SolitaireEnv(variant)
    env.reset(options={"deal": 0})
    position = parse_position(env.position(), variant)
    expect("position text of the deal", env.position(), format_position(position))
    check_game(env)
    if make_rules.cache_info().currsize > 1000:  # one for every variant ever made
        for cached in (make_rules, action_layout, observation_layout):
            cached.cache_clear()


NAMES = Texts(
    [name for v in known_variants() for name in (v.name, v.title, *v.aliases, env_id(v))],
    [*("solitaire_env", "Solitaire", ":", "/", "-", "-v0", "-v1", "Busy", "aces", "Eight", "Off", "forty")],
)


def make_name(rng: Random) -> Any:
    return odd_value(rng) if rng.random() < 0.1 else NAMES.make(rng)


def check_name(_: object, variant: Variant) -> None:
    for name in (variant.name, variant.title, *variant.aliases):
        expect(f"variant of {name!r}", variant, get_variant(name))
    expect("variant of its id", variant, env_variant(env_id(variant)))


# ------------------------------------------------------------------------- files and command lines


WON = Game(
    env="Solitaire/BusyAces-v0", policy="greedy", moves="supermove", rules="same suit, any, one card",
    deal=7, won=True, cards_home=104, steps=398, truncated=False, repeated=0,
)  # fmt: skip
RESULTS = [vars(WON), {**vars(WON), "deal": "ms:5", "won": False}, {**vars(WON), "policy": "é", "steps": 0}]
RESULT_WORDS = [*vars(WON), *map(json.dumps, vars(WON).values()), *"{}\n", "[" * 100_000, '{"a":' * 10_000]
RESULT = Records(RESULTS, Texts(list(map(json.dumps, RESULTS)), RESULT_WORDS), plain=True)
RESULT_FILES = Texts(
    ["", *("\n".join(map(json.dumps, RESULTS[:count])) + end for count in (1, 2, 3) for end in ("", "\n"))],
    RESULT_WORDS,
)


def make_results(rng: Random) -> bytes:
    if rng.random() < 0.5:
        return as_bytes(rng, RESULT_FILES.make(rng))
    lines = [json.dumps(RESULT.make(rng)) for _ in range(rng.choice((1, 1, 2, 3)))]
    return ("\n".join(lines) + rng.choice(("", "\n"))).encode()


def read_results(data: bytes) -> list[Game]:
    return read_games(written("games.jsonl", data))


def check_results(_: object, games: list[Game]) -> None:
    for game in games:
        optional = ((int, type(None)), (str, type(None)))
        types = (str, str, str, str, (int, str), bool, int, int, bool, int, *optional)
        for field, kind in zip(fields(Game), types, strict=True):
            assert isinstance(getattr(game, field.name), kind), f"{field.name} of {game}"
    again = "".join(json.dumps(vars(game)) + "\n" for game in games)
    expect("games, written and read", games, read_results(again.encode()))


TRANSCRIPTS_OF = [*GAMES[:5:2], ODD["one-pile"], ODD["only-aces"]]


class First:
    """Plays the first legal action; gives all legal actions the same probability, and a value of one half."""

    def __call__(self, observations: Any, masks: Any) -> Any:
        return masks.argmax(1)

    def explain(self, observations: Any, masks: Any) -> tuple[Any, Any]:
        return masks / masks.sum(1, keepdims=True), np.full(len(masks), 0.5)


@cache
def transcripts(variant: Variant) -> Texts:
    done = evaluate(
        First(), variant, [0, 1], name="first",
        moves="supermove" if variant.name == "busy-aces" else None, max_episode_steps=20, transcripts=True,
    )  # fmt: skip
    texts = list(done.transcripts.values())
    words = sorted(set(" ".join(texts).split()))
    return Texts(texts, [*words, "none", "won", "stuck", "truncated", "\n", "\n\n"])


def make_transcript(rng: Random) -> tuple[Variant, Any]:
    variant = rng.choice(TRANSCRIPTS_OF)
    return variant, odd_value(rng) if rng.random() < 0.02 else transcripts(variant).make(rng)


def read_transcript(case: tuple[Variant, Any]) -> Transcript:
    return parse_transcript(case[1], case[0])


def check_transcript(case: tuple[Variant, Any], transcript: Transcript) -> None:
    text = format_transcript(transcript)
    expect("transcript, written and read", transcript, parse_transcript(text, case[0]))
    expect("text, read and written", text, format_transcript(parse_transcript(text, case[0])))


def replay_transcript(case: tuple[Variant, Any]) -> list[Step]:
    return list(replay(read_transcript(case)))


def check_replayed(case: tuple[Variant, Any], steps: list[Step]) -> None:
    expect("actions that were played", read_transcript(case).actions, tuple(step.text for step in steps))


COMMANDS: list[list[str]] = [
    ["list"],
    ["list", "--json"],
    ["rules", "eight off", "--build", "alternate color", "--spaces", "any"],
    ["rules", "Solitaire/FortyBandits-v0", "--moves", "one card"],
    ["show", "busy-aces", "--deal", "7"],
    ["show", "forty-thieves", "--deal=ms:617", "--text"],
    ["show", "eighty-thieves", "--deal", "pysol:24", "--moves", "supermove"],
    ["--help"],
    ["show", "--help"],
]
COMMAND_WORDS = Texts(
    sorted({word for command in COMMANDS for word in command}),
    [*NAMES.words, *DEALS.words, "-", "--", "=", "--deal", "--text", "--build", "--spaces", "kings", "hint"],
)
NOT_HERE = ("play", "perft", "bench")
"""Commands that read from the keyboard or take long."""


def make_command(rng: Random) -> list[str]:
    args = list(rng.choice(COMMANDS))
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        if rng.random() < 0.5:
            args = change_list(rng, args, lambda: COMMAND_WORDS.make(rng))
        elif args:
            place = rng.randrange(len(args))
            args[place] = COMMAND_WORDS.change(rng, args[place])
    # Command lines have no NUL. tyro writes completion scripts, to any file.
    args = [arg.replace("\0", "")[:100_000] for arg in args]
    return [arg for arg in args if arg not in NOT_HERE and not arg.startswith("--tyro")]


def run_command(args: list[str]) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(args)
        except SystemExit as end:  # --help, or the parser refuses it
            if end.code == 2:
                raise Refused from None
            code = end.code if isinstance(end.code, int) else 1
    if code == 2:
        expect("output of a command that is refused", "", out.getvalue())
        check_message(err.getvalue())
        raise Refused
    expect("exit code and errors", (0, ""), (code, err.getvalue()))
    return out.getvalue()


def check_command(_: object, out: str) -> None:
    assert out.strip()
    assert all(map(str.isprintable, out.split("\n"))), f"control characters: {out!a}"


DEAL_ERRORS = (ValueError, TypeError, ImportError)
TARGETS = (
    Target("position", make_position, read_position, check_position, share=20),
    Target("published-position", make_position, read_published_position, check_position),
    Target("start-position", make_position, start_position, check_start, share=20),
    Target("observation", make_observation, read_observation, check_observation),
    Target("action", make_action, read_action, check_action, share=20),
    Target("deal", make_deal, read_deal, check_deal, DEAL_ERRORS),
    Target("start-deal", make_deal, start_deal, check_dealt, DEAL_ERRORS),
    Target("options", make_options, start_anyhow, check_started, DEAL_ERRORS, share=4),
    Target("state", make_state, read_state, check_set_state, share=20),
    Target("variant", make_record, variant_from_dict, check_record),
    Target("name", make_name, get_variant, check_name),
    Target("id", make_name, env_variant, check_name),
    Target("results", make_results, read_results, check_results, (ValueError,)),
    Target("transcript", make_transcript, read_transcript, check_transcript),
    Target("replay", make_transcript, replay_transcript, check_replayed, DEAL_ERRORS, share=4),
    Target("command", make_command, run_command, check_command, (), share=1),
)


# --------------------------------------------------------------------------------------- the script


def targets() -> dict[str, Target]:
    """All targets; those of agents if their libraries are installed."""
    found = list(TARGETS)
    with contextlib.suppress(ImportError):
        from tests.agents.test_fuzz import TARGETS as OF_AGENTS

        found += OF_AGENTS
    return {target.name: target for target in found}


def main(args: Sequence[str] | None = None) -> int:
    """Run the script; return 1 if something was found."""
    parser = argparse.ArgumentParser(description="Fuzz everything that parses.")
    parser.add_argument("--cases", type=int, default=100_000, help="inputs, shared among the targets")
    parser.add_argument("--target", choices=targets(), help="only this one")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the next has the next seed")
    a = parser.parse_args(args)
    chosen = [targets()[a.target]] if a.target else list(targets().values())
    for target in chosen:  # loading is not measured
        with contextlib.suppress(Finding):
            try_case(target, 0)
    import resource  # without it, only the tests run

    signal.signal(signal.SIGALRM, _give_up)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
    shares = sum(target.share for target in chosen)
    found: set[str] = set()
    total = 0
    began = time.monotonic()
    for target in chosen:
        cases = max(1, a.cases * target.share // shares)
        total += cases
        for finding in fuzz(target, range(a.seed, a.seed + cases)):
            if finding.where not in found:
                found.add(finding.where)
                print(finding, flush=True)
    print(f"{total:,} cases in {time.monotonic() - began:.0f} s, {len(found)} findings")
    return int(bool(found))


def fuzz(target: Target, seeds: range) -> Iterator[Finding]:
    """Try cases, and print the results and the findings."""
    accepted = 0
    slowest, slowest_seed = 0.0, seeds.start
    began = time.monotonic()
    for seed in seeds:
        if seed % 1000 == 0:  # a hang in compiled code, which the alarm does not end
            faulthandler.dump_traceback_later(100 * LONGEST_CASE, exit=True)
        signal.alarm(LONGEST_CASE)
        try:
            outcome = try_case(target, seed)
        except Finding as finding:
            signal.alarm(0)
            yield finding
        else:
            accepted += outcome.accepted
            slowest, slowest_seed = max((slowest, slowest_seed), (outcome.seconds, seed))
    signal.alarm(0)
    faulthandler.cancel_dump_traceback_later()
    how = f"{len(seeds):>9,} cases, {accepted:>9,} accepted, {time.monotonic() - began:6.1f} s"
    print(f"{target.name:<20}{how}, slowest {1000 * slowest:6.1f} ms (seed {slowest_seed})", flush=True)


def _give_up(signum: int, frame: FrameType | None) -> None:
    raise Hang(f"more than {LONGEST_CASE} s")


if __name__ == "__main__":
    sys.exit(main())
