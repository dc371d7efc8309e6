"""Supermoves as single moves."""

from functools import lru_cache
from typing import Annotated, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.layout import Rules, make_rules
from solitaire_env.core.native import Int64, inner, kernel
from solitaire_env.core.rules.legal import tableau_action
from solitaire_env.core.rules.moves import decode
from solitaire_env.core.rules.state import State
from solitaire_env.core.variant import Variant
from solitaire_env.util.lazy import VARIANTS_KEPT

MOST_SINGLES: Final = 49
"""Maximum number of single moves of a supermove: 13 cards carried through four spaces, without cells."""
MOST_TASKS: Final = 14
"""Maximum number of parts of a sequence that wait to be carried."""

LOWEST_SPACE: Final = -1
"""A pile that is not chosen yet: the lowest space when the first card moves there."""


class Task(NamedTuple):
    """Columns of a part of a sequence that waits to be carried."""

    cards: int
    source: int
    """Index in ``Scratch.places`` of the source; likewise of the target."""
    target: int
    between: int
    """Number of spaces that may hold cards meanwhile."""


TASK: Final = Task(*range(len(Task._fields)))


class Scratch(NamedTuple):
    """Scratch arrays for one supermove, int64."""

    heights: Annotated[Int64, "rules.piles"]
    """Cards in each pile ``[piles]``."""
    cells: Annotated[Int64, "cells+1"]
    """The empty cells, as sources, ``[cells + 1]``."""
    places: Annotated[Int64, "singles"]
    """The sources and piles of the tasks, ``[MOST_SINGLES]``."""
    tasks: Annotated[Int64, "tasks columns"]
    """Columns of :class:`Task`, ``[MOST_TASKS, 4]``; a stack, the last one is next."""


def make_scratch(rules: Rules) -> Scratch:
    """Scratch arrays for one supermove."""
    sizes = (rules.piles, rules.cells + 1, MOST_SINGLES, (MOST_TASKS, len(TASK)))
    return Scratch(*(np.zeros(size, dtype=np.int64) for size in sizes))


@lru_cache(VARIANTS_KEPT)
def strict_variant(variant: Variant) -> Variant:
    """The same game with single cards only, the action set of :func:`expand_rows`."""
    return variant.with_rules(moves="one card")


def expands(variant: Variant) -> bool:
    """Whether the moves of a variant can be expanded: not if sequences move freely, nor if spaces that could
    hold a card are filled automatically.
    """
    return variant.moves == "one card" or (variant.moves == "supermove" and variant.fill == "none")


