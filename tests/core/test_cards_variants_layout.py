"""Cards, variants, and the layouts that follow from them."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from solitaire_env.core.cards import (
    DOWN,
    EMPTY,
    FACE_DOWN,
    card_name,
    is_red,
    make_card,
    parse_card,
    rank_of,
    suit_of,
)
from solitaire_env.core.layout import Action, action_layout, make_rules, observation_layout
from solitaire_env.notation import action_text
from solitaire_env.util.messages import shown
from solitaire_env.variants import VARIANTS, Variant, get_variant, variant_from_dict, variant_to_dict
from tests.conftest import Refuses
from tests.fuzz import nested
from tests.games import ALL_GAMES, THE_FIVE
from tests.reference import ReferenceRules

TINY = Variant("tiny", "Tiny", decks=1, tableau=(2, 1), cells=1, ranks=3)

# ---------------------------------------------------------------------------------------- cards


def test_every_card_has_a_code_and_a_text() -> None:
    names = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]
    assert [card_name(code) for code in range(4, 56)] == names
    assert [parse_card(name) for name in names] == list(range(4, 56))
    assert [make_card(rank_of(code), suit_of(code)) for code in range(4, 56)] == list(range(4, 56))
    assert [card_name(EMPTY), card_name(FACE_DOWN)] == ["--", "??"]
    down = [f"({name})" for name in names]
    assert [card_name(DOWN | code) for code in range(4, 56)] == down
    assert [parse_card(name) for name in down] == [DOWN | code for code in range(4, 56)]
    assert [parse_card("--"), parse_card("??")] == [EMPTY, FACE_DOWN]
    assert [is_red(parse_card(name)) for name in ("7C", "7D", "7H", "7S")] == [False, True, True, False]


@pytest.mark.parametrize("code", [-1, 2, 3, 56, 1000])
def test_invalid_card_codes_raise_an_error(code: int, refuses: Refuses) -> None:
    refuses(lambda: card_name(code), str(code), "4..55")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "S7",
        "7s",
        "10H",
        "1C",
        "7H ",
        "XX",
        "(7H",
        "(??)",
        "((7H))",
        "(--)",
        "(XX)",
        pytest.param("7H" * 1000, id="long"),
    ],
)
def test_invalid_card_texts_raise_an_error(text: str, refuses: Refuses) -> None:
    refuses(lambda: parse_card(text), repr(text[:20]), "A23456789TJQK", "CDHS")


def test_invalid_ranks_and_suits_raise_an_error(refuses: Refuses) -> None:
    for rank, suit in ((0, 0), (14, 0), (1, 4), (1, -1)):
        refuses(lambda rank=rank, suit=suit: make_card(rank, suit), str(rank), str(suit), "1..13", "0..3")


# ------------------------------------------------------------------------------------- variants


def test_the_first_five_games_have_the_listed_rules() -> None:
    """As in the table of the rules."""
    table = {
        v.name: (v.decks, v.cards, v.tableau, v.foundations, v.cells, v.cells_filled, v.stock)
        for v in THE_FIVE.values()
    }
    assert table == {
        "forty-thieves": (2, 104, (4,) * 10, 8, 0, 0, 64),
        "eighty-thieves": (4, 208, (8,) * 10, 16, 0, 0, 128),
        "eights-down": (1, 52, (6,) * 8, 4, 8, 4, 0),
        "forty-bandits": (2, 104, (4,) * 10, 8, 0, 0, 64),
        "busy-aces": (2, 104, (1,) * 12, 8, 0, 0, 92),
    }
    assert {v.name: (v.build, v.spaces, v.moves) for v in THE_FIVE.values()} == {
        "forty-thieves": ("same suit", "any", "one card"),
        "eighty-thieves": ("same suit", "any", "one card"),
        "eights-down": ("same suit", "kings", "supermove"),
        "forty-bandits": ("same suit", "any", "sequence"),
        "busy-aces": ("same suit", "any", "one card"),
    }
    given = ("name", "title", "decks", "tableau", "cells", "cells_filled", "build", "spaces", "moves")
    others = [f for f in fields(Variant) if f.name not in (*given, "sources", "aliases", "differs")]
    for v in THE_FIVE.values():
        assert all(getattr(v, field.name) == field.default for field in others), v.name


def test_published_games_are_unique_and_name_their_sources() -> None:
    """Each has its own name, title and rules."""
    assert len(VARIANTS) == 76 and tuple(THE_FIVE) == tuple(v.name for v in VARIANTS[:5])
    assert all(v.sources for v in VARIANTS)
    texts = ("name", "title", "sources", "aliases", "differs", "pysol_order")
    rules = [field.name for field in fields(Variant) if field.name not in texts]
    for what in ("name", "title", *rules):
        found = [getattr(v, what) for v in VARIANTS]
        assert what not in texts or len(set(found)) == len(found)
    assert len({tuple(getattr(v, rule) for rule in rules) for v in VARIANTS}) == len(VARIANTS)


def test_every_name_finds_its_game() -> None:
    for variant in VARIANTS:
        for name in (variant.name, variant.title, *variant.aliases):
            assert get_variant(name) == variant, name


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("name", "", "a line of text"),
        ("name", 5, "a line of text"),
        ("name", "two words", "without spaces"),
        ("name", "a:b", "without spaces, colons"),
        ("name", "--", "a letter or digit"),
        ("title", "two\nlines", "a line of text"),
        ("title", "!!!", "a letter or digit"),
        ("decks", 0, "1 to 4"),
        ("decks", 5, "1 to 4"),
        ("decks", True, "1 to 4"),
        ("decks", 1.0, "1 to 4"),
        ("ranks", 0, "1 to 13"),
        ("ranks", 14, "1 to 13"),
        ("cells", -1, "0 to 27"),
        ("cells", 28, "0 to 27"),
        ("cells_filled", 2, "0 to the number of cells, 1"),
        ("cells_filled", -1, "0 to the number of cells, 1"),
        ("tableau", (), "1 to 27"),
        ("tableau", (0,) * 28, "1 to 27"),
        ("tableau", (2, -1), "0 to 100"),
        ("tableau", (101,), "0 to 100"),
        ("tableau", (2, 1.5), "0 to 100"),
        ("tableau", [2, 1], "tuple"),
        ("build", "up", "'same suit', 'alternate color', 'any suit'"),
        ("build", "up", "'other suit', 'same color'"),
        ("spaces", "queens", "'any', 'kings', 'none', 'base - 1'"),
        ("moves", ["one card"], "'one card', 'supermove', 'sequence', 'any group'"),
        ("sequence", "other suit", "'as build', 'same suit', 'alternate color', 'any suit'"),
        ("fill", "stock", "'none', 'waste'"),
        ("fill", None, "'none', 'waste'"),
        ("foundation_build", "any suit", "'same suit', 'alternate color'"),
        ("draw", 0, "1 to 3"),
        ("draw", 4, "1 to 3"),
        ("draw", "3", "1 to 3"),
        ("passes", -1, "0 to 100"),
        ("passes", 101, "0 to 100"),
        ("aces_home", 1, "True or False"),
        ("worrying_back", None, "True or False"),
        ("base", 1, "'ace', 'dealt', or a rank from 2 to 3"),
        ("base", 4, "'ace', 'dealt', or a rank from 2 to 3"),
        ("base", "two", "'ace', 'dealt', or a rank"),
        ("base", True, "'ace', 'dealt', or a rank"),
        ("face_down", -1, "one for each pile"),
        ("face_down", 101, "one for each pile"),
        ("face_down", True, "a whole number"),
        ("face_down", None, "a whole number"),
        ("face_down", (1,), "one for each pile"),
        ("face_down", (0, 1), "each less than the cards of that pile"),
        ("face_down", (2, 0), "each less than the cards of that pile"),
        ("face_down", (0.5, 0), "a whole number"),
        ("face_down", [1, 0], "one for each pile"),
        ("face_down", "row 1", "'rows 2, 4, 6'"),
        ("face_down", "rows 0", "'rows 2, 4, 6'"),
        ("face_down", "rows 1 2", "'rows 2, 4, 6'"),
        ("face_down", "rows 1,2", "'rows 2, 4, 6'"),
        ("pysol_order", (0, 1), "each pile as often as it gets a card at the deal"),
        ("pysol_order", (0, 0, "1"), "each pile as often as it gets a card at the deal"),
        ("pysol_order", (0, 0, 2), "each pile as often as it gets a card at the deal"),
        ("pysol_order", [0, 0, 1], "each pile as often as it gets a card at the deal"),
        ("sources", "a book", "a tuple of texts"),
        ("aliases", (1,), "a tuple of texts"),
        ("differs", None, "a tuple of texts"),
        ("sources", ("two\nlines",), "each a line"),
        ("name", "n" * 81, "at most 80 characters"),
        ("title", "a \x1b[31m title", "a line of text"),
    ],
)
def test_invalid_fields_raise_an_error(field: str, value: Any, allowed: str, refuses: Refuses) -> None:
    name = shown(value) if field == "name" else "'tiny'"
    refuses(
        lambda: replace(TINY, **{field: value}), f"variant {name}", f"{field} is {shown(value, 200)}", allowed
    )


@pytest.mark.parametrize(
    "field",
    ["name", "title", "decks", "tableau", "build", "aliases", "face_down", "base", "fill", "pysol_order"],
)
@pytest.mark.parametrize("value", [10**5000, nested(10_000), "x" * 100_000, np.arange(3)], ids=type)
def test_fields_of_any_type_raise_an_error_that_names_them(field: str, value: Any, refuses: Refuses) -> None:
    refuses(lambda: replace(TINY, **{field: value}), f"{field} is ", "allowed")


def test_dealing_more_cards_than_the_pack_raises_an_error(refuses: Refuses) -> None:
    refuses(lambda: replace(TINY, tableau=(10, 3)), "'tiny'", "13 cards", "a deck of 12")
    refuses(lambda: replace(TINY, tableau=(10, 2), cells_filled=1), "13 cards", "a deck of 12")
    assert replace(TINY, tableau=(10, 2)).stock == 0


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"tableau": (6, 6), "fill": "waste"}, "fill='waste' needs a stock"),
        (
            {"moves": "any group", "sequence": "same suit"},
            "moves='any group' needs sequence='as build'",
        ),
        ({"base": "dealt", "tableau": (0, 3)}, "base='dealt' needs a card in t1, and aces_home=False"),
        ({"base": "dealt", "aces_home": True}, "base='dealt' needs a card in t1, and aces_home=False"),
        (
            {"foundation_build": "alternate color", "base": 2},
            "foundation_build='alternate color' needs base='ace' and worrying_back=False",
        ),
        (
            {"foundation_build": "alternate color", "base": "dealt"},
            "foundation_build='alternate color' needs base='ace' and worrying_back=False",
        ),
        (
            {"foundation_build": "alternate color", "worrying_back": True},
            "foundation_build='alternate color' needs base='ace' and worrying_back=False",
        ),
        ({"tableau": (0,) * 20, "cells": 7}, "piles, waste and cells are 28, allowed: 27"),
        ({"tableau": (6, 6), "draw": 2}, "there is no stock, so draw and passes must be 1"),
        ({"tableau": (6, 6), "passes": 0}, "there is no stock, so draw and passes must be 1"),
        (
            {"ranks": 13, "decks": 3, "moves": "any group"},
            "a pile could grow to 156 cards, allowed: 127",
        ),
        (
            {"ranks": 13, "decks": 3, "base": 2, "build": "any suit"},
            "a pile could grow to 156 cards, allowed: 127",
        ),
        (
            {"decks": 2, "base": 2, "moves": "sequence"},
            "base=2 with moves='sequence' needs one deck and sequences of the same suit",
        ),
        (
            {"base": 2, "build": "any suit", "moves": "supermove"},
            "base=2 with moves='supermove' needs one deck and sequences of the same suit",
        ),
        (
            {"base": "dealt", "build": "alternate color", "moves": "any group"},
            "base='dealt' with moves='any group' needs one deck and sequences of the same suit",
        ),
        ({"aces_home": True, "tableau": (6, 3)}, "deals 13 cards of a deck of 12"),
        ({"base": "dealt", "tableau": (6, 4)}, "deals 13 cards of a deck of 12"),
    ],
)
def test_conflicting_rules_raise_an_error(rules: dict[str, Any], says: str, refuses: Refuses) -> None:
    refuses(lambda: replace(TINY, **rules), "variant 'tiny': ", says)


@pytest.mark.parametrize(
    "rules",
    [
        {"base": 2, "build": "any suit", "moves": "sequence", "sequence": "same suit"},
        {"base": "dealt", "moves": "any group"},
        {"base": 3, "decks": 2, "build": "any suit"},
        {"base": 2, "moves": "supermove"},
        {"tableau": (5, 6), "draw": 3, "passes": 100, "fill": "waste"},
        {"tableau": (4, 4), "aces_home": True},
        {"tableau": (5, 4), "base": "dealt"},
        {"face_down": "rows 1, 50", "pysol_order": (1, 0, 0)},
        {"cells_filled": 1, "pysol_order": (2, 1, 0, 0)},
    ],
)
def test_compatible_rules_are_accepted(rules: dict[str, Any]) -> None:
    assert replace(TINY, **rules).stock >= 0


def test_face_down_rows_follow_the_field() -> None:
    """The last card of a pile is never face down."""
    rows = {
        0: ((), (), ()),
        1: ((0,), (0,), ()),
        2: ((0, 1), (0,), ()),
        100: ((0, 1, 2), (0,), ()),
        (2, 1, 0): ((0, 1), (0,), ()),
        (0, 0, 0): ((), (), ()),
        "rows 1, 3": ((0, 2), (0,), ()),
        "rows 4": ((), (), ()),
    }
    for face_down, places in rows.items():
        variant = replace(TINY, tableau=(4, 2, 0), face_down=face_down)
        assert variant.face_down_rows == tuple(map(frozenset, places))
        assert variant.hides_cards == any(places)


def test_with_rules_replaces_rules(refuses: Refuses) -> None:
    assert TINY.with_rules(build=None, spaces="kings") == replace(TINY, spaces="kings")
    refuses(lambda: TINY.with_rules(decks=2), "decks")  # type: ignore[call-arg]
    refuses(lambda: TINY.with_rules(moves="two cards"), "'two cards'", "'supermove'")


def test_plain_data_round_trips() -> None:
    for variant in ALL_GAMES.values():
        assert variant_from_dict(json.loads(json.dumps(variant_to_dict(variant)))) == variant


def test_invalid_plain_data_raises_an_error(refuses: Refuses) -> None:
    data = variant_to_dict(TINY)
    refuses(lambda: variant_from_dict({**data, "deck": 1}), "'deck'", "decks")
    refuses(lambda: variant_from_dict({"name": "tiny"}), "title", "decks", "tableau")
    refuses(lambda: variant_from_dict({**data, "decks": "2"}), "decks is '2'", "1 to 4")
    refuses(lambda: variant_from_dict({**data, "deck": 1, 7: 1, None: 1}), "['deck', 7, None]", "decks")  # type: ignore[dict-item]
    refuses(lambda: variant_from_dict([data]), "are a list", "a dict")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["busy-aces", "Busy Aces", "busyaces", "BUSY ACES"])
def test_games_are_found_by_name_title_and_alias(name: str) -> None:
    assert get_variant(name).name == "busy-aces"
    assert get_variant("Josephine").name == "forty-bandits"


def test_an_unknown_name_raises_an_error(refuses: Refuses) -> None:
    refuses(
        lambda: get_variant("spider"), "'spider'", "one of the 76 games that python -m solitaire_env list"
    )
    refuses(lambda: get_variant("klondyke"), "'klondyke'", "shows; closest: klondike")
    refuses(lambda: get_variant("--"), "'--'", "one of the 76 games")
    refuses(lambda: get_variant(7), "is a int", "a name, a title or an alias")  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------- describe()


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({}, "Cards: 1 deck, 12 cards, Ace to 3 only."),
        ({"ranks": 13, "decks": 2}, "Cards: 2 decks, 104 cards."),
        ({}, "Tableau: 2 piles of 2, 1 cards, all face up."),
        ({"tableau": (3, 3)}, "Tableau: 2 piles of 3 cards each, all face up."),
        ({}, "Cells: 1, one card each."),
        ({"cells": 4, "cells_filled": 2}, "the first 2 of them filled at the deal"),
        ({}, "Foundations: 4, built up in suit from Ace to 3."),
        ({}, "Stock: 9 cards, turned up to the waste one at a time, once: there is no redeal."),
        ({}, "Building: on the tableau, down by one, in the same suit. No card goes onto an Ace."),
        ({"build": "alternate color"}, "down by one, in the other color."),
        ({"build": "any suit"}, "down by one, in any suit."),
        ({}, "Moves: one card at a time."),
        ({"moves": "sequence"}, "Moves: any sequence at the end of a pile moves as one"),
        ({"moves": "supermove"}, "at most (empty cells + 1) x 2 for each space other than the target."),
        ({"moves": "supermove", "spaces": "kings"}, "at most empty cells + 1."),
        ({}, "Spaces: any card may fill an empty pile."),
        ({"moves": "sequence"}, "Spaces: any card or sequence may fill an empty pile."),
        ({"spaces": "kings"}, "Spaces: only a 3 may fill an empty pile."),
        (
            {"spaces": "kings", "moves": "sequence", "ranks": 13},
            "only a King, or the sequence that it leads,",
        ),
        ({"spaces": "none"}, "Spaces: an empty pile stays empty."),
        ({"aliases": ("Wee", "Small")}, "Also called Wee, Small."),
        ({"differs": ("Elsewhere it does.",)}, "Differs: Elsewhere it does."),
        ({"sources": ("A Book",)}, "Source: A Book"),
        ({"build": "other suit"}, "down by one, in any other suit."),
        ({"build": "same color"}, "down by one, in the same color."),
        ({"face_down": 1}, "the lowest 1 card of each face down."),
        ({"face_down": 2}, "the lowest 2 cards of each face down."),
        ({"face_down": (1, 0)}, "all but the last of each face down."),
        ({"tableau": (3, 1), "face_down": (1, 0)}, "the lowest 1, 0 face down."),
        ({"face_down": "rows 1, 3"}, "rows 1, 3 from the bottom face down."),
        ({"draw": 2}, "turned up to the waste two at a time, once: there is no redeal."),
        (
            {"draw": 3, "passes": 4},
            "three at a time, 4 times: when the stock is empty, the waste is turned over.",
        ),
        ({"passes": 0}, "any number of times: when the stock is empty, the waste is turned over."),
        ({"aces_home": True}, "from Ace to 3; the Aces start there."),
        ({"base": 2}, "from 2 through 3 and Ace. Cards on"),
        ({"base": 2, "aces_home": True}, "through 3 and Ace; the 2s start there."),
        ({"base": 2}, "in the same suit. A 3 goes onto an Ace."),
        ({"base": "dealt"}, "from the base, which is the rank of the first card of the deal,"),
        ({"base": "dealt", "spaces": "base - 1"}, "only a card of the rank below the base may fill"),
        ({"spaces": "base - 1"}, "only a 3 may fill an empty pile."),
        ({"foundation_build": "alternate color"}, "built up in alternating colors from Ace to 3."),
        ({}, "Cards on a foundation stay there."),
        ({"worrying_back": True}, "The last card of a foundation may go back onto a card of the tableau."),
        ({"moves": "sequence", "sequence": "any suit"}, "whole or in part. A sequence is in any suit."),
        (
            {"moves": "supermove", "build": "any suit", "sequence": "same suit"},
            " A sequence is in the same suit.",
        ),
        ({"moves": "any group"}, "any face-up card moves with all cards on it, in order or not."),
        ({"moves": "any group", "spaces": "kings"}, "only a 3, with the cards on it, may fill"),
        (
            {"fill": "waste"},
            "Filling: a pile that becomes empty immediately gets the last card of the waste;",
        ),
    ],
)
def test_describe_writes_the_rules(rules: dict[str, Any], sentence: str) -> None:
    assert sentence in replace(TINY, **rules).describe()


def test_describe_leaves_out_absent_parts() -> None:
    text = get_variant("eights-down").describe()
    assert text.startswith("Eights Down\n===========\n")
    assert "Stock" not in text
    assert "Cells" not in get_variant("busy-aces").describe()


# --------------------------------------------------------------------------------------- layout


def test_actions_are_numbered_by_kind_and_source() -> None:
    """Draw; each source home; to a cell; onto a pile; to a space. Sources are piles, the waste, cells."""
    two_cells = replace(TINY, cells=2, tableau=(2, 1, 0))
    texts = [action_text(two_cells, number) for number in range(action_layout(two_cells).size)]
    assert " ".join(texts) == (
        "draw t1>f t2>f t3>f w>f c1>f c2>f t1>c t2>c t3>c w>c "
        "t1>t2 t1>t3 t2>t1 t2>t3 t3>t1 t3>t2 w>t1 w>t2 w>t3 c1>t1 c1>t2 c1>t3 c2>t1 c2>t2 c2>t3 "
        "t1>s t2>s t3>s w>s c1>s c2>s"
    )


def test_actions_with_counts_start_with_one_card() -> None:
    variant = replace(TINY, moves="sequence", cells=0, tableau=(10, 2))
    texts = [action_text(variant, number) for number in range(action_layout(variant).size)]
    assert " ".join(texts) == "t1>f t2>f t1>t2 t2>t1 t1>s t1x2>s t1x3>s t2>s t2x2>s t2x3>s"


def test_a_stock_of_one_card_is_drawn() -> None:
    one, none = (replace(TINY, tableau=(6, size), cells=0) for size in (5, 6))
    assert [action_text(variant, 0) for variant in (one, none)] == ["draw", "t1>f"]
    assert [make_rules(variant).row_size - make_rules(variant).row_stock for variant in (one, none)] == [1, 0]


def test_spaces_that_stay_empty_have_no_actions() -> None:
    assert "space" not in action_layout(replace(TINY, spaces="none")).offsets


@pytest.mark.parametrize("name", ALL_GAMES)
def test_layouts_have_the_expected_number_of_actions(name: str) -> None:
    v = ALL_GAMES[name]
    has_stock = int(v.stock > 0)
    others = has_stock + v.cells
    # At most all cards except the one that they go onto.
    group = v.cards - 1 if v.moves == "any group" else 1
    chosen = {"one card": 1, "supermove": v.ranks, "sequence": v.ranks, "any group": group}[v.moves]
    if v.spaces != "any" and v.moves != "any group":
        chosen = 1
    expected = has_stock + int(v.passes != 1)
    expected += v.piles + others
    expected += v.piles + has_stock if v.cells else 0
    expected += v.piles * (v.piles - 1) * group + others * v.piles
    expected += v.piles * chosen + others if v.spaces != "none" else 0
    expected += 4 * v.piles if v.worrying_back else 0
    layout = action_layout(v)
    assert layout.size == make_rules(v).actions == expected
    assert [layout.encode(layout.decode(number)) for number in range(layout.size)] == list(range(layout.size))
    parts = list(layout.offsets.values())
    assert parts[0].start == 0 and parts[-1].stop == layout.size
    assert all(one.stop == other.start for one, other in pairwise(parts))
    kinds = [kind for kind, part in layout.offsets.items() for _ in range(part.start, part.stop)]
    assert kinds == [layout.decode(number).kind for number in range(layout.size)]


def test_sizes_of_published_games_do_not_change() -> None:
    """They are part of an environment's version."""
    sizes = {v.name: (r.actions, r.row_stock, r.row_size) for v in VARIANTS for r in [make_rules(v)]}
    assert sizes == {
        "forty-thieves": (123, 233, 297),
        "eighty-thieves": (123, 345, 473),
        "eights-down": (160, 156, 156),
        "forty-bandits": (243, 233, 297),
        "busy-aces": (171, 257, 349),
        "sixty-thieves": (171, 313, 409),
        "limited": (171, 257, 325),
        "famous-fifty": (123, 233, 287),
        "waning-moon": (198, 269, 321),
        "thirty-nine-steps": (198, 269, 334),
        "express": (227, 337, 451),
        "carnation": (291, 417, 577),
        "squadron": (170, 233, 294),
        "san-juan-hill": (123, 225, 281),
        "forty-and-eight": (84, 210, 282),
        "lucas": (354, 269, 321),
        "napoleons-square": (315, 257, 313),
        "marie-rose": (315, 313, 409),
        "malmaison": (243, 345, 473),
        "interchange": (66, 197, 252),
        "unlimited": (67, 197, 252),
        "maria": (102, 221, 289),
        "streets": (123, 233, 297),
        "roosevelt": (66, 197, 273),
        "big-streets": (171, 313, 421),
        "number-ten": (243, 233, 297),
        "number-twelve": (315, 313, 421),
        "rank-and-file": (243, 233, 297),
        "emperor": (123, 233, 297),
        "thieves-of-egypt": (124, 279, 328),
        "indian": (123, 233, 307),
        "midshipman": (102, 221, 289),
        "napoleons-folly": (123, 233, 297),
        "napoleons-exile": (123, 233, 297),
        "double-rail": (98, 173, 272),
        "final-battle": (123, 185, 283),
        "single-rail": (75, 105, 153),
        "triple-rail": (210, 277, 424),
        "waterloo": (123, 177, 267),
        "courtyard": (315, 257, 349),
        "corona": (171, 257, 325),
        "triple-line": (316, 258, 326),
        "little-forty": (244, 234, 298),
        "zebra": (84, 202, 290),
        "red-and-black": (179, 201, 289),
        "deuces": (123, 355, 441),
        "pluto": (171, 413, 505),
        "freecell": (216, 160, 160),
        "freecell-two-cells": (196, 158, 158),
        "freecell-no-cells": (168, 156, 156),
        "relaxed-freecell": (216, 160, 160),
        "forecell": (120, 152, 152),
        "kingcell": (120, 160, 160),
        "seven-by-four": (183, 148, 148),
        "seven-by-five": (192, 149, 149),
        "triple-freecell": (501, 334, 334),
        "cell-11": (466, 323, 323),
        "big-cell": (411, 328, 328),
        "repair": (288, 232, 232),
        "bakers-game": (216, 160, 160),
        "bakers-game-king-only": (120, 160, 160),
        "seahaven-towers": (168, 178, 178),
        "relaxed-seahaven-towers": (168, 178, 178),
        "double-seahaven-towers": (352, 282, 282),
        "double-eight-off": (280, 256, 256),
        "penguin": (126, 145, 145),
        "opus": (108, 143, 143),
        "klondike": (95, 162, 186),
        "klondike-draw-3": (95, 162, 186),
        "double-klondike": (139, 257, 316),
        "double-klondike-draw-3": (139, 257, 316),
        "westcliff": (243, 177, 199),
        "thumb-and-pouch": (178, 162, 186),
        "whitehead": (178, 162, 186),
        "yukon": (2506, 368, 368),
        "russian-solitaire": (2506, 368, 368),
    }


