"""The variants that the tests play: the published games, their options, and short packs with mixed rules."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.deals import Deal
from solitaire_env.core.library import MODE
from solitaire_env.core.spec import GameSpec
from solitaire_env.variants import TINY_KLONDIKE, VARIANTS, Build, Moves, Spaces, Variant, get_variant

COMPILED = MODE != "python"
"""Whether kernels are compiled; interpreted they take a hundred times as long, so the tests play less."""

PUBLISHED = {variant.name: variant for variant in VARIANTS}

THE_FIVE = dict(list(PUBLISHED.items())[:5])
"""The games that each kind of test plays."""

ONE_PER_RULE = THE_FIVE | {
    name: PUBLISHED[name]
    for name in (
        "klondike-draw-3",
        "freecell",
        "zebra",
        *(("yukon", "penguin", "little-forty", "interchange") if COMPILED else ()),
    )
}
"""Published games that together have every rule: for tests that would take too long with all games."""

OPTIONS = {
    f"{name}, {', '.join(rules.values())}": get_variant(name).with_rules(**rules)
    for name, rules in (
        ("forty-thieves", {"moves": "supermove"}),
        ("eighty-thieves", {"moves": "supermove"}),
        ("busy-aces", {"moves": "supermove"}),
        ("eights-down", {"spaces": "any"}),
        ("eights-down", {"build": "alternate color"}),
        ("eights-down", {"build": "alternate color", "spaces": "any"}),
        ("eights-down", {"moves": "one card"}),
        ("forty-bandits", {"build": "any suit", "spaces": "kings"}),
        ("forty-thieves", {"build": "alternate color", "spaces": "none"}),
    )
}
"""House rules and shortcuts of the published games."""

SHAPES = (
    Variant("short-3", "Short Three", decks=1, tableau=(2, 2, 2, 2), ranks=3),
    Variant("short-4", "Short Four", decks=2, tableau=(3, 0, 2, 4, 1), cells=2, cells_filled=1, ranks=4),
    Variant("short-5", "Short Five", decks=1, tableau=(5, 4, 3, 2), cells=2, cells_filled=2, ranks=5),
)

MIXES: tuple[tuple[Build, ...], tuple[Spaces, ...], tuple[Moves, ...]] = (
    ("same suit", "alternate color", "any suit"),
    ("any", "kings", "none"),
    ("one card", "supermove", "sequence"),
)
"""Rules that are combined in every way."""

SHORT = {
    f"{shape.name}, {build}, {spaces}, {moves}": shape.with_rules(build=build, spaces=spaces, moves=moves)
    for shape, build, spaces, moves in product(SHAPES, *MIXES)
}
"""Packs of three to five ranks with every combination of rules: with and without a stock, cells and empty
piles."""


def _pack(name: str, ranks: int, tableau: tuple[int, ...], **rules: Any) -> Variant:
    return Variant(name, name.capitalize(), **{"decks": 1, **rules}, tableau=tableau, ranks=ranks)


FURTHER = {
    variant.name: variant
    for variant in (
        _pack("two-down", 4, (3,) * 3, face_down=2, build="alternate color", moves="sequence"),
        _pack("rows-down", 4, (4, 4, 4), face_down="rows 1, 3", spaces="kings", moves="sequence"),
        _pack(
            "down-and-cells", 3, (4, 4, 4), face_down=2, build="alternate color", moves="supermove",
            cells=1,
        ),
        _pack(
            "small-klondike", 4, (1, 2, 3), face_down=(0, 1, 2), build="alternate color", spaces="kings",
            moves="sequence", draw=3, passes=0, worrying_back=True,
        ),
        _pack("three-passes", 3, (3, 3, 2), build="other suit", draw=2, passes=3),
        _pack(
            "other-supermove", 4, (6, 5, 4), build="other suit", moves="supermove", cells=1, cells_filled=1
        ),
        _pack(
            "same-color", 2, (5, 4, 4), decks=2, build="same color", sequence="same suit", moves="sequence",
            worrying_back=True,
        ),
        _pack(
            "color-supermove", 5, (5, 5, 5, 5), build="same color", moves="supermove", cells=2,
            spaces="none", worrying_back=True,
        ),
        _pack(
            "filled", 3, (2, 2, 2), build="any suit", sequence="same suit", moves="sequence",
            draw=3, passes=2, fill="waste",
        ),
        _pack("filled-only", 4, (2, 2, 2), spaces="none", fill="waste", worrying_back=True),
        _pack(
            "small-zebra", 3, (2, 2), build="alternate color", passes=2, aces_home=True,
            foundation_build="alternate color", fill="waste",
        ),
        _pack("two-colors", 2, (5, 4, 4), decks=2, moves="sequence", foundation_build="alternate color"),
        _pack("aces-home", 4, (3, 3, 3), aces_home=True, cells=1, cells_filled=1, worrying_back=True),
        _pack("from-two", 4, (3, 3, 2), base=2, aces_home=True, worrying_back=True),
        _pack("from-three", 3, (3, 3, 3), base=3, build="any suit", passes=2),
        _pack(
            "small-penguin", 4, (4, 4, 4), base="dealt", spaces="base - 1", moves="sequence", cells=2,
            cells_filled=1,
        ),
        _pack(
            "dealt-two-decks", 2, (4, 4), decks=2, base="dealt", spaces="base - 1", passes=0,
            face_down=1, worrying_back=True,
        ),
        _pack("dealt-supermove", 4, (5, 4, 4), base="dealt", moves="supermove", cells=1),
        _pack(
            "small-yukon", 4, (1, 4, 5, 6), face_down=(0, 1, 2, 3), build="alternate color", spaces="kings",
            moves="any group",
        ),
        _pack(
            "groups-and-stock", 3, (3, 3, 3), moves="any group", worrying_back=True, draw=2, passes=2,
        ),
        _pack("groups-from-three", 4, (4, 4, 4), moves="any group", base=3, spaces="base - 1", face_down=1),
        _pack("groups-filled", 3, (4, 4), moves="any group", build="same color", fill="waste"),
    )
}  # fmt: skip
"""Short packs with the rules that the published games have beyond the five."""

ODD = {
    variant.name: variant
    for variant in (
        Variant("one-pile", "One Pile", decks=1, tableau=(3,), ranks=3, cells=1),
        Variant("only-aces", "Only Aces", decks=4, tableau=(1, 2, 3), ranks=1),
        Variant("three-decks", "Three Decks", decks=3, tableau=(0,) * 7, ranks=6, moves="sequence"),
        Variant("no-stock", "No Stock", decks=1, tableau=(5, 5, 5, 5), ranks=5, moves="supermove"),
        Variant(
            "widest",
            "Widest",
            decks=2,
            tableau=(2,) * 17,
            cells=9,
            build="other suit",
            moves="sequence",
            worrying_back=True,
        ),
    )
}
"""Extreme variants."""

TINY = {TINY_KLONDIKE.name: TINY_KLONDIKE}
"""The registered game that is not published."""

ALL_GAMES = {**(PUBLISHED if COMPILED else ONE_PER_RULE), **OPTIONS, **SHORT, **FURTHER, **ODD, **TINY}
"""All of these, by name; without most published games if kernels are interpreted."""


def _is_sampled(name: str) -> bool:
    """Whether a game is in a sample: every rule, and of the short packs nine that contain any two of shape,
    build, spaces and moves together.
    """
    if name not in SHORT:
        return name in ONE_PER_RULE | FURTHER | ODD | TINY
    shape, *rules = name.split(", ")
    build, spaces, moves = (kinds.index(rule) for kinds, rule in zip(MIXES, rules, strict=True))
    return int(shape[-1]) % 3 == (build + spaces) % 3 and moves == (build + 2 * spaces) % 3


SAMPLED = [pytest.param(name, marks=() if _is_sampled(name) else pytest.mark.slow) for name in ALL_GAMES]
"""The names of all games, for tests that take long: those outside of the sample are slow."""


def dealt(variant: Variant, *deals: Deal) -> Batch:
    """A game of each deal."""
    batch = Batch(GameSpec(variant), len(deals))
    batch.deal(np.arange(len(deals)), deals)
    return batch
