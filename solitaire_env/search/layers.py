"""The inner loop of beam search (:mod:`solitaire_env.search.beam`)."""

from typing import Annotated, NamedTuple

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.layout import WON
from solitaire_env.core.native import Bool, Int8, Int16, Int32, Int64, UInt64, inner, kernel
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.state import copy, write_row
from solitaire_env.core.rules.step import step_legal
from solitaire_env.move_features.autoplay import autoplay_safe
from solitaire_env.search.positions import Trail, find, follow, keys_after


class Layer(NamedTuple):
    """The positions after one more move from the positions of a beam."""

    rows: Annotated[Int8, "candidates rules.row_size"]
    """int8 ``[candidates, row_size]``."""
    froms: Annotated[Int32, "candidates"]
    """int32 ``[candidates]``: index in the beam of the position before each."""
    actions: Annotated[Int16, "candidates"]
    """int16 ``[candidates]``: the action between them, before safe autoplay."""
    home: Annotated[Int16, "candidates"]
    """int16 ``[candidates]``: cards home."""
    over: Annotated[Bool, "candidates"]
    """bool ``[candidates]``: whether the game has ended."""
    table: Annotated[UInt64, "slots 2"]
    """uint64 ``[slots, 2]``, a power of 2 of slots: the keys of all positions found."""
    counts: Annotated[Int64, "2"]
    """int64 ``[2]``: number of positions found, of moves played."""


@inner
def _meet(keys, layer):
    """Whether a position is new; it is stored while at least a quarter of the slots is free."""
    slot, met = find(layer.table, keys)
    if not met and 4 * layer.counts[0] < 3 * layer.table.shape[0]:
        layer.table[slot, 0], layer.table[slot, 1] = keys
        layer.counts[0] += 1
    return not met


@kernel
def widen(
    rules: Rules,
    state: State,
    events: Events,
    rows: Annotated[Int8, "n rules.row_size"],
    autoplay: int,
    trail: Trail,
    layer: Layer,
) -> tuple[int, int]:
    """Write all new positions that are one move from ``rows``, int8 ``[n, row_size]``, to ``layer``; return
    their number, and whether there was room for all.

    With ``autoplay``, safe autoplay follows each move. The search ends at a won position, which is the last.
    """
    n = 0
    for at in range(len(rows)):
        place(rules, state, 0, rows[at])
        follow(rules, state, 0, trail)
        for action in range(rules.actions):
            if state.mask[0, action] == 0:
                continue
            copy(rules, state, 0, 1)
            step_legal(rules, state, events, 1, action)
            layer.counts[1] += 1
            if autoplay:
                layer.counts[1] += autoplay_safe(rules, state, events, 1)
            if not _meet(keys_after(rules, state, 0, 1, trail), layer):
                continue
            if n == len(layer.rows):
                return n, 0
            write_row(state.rows[1], layer.rows[n])
            layer.froms[n] = at
            layer.actions[n] = action
            layer.home[n] = state.home[1]
            layer.over[n] = state.status[1] != 0
            n += 1
            if state.status[1] == WON:
                return n, 1
    return n, 1