def test_unknown_actions_raise_an_error(refuses: Refuses) -> None:
    layout = action_layout(TINY)
    for number in (-1, layout.size, 10**30):
        refuses(lambda number=number: layout.decode(number), str(number), "tiny", f"0..{layout.size - 1}")
    for action in (
        Action("tableau", 1, 1),
        Action("space", 0, cards=2),
        Action("cell", 3),
        Action("home", 9),
    ):
        refuses(lambda action=action: layout.encode(action), "tiny", action.kind)


def test_rules_are_plain_ints() -> None:
    """Another type would compile every kernel again."""
    for name, variant in ALL_GAMES.items():
        assert {type(value) for value in make_rules(variant)} == {int}, name


@pytest.mark.parametrize("information", ["player", "thoughtful"])
def test_observation_slices_cover_the_row(information: str) -> None:
    """The parts follow each other without a gap."""
    for name, variant in ALL_GAMES.items():
        rules = make_rules(variant)
        layout = observation_layout(variant, information)
        parts = list(layout.values())
        assert parts[0].start == 0, name
        assert all(one.stop == other.start for one, other in pairwise(parts)), name
        assert parts[-1].stop == (rules.row_size if information == "thoughtful" else rules.row_stock), name
        room = ReferenceRules.of(variant).pile_room
        assert {part: where.stop - where.start for part, where in layout.items()} == {
            part: size
            for part, size in {
                **{f"t{n}": room for n in range(1, variant.piles + 1)},
                "foundations": variant.foundations,
                "cells": variant.cells,
                "waste": variant.stock,
                "redeals": int(variant.passes > 1),
                "base": int(variant.base == "dealt"),
                "stock_count": int(variant.stock > 0),
                "stock": variant.stock if information == "thoughtful" else 0,
            }.items()
            if size
        }, name
