"""Keys of positions, to recognize visited ones; and lines in the moves of the game itself."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.batch import Batch
from solitaire_env.core.native import Int64, UInt64, inner, kernel
from solitaire_env.core.rules.derive import derive
from solitaire_env.core.rules.moves import decode, move_cards
from solitaire_env.core.rules.state import copy
from solitaire_env.core.rules.step import step_legal
from solitaire_env.core.supermoves import MOST_SINGLES, Scratch, expand
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.move_features.autoplay import autoplay_safe_move

Array = npt.NDArray[Any]

SALT: Final = np.uint64(0x9E3779B97F4A7C15)
"""Salt of the position keys."""
SALT_2: Final = np.uint64(0xD1B54A32D192ED03)


@inner(wraps=True)
def mix(z):
    """SplitMix64's output function: each bit of a uint64 changes half of the others."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner(wraps=True)
def _grown(key, card):
    """The key of a pile, or of the waste, with one more card."""
    return mix(key + np.uint64(card))


@inner(wraps=True)
def _joined(rules, state, b, salt, piles, waste):
    """The key of a position, from the sum of its piles' mixed keys and the key of its waste."""
    for cell in range(rules.row_cells, rules.row_cells + rules.cells):
        piles += mix(salt ^ np.uint64(128 + state.rows[b, cell]))
    rest = mix(waste + np.uint64(state.stock[b]))
    for k in range(rules.row_foundations, rules.row_foundations + 4 * rules.decks):
        rest = mix(rest + np.uint64(state.rows[b, k]))
    for k in range(rules.row_redeals, rules.row_base):
        rest = mix(rest + np.uint64(state.rows[b, k]))
    if rules.passes != 1:
        # The number of cards in the stock does not determine which they are.
        for k in range(rules.row_stock, rules.row_stock + state.stock[b]):
            rest = mix(rest + np.uint64(state.rows[b, k]))
    return piles ^ mix(rest)


@inner(wraps=True)
def key_of(rules, state, b, salt):
    """A 64-bit key of a position. Positions that differ only in the order of piles or cells share a key."""
    piles = np.uint64(0)
    for pile in range(rules.piles):
        base = pile * rules.pile_capacity
        key = salt
        for k in range(base, base + state.heights[b, pile]):
            key = _grown(key, state.rows[b, k])
        piles += mix(key)
    waste = salt
    for k in range(rules.row_waste, rules.row_waste + state.waste[b]):
        waste = _grown(waste, state.rows[b, k])
    return _joined(rules, state, b, salt, piles, waste)


@kernel
def keys_of(rules: Rules, state: State, n: int, salt: int, keys: Annotated[UInt64, "n"]) -> None:
    """Write the keys of the first ``n`` games into uint64 ``keys``."""
    for b in range(n):
        keys[b] = key_of(rules, state, b, np.uint64(salt))


class Trail(NamedTuple):
    """The keys of a position's piles and of its waste at each height, by both salts. The position after a
    move differs in few cards.
    """

    piles: Annotated[UInt64, "rules.piles pile_heights 2"]
    """uint64 ``[piles, capacity + 1, 2]``."""
    waste: Annotated[UInt64, "stock_heights 2"]
    """uint64 ``[cards + 1, 2]``."""


def trail_lengths(rules: Any) -> dict[str, int]:
    """The lengths of the axes of a trail."""
    return {"pile_heights": rules.pile_capacity + 1, "stock_heights": rules.stock_capacity + 1}


def make_trail(rules: Any) -> Trail:
    """An empty trail."""
    return make_arrays(Trail, rules, **trail_lengths(rules))


@inner
def follow(rules, state, b, trail):
    """Write the trail of a position."""
    for pile in range(rules.piles):
        trail.piles[pile, 0, 0] = SALT
        trail.piles[pile, 0, 1] = SALT_2
        for k in range(state.heights[b, pile]):
            card = state.rows[b, pile * rules.pile_capacity + k]
            trail.piles[pile, k + 1, 0] = _grown(trail.piles[pile, k, 0], card)
            trail.piles[pile, k + 1, 1] = _grown(trail.piles[pile, k, 1], card)
    trail.waste[0, 0] = SALT
    trail.waste[0, 1] = SALT_2
    for k in range(state.waste[b]):
        card = state.rows[b, rules.row_waste + k]
        trail.waste[k + 1, 0] = _grown(trail.waste[k, 0], card)
        trail.waste[k + 1, 1] = _grown(trail.waste[k, 1], card)