def expand_rows(
    variant: Variant, state: State, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Legal actions of a ``supermove`` variant as actions of its :func:`strict_variant`, in order; of several
    games, each at most once.

    The resulting position is the same, except for the order of spaces: a single card always moves to the
    lowest space, so a sequence carried through spaces into a space may end in another one.

    Parameters
    ----------
    rows, actions
        int64 ``[n]``.

    Returns
    -------
    The single actions, int64 ``[n, most]``, with undefined entries after the last one of each row; and their
    numbers, int64 ``[n]``.

    Raises
    ------
    ValueError
        If single moves cannot replace the variant's moves: see :func:`expands`.
    """
    if not expands(variant):
        why = "fills its spaces" if variant.moves == "supermove" else f"moves={variant.moves!r}"
        raise ValueError(f"{variant.name}: {why}; only supermoves, without filling, expand to single moves")
    singles = np.empty((len(rows), MOST_SINGLES), dtype=np.int64)
    counts = np.empty(len(rows), dtype=np.int64)
    rules, strict = make_rules(variant), make_rules(strict_variant(variant))
    write_singles(rules, strict, state, rows, actions, make_scratch(rules), singles, counts)
    return singles[:, : counts.max(initial=0)], counts


# ----------------------------------------------------------------------------------------- kernels


@inner
def _add_single(strict, source, target, heights, singles, n):
    """Add the move of a card onto a pile, or to it as a space; the new number of moves."""
    if heights[target]:
        singles[n] = tableau_action(strict, source, target, 1)
    else:
        singles[n] = strict.space_actions + source
    heights[target] += 1
    if source < strict.piles:
        heights[source] -= 1
    return n + 1


@inner
def _carry(strict, scratch, cards, from_place, to_place, singles, n):
    """Carry cards without spaces: all but the deepest to cells, then onto it again."""
    source = scratch.places[from_place]
    for held in range(cards - 1):
        singles[n + held] = strict.cell_actions + source
        scratch.heights[source] -= 1
    n += cards - 1
    if scratch.places[to_place] == LOWEST_SPACE:
        pile = 0
        while scratch.heights[pile]:
            pile += 1
        scratch.places[to_place] = pile
    target = scratch.places[to_place]
    n = _add_single(strict, source, target, scratch.heights, singles, n)
    for held in range(cards - 2, -1, -1):
        n = _add_single(strict, scratch.cells[held], target, scratch.heights, singles, n)
    return n


@inner
def _set_task(task, cards, from_place, to_place, between):
    task[TASK.cards] = cards
    task[TASK.source] = from_place
    task[TASK.target] = to_place
    task[TASK.between] = between


@inner
def _read_room(strict, state, row, scratch):
    """Store the heights of piles and the empty cells of a game; the number of empty cells."""
    for pile in range(strict.piles):
        scratch.heights[pile] = state.heights[row, pile]
    empty = 0
    for cell in range(strict.cells):
        scratch.cells[empty] = strict.first_cell + cell
        empty += int(state.rows[row, strict.row_cells + cell] == 0)
    return empty


@inner
def expand(rules, strict, state, row, action, scratch, singles):
    """Write the single moves of an action; their number.

    A sequence that is too long for the cells is carried in three parts: its end to a space, then the rest,
    then the end onto it. This recursion keeps the waiting parts in ``scratch.tasks``.
    """
    singles[0] = action
    if action < rules.tableau_actions:
        return 1
    if action >= rules.worry_actions:
        singles[0] = strict.worry_actions + action - rules.worry_actions
        return 1
    source, target, cards = decode(rules, state, row, action)
    to_space = action >= rules.space_actions
    most = _read_room(strict, state, row, scratch) + 1
    scratch.places[0] = source
    scratch.places[1] = LOWEST_SPACE if to_space else target
    places = 2
    _set_task(scratch.tasks[0], cards, 0, 1, state.spaces[row] - int(to_space))
    waiting = 1
    n = 0
    while waiting > 0:
        waiting -= 1
        task = scratch.tasks[waiting]
        cards, source, target, between = (
            task[TASK.cards], task[TASK.source], task[TASK.target], task[TASK.between] - 1
        )  # fmt: skip
        if cards <= most:
            n = _carry(strict, scratch, cards, source, target, singles, n)
            continue
        # Cards moved aside move twice: take the fewest that leave a part that needs no such space.
        part = max(1, cards - (most << between))
        scratch.places[places] = LOWEST_SPACE
        _set_task(scratch.tasks[waiting], part, places, target, between)
        _set_task(scratch.tasks[waiting + 1], cards - part, source, target, between)
        _set_task(scratch.tasks[waiting + 2], part, source, places, between)
        waiting += 3
        places += 1
    return n


@kernel
def write_singles(
    rules: Rules,
    strict: Rules,
    state: State,
    rows: Annotated[Int64, "n"],
    actions: Annotated[Int64, "n"],
    scratch: Scratch,
    singles: Annotated[Int64, "n most"],
    counts: Annotated[Int64, "n"],
) -> None:
    """Write the single moves of an action of each game, and their numbers."""
    for k in range(rows.shape[0]):
        counts[k] = expand(rules, strict, state, rows[k], actions[k], scratch, singles[k])
