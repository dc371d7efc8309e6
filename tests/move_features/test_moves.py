"""Move features: those of hand-made positions, and those of the positions that moves reach."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import widened
from solitaire_env.core.rules.foundations import cards_home_after
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.move_features.columns import FAMILY, MOVE, MOVE_NAMES, NUM_FAMILY, NUM_MOVE
from solitaire_env.move_features.moves import BLOCK, cards_after_next, next_action
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.notation import action_text, parse_action, parse_position
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.games import ALL_GAMES, COMPILED, ODD, ONE_PER_RULE, OPTIONS, SHORT, dealt
from tests.positions import fill
from tests.reference import GAMES as REFERENCE

Array = npt.NDArray[Any]

GAMES = ONE_PER_RULE | ODD | (OPTIONS if COMPILED else {})
IN_SUIT = {name: variant for name, variant in SHORT.items() if variant.build == "same suit"}


def played(variant: Variant, steps: int, size: int = 40 if COMPILED else 4) -> Batch:
    """Games after some random moves; finished ones are left out of the mask."""
    batch, random = dealt(variant, *range(size)), np.random.default_rng(0)
    for _ in range(steps):
        mask = batch.state.mask
        batch.step((mask * (1 - random.random(mask.shape))).argmax(1), batch.everyone)
    return batch


def playing(batch: Batch) -> tuple[Array, Array, Array]:
    """Rows of unfinished games, and their observations and masks."""
    rows = np.flatnonzero(batch.state.status == PLAYING)
    return rows, batch.observations()[rows].copy(), batch.state.mask[rows].copy()


# ------------------------------------------------------------------------------ what moves lead to


@pytest.mark.parametrize("name", GAMES)
def test_features_after_a_move_are_those_of_the_next_position(name: str) -> None:
    """Except for features of the family that describe the move."""
    variant = GAMES[name]
    reader = MoveReader(GameSpec(variant), dig_out=3, relaxed_reachability=2, family=True)
    of_move = slice(len(reader.position_names) - NUM_FAMILY, FAMILY.face_down - NUM_FAMILY)
    hidden = (
        "next foundation card",
        "card after a next",
        "waste",
        "stock: share",
        "cards that go",
        "playable cards that",
        "piles with",
    )
    hidden = (*hidden, "dig-outs", "relaxed reachability")
    unknown = {n for n, text in enumerate(reader.position_names) if text.startswith(hidden)}
    for steps in (0, 10, 50, 120):
        before = played(variant, steps, size=8 if COMPILED else 2)
        rows, observations, masks = playing(before)
        if not len(rows):
            continue
        seen = reader.read(observations, masks)
        after = Batch(GameSpec(variant), len(seen.games))
        for k, game in enumerate(seen.games):
            after.set_row(k, before.state.rows[rows[game]])
        after.step(seen.actions, after.everyone)
        reached = reader.read_positions(after.observations())
        differs = np.abs(reached - seen.moves[:, NUM_MOVE:]) > 1e-6
        assert not reached[:, of_move].any()
        differs[:, of_move] = False
        draws = (seen.actions == 0) & bool(after.rules.has_stock)
        unsure = hidden_cards(after) < hidden_cards(before)[rows[seen.games]]
        assert not differs[~unsure].any()
        assert set(np.flatnonzero(differs[draws].any(0)).tolist()) <= unknown


def hidden_cards(batch: Batch) -> Array:
    """Number of cards of each game in the stock or face down."""
    down = np.count_nonzero(batch.state.rows[:, : batch.rules.row_cells] >= DOWN, axis=1)
    hidden: Array = down + batch.state.stock
    return hidden


@pytest.mark.parametrize("name", [*GAMES, *IN_SUIT])
def test_legal_moves_are_in_order(name: str) -> None:
    variant = (GAMES | IN_SUIT)[name]
    reader = MoveReader(GameSpec(variant))
    for steps in (0, 30, 400):  # at last finished games too, whose actions are all in the mask
        batch = played(variant, steps)
        masks = batch.state.mask
        for given in (masks, masks.astype(np.bool_)):
            seen = reader.read(batch.observations(), given)
            games, actions = masks.nonzero()
            assert (seen.games == games).all() and (seen.actions == actions).all()
            assert seen.moves.shape == (len(games), reader.sizes[0])
            assert np.isfinite(seen.moves).all() and np.isfinite(seen.positions).all()
        short = reader.read_moves(batch.observations(), masks)
        assert (short.games == games).all() and (short.actions == actions).all()
        assert (short.moves == seen.moves[:, :NUM_MOVE]).all() and short.positions.size == 0
        assert (reader.read_positions(batch.observations()) == seen.positions).all()


@pytest.mark.parametrize("name", [*GAMES, *IN_SUIT])
def test_illegal_actions_change_nothing(name: str) -> None:
    """In finished games, and if the mask of the caller is all ones."""
    variant = (GAMES | IN_SUIT)[name]
    reader = MoveReader(GameSpec(variant), dig_out=1)
    for steps in (0, 400):
        batch = played(variant, steps, size=6)
        everything = np.ones_like(batch.state.mask)
        legal = (batch.state.mask != 0) & (batch.state.status == PLAYING)[:, None]
        for seen in (
            reader.read(batch.observations(), everything),
            reader.read_moves(batch.observations(), everything),
        ):
            illegal = ~legal[seen.games, seen.actions]
            assert (seen.moves[illegal, :NUM_MOVE] == 0).all()
            after = seen.moves[illegal, NUM_MOVE:]
            assert after.size == 0 or (after == seen.positions[seen.games[illegal]]).all()


def nonzero_features(variant: str, partial: str, action: str, **rules: str) -> dict[str, float]:
    """The features of a move that are not 0."""
    game = get_variant(variant).with_rules(**rules)
    batch = Batch(GameSpec(game), 1)
    batch.place(0, parse_position(fill(f"variant: {variant} | {partial}", REFERENCE[variant]), game))
    seen = MoveReader(GameSpec(game)).read_moves(batch.observations(), batch.state.mask)
    numbers = seen.moves[seen.actions.tolist().index(parse_action(game, action)), :NUM_MOVE]
    return {name: round(n, 3) for name, n in zip(MOVE_NAMES, numbers.tolist(), strict=True) if n}


BOARD = (
    "foundations: C 1 0 | t1: KD 8H | t2: 2C 7H 6H | t3: KS 5H | t4: 4S | t5: | waste: 2C 9C QD | stock: ..."
)
"""A two of clubs, a next foundation card, lies under a sequence that fits onto the eight of hearts; Forty
Thieves."""


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (
            "t2>t1",
            {
                "pile to pile": 1,
                "onto a pile or a space: a card in sight fits onto it": 1,  # the five of hearts
                "cards / 13": 2 / 13,
                "source: the card under it goes home now": 1,
                "source: cards that stay / 13": 1 / 13,
                "source: a next foundation card lies near the top": 1 / 3,
                "target: cards / 13": 2 / 13,
            },
        ),
        (
            "t2>s",
            {
                "pile to space": 1,
                "onto a pile or a space: a card in sight fits onto it": 1,
                "cards / 13": 1 / 13,
                "to space or cell: rank / 13": 6 / 13,
                "source: a sequence is broken": 1,
                "source: the card under it fits onto a pile": 1,
                "source: cards that stay / 13": 2 / 13,
                "source: a next foundation card lies near the top": 1 / 3,
            },
        ),
        (
            "w>s",
            {
                "waste to space": 1,
                "cards / 13": 1 / 13,
                "to space or cell: rank / 13": 12 / 13,
                "waste: share of the stock that is left": 0.5,
            },
        ),
    ],
)
def test_features_of_moves_between_piles(action: str, expected: dict[str, float]) -> None:
    """Worked out by hand."""
    numbers = nonzero_features("forty-thieves", BOARD, action, moves="supermove")
    left = numbers.pop("waste: share of the stock that is left", 0.0)
    assert 0 <= left < 1 and (left > 0) == ("waste: share of the stock that is left" in expected)
    expected = {name: round(n, 3) for name, n in expected.items() if not name.startswith("waste: share")}
    assert numbers == expected


def test_features_of_moves_home_and_with_cells() -> None:
    board = "foundations: C 1 D 1 H 4 S 1 | cells: 7C 5D -- -- -- -- -- -- "
    board += "| t1: 9D 5H | t2: 9S 8S | t3: KH QH | t4: | t5: 8C | t6: 6H"
    home = nonzero_features("eights-down", board, "t1>f")
    assert home == {
        "home": 1.0,
        "home: ranks above the lowest foundation / 13": round(3 / 13, 3),
        "cards / 13": 0.077,
        "source: cards that stay / 13": 0.077,
        "source: a next foundation card lies near the top": 1.0,
    }
    assert nonzero_features("eights-down", board, "c1>t5") == {
        "cell to pile": 1.0,
        "cards / 13": 0.077,
        "target: cards / 13": 0.077,
    }


@pytest.mark.parametrize("name", ["dealt-two-decks", "groups-from-three"])
def test_a_king_below_an_ace_is_a_sequence_where_foundations_continue_so(name: str) -> None:
    """Whether a sequence in suit is broken, compared with the cards of the pile."""
    game = ALL_GAMES[name]
    batch = played(game, 8, size=40)
    rows, observations, masks = playing(batch)
    seen = MoveReader(GameSpec(game)).read_moves(observations, masks)
    found = set()
    for k, action in enumerate(seen.actions.tolist()):
        if source := re.match(r"t(\d+)(?:x(\d+))?>", action_text(game, action)):
            start = (int(source[1]) - 1) * batch.rules.pile_capacity
            pile = batch.state.rows[rows[seen.games[k]], start : start + batch.rules.pile_capacity].tolist()
            cards = [card for card in pile if card]
            *under, deepest = cards[: len(cards) + 1 - int(source[2] or 1)]
            below = deepest + 4 if deepest // 4 < game.ranks else deepest % 4 + 4
            broken = under[-1:] == [below]
            assert seen.moves[k, MOVE.source_breaks] == broken
            found.add((broken, deepest // 4 == game.ranks))
    assert found == {(True, True), (True, False), (False, False), (False, True)}


def test_other_observations_raise_an_error(refuses: Refuses) -> None:
    spec = GameSpec(GAMES["busy-aces"], Settings(observation="features"))
    refuses(lambda: MoveReader(spec), "'cards'", "'features'")


def test_a_lookahead_requires_building_in_suit(refuses: Refuses) -> None:
    spec = GameSpec(get_variant("eights-down").with_rules(build="alternate color"))
    refuses(lambda: MoveReader(spec, rollout_lookahead=3), "rollout_lookahead is 3", "'alternate color'")


# ---------------------------------------------------------------------------- what moves are read from


def test_next_action_finds_the_entries_of_a_mask() -> None:
    random = np.random.default_rng(0)
    for size in (1, BLOCK - 1, BLOCK, 5 * BLOCK + 3):
        for share in (0, 0.02, 0.3, 1):
            mask = (random.random(size) < share).astype(np.int8)
            found = []
            action = next_action(mask, 0)
            while action < size:
                found.append(action)
                action = next_action(mask, action + 1)
            assert found == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("name", ALL_GAMES)
def test_the_cards_after_the_next_ones_go_home_after_one_more_of_each(name: str) -> None:
    batch = played(ALL_GAMES[name], 40, size=4)
    state = widened(batch.state)
    for row in range(batch.size):
        expected = cards_home_after(batch.rules, state, row, 1)
        assert cards_after_next(batch.rules, state, row) == expected
