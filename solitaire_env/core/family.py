"""Several games in one batch: one observation and one action space for all of them.

Actions are numbered by their text, which means the same move in every game, and each pile has the same place
in the observation of every game. Entries that a game does not use are 0.
"""

from collections.abc import Sequence
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import SUITS
from solitaire_env.core.layout import (
    Action,
    Information,
    Rules,
    action_layout,
    action_number,
    make_rules,
    observation_layout,
    slices_of,
)
from solitaire_env.core.native import Bool, Int8, Int64, kernel
from solitaire_env.core.observations import cards_high, write_cards
from solitaire_env.core.rules.state import State
from solitaire_env.core.variant import Variant
from solitaire_env.util.immutable import Immutable
from solitaire_env.util.lazy import cached_property
from solitaire_env.util.messages import shown

RULE_FIELDS: Final = (
    "decks", "ranks", "piles", "cells", "has_stock", "build", "run_build", "spaces", "space_rank", "moves",
    "hides", "draw", "passes", "fill", "aces_home", "alternate_home", "base", "wraps", "worrying_back",
)  # fmt: skip
"""The fields of :class:`~solitaire_env.core.layout.Rules` that are part of the observation."""

_KINDS: Final = ("draw", "redeal", "home", "cell", "tableau", "space", "worry")
"""Kinds of action, in the order of their numbers."""


def _place(action: Action, variant: Variant) -> tuple[int, int, int, int, int]:
    """Sort key of an action among those of all games: kind, source, target and number of cards."""
    rules = make_rules(variant)
    source = action.source
    if source >= rules.sources:
        kind, number = 3, source - rules.sources
    elif source >= rules.first_cell:
        kind, number = 2, source - rules.first_cell
    else:
        kind, number = int(source >= rules.piles), source if source < rules.piles else 0
    return _KINDS.index(action.kind), kind, number, action.target, action.cards


class FamilyLayout(Immutable):
    """The common observation and action space of some games.

    Parameters
    ----------
    variants
        The games, each once.
    information
        Whether the order of the stock is part of the observation.
    """

    def __init__(self, variants: Sequence[Variant], information: Information = "player") -> None:
        self.variants = tuple(variants)
        self.information = information
        self.texts, self.actions = self.number_actions()
        """The text of each action, by its number; for each game, the number of each of its actions, int64
        ``[its actions]``.
        """
        self.numbers = {text: number for number, text in enumerate(self.texts)}
        """Number of each action, by its text."""
        self.own_actions = np.full((len(self.variants), len(self.texts)), -1, dtype=np.int64)
        """For each game, its own number of each action, -1 for actions that it does not have."""
        for game, numbers in enumerate(self.actions):
            self.own_actions[game, numbers] = np.arange(len(numbers))

    def number_actions(self) -> tuple[tuple[str, ...], list[npt.NDArray[np.int64]]]:
        """The texts of all actions in their order, and for each game the numbers of its actions."""
        layouts = [action_layout(variant) for variant in self.variants]
        places = {
            _place(layout.decode(number), layout.variant): layout.text(number)
            for layout in layouts
            for number in range(layout.size)
        }
        texts = tuple(places[place] for place in sorted(places))
        numbers = {text: number for number, text in enumerate(texts)}
        return texts, [
            np.array([numbers[layout.text(n)] for n in range(layout.size)], dtype=np.int64)
            for layout in layouts
        ]

    def text(self, number: int) -> str:
        """Text of an action: ``t3>f``."""
        whole = action_number(number)
        if not 0 <= whole < len(self.texts):
            raise ValueError(f"action {shown(whole)} is outside the space, allowed: 0..{len(self.texts) - 1}")
        return self.texts[whole]

    def parse(self, text: str) -> int:
        """Number of an action from its text, the inverse of :meth:`text`."""
        number = self.numbers.get(text) if isinstance(text, str) else None
        if number is None:
            raise ValueError(
                f"no game has action {shown(text)}, allowed: such as {', '.join(self.texts[:3])}"
            )
        return number

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Named slices of the observation: the parts of a game, and ``rules``."""
        rules = [make_rules(variant) for variant in self.variants]
        capacity = max(r.pile_capacity for r in rules)
        decks = max(r.decks for r in rules)
        sizes = {f"t{pile + 1}": capacity for pile in range(max(r.piles for r in rules))}
        sizes |= {"cells": max(r.cells for r in rules), "waste": max(r.stock_capacity for r in rules)}
        sizes |= {"foundations": SUITS * decks, "stock_count": 1, "redeals": 1, "base": 1}
        sizes["rules"] = len(RULE_FIELDS)
        if self.information != "player":
            sizes["stock"] = sizes["waste"]
        return slices_of(sizes)

    @property
    def size(self) -> int:
        """Number of entries of the observation."""
        return max(int(part.stop) for part in self.slices.values())

    @cached_property
    def places(self) -> list[npt.NDArray[np.int64]]:
        """For each game, the index of each entry of its own observation, int64 ``[its size]``."""
        decks = (self.slices["foundations"].stop - self.slices["foundations"].start) // SUITS
        out = []
        for variant in self.variants:
            own = observation_layout(variant, self.information)
            places = np.zeros(max(part.stop for part in own.values()), dtype=np.int64)
            for name, part in own.items():
                offsets = np.arange(part.stop - part.start)
                if name == "foundations":
                    offsets = offsets // variant.decks * decks + offsets % variant.decks
                places[part] = self.slices[name].start + offsets
            out.append(places)
        return out

    @cached_property
    def rules(self) -> npt.NDArray[np.int8]:
        """The rules of each game as numbers, int8 ``[games, rule fields]``."""
        rows = [[getattr(make_rules(v), field) for field in RULE_FIELDS] for v in self.variants]
        return np.array(rows, dtype=np.int8)

    @cached_property
    def high(self) -> npt.NDArray[np.int8]:
        """Highest value of each entry of the observation, int8 ``[size]``."""
        high = np.zeros(self.size, dtype=np.int8)
        for variant, places in zip(self.variants, self.places, strict=True):
            np.maximum.at(high, places, cards_high(variant, self.information))
        high[self.slices["rules"]] = self.rules.max(axis=0)
        # Gymnasium warns about an entry that can only be 0.
        return np.maximum(high, 1)


@kernel
def show_rows(
    rules: Rules,
    state: State,
    information: int,
    stock_seen: Annotated[Bool, "batch"],
    own: Annotated[Int8, "batch entries"],
    places: Annotated[Int64, "entries"],
    numbers: Annotated[Int64, "rules.actions"],
    observations: Annotated[Int8, "batch size"],
    mask: Annotated[Int8, "batch actions"],
    rows: Annotated[Int64, "n"],
) -> None:
    """Write the observations and the masks of games of one variant among those of all variants.

    Parameters
    ----------
    own
        Scratch array for the observations of the games alone.
    places, numbers
        The index of each entry of an observation, and of each action, among those of all variants.
    """
    for k in range(rows.shape[0]):
        b = rows[k]
        write_cards(rules, state.rows, information, stock_seen, b, own)
        for entry in range(places.shape[0]):
            observations[b, places[entry]] = own[b, entry]
        for action in range(numbers.shape[0]):
            mask[b, numbers[action]] = state.mask[b, action]
