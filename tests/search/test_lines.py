"""Kernels write the lines that searches find in the moves of the game itself, if there is room."""

import numpy as np

from agents.solve import check_line
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import make_rules
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.supermoves import MOST_SINGLES, make_scratch
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.policies.linear import weights_for
from solitaire_env.search.exhaustive import FOUND, Exhaustive, trace
from solitaire_env.search.positions import add_safe_moves, expand_line, spell_out
from solitaire_env.search.shorten import LENGTH, shorten_some
from solitaire_env.search.solver import searched_variant
from solitaire_env.variants import Variant
from tests.games import SHORT, dealt

GAME = SHORT["short-4, same suit, any, one card"]


def lines() -> list[tuple[int, Exhaustive]]:
    """Deals, and searches that won them."""
    found = []
    for deal in range(4):
        search = Exhaustive(searched_variant(GAME), weights_for("", stock=False), 1)
        search.begin(dealt(GAME, deal).state.rows[0])
        if search.explore(10_000)[0] == FOUND:
            found.append((deal, search))
    assert len(found) > 1
    return found


def test_a_line_of_supermoves_without_autoplay_is_written_as_single_moves() -> None:
    assert has_safe_moves(GAME)
    for deal, search in lines():
        batch, cards = Batch(GameSpec(searched_variant(GAME)), 3), dealt(GAME, deal).state.rows[0]
        games = batch.rules, batch.state, batch.events
        planned = np.array(search.line())
        full = np.array(spell_out(batch, cards, planned, True, GAME.cards))
        for room in (len(full), len(full) - 1):
            batch.set_row(0, cards)
            count = add_safe_moves(*games, planned, 1, GAME.cards, np.zeros(room, dtype=np.int64))
            assert count == (room if room == len(full) else -1)
        singles = np.zeros(MOST_SINGLES * len(full), dtype=np.int64)
        for line in (singles, singles[: MOST_SINGLES - 1]):
            batch.set_row(0, cards)
            count = expand_line(
                batch.rules,
                make_rules(GAME),
                batch.state,
                batch.events,
                full,
                make_scratch(batch.rules),
                line,
            )
            assert (count == -1) == (len(line) < MOST_SINGLES)
            if count >= 0:
                assert check_line(GAME, deal, tuple(line[:count].tolist())) == (GAME.cards, True)
        assert trace(search.store, np.zeros(len(planned) - 1, dtype=np.int64)) == -1


def test_shortening_in_parts_ends_with_a_line_that_wins() -> None:
    variant: Variant = searched_variant(GAME)
    for deal, search in lines():
        cards = dealt(GAME, deal).state.rows[0]
        near, store = (Exhaustive(variant, search.weights, 1).store for _ in range(2))
        line = np.array(spell_out(search.batch, cards, search.line(), True, GAME.cards))
        before, progress = len(line), np.array([len(line), 0, 0])
        batch = Batch(GameSpec(variant), 2)
        kernel = shorten_some.bind(
            batch.rules, batch.state, batch.events, cards, search.trail, near, store, line, progress, 3
        )
        calls = 1
        while kernel():
            calls += 1
        assert calls > 4 and progress[LENGTH] <= before
        batch.set_row(0, cards)
        for action in line[: progress[LENGTH]]:
            batch.play(np.array([0]), np.array([action]))
        assert batch.won[0]
