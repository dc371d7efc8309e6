"""Policies and move features in all published games: what they see, and the effect of further rules."""

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.loading import load_policy
from solitaire_env.move_features.autoplay import autoplay_safe_moves, has_safe_moves
from solitaire_env.move_features.columns import FAMILY, MOVE, NUM_FAMILY
from solitaire_env.move_features.reader import LegalMoves, MoveReader
from solitaire_env.move_features.table import MoveTable
from solitaire_env.notation import parse_action, parse_position
from solitaire_env.variants import Variant, get_variant
from tests.games import COMPILED, ONE_PER_RULE, dealt


def shuffle_hidden(batch: Batch, random: np.random.Generator) -> Batch:
    """The same games as a player sees them, with the unseen cards shuffled."""
    rules = batch.rules
    other = Batch(batch.spec, batch.size)
    for b in range(batch.size):
        row = batch.state.rows[b].copy()
        down = np.flatnonzero(row[: rules.row_cells] >= DOWN)
        stock = np.arange(rules.row_stock, rules.row_stock + int(batch.state.stock[b]))
        cards = random.permutation(np.concatenate((row[down] & ~DOWN, row[stock])))
        row[down], row[stock] = cards[: len(down)] | DOWN, cards[len(down) :]
        other.set_row(b, row)
    return other


@pytest.mark.parametrize("name", ONE_PER_RULE)
@pytest.mark.parametrize("policy", ["random", "greedy", "linear"])
def test_policies_play_legal_moves(name: str, policy: str) -> None:
    player = load_policy(policy, name)
    batch = dealt(get_variant(name).with_rules(moves=player.moves), *range(4))
    for _ in range(60 if COMPILED else 15):
        going = np.flatnonzero(batch.state.status == PLAYING)
        chosen = np.zeros(batch.size, dtype=np.int64)
        chosen[going] = player(batch.observations()[going], batch.state.mask[going])
        assert (batch.state.mask[going, chosen[going]] == 1).all()
        batch.step(chosen, (batch.state.status == PLAYING).astype(np.int8))


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_features_are_finite_and_ignore_hidden_cards(name: str) -> None:
    variant = get_variant(name)
    reader = MoveReader(GameSpec(variant), dig_out=1, relaxed_reachability=1, family=True)
    batch, random = dealt(variant, 0, 1), np.random.default_rng(0)
    for _ in range(3):
        other = shuffle_hidden(batch, random)
        for games in (batch, other):
            np.testing.assert_array_equal(games.state.mask, batch.state.mask)
            np.testing.assert_array_equal(games.observations(), batch.observations())
        table = MoveTable(batch).read()
        np.testing.assert_array_equal(MoveTable(other).read(), table)
        seen = reader.read(batch.observations(), batch.state.mask)
        assert np.isfinite(seen.moves).all() and np.isfinite(seen.positions).all()
        thoughtful = MoveReader(GameSpec(variant).view(information="thoughtful"), 1, 1, family=True)
        rows = batch.state.rows
        if variant.fill == "none":
            np.testing.assert_array_equal(thoughtful.read(rows, batch.state.mask).moves, seen.moves)
        for _ in range(12):
            mask = batch.state.mask
            batch.step((mask * random.random(mask.shape)).argmax(1), batch.everyone)


SHORT = {
    "hides": Variant(
        "hides", "Hides", decks=1, tableau=(3, 3, 1), ranks=3, face_down=(2, 2, 0), build="alternate color",
        moves="sequence", passes=0, worrying_back=True,
    ),
    "fills": Variant("fills", "Fills", decks=1, tableau=(1, 1, 1), ranks=3, fill="waste", passes=2),
    "wraps": Variant("wraps", "Wraps", decks=1, tableau=(3, 3), ranks=3, base=2, cells=2),
    "threes": Variant("threes", "Threes", decks=1, tableau=(1, 1), ranks=3, draw=3, passes=2),
}  # fmt: skip


def read(name: str, position: str) -> tuple[Variant, LegalMoves, Batch]:
    variant = SHORT[name]
    batch = Batch(GameSpec(variant), 1)
    batch.place(0, parse_position(position.replace("|", "\n"), variant))
    return variant, MoveReader(GameSpec(variant), 1, 1, family=True).read(
        batch.observations(), batch.state.mask
    ), batch  # fmt: skip


