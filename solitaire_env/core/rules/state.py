"""The games of a batch as arrays.

A kernel takes the variant as :class:`~solitaire_env.core.layout.Rules` (plain ints), the games as
:class:`State` (modified in place) and the number of a game, ``b``.
"""

from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.layout import Rules
from solitaire_env.core.native import Int8, Int16, Int64, inner, kernel

CODES: Final = 56
"""The codes of cards are below this."""
PART: Final = 128
"""Number of games that a thread processes at a time."""


class State(NamedTuple):
    """A batch of games of one variant. Only ``rows`` defines the position; the rest is derived from it."""

    rows: Annotated[Int8, "batch rules.row_size"]
    """Position rows ``[batch, row_size]``, see :mod:`solitaire_env.core.layout`."""
    tops: Annotated[Int8, "batch rules.sources"]
    """The playable card of each source ``[batch, sources]``, EMPTY if there is none."""
    given: Annotated[Int64, "batch rules.places"]
    """The cards that may move from each place to a pile, with the cards on them ``[batch, places]``, as
    bits."""
    taken: Annotated[Int64, "batch rules.piles"]
    """The cards that each tableau pile takes ``[batch, piles]``, as bits."""
    carriable: Annotated[Int8, "batch rules.sources"]
    """Maximum number of cards that may move together from each source to a pile ``[batch, sources]``: of the
    sequence, no more than a supermove carries."""
    next_home: Annotated[Int64, "batch"]
    """The cards that the foundations take ``[batch]``, as bits."""
    heights: Annotated[Int8, "batch rules.piles"]
    """Cards in each tableau pile ``[batch, piles]``."""
    crowded: Annotated[Int8, "batch"]
    """1 if a pile might get full, which never happens in a game from a deal ``[batch]``."""
    runs: Annotated[Int8, "batch rules.piles"]
    """Length of the sequence at the end of each tableau pile ``[batch, piles]``; 1 in one-card games, 0 in a
    space."""
    stock: Annotated[Int16, "batch"]
    """Cards in the stock ``[batch]``."""
    waste: Annotated[Int16, "batch"]
    """Cards in the waste ``[batch]``."""
    home: Annotated[Int64, "batch"]
    """Cards on the foundations ``[batch]``."""
    spaces: Annotated[Int16, "batch"]
    """Empty tableau piles ``[batch]``."""
    empty_cells: Annotated[Int16, "batch"]
    """Empty cells ``[batch]``."""
    mask: Annotated[Int8, "batch rules.actions"]
    """Legal actions ``[batch, actions]``, 1 where legal; all ones when the game is finished."""
    status: Annotated[Int8, "batch"]
    """PLAYING, WON or STUCK ``[batch]``."""


class Events(NamedTuple):
    """The effects of the last action ``[batch]``, int8, 1 for yes."""

    went_home: Annotated[Int8, "events"]
    """A card went to a foundation; -1 if one worried back."""
    advanced: Annotated[Int8, "events"]
    """Irreversible progress: a card was turned up, cards were drawn while redeals are limited, or a card left
    the waste while they are not."""
    invalid: Annotated[Int8, "events"]
    """The action was illegal and changed nothing."""


def make_state(rules: Rules, batch: int) -> State:
    """The state of ``batch`` games with all piles empty."""

    def zeros(dtype: type, *shape: int) -> npt.NDArray[Any]:
        return np.zeros((batch, *shape), dtype=dtype)

    return State(
        rows=zeros(np.int8, rules.row_size),
        tops=zeros(np.int8, rules.sources),
        given=zeros(np.int64, rules.places),
        taken=zeros(np.int64, rules.piles),
        carriable=zeros(np.int8, rules.sources),
        next_home=zeros(np.int64),
        heights=zeros(np.int8, rules.piles),
        crowded=zeros(np.int8),
        runs=zeros(np.int8, rules.piles),
        stock=zeros(np.int16),
        waste=zeros(np.int16),
        home=zeros(np.int64),
        spaces=zeros(np.int16),
        empty_cells=zeros(np.int16),
        mask=zeros(np.int8, rules.actions),
        status=zeros(np.int8),
    )


def make_events(batch: int) -> Events:
    """Events of ``batch`` games."""
    return Events(*(np.zeros(batch, dtype=np.int8) for _ in Events._fields))


@inner
def write_row(row, target):
    """Copy a row over another of the same length. Assigning a slice would allocate."""
    for k in range(len(row)):
        target[k] = row[k]


@inner
def copy_cards(rules, state, source, target):
    """Copy the cards of a game, except the stock, to another row.

    That is enough for moving cards: not for decoding actions, and not where a card of the stock may fill a
    space.
    """
    for place in range(rules.row_stock):
        state.rows[target, place] = state.rows[source, place]
    for pile in range(rules.piles):
        state.heights[target, pile] = state.heights[source, pile]
    state.next_home[target] = state.next_home[source]
    state.stock[target] = state.stock[source]
    state.waste[target] = state.waste[source]
    state.home[target] = state.home[source]
    state.spaces[target] = state.spaces[source]
    state.empty_cells[target] = state.empty_cells[source]


@inner
def copy(rules, state, source, target):
    """Copy a game from one row to another."""
    copy_cards(rules, state, source, target)
    for place in range(rules.row_stock, rules.row_size):
        state.rows[target, place] = state.rows[source, place]
    for place in range(rules.sources):
        state.tops[target, place] = state.tops[source, place]
        state.carriable[target, place] = state.carriable[source, place]
    for place in range(rules.places):
        state.given[target, place] = state.given[source, place]
    state.crowded[target] = state.crowded[source]
    for pile in range(rules.piles):
        state.taken[target, pile] = state.taken[source, pile]
        state.runs[target, pile] = state.runs[source, pile]
    for action in range(rules.actions):
        state.mask[target, action] = state.mask[source, action]
    state.status[target] = state.status[source]


@kernel(part=PART)
def copy_rows(
    rules: Rules,
    state: State,
    sources: Annotated[Int64, "n"],
    targets: Annotated[Int64, "n"],
    start: int,
    stop: int,
) -> None:
    """Copy the games of some rows to others (no duplicate targets)."""
    for k in range(start, stop):
        copy(rules, state, sources[k], targets[k])
