"""The variants that the tests play: the published games, their options, and short packs with mixed rules."""

from __future__ import annotations

from itertools import product
from typing import get_args

import numba
import pytest

from solitaire_env.variants import VARIANTS, Build, Moves, Spaces, Variant, get_variant

COMPILED = not numba.config.DISABLE_JIT
"""Whether kernels are compiled; interpreted they take a hundred times as long, and the tests play less."""

PUBLISHED = {variant.name: variant for variant in VARIANTS}

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

SHORT = {
    f"{shape.name}, {build}, {spaces}, {moves}": shape.with_rules(build=build, spaces=spaces, moves=moves)
    for shape, build, spaces, moves in product(SHAPES, get_args(Build), get_args(Spaces), get_args(Moves))
}
"""Packs of three to five ranks with every mix of rules: with and without a stock, cells and empty piles."""

ODD = {
    variant.name: variant
    for variant in (
        Variant("one-pile", "One Pile", decks=1, tableau=(3,), ranks=3, cells=1),
        Variant("only-aces", "Only Aces", decks=4, tableau=(1, 2, 3), ranks=1),
        Variant("three-decks", "Three Decks", decks=3, tableau=(0,) * 7, ranks=6, moves="sequence"),
        Variant("no-stock", "No Stock", decks=1, tableau=(5, 5, 5, 5), ranks=5, moves="supermove"),
    )
}
"""Ends of what a variant may be."""

ALL = {**PUBLISHED, **OPTIONS, **SHORT, **ODD}

_KINDS = (get_args(Build), get_args(Spaces), get_args(Moves))


def _is_sampled(name: str) -> bool:
    """Whether a short pack is one of nine in which any two of shape, build, spaces and moves meet."""
    shape, *rules = name.split(", ")
    build, spaces, moves = (kinds.index(rule) for kinds, rule in zip(_KINDS, rules, strict=True))
    return int(shape[-1]) % 3 == (build + spaces) % 3 and moves == (build + 2 * spaces) % 3


EACH = [
    pytest.param(name, marks=pytest.mark.proof if name in SHORT and not _is_sampled(name) else ())
    for name in ALL
]
"""The names of all variants, for tests that take long: most short packs are left to the proofs."""
