"""Lines of play, counted by the engine and by the reference implementation: see tests/counts.py."""

from __future__ import annotations

import math
import re
from itertools import takewhile

import numpy as np
import pytest

from solitaire_env.core import perft
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.perft import count_nodes, count_unique, divided
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import Position, action_text, format_position, parse_position
from solitaire_env.variants import Variant
from tests import counts
from tests.conftest import Refuses
from tests.counts import ENOUGH, VARIANTS, Start, path_of, read_file
from tests.games import COMPILED, THE_FIVE
from tests.reference import Move, ReferenceGame, ReferenceRules

FILES = {name: read_file(name) for name in VARIANTS}
COUNTED = [name for name in VARIANTS if COMPILED or VARIANTS[name] in THE_FIVE.values()]
LONG = ENOUGH["long deal"]
"""Starts with this many nodes at their last depth are left to the proofs."""
MOST_NODES = math.inf if COMPILED else 40
"""Depths with more nodes are not counted."""
MOST_UNIQUE = 20_000 if COMPILED else 20
"""Different positions are not counted at depths with more of them."""
RECOUNTED = 60
"""The reference implementation counts again if it found at most this many positions."""


def position_of(variant: Variant, start: Start) -> Position:
    """The position of a start."""
    if start.deal is None:
        return parse_position(start.position, variant)
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.array([0]), [start.deal])
    return batch.position(0)


@pytest.mark.parametrize("name", COUNTED)
def test_counts_equal_the_files(name: str) -> None:
    for start in FILES[name]:
        if start.nodes[-1] < LONG:
            check(VARIANTS[name], start)


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_long_counts_equal_the_files(name: str) -> None:
    for start in FILES[name]:
        if start.nodes[-1] >= LONG:
            check(VARIANTS[name], start)


def check(variant: Variant, start: Start) -> None:
    """Count from a start; fail with the first difference from the file."""
    position = position_of(variant, start)
    for depth, nodes in enumerate(start.nodes, 1):
        if nodes <= MOST_NODES and (got := count_nodes(position, depth)) != nodes:
            what = f"{start.id}: {nodes} nodes at depth {depth}, got {got}"
            pytest.fail(explain(position, depth, what), pytrace=False)
    unique = list(takewhile(lambda number: number <= MOST_UNIQUE, start.unique))
    for depth, got in enumerate(count_unique(position, len(unique)), 1):
        if got != unique[depth - 1]:
            what = f"{start.id}: {unique[depth - 1]} different positions at depth {depth}, got {got}"
            pytest.fail(explain(position, depth, what), pytrace=False)


def explain(position: Position, depth: int, what: str) -> str:
    """The difference between the engine and the reference implementation: nodes below each action, and the
    first position that differs.
    """
    variant = position.variant
    batch = Batch(GameSpec(variant), 1)
    batch.place(0, position)
    reference = ReferenceGame.from_text(format_position(batch.position(0)), ReferenceRules.of(variant))
    expected = {}
    for action in reference.legal_actions():
        after = reference.copy()
        after.play(action)
        nodes, _ = counts.count(after, 10**12, depth - 1)
        expected[action] = (1, *nodes)[depth - 1] if len(nodes) == depth - 1 else 0
    got = dict(divided(position, depth))
    table = [f"{'action':<8}{'expected':>12}{'got':>12}"]
    for action in dict.fromkeys([*expected, *got]):
        numbers = (expected.get(action, "illegal"), got.get(action, "illegal"))
        differs = "  differs" if numbers[0] != numbers[1] else ""
        table.append(f"{action:<8}{numbers[0]:>12}{numbers[1]:>12}{differs}")
    return "\n".join(
        [f"expected {what}, from", reference.text(), *table, first_difference(batch, reference, depth)]
    )


def first_difference(batch: Batch, start: ReferenceGame, depth: int) -> str:
    """The shortest line to a position that differs, or whose legal actions differ."""
    variant = batch.variant
    texts = [action_text(variant, action) for action in range(batch.rules.actions)]
    saved = batch.state.rows[0].copy()
    ways: list[list[str]] = [[]]
    for _ in range(depth + 1):
        longer: list[list[str]] = []
        for way in ways:
            # Played from the start each time: the fault may depend on the line.
            batch.set_row(0, saved)
            reference = start.copy()
            for action in way:
                before = reference.copy()
                reference.play(action)
                batch.step(np.array([texts.index(action)]), batch.everyone)
            if reference.text() != format_position(batch.position(0)):
                return (
                    f"after {' '.join(way[:-1]) or 'nothing'}, in\n{before.text()}\n"
                    f"{way[-1]} is expected to lead to\n{reference.text()}\n"
                    f"got\n{format_position(batch.position(0))}"
                )
            playing = batch.state.status[0] == PLAYING
            got = [texts[action] for action in np.flatnonzero(batch.state.mask[0])] if playing else []
            expected = reference.legal_actions()
            if got != expected:
                missing = [action for action in expected if action not in got]
                extra = [action for action in got if action not in expected]
                return (
                    f"after {' '.join(way) or 'nothing'}, in\n{reference.text()}\nlegal actions expected: "
                    f"{' '.join(expected) or 'none'}\ngot: {' '.join(got) or 'none'}\nwrongly illegal: "
                    f"{' '.join(missing) or 'none'}; wrongly legal: {' '.join(extra) or 'none'}"
                )
            longer += [[*way, action] for action in expected]
        ways = longer
    return "no position on the way differs: the counting is at fault"


