"""Cards, variants, and the layouts that follow from them."""

import json
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from solitaire_env.core.cards import (
    DOWN,
    EMPTY,
    FACE_DOWN,
    NUM_CODES,
    card_name,
    is_red,
    make_card,
    parse_card,
    rank_of,
    suit_of,
)
from solitaire_env.core.layout import Information, observation_layout
from solitaire_env.core.observations import INFORMATION, cards_high
from solitaire_env.util.messages import shown
from solitaire_env.variants import (
    GROUPS,
    VARIANTS,
    Variant,
    get_variant,
    grouped,
    variant_from_dict,
    variant_to_dict,
)
from tests.conftest import Refuses
from tests.damage import DAMAGE, damaged_records, read_or_refused
from tests.games import ALL_GAMES, FURTHER, THE_FIVE
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


@pytest.mark.parametrize("text", ["", "7", "S7", "XX", "(??)", pytest.param("7H" * 1000, id="long")])
def test_invalid_card_texts_raise_an_error(text: str, refuses: Refuses) -> None:
    refuses(lambda: parse_card(text), repr(text[:20]), "A23456789TJQK", "CDHS")


# ------------------------------------------------------------------------------------- variants


def test_published_games_are_unique_and_name_their_sources() -> None:
    """Each has its own name, title and rules."""
    assert tuple(THE_FIVE) == tuple(v.name for v in VARIANTS[:5])
    assert all(v.sources for v in VARIANTS)
    texts = ("name", "title", "sources", "aliases", "differs", "pysol_order", "version")
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
        ("name", "two words", "without spaces"),
        ("name", "--", "a letter or digit"),
        ("ranks", 0, "1 to 13"),
        ("cells", 28, "0 to 27"),
        ("cells_filled", 2, "0 to 1"),
        ("tableau", (), "1 to 27"),
        ("tableau", (2, -1), "0 to 100"),
        ("tableau", [2, 1], "tuple"),
        ("build", "up", "'same suit', 'alternate color', 'any suit'"),
        ("moves", ["one card"], "'one card', 'supermove', 'sequence', 'any group'"),
        ("sequence", "other suit", "'as build', 'same suit', 'alternate color', 'any suit'"),
        ("aces_home", 1, "True or False"),
        ("base", 4, "'ace', 'dealt', or a rank from 2 to 3"),
        ("face_down", -1, "one for each pile"),
        ("face_down", (2, 0), "each less than the cards of that pile"),
        ("face_down", "row 1", "'rows 2, 4, 6'"),
        ("pysol_order", (0, 0, 2), "each pile as often as it gets a card at the deal"),
        ("sources", "a book", "a tuple of texts"),
        ("name", "n" * 81, "at most 80 characters"),
        ("title", "a \x1b[31m title", "a line of text"),
        ("version", "v1", "a whole number from 0 to 999"),
    ],
)
def test_invalid_fields_raise_an_error(field: str, value: Any, allowed: str, refuses: Refuses) -> None:
    name = shown(value) if field == "name" else "'tiny'"
    refuses(
        lambda: replace(TINY, **{field: value}), f"variant {name}", f"{field} is {shown(value, 200)}", allowed
    )


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
            {"foundation_build": "alternate color", "worrying_back": True},
            "foundation_build='alternate color' needs base='ace' and worrying_back=False",
        ),
        ({"tableau": (0,) * 20, "cells": 7}, "piles, waste and cells are 28, allowed: 27"),
        ({"tableau": (6, 6), "draw": 2}, "there is no stock, so draw and passes must be 1"),
        (
            {"ranks": 13, "decks": 3, "moves": "any group"},
            "a pile could grow to 156 cards, allowed: 127",
        ),
        (
            {"decks": 2, "base": 2, "moves": "sequence"},
            "base=2 with moves='sequence' needs one deck and sequences of the same suit",
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


@DAMAGE
@given(damaged_records([variant_to_dict(variant) for variant in (*FURTHER.values(), *THE_FIVE.values())]))
def test_damaged_variants(data: Any) -> None:
    variant = read_or_refused(variant_from_dict, data)
    if variant is not None:
        assert variant_from_dict(json.loads(json.dumps(variant_to_dict(variant)))) == variant
        assert all(map(str.isprintable, variant.describe().split("\n")))


def test_an_unknown_name_raises_an_error(refuses: Refuses) -> None:
    refuses(lambda: get_variant("spider"), "'spider'", "games that python -m solitaire_env list")
    refuses(lambda: get_variant("klondyke"), "'klondyke'", "shows; closest: klondike")
    refuses(lambda: get_variant("--"), "'--'", "one of the ")
    refuses(lambda: get_variant(7), "is a int", "a name, a title or an alias")  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------- describe()


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({}, "Tableau: 2 piles of 2, 1 cards, all face up."),
        ({"spaces": "kings", "moves": "sequence"}, "only a 3, or the sequence that it leads,"),
        ({"base": 2, "aces_home": True}, "through 3 and Ace; the 2s start there."),
    ],
)
def test_describe_writes_the_rules(rules: dict[str, Any], sentence: str) -> None:
    assert sentence in replace(TINY, **rules).describe()


# --------------------------------------------------------------------------------------- layout


@pytest.mark.parametrize("information", INFORMATION)
def test_observation_slices_cover_the_row(information: str) -> None:
    """The parts follow each other without a gap, each as long as it must be."""
    for name, variant in ALL_GAMES.items():
        layout = observation_layout(variant, information)
        sizes = {
            **{f"t{n}": ReferenceRules.of(variant).pile_room for n in range(1, variant.piles + 1)},
            "foundations": variant.foundations,
            "cells": variant.cells,
            "waste": variant.stock,
            "redeals": int(variant.passes > 1),
            "base": int(variant.base == "dealt"),
            "stock_count": int(variant.stock > 0),
            "stock": 0 if information == "player" else variant.stock,
        }
        parts = list(layout.values())
        assert parts[0].start == 0 and parts[-1].stop == sum(sizes.values()), name
        assert all(one.stop == other.start for one, other in pairwise(parts)), name
        assert {part: where.stop - where.start for part, where in layout.items()} == {
            part: size for part, size in sizes.items() if size
        }, name


@pytest.mark.parametrize("information", INFORMATION)
def test_an_embedding_of_all_codes_fits_every_observation(information: Information) -> None:
    """Of a face-down card that is shown, of counts, of every game."""
    highest = max(int(cards_high(variant, information).max()) for variant in ALL_GAMES.values())
    assert highest < NUM_CODES == 128


def test_each_group_begins_with_the_game_that_names_it() -> None:
    groups = grouped()
    assert [(title, variants[0].title) for title, variants in groups.items()] == [
        (f"{get_variant(name).title} and relatives", get_variant(name).title) for name in GROUPS
    ]
    for variants in groups.values():
        titles = [variant.title for variant in variants[1:]]
        assert titles == sorted(titles) and titles
    listed = [variant for variants in groups.values() for variant in variants]
    assert len(listed) == len(VARIANTS) and {*listed} == {*VARIANTS}


@pytest.mark.parametrize(
    ("group", "relatives"),
    [
        ("klondike", {"westcliff", "yukon", "double-klondike", "whitehead"}),
        ("freecell", {"eights-down", "freecell-no-cells", "penguin", "big-cell"}),
        ("forty-thieves", {"squadron", "single-rail", "interchange", "zebra", "pluto"}),
    ],
)
def test_relatives_are_in_the_group_of_their_rules(group: str, relatives: set[str]) -> None:
    variants = grouped()[f"{get_variant(group).title} and relatives"]
    assert relatives <= {variant.name for variant in variants}