def family_of(variant: Variant, seen: LegalMoves, action: str) -> dict[str, float]:
    """The family's features of a move that are not 0."""
    row = seen.moves[seen.actions.tolist().index(parse_action(variant, action)), -NUM_FAMILY:]
    return {
        column: round(float(value), 3)
        for column, value in zip(FAMILY._fields[: FAMILY.face_down], row.tolist(), strict=False)
        if value
    }


def test_family_features_describe_a_move() -> None:
    down = "variant: hides|stock: 3H 2C AC 3C 3D|waste:|redeals: -|t1: (2D) (2S) AD|t3: 2H"
    variant, seen, _ = read("hides", f"{down}|foundations: C 0 D 0 H 0 S 1|t2: (3S) AH")
    assert family_of(variant, seen, "t1>f") == {"turns": 1}
    assert family_of(variant, seen, "draw") == {"drawn": 0.333}
    assert family_of(variant, seen, "fS>t3") == {"worry": 1}
    actions = seen.actions.tolist()
    assert seen.moves[actions.index(parse_action(variant, "fS>t3")), MOVE.home] == -1
    here = dict(zip(FAMILY._fields, seen.positions[0, -NUM_FAMILY:].tolist(), strict=True))
    assert (here["face_down"], here["unseen"]) == (pytest.approx(3 / 6), pytest.approx(8 / 12))
    assert here["redeals"] == pytest.approx(2 / 3) and here["no_limit"] == here["worrying_back"] == 1
    after = seen.moves[actions.index(parse_action(variant, "t1>f")), -NUM_FAMILY:]
    assert after[FAMILY.face_down] == pytest.approx(2 / 6)

    turned = "variant: hides|stock:|waste: 3C AC 2C 3H|redeals: -|foundations: C 0 D 0 H 0 S 0|t3: 2H AS"
    variant, seen, _ = read("hides", f"{turned}|t1: (3S) (3D) 2D|t2: (2S) AH AD")
    assert family_of(variant, seen, "redeal") == {"redeal": 1}
    after = seen.moves[seen.actions.tolist().index(1), -NUM_FAMILY:]
    assert after[FAMILY.unseen] == pytest.approx(7 / 12)
    assert family_of(variant, seen, "t3>t1") == {"breaks": 1}
    assert family_of(variant, seen, "t2>f") == {"frees_home": 1}


def safe(name: str, position: str) -> str:
    """The safe move home of a position as text."""
    _, _, batch = read(name, position)
    action = int(autoplay_safe_moves(batch.rules, batch.state.rows, batch.state.mask)[0])
    return batch.spec.actions.text(action) if action >= 0 else "none"


def test_safe_moves_follow_further_rules() -> None:
    """No card is safe to go home if another could be placed on it, if a space would be filled, or if it
    decides the later cards of the waste.
    """
    rest = "stock: 3H 2C AC 3C 3D AH|waste:|cells: -- --"
    assert (
        safe("wraps", f"variant: wraps|{rest}|foundations: C 0 D 0 H 0 S 0|t1: 2D 2H AS|t2: 3S AD 2S")
        == "none"
    )
    assert (
        safe("wraps", f"variant: wraps|{rest}|foundations: C 0 D 0 H 0 S 1|t1: 2D 2H AS|t2: AD 3S") == "t2>f"
    )
    rest = "stock: 3H 2C AC 3C 3D AH 2S|waste: 2H 3S|redeals: 1|foundations: C 0 D 0 H 0 S 0"
    assert safe("fills", f"variant: fills|{rest}|t1: AS|t2: 2D|t3: AD") == "none"
    assert safe("fills", f"variant: fills|{rest}|t1: AS|t2: 2D AD|t3:") == "t2>f"
    rest = "foundations: C 0 D 0 H 0 S 0|t1: 2D|t2: 3S|redeals: 1"
    assert safe("threes", f"variant: threes|stock: 3H 2C AC 3C 3D AH|waste: 2S 2H AD AS|{rest}") == "none"
    assert not has_safe_moves(get_variant("zebra")) and has_safe_moves(get_variant("penguin"))
