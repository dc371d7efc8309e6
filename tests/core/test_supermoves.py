"""Supermoves as single moves, compared with a recursive implementation."""

from functools import cache
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from solitaire_env.core import supermoves
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING, action_layout
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Build, SequenceBuild, Variant
from solitaire_env.policies.drawing import draw
from solitaire_env.variants import get_variant
from tests.comparing import check_supermoves
from tests.conftest import Refuses
from tests.games import COMPILED, FURTHER, dealt
from tests.reference import builds


@pytest.mark.parametrize("sequence", get_args(SequenceBuild))
@pytest.mark.parametrize("build", get_args(Build))
def test_sequences_are_built_card_by_card(build: Any, sequence: Any, refuses: Refuses) -> None:
    """A looser sequence is refused; every stricter one moves as single cards."""
    run = build if sequence == "as build" else sequence
    pairs = product(("4C", "4D", "4H", "4S"), ("5C", "5D", "5H", "5S"))
    looser = any(builds(card, onto, run) and not builds(card, onto, build) for card, onto in pairs)
    one_card = Variant("rules", "Rules", 1, (5,) * 4, cells=3, build=build, sequence=sequence, ranks=5)
    assert one_card.takes_supermoves != looser
    if looser:
        refuses(
            lambda: one_card.with_rules(moves="supermove"), "needs sequences", f"{build=}", f"{sequence=}"
        )
        return
    batch, random = Batch(GameSpec(one_card.with_rules(moves="supermove")), 8), np.random.default_rng(0)
    batch.deal(np.arange(8), list(range(8)))
    several = 0
    for step in range(40 if COMPILED else 3):
        several += check_supermoves(batch, step % 8)
        batch.step(draw(batch.state.mask, random.random(8)), batch.everyone)
    assert several or not COMPILED


@cache
def count_singles(cards: int, most: int, between: int) -> int:
    """Number of single moves of a sequence, if ``most`` cards can be carried without spaces."""
    if cards <= most:
        return 2 * cards - 1
    part = max(1, cards - (most << (between - 1)))
    return 2 * count_singles(part, most, between - 1) + count_singles(cards - part, most, between - 1)


@cache
def count_tasks(cards: int, most: int, between: int) -> int:
    """Maximum number of parts that wait at a time."""
    if cards <= most:
        return 1
    part = max(1, cards - (most << (between - 1)))
    first, rest = count_tasks(part, most, between - 1), count_tasks(cards - part, most, between - 1)
    return max(2 + first, 1 + rest, first)


def test_scratch_arrays_fit_every_supermove() -> None:
    possible = [
        (cards, cells + 1, between)
        for cells in range(13)
        for between in range(30)
        for cards in range(1, 14)
        if cards <= (cells + 1) << between
    ]
    assert max(count_singles(*sizes) for sizes in possible) == supermoves.MOST_SINGLES
    assert max(count_tasks(*sizes) for sizes in possible) == supermoves.MOST_TASKS


def test_a_card_that_worries_back_is_one_move(refuses: Refuses) -> None:
    batch, random = Batch(GameSpec(FURTHER["color-supermove"]), 1), np.random.default_rng(0)
    batch.deal(np.array([0]), [0])
    worries = batch.rules.worry_actions
    while not batch.state.mask[0, worries:].any():
        home = np.flatnonzero(batch.state.mask[0, : batch.rules.home_actions + batch.rules.piles])
        legal = np.flatnonzero(batch.state.mask[0])
        batch.step(np.array([random.choice(home if len(home) else legal)]), batch.everyone)
        if batch.state.status[0] != PLAYING:
            batch.deal(np.array([0]), [int(random.integers(1000))])
    action = worries + int(batch.state.mask[0, worries:].argmax())
    strict = action_layout(supermoves.strict_variant(batch.variant))
    assert [strict.text(single) for single in batch.expand(0, action)] == [batch.spec.actions.text(action)]
    sequences = dealt(FURTHER["small-klondike"], 0)
    refuses(lambda: sequences.expand(0, 0), "small-klondike", "only supermoves")


def test_games_that_fill_spaces_have_no_supermoves(refuses: Refuses) -> None:
    refuses(lambda: GameSpec(get_variant("corona")).view(moves="supermove"), "supermove", "does not fill")
