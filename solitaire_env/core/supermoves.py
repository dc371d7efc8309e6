"""Supermoves as the single moves that they stand for."""

from functools import cache

import numpy as np

from solitaire_env.core import engine
from solitaire_env.core.layout import Action, action_layout, make_rules
from solitaire_env.core.variant import Variant


@cache
def strict_variant(variant: Variant) -> Variant:
    """The same game with single cards only, in whose actions :func:`expand` answers."""
    return variant.with_rules(moves="one card")


def expand(variant: Variant, state: engine.State, row: int, number: int) -> list[int]:
    """The legal action of a ``supermove`` variant as actions of its :func:`strict_variant`, to be played in
    order.

    The position that results is the same, with one freedom: spaces are alike, and a sequence carried through
    spaces into a space may come to lie in another of them than the lowest, since a single card always goes to
    the lowest.

    Raises
    ------
    ValueError
        If the variant moves whole sequences freely, which single moves cannot do.
    """
    if variant.moves == "sequence":
        raise ValueError(f"{variant.name} moves sequences freely; only supermoves expand to single moves")
    rules = make_rules(variant)
    layout = action_layout(strict_variant(variant))
    action = action_layout(variant).decode(number)
    if action.kind not in ("tableau", "space"):
        return [layout.encode(action)]
    source, target, count = engine.move_of(rules, state, row, number)

    heights = state.heights[row].astype(int).tolist()
    cells = state.rows[row, rules.row_cells : rules.row_cells + rules.cells]
    empty_cells = np.flatnonzero(cells == 0).tolist()
    singles: list[int] = []

    def single(kind: str, source: int, target: int = 0) -> None:
        singles.append(layout.encode(Action(kind, source, target)))  # type: ignore[arg-type]
        if source < rules.piles:
            heights[source] -= 1

    def onto(source: int, target: int | None) -> int:
        """One card onto a pile, or to the lowest space; the pile where it lies."""
        if target is None:
            target = heights.index(0)
            single("space", source)
        else:
            single("tableau", source, target)
        heights[target] += 1
        return target

    def carry(count: int, source: int, target: int | None, between: int) -> int:
        """Carry a sequence to a pile or a space, with spaces in between; the pile where it lies."""
        at_once = len(empty_cells) + 1
        if count <= at_once:
            held = [rules.first_cell + cell for cell in empty_cells[: count - 1]]
            for _ in held:
                single("cell", source)
            target = onto(source, target)
            for cell in reversed(held):
                onto(cell, target)
            return target
        # Cards put aside move twice: as few as leave a part that can be carried without that space.
        part = max(1, count - (at_once << (between - 1)))
        aside = carry(part, source, None, between - 1)
        target = carry(count - part, source, target, between - 1)
        return carry(part, aside, target, between - 1)

    spaces = heights.count(0)
    to_space = action.kind == "space"
    carry(count, source, None if to_space else target, spaces - to_space)
    return singles