# ------------------------------------------------------------------------------------- the files


@pytest.mark.slow
@pytest.mark.parametrize("name", list(VARIANTS)[::4])
def test_files_are_complete(name: str) -> None:
    """Every start is in its file with its position, and the file has the right format."""
    variant, starts = VARIANTS[name], FILES[name]
    assert path_of(name).read_text(encoding="utf-8") == counts.format_file(variant, starts)
    expected = [
        (id_, number, game.text() if number is None else "")
        for _, id_, number, game in counts.places(variant)
    ]
    assert [(start.id, start.deal, start.position) for start in starts] == expected
    assert len({start.id for start in starts}) == len(starts)
    for (kind, *_), start in zip(counts.places(variant), starts, strict=True):
        if start.deal is not None:
            few = len(start.nodes) == counts.DEEPEST[kind] or start.nodes[-1] == 0
            assert few or start.nodes[-1] >= ENOUGH[kind]


def test_every_file_is_used() -> None:
    assert {path.name for path in counts.FOLDER.iterdir()} == {path_of(name).name for name in VARIANTS}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_reference_implementation_counts_the_same(name: str) -> None:
    """For counts that take little time."""
    variant = VARIANTS[name]
    for start in FILES[name]:
        depth = sum(sum(start.unique[: n + 1]) <= RECOUNTED for n in range(len(start.unique)))
        if depth:
            if start.deal is None:
                game = ReferenceGame.from_text(start.position, ReferenceRules.of(variant))
            else:
                game = counts.deal(variant, start.deal)
            nodes, unique = counts.count(game, 10**12, depth)
            assert (nodes, unique) == (start.nodes[:depth], start.unique[:depth]), start.id


# ----------------------------------------------------------------------------------- the package


def test_progress_counts_the_positions_that_were_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perft, "_CHUNK", 4)
    start = FILES["eights-down"][0]
    told: list[tuple[int, int]] = []
    depths = count_unique(
        position_of(VARIANTS["eights-down"], start), 3, lambda done, of: told.append((done, of))
    )
    assert tuple(depths) == start.unique[:3]
    assert told == [(min(done + 4, of), of) for of in (1, *start.unique[:2]) for done in range(0, of, 4)]


def test_divide_sums_to_the_nodes() -> None:
    position = position_of(VARIANTS["eights-down"], FILES["eights-down"][0])
    nodes = FILES["eights-down"][0].nodes
    for depth in (1, 2, 3) if COMPILED else (1, 2):
        assert sum(dict(divided(position, depth)).values()) == nodes[depth - 1]
    assert count_nodes(position, 0) == 1
    assert list(count_unique(position, 0)) == []
    assert set(dict(divided(position, 1)).values()) == {1}


def test_invalid_arguments_raise_an_error(refuses: Refuses) -> None:
    position = position_of(VARIANTS["forty-thieves"], FILES["forty-thieves"][0])
    for depth in (-1, 1.0, True, "2", None):
        refuses(lambda depth=depth: count_nodes(position, depth), f"depth is {depth!r}", "from 0")
        refuses(lambda depth=depth: list(count_unique(position, depth)), f"depth is {depth!r}", "from 0")
    refuses(lambda: dict(divided(position, 0)), "depth is 0", "a whole number from 1")
    refuses(lambda: count_nodes(position.hidden(), 1), "stock of the position is hidden")


# ------------------------------------------------------------------------- the test itself bites


def test_a_wrong_rule_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a reference implementation without draws."""
    moves = ReferenceGame.moves

    def without_draw(game: ReferenceGame) -> dict[str, Move]:
        return {text: move for text, move in moves(game).items() if text != "draw"}

    monkeypatch.setattr(ReferenceGame, "moves", without_draw)
    start = next(s for s in FILES["busy-aces"] if s.id == "draw is legal whatever else is")
    message = explain(position_of(VARIANTS["busy-aces"], start), 2, "2 nodes")
    assert re.search(r"^draw +illegal +\d+  differs$", message, re.MULTILINE)
    assert "after nothing, in\nvariant: busy-aces\n" in message
    assert message.endswith("wrongly illegal: none; wrongly legal: draw")


def test_a_wrong_move_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a reference implementation that draws two cards."""
    play = ReferenceGame.play

    def draw_two(game: ReferenceGame, action: str) -> None:
        play(game, action)
        if action == "draw":
            play(game, action)

    monkeypatch.setattr(ReferenceGame, "play", draw_two)
    message = explain(position_of(VARIANTS["busy-aces"], FILES["busy-aces"][0]), 1, "1 node")
    assert re.search(r"draw is expected to lead to\nvariant: (.|\n)*\ngot\nvariant: ", message)


def test_a_wrong_count_is_named() -> None:
    """The engine is right, and the stored count is wrong."""
    position = position_of(VARIANTS["busy-aces"], FILES["busy-aces"][0])
    assert explain(position, 2, "1 node").endswith("the counting is at fault")
