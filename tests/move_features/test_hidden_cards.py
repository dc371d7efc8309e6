"""Features of hidden cards: what lies face down, and what the stock gives in this pass and in the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.columns import HIDDEN, NUM_HIDDEN
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.notation import parse_action, parse_position
from solitaire_env.variants import VARIANTS, Variant, get_variant
from tests.games import COMPILED, FURTHER, ONE_PER_RULE
from tests.move_features.test_moves import hidden_cards

Array = npt.NDArray[Any]

REDEALS = [variant.name for variant in VARIANTS if variant.passes != 1]
REDEALS = REDEALS if COMPILED else ["klondike-draw-3", "little-forty"]
GAMES = ONE_PER_RULE | FURTHER | {name: get_variant(name) for name in REDEALS}


def reader_of(variant: Variant, information: Any = "memory", **groups: Any) -> MoveReader:
    return MoveReader(GameSpec(variant).view(information=information), 1, hidden_cards=True, **groups)


def played(variant: Variant, steps: int, size: int, seed: int, draws: float) -> Batch:
    """Games after random moves; a share of them only draw and redeal where they can."""
    batch = Batch(GameSpec(variant).view(information="memory"), size)
    batch.deal(np.arange(size), range(seed, seed + size))
    random, turns = np.random.default_rng(seed), np.arange(batch.rules.actions) < batch.rules.home_actions
    for _ in range(steps):
        mask = batch.state.mask * (1 - random.random(batch.state.mask.shape))
        mask += (mask > 0) & turns & (random.random((size, 1)) < draws)
        batch.step(mask.argmax(1), batch.everyone)
    return batch


def named(numbers: Array) -> dict[str, float]:
    """The features of hidden cards, without those that are 0."""
    row = numbers[-NUM_HIDDEN:].tolist()
    return {name: round(x, 3) for name, x in zip(HIDDEN._fields, row, strict=True) if x}


# ---------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize("name", GAMES)
def test_other_features_do_not_depend_on_them(name: str) -> None:
    """Networks that were trained without them, and without memory, read the same numbers."""
    variant = GAMES[name]
    batch = played(variant, 40, 4, 0, 0.5)
    plain = MoveReader(GameSpec(variant), 1, 1, family=True)
    wide = reader_of(variant, relaxed_reachability=1, family=True)
    observations, masks = batch.observations(), batch.state.mask
    seen = wide.read(observations, masks)
    others = plain.read(observations[:, : batch.rules.row_stock], masks)
    np.testing.assert_array_equal(seen.moves[:, :-NUM_HIDDEN], others.moves)
    np.testing.assert_array_equal(seen.positions[:, :-NUM_HIDDEN], others.positions)
    assert wide.move_names == plain.move_names + wide.move_names[-NUM_HIDDEN:]
    assert len(wide.move_names) == seen.moves.shape[1] == len({*wide.move_names})


@pytest.mark.parametrize("name", GAMES)
def test_they_are_what_a_player_knows(name: str) -> None:
    """The hidden cards dealt again change no number."""
    variant = GAMES[name]
    reader = reader_of(variant)
    for steps in (0, 20, 90):
        batch = played(variant, steps, 4, steps, 0.7)
        seen = reader.read(batch.observations(), batch.state.mask)
        batch.resample(np.arange(4), np.arange(4, dtype=np.uint64))
        batch.derive(np.arange(4))
        again = reader.read(batch.observations(), batch.state.mask)
        np.testing.assert_array_equal(seen.moves, again.moves)
        np.testing.assert_array_equal(seen.positions, again.positions)
        assert np.isfinite(seen.moves).all()


@pytest.mark.parametrize("name", GAMES)
def test_after_a_move_they_are_those_of_the_next_position(name: str) -> None:
    """Except for moves that turn up a hidden card."""
    variant = GAMES[name]
    reader = reader_of(variant)
    first = NUM_HIDDEN - HIDDEN.ready
    drawn = 0
    for steps in (0, 15, 60, 120, 20 + 2 * variant.stock):
        batch = played(variant, steps, 4, steps, 0.9)
        going = np.flatnonzero(batch.state.status == PLAYING)
        if not len(going):
            continue
        seen = reader.read(batch.observations()[going], batch.state.mask[going])
        after = Batch(batch.spec, len(seen.games))
        for k, game in enumerate(seen.games):
            after.set_state(k, batch.get_state(int(going[game])))
        down = hidden_cards(after) - after.state.stock
        known = after.stock_seen.copy()
        draws = (seen.actions == 0) & bool(after.rules.has_stock)
        after.step(seen.actions, after.everyone)
        known = np.where(draws, known, hidden_cards(after) - after.state.stock >= down)
        known &= (variant.fill == "none") | draws
        drawn += np.count_nonzero(known & draws)
        reached = reader.read_positions(after.observations())
        np.testing.assert_array_equal(seen.moves[known, -first:], reached[known, -first:])
        assert (reached[:, -NUM_HIDDEN:-first] == 0).all()
    assert drawn or name not in REDEALS


# ------------------------------------------------------------------------------ stock and waste


def turn(batch: Batch, text: str) -> bool:
    """Draw or redeal in the only game, if that is legal."""
    action = parse_action(batch.variant, text)
    legal = bool(batch.state.mask[0, action]) and batch.state.status[0] == PLAYING
    if legal:
        batch.play(np.zeros(1, dtype=np.int64), np.array([action]))
    return legal


def waste_of(batch: Batch) -> set[int]:
    """The playable card of the waste, if there is one."""
    return {*batch.state.tops[0, batch.rules.piles : batch.rules.first_cell].tolist()} - {0}


def fits(variant: Variant, card: int, onto: int) -> bool:
    """Whether a card fits onto another by the building rule."""
    colors = (card & 3 in (0, 3)), (onto & 3 in (0, 3))
    suits = {"same suit": card & 3 == onto & 3, "alternate color": colors[0] != colors[1], "any suit": True}
    return card >> 2 == (onto >> 2) - 1 and suits[variant.build]


@pytest.mark.parametrize("name", REDEALS)
def test_cards_of_the_stock_are_reached_as_draws_show(name: str) -> None:
    """All draws of this pass, a redeal, and all draws of the next pass are played."""
    variant = get_variant(name)
    reader, remembered, passes = reader_of(variant), 0, 0
    for steps in (0, 9, variant.stock // 2, variant.stock + 20, 2 * variant.stock):
        games = played(variant, steps, 8, steps, 0.9)
        for row in np.flatnonzero(games.state.status == PLAYING).tolist():
            batch = Batch(games.spec, 1)
            batch.set_state(0, games.get_state(row))
            numbers = reader.read_positions(batch.observations())[0, -NUM_HIDDEN:]
            seen, position = bool(batch.stock_seen[0]), batch.position(0)
            home, known = int(batch.state.next_home[0]), {*position.waste, *(position.stock if seen else ())}
            cards = len(position.waste) + len(position.stock)
            remembered += seen
            assert bool(numbers[HIDDEN.stock_known]) == seen
            assert numbers[HIDDEN.stock_cards] == pytest.approx(cards / variant.stock)
            if variant.decks > 1 and not seen:
                continue  # copies of known cards may be unseen

            now, later, draws, useful_after = waste_of(batch), set(), 0, 0
            useful = {
                card
                for card in known
                if home >> card & 1 or any(fits(variant, card, pile[-1]) for pile in position.tableau if pile)
            }
            while turn(batch, "draw"):
                draws += 1
                now |= waste_of(batch)
                if not useful_after and waste_of(batch) & useful:
                    useful_after = draws * variant.draw
            if turn(batch, "redeal"):
                passes += 1
                while turn(batch, "draw"):
                    later |= waste_of(batch)
            if variant.decks == 1 and seen:
                assert numbers[HIDDEN.neither] == pytest.approx((cards - len(now | later)) / variant.stock)
            for found, home_column, fit_column in (
                (now & known, HIDDEN.home_now, HIDDEN.fit_now),
                ((later - now) & known, HIDDEN.home_later, HIDDEN.fit_later),
            ):
                going = {card for card in found if home >> card & 1}
                assert numbers[home_column] == pytest.approx(len(going) / 4)
                if () not in position.tableau:
                    assert numbers[fit_column] == pytest.approx(len(found & useful - going) / 8)
            if () not in position.tableau:
                assert numbers[HIDDEN.draws] == pytest.approx(useful_after / variant.stock)
    assert remembered > 3 and (passes > 3 or variant.passes == 2)


# ------------------------------------------------------------------------------ hand-made positions

BOARD = "variant: klondike-draw-3|redeals: -|t1: KD QS JH TC|t2: (KS) 9D 8C 7D 6C|t3: (QC) (QH) KC QD|"
BOARD += "t4: (3C) (4C) (5C) 7S 6D|t6: (9C) (KH) (JC) (5D) (5H) 9H 8S|t7: (5S) (6S) (4H) (4S) (3D) (3H) TD|"
HELD = BOARD + "foundations: C 2 D 2 H 1 S 2|t5: (6H) (7H) (JD) 3S|waste: 8D 2H|stock: "
"""This pass turns up 7C, 4D and 9S, the next one TS, JS and 9S. A nine goes to TC, the JS to QD, the 9S to
TD, and then the TD to the JS. The KC waits for a space."""


def read(text: str) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """The features of a position, and of its moves, that are not 0."""
    variant = get_variant("klondike-draw-3")
    batch = Batch(GameSpec(variant).view(information="memory"), 1)
    position = parse_position(text.replace("|", "\n"), variant)
    batch.place(0, position)
    seen = reader_of(variant).read(batch.observations(), batch.state.mask)
    texts = [batch.spec.actions.text(action) for action in seen.actions.tolist()]
    own = HIDDEN._fields[: HIDDEN.ready]
    moves = [{name: x for name, x in named(row).items() if name in own} for row in seen.moves]
    return named(seen.positions[0]), dict(zip(texts, moves, strict=True))


def test_features_of_positions_by_hand() -> None:
    piles = {"ready": 3 / 8, "kings": 1 / 8}
    stock = {"stock_cards": 9 / 24, "neither": 3 / 24, "home_now": 1 / 4}
    known = {"stock_known": 1, "based_later": 1 / 8, "draws": 9 / 24, "fit_now": 1 / 8, "fit_later": 1 / 8}
    assert read(HELD + "9S 4D TH JS 7C 8H TS")[0] == pytest.approx(piles | stock | known)
    assert read(HELD + "?? ?? ?? ?? ?? ?? ??")[0] == pytest.approx(piles | stock)


def test_features_of_moves_by_hand() -> None:
    _, moves = read(HELD + "9S 4D TH JS 7C 8H TS")
    assert moves == {
        "draw": {},
        "w>f": {},  # both black Aces are home
        "w>t5": {},
        "t2>t1": {"under": 1 / 8, "turned": 1 / 8},
        "t2>t6": {"under": 1 / 8},
        "t6>t1": {"under": 5 / 8, "turned": 5 / 8},
        "t5>f": {"under": 3 / 8, "turned": 3 / 8, "needed_now": 1 / 4},
        "fD>t5": {},
    }
    low = HELD.replace("C 2 D 2", "C 2 D 0").replace("(JD)", "(JD) (2D)")
    _, moves = read(low + "AD 9S 4D TH JS 7C 8H TS")
    assert moves["t5>f"] == {"under": 4 / 8, "turned": 4 / 8, "needed_now": 1 / 4, "needed": 1 / 8}
    _, moves = read(HELD.replace("8D 2H", "2H JS") + "9S 4D TH 8D 7C 8H TS")
    assert moves["w>t3"] == {"leaders": 1 / 4}  # the TD