@inner(wraps=True)
def keys_after(rules, state, before, b, trail):
    """Both keys of a position, from the trail of the one before it; the first is not 0.

    One move and safe autoplay lie between them: no pile, nor the waste, has first lost cards and then gained
    others, so the lower cards are the same. If a move also turns a card up, turns the waste over or fills a
    space, all is computed again.
    """
    if rules.hides or rules.passes != 1 or rules.fill:
        return key_of(rules, state, b, SALT) | np.uint64(1), key_of(rules, state, b, SALT_2)
    first = second = np.uint64(0)
    for pile in range(rules.piles):
        height = state.heights[b, pile]
        kept = min(height, state.heights[before, pile])
        key, other = trail.piles[pile, kept, 0], trail.piles[pile, kept, 1]
        for k in range(kept, height):
            card = state.rows[b, pile * rules.pile_capacity + k]
            key, other = _grown(key, card), _grown(other, card)
        first += mix(key)
        second += mix(other)
    kept = min(state.waste[b], state.waste[before])
    key, other = trail.waste[kept, 0], trail.waste[kept, 1]
    for k in range(kept, state.waste[b]):
        card = state.rows[b, rules.row_waste + k]
        key, other = _grown(key, card), _grown(other, card)
    return (
        _joined(rules, state, b, SALT, first, key) | np.uint64(1),
        _joined(rules, state, b, SALT_2, second, other),
    )


@inner
def find(table, keys):
    """The slot of a position in uint64 ``[slots, 2]``, a power of 2 of slots, and whether it is stored.

    Two positions are mistaken for each other if both keys, 128 bits, are equal: among 10**8 positions the
    probability is below 10**-22. A first key of 0 marks a free slot.
    """
    slots = table.shape[0]
    slot = np.int64(keys[1] & np.uint64(slots - 1))
    while table[slot, 0] != 0:
        if table[slot, 0] == keys[0] and table[slot, 1] == keys[1]:
            return slot, True
        slot = (slot + 1) & (slots - 1)
    return slot, False


@kernel
def add_safe_moves(
    rules: Rules,
    state: State,
    events: Events,
    line: Annotated[Int64, "n"],
    autoplay: int,
    home: int,
    full: Annotated[Int64, "longest"],
) -> int:
    """Play a line in row 0 until a number of cards are home; write all its actions to ``full``.

    Parameters
    ----------
    autoplay
        Whether the line leaves safe autoplay out.

    Returns
    -------
    The number of actions, or -1 if ``full`` has no room.
    """
    length = at = 0
    while state.home[0] < home:
        action = autoplay_safe_move(rules, state, 0) if autoplay else -1
        if length == full.shape[0]:
            return -1
        if action < 0:
            action = line[at]
            at += 1
        step_legal(rules, state, events, 0, action)
        full[length] = action
        length += 1
    return length


def spell_out(batch: Batch, cards: Array, line: Iterable[int], autoplay: bool, home: int) -> list[int]:
    """All actions of a line, see :func:`add_safe_moves`.

    Parameters
    ----------
    batch
        Its first game is overwritten.
    cards
        The position row at the start of the line.
    """
    batch.set_row(0, cards)
    planned = np.array([*line], dtype=np.int64)
    full = np.zeros(2 * len(planned) + batch.rules.cards, dtype=np.int64)
    length = add_safe_moves(batch.rules, batch.state, batch.events, planned, autoplay, home, full)
    actions: list[int] = full[:length].tolist()
    return actions


@inner
def _equivalent_action(rules, state, events, key):
    """The action in row 1 that leads to the position with this key; row 2 is overwritten."""
    for action in range(rules.actions):
        if state.mask[1, action] != 0:
            copy(rules, state, 1, 2)
            step_legal(rules, state, events, 2, action)
            if key_of(rules, state, 2, SALT) == key:
                return action
    return -1


@kernel
def expand_line(
    rules: Rules,
    strict: Rules,
    state: State,
    events: Events,
    line: Annotated[Int64, "n"],
    scratch: Scratch,
    singles: Annotated[Int64, "longest"],
) -> int:
    """Write a line of supermoves as single moves.

    When single moves carry a sequence through spaces, it may end in another space than that of the supermove.
    Spaces are alike: from then on, play the move that leads to an equivalent position.

    Parameters
    ----------
    rules, strict
        The game with supermoves, and with single moves.
    state
        Row 0 is at the start of the line; rows 1 and 2 are overwritten.

    Returns
    -------
    The number of single moves, or -1 if ``singles`` has no room.
    """
    length = 0
    copy(rules, state, 0, 1)
    for k in range(line.shape[0]):
        if length + MOST_SINGLES > singles.shape[0]:
            return -1
        same = True
        for n in range(rules.row_size):
            same &= state.rows[0, n] == state.rows[1, n]
        action = line[k]
        step_legal(rules, state, events, 0, action)
        if not same:
            action = _equivalent_action(rules, state, events, key_of(rules, state, 0, SALT))
        end = length + expand(rules, strict, state, 1, action, scratch, singles[length:])
        for n in range(length, end):
            source, target, count = decode(strict, state, 1, singles[n])
            move_cards(strict, state, 1, singles[n], source, target, count)
            derive(rules, state, 1)
        length = end
    return length
