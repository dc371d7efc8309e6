"""Positions and actions as text, and the errors for wrong texts."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN, EMPTY, FACE_DOWN
from solitaire_env.core.layout import make_rules
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import (
    MAX_TEXT,
    Position,
    action_text,
    format_position,
    parse_action,
    parse_position,
    position_faults,
    position_from_row,
    position_to_row,
)
from solitaire_env.testing import check_state
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.damage import DAMAGE, damaged_texts, read_or_refused
from tests.games import ALL_GAMES, ONE_PER_RULE

THIEVES = get_variant("forty-thieves")
EIGHTS = get_variant("eights-down")


def dealt(variant: Variant, deal: int = 7, steps: int = 0) -> str:
    """Position text of a deal after some random moves."""
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.zeros(1, dtype=np.int64), [deal])
    rng = np.random.default_rng(deal)
    for _ in range(steps):
        batch.step(np.array([rng.choice(np.flatnonzero(batch.state.mask[0]))]), batch.everyone)
    return format_position(batch.position(0))


def changed(text: str, name: str, change: Callable[[list[str]], list[str]]) -> str:
    """The text with other words in one of its lines."""
    lines = []
    for line in text.splitlines():
        label, _, rest = line.partition(":")
        lines.append(f"{label}: {' '.join(change(rest.split()))}" if label == name else line)
    return "\n".join(lines)


# ------------------------------------------------------------------------------------ there and back


@pytest.mark.parametrize("name", ALL_GAMES)
def test_position_texts_round_trip(name: str) -> None:
    variant = ALL_GAMES[name]
    for steps in (0, 5, 40):
        text = dealt(variant, steps, steps)
        position = parse_position(text, variant)
        assert format_position(position) == text
        assert position_faults(position) == []
        row = position_to_row(position)
        assert row.dtype == np.int8 and row.shape == (make_rules(variant).row_size,)
        assert position_from_row(variant, row) == position
        hidden = position.hidden()
        seen = row[: make_rules(variant).row_stock]
        assert position_from_row(variant, np.where(seen > DOWN, FACE_DOWN, seen)) == hidden
        assert parse_position(format_position(hidden), variant) == hidden
        down = [card & ~DOWN for pile in position.tableau for card in pile if card & DOWN]
        unseen = Counter(hidden.unseen())
        if variant.foundation_build == "same suit":
            assert unseen == Counter([*position.stock, *down])
        assert unseen.total() == len(position.stock) + len(down)
        assert set(hidden.stock) <= {FACE_DOWN}
        assert all(card < DOWN for pile in hidden.tableau for card in pile)


# ------------------------------------------------------------------------------- texts that are wrong


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("no line 'variant: name'",)),
        ("nonsense", ("line 1", "'nonsense'", "'name: cards'")),
        ("variant: forty-thief", ("'forty-thief'", "closest: forty-thieves")),
        ("variant: forty-thieves", ("no line 'stock'", "stock, waste, foundations, t1")),
        ("x" * (MAX_TEXT + 1), (str(MAX_TEXT + 1), str(MAX_TEXT))),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_invalid_position_texts_raise_an_error(text: str, words: tuple[str, ...], refuses: Refuses) -> None:
    refuses(lambda: parse_position(text), *words)


@pytest.mark.parametrize(
    ("name", "line", "change", "words"),
    [
        ("forty-thieves", "t3", lambda w: w[:-1], ("103 cards, forty-thieves has 104",)),
        ("forty-thieves", "t1", lambda w: [*w[:-2], "AS", "AS"], ("copies of AS, forty-thieves has 2",)),
        ("eights-down", "t1", lambda w: [w[1], *w[1:]], ("2 copies of", "eights-down has 1")),
        ("forty-thieves", "t3", lambda w: ["1C", *w[1:]], ("'t3'", "'1C'", "A23456789TJQK", "CDHS")),
        ("forty-thieves", "t3", lambda w: ["??", *w[1:]], ("'t3'", "'??'", "cards")),
        ("forty-thieves", "waste", lambda w: ["??"], ("'waste'", "'??'", "cards")),
        ("forty-thieves", "stock", lambda w: ["??", *w[1:]], ("1 hidden cards of 64", "all of them or none")),
        (
            "klondike",
            "t7",
            lambda w: ["??", *w[1:]],
            ("tableau has 1 hidden cards of 21", "all of them or none"),
        ),
        ("forty-thieves", "waste", lambda w: ["4C"], ("65 cards, at most 64",)),
        ("forty-thieves", "t3", lambda w: w * 5, ("t3 has 20 cards, at most 16 fit",)),
        ("eights-down", "cells", lambda w: [*w, "--"], ("9 entries", "allowed: 8", "'--'")),
        ("forty-thieves", "foundations", lambda w: w[:-1], ("'foundations'", "0 to 13")),
        (
            "forty-thieves",
            "foundations",
            lambda w: ["C", "-1", *w[2:]],
            ("'foundations'", "C -1 0", "0 to 13"),
        ),
        ("forty-thieves", "foundations", lambda w: ["C", "14", *w[2:]], ("C hold [14, 0]", "ranks 0 to 13")),
    ],
)
def test_invalid_lines_raise_an_error(
    name: str, line: str, change: Callable[[list[str]], list[str]], words: tuple[str, ...], refuses: Refuses
) -> None:
    text = changed(dealt(get_variant(name)), line, change)
    assert text != dealt(get_variant(name))
    refuses(lambda: parse_position(text), *words)
    env = SolitaireEnv(name)
    env.reset(seed=0)
    before = env.position()
    refuses(lambda: env.reset(options={"position": text}), *words)
    assert env.position() == before


def test_the_text_of_another_game_raises_an_error(refuses: Refuses) -> None:
    refuses(lambda: parse_position(dealt(THIEVES), EIGHTS), "'forty-thieves'", "eights-down")
    env = SolitaireEnv("eights-down")
    refuses(lambda: env.reset(options={"position": dealt(THIEVES)}), "'forty-thieves'", "eights-down")
    refuses(
        lambda: env.reset(options={"position": parse_position(dealt(THIEVES))}),
        "'forty-thieves'",
        "eights-down",
    )


DAMAGED = {name: [dealt(ALL_GAMES[name], deal, 30 * deal) for deal in range(3)] for name in ONE_PER_RULE}
FEWER = settings(DAMAGE, max_examples=DAMAGE.max_examples // 4)
"""Of each game."""
WORDS = ("??", "--", "(7H)", "7H", "t1:", "t0:", "stock:", "waste:", "cells: ", "variant: klondike", "\n")


@FEWER
@given(data=st.data())
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_positions(name: str, data: st.DataObject) -> None:
    """A text is refused, or written and read again it is the same, and a game can start from it."""
    env = SolitaireEnv(ALL_GAMES[name])
    env.reset(options={"deal": 0})
    before = env.position()
    text = data.draw(damaged_texts(DAMAGED[name], WORDS))
    position = read_or_refused(parse_position, text)
    if position is None:
        assert read_or_refused(lambda text: env.reset(options={"position": text}), text) is None
        assert env.position() == before
    else:
        assert position_faults(position) == [] and parse_position(format_position(position)) == position
        env.reset(options={"position": format_position(position)})
        assert check_state(env) == []


@FEWER
@given(data=st.data())
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_observations(name: str, data: st.DataObject) -> None:
    env = SolitaireEnv(ALL_GAMES[name], information="thoughtful")
    seen, _ = env.reset(options={"deal": 0})
    for _ in range(data.draw(st.integers(0, 3))):
        seen[data.draw(st.integers(0, len(seen) - 1))] = data.draw(st.integers(-128, 127))
    position = read_or_refused(env.decode_observation, seen)
    assert position is None or position_faults(position) == []


@DAMAGE
@given(damaged_texts(["draw", "t1>f", "t10>t2", "w>s", "t2>t1"], ("t", "x4", "c", ">")))
def test_damaged_actions(text: str) -> None:
    number = read_or_refused(lambda text: parse_action(THIEVES, text), text)
    assert number is None or action_text(THIEVES, number) == text


# -------------------------------------------------------------------------- records that are wrong


def wrong(**fields: object) -> Position:
    return replace(parse_position(dealt(EIGHTS)), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"tableau": ()}, "0 tableau piles, eights-down has 8"),
        (
            {"foundations": ((0, 0), (), (0,), (0,))},
            "foundations C hold [0, 0], allowed: 1 ranks 0 to 13, highest first",
        ),
        ({"tableau": ((DOWN + 4, 8),) * 8}, "t1 has (AC)"),
        ({"waste": (4,)}, "stock and waste have 1 cards, at most 0"),
        ({"cells": (EMPTY,) * 8}, "48 cards, eights-down has 52"),
        ({"cells": (4,) * 8}, "copies of AC, eights-down has 1"),
    ],
)
def test_impossible_positions_raise_an_error(fields: dict[str, object], fault: str, refuses: Refuses) -> None:
    assert any(fault in text for text in position_faults(wrong(**fields)))
    refuses(lambda: SolitaireEnv("eights-down").reset(options={"position": wrong(**fields)}), "not possible")
