"""The inner loops of search: games played on the engine's rows by a weighted sum of what a move looks like,
nested rollouts, and the search that leaves nothing out.

They call the engine's compiled functions directly, so a node costs a copy of a row and a step, and no Python.
The numbers of a move are those of :data:`agents.moves.MOVE_FEATURES`, read here from what the engine keeps of
a game, not from an observation: a move in a playout takes about a microsecond. A test compares the two.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from agents.moves import NUM_MOVE
from solitaire_env import engine
from solitaire_env.engine import _copy, _decode, _derive, _finish, _refresh_tight, _step

Array = npt.NDArray[Any]

WON: Final = 1
"""Status of a game that is won; 0 is one that goes on."""
SALT: Final = np.uint64(0x9E3779B97F4A7C15)
"""Of the keys of positions."""
SALT_2: Final = np.uint64(0xD1B54A32D192ED03)

# What :func:`explore` ends with.
MORE, FOUND, EXHAUSTED, FULL = range(4)


def _sources() -> str:
    """Says which engine this code is compiled with."""
    text = b"".join(path.read_bytes() for path in sorted(Path(engine.__file__).parent.glob("*.py")))
    return hashlib.sha256(text).hexdigest()[:12]


_ENGINE: Final = _sources()


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for one thread, the interpreter lock released.

    Numba's cache looks for changes in the function's own file alone. It knows a function by its name, so the
    name says which engine was compiled into it.
    """
    function.__qualname__ += f"_{_ENGINE}"
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


class Room(NamedTuple):
    """Where the legal moves of a game are looked at; made once."""

    bits: Array
    """int64 ``[3]``: the cards that the foundations take next, all playable ones, those of piles alone."""
    near: Array
    """float64 ``[piles]``: how near a wanted card is to the end of each pile."""
    actions: Array
    """int64 ``[actions]``: the legal ones."""
    scores: Array
    """float64 ``[actions]``: of each of these."""


def make_room(rules: Any) -> Room:
    """Room for one game at a time."""
    return Room(
        np.zeros(3, dtype=np.int64),
        np.zeros(rules.piles, dtype=np.float64),
        np.zeros(rules.actions, dtype=np.int64),
        np.zeros(rules.actions, dtype=np.float64),
    )


# ------------------------------------------------------------------------------ the linear policy


@_jit
def _read(rules, state, b, room):  # type: ignore[no-untyped-def]
    """What all moves of a game are measured by; the rank of its lowest foundation."""
    wanted = 0
    lowest = rules.ranks
    for suit in range(4):
        for deck in range(rules.decks):
            top = int(state.rows[b, rules.row_foundations + suit * rules.decks + deck])
            lowest = min(lowest, top)
            wanted |= 16 << (4 * top + suit)
    on_piles = playable = 0
    for source in range(rules.sources):
        playable |= 1 << int(state.tops[b, source])
        if source == rules.piles - 1:
            on_piles = playable
    both = wanted | wanted << 4
    for pile in range(rules.piles):
        room.near[pile] = 0.0
        height = int(state.heights[b, pile])
        end = pile * rules.pile_capacity + height - 1
        for above in range(height):
            card = int(state.rows[b, end - above])
            if (both >> card) & 1:
                of_card = (1.0 if (wanted >> card) & 1 else 0.5) / (1 + above)
                room.near[pile] = max(room.near[pile], of_card)
    room.bits[0] = wanted
    room.bits[1] = playable & ~1
    room.bits[2] = on_piles & ~1
    return lowest


@_jit
def _score(rules, state, b, kind, source, target, count, lowest, weights, room):  # type: ignore[no-untyped-def]
    """The weighted sum of the numbers of a move."""
    if kind == 0:
        return weights[27] * int(state.spaces[b]) / 4
    wanted, playable, on_piles = room.bits[0], room.bits[1], room.bits[2]
    card = int(state.tops[b, source])
    from_pile = source < rules.piles
    from_waste = not from_pile and source < rules.first_cell
    height = int(state.heights[b, source]) - count if from_pile else 0
    deepest = int(state.rows[b, source * rules.pile_capacity + height]) if from_pile else card
    score = weights[12] * count / 13
    if kind == 1:
        score += weights[0] + weights[9] * ((card >> 2) - 1 - lowest) / 13
        score += weights[10] * ((playable >> (card - 4)) & 1)
    elif kind == 2:
        score += weights[7 if from_pile else 8] + weights[13] * (card >> 2) / 13
        score += weights[26] * (int(state.empty_cells[b]) - 1) / 4
    else:
        score += weights[11] * ((playable >> (card - 4)) & 1)
        place = 0 if from_pile else 1 if from_waste else 2
        if kind == 3:
            score += weights[1 + place] + weights[21] * room.near[target]
            score += weights[20] * int(state.heights[b, target]) / 13
        else:
            score += weights[4 + place] + weights[13] * (deepest >> 2) / 13
            score += weights[25] * (int(state.spaces[b]) - 1) / 4
    if from_pile:
        score += weights[14] * (height == 0) + weights[18] * height / 13 + weights[19] * room.near[source]
        if height:
            under = int(state.rows[b, source * rules.pile_capacity + height - 1])
            score += weights[15] * (under == deepest + 4) + weights[16] * ((wanted >> under) & 1)
            if under >> 2 < rules.ranks:
                score += weights[17] * ((on_piles >> (under + 4)) & 1)
    elif from_waste:
        score += weights[22] * int(state.stock[b]) / rules.stock_capacity
        waste = int(state.waste[b])
        if waste > 1:
            under = int(state.rows[b, rules.row_waste + waste - 2])
            score += weights[23] * ((wanted >> under) & 1)
            if under >> 2 < rules.ranks:
                score += weights[24] * ((on_piles >> (under + 4)) & 1)
    return score


@_jit
def look_at(rules, state, b, weights, room):  # type: ignore[no-untyped-def]
    """The legal moves of a game that goes on, and their scores, into ``room``; how many."""
    lowest = _read(rules, state, b, room)
    n = 0
    for action in range(rules.actions):
        if int(state.mask[b, action]) == 0:
            continue
        kind = source = target = 0
        count = 1
        if action >= rules.home_actions:
            kind = 1
            for first in (rules.cell_actions, rules.tableau_actions, rules.space_actions):
                kind += action >= first
            source, target, count = _decode(rules, state, b, action)
        room.actions[n] = action
        room.scores[n] = _score(
            rules, state, b, kind, source, target, count, lowest, weights, room
        )  # fmt: skip
        n += 1
    return n


@_jit
def play_out(rules, state, events, b, weights, patience, line, start, room):  # type: ignore[no-untyped-def]
    """Play a game to its end by the highest scores, or until no card has gone home or come off the stock
    for ``patience`` moves; the actions into ``line`` from ``start``. How many there are then.
    """
    length = start
    still = 0
    while int(state.status[b]) == 0 and length < line.shape[0] and still < patience:
        n = look_at(rules, state, b, weights, room)
        best = 0
        for k in range(1, n):
            if room.scores[k] > room.scores[best]:
                best = k
        line[length] = room.actions[best]
        _step(rules, state, events, b, line[length])
        length += 1
        still = 0 if int(events.went_home[b]) or int(events.drew[b]) else still + 1
    return length


@_jit
def nested_rollouts(rules, state, events, weights, patience, line, trial, room):  # type: ignore[no-untyped-def]
    """From the game in row 0: before each move, each legal one is tried and played out; the best line that
    was found in all is followed. Rows 1 and 2 are written over.

    Yan and others, "Solitaire: Man Versus Machine" (2004).

    Parameters
    ----------
    line, trial
        int64 ``[longest]``; the best line is written into the first.

    Returns
    -------
    Most cards home, the length of the line that led there, and moves played.
    """
    _copy(rules, state, 0, 1)
    most = int(state.home[1])
    length = moves = at = 0
    first = np.zeros(rules.actions, dtype=np.int64)
    while int(state.status[1]) == 0 and most < rules.cards:
        n = look_at(rules, state, 1, weights, room)
        first[:n] = room.actions[:n]
        for k in range(n):
            _copy(rules, state, 1, 2)
            trial[at] = first[k]
            _step(rules, state, events, 2, trial[at])
            end = play_out(rules, state, events, 2, weights, patience, trial, at + 1, room)
            moves += end - at
            if int(state.home[2]) > most:
                most = int(state.home[2])
                length = end
                line[at:end] = trial[at:end]
        if at >= length:
            break
        _step(rules, state, events, 1, line[at])
        at += 1
    return most, length, moves


# ------------------------------------------------------------------------------------- positions


@_jit
def _mix(z):  # type: ignore[no-untyped-def]
    """SplitMix64's output function: each bit of an uint64 changes half of the others."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@_jit
def key_of(rules, state, b, salt):  # type: ignore[no-untyped-def]
    """64 bits that say a position; the same when piles or cells change places, as they are alike."""
    total = np.uint64(0)
    for pile in range(rules.piles):
        base = pile * rules.pile_capacity
        of_pile = salt
        for k in range(base, base + int(state.heights[b, pile])):
            of_pile = _mix(of_pile + np.uint64(state.rows[b, k]))
        total += _mix(of_pile)
    for cell in range(rules.row_cells, rules.row_cells + rules.cells):
        total += _mix(salt ^ np.uint64(128 + int(state.rows[b, cell])))
    rest = _mix(salt + np.uint64(int(state.stock[b])))
    for k in range(rules.row_foundations, rules.row_foundations + 4 * rules.decks):
        rest = _mix(rest + np.uint64(state.rows[b, k]))
    for k in range(rules.row_waste, rules.row_waste + int(state.waste[b])):
        rest = _mix(rest + np.uint64(state.rows[b, k]))
    return total ^ _mix(rest)


@_jit
def keys_of(rules, state, n, salt, keys):  # type: ignore[no-untyped-def]
    """The keys of the first ``n`` games, into uint64 ``keys``."""
    for b in range(n):
        keys[b] = key_of(rules, state, b, salt)


class Store(NamedTuple):
    """The positions that an exhaustive search has come to."""

    rows: Array
    """int8 ``[positions, row_size]``."""
    parents: Array
    """int32 ``[positions]``: from which of them each was reached."""
    actions: Array
    """int16 ``[positions]``: and by which action."""
    waiting: Array
    """int32 ``[positions]``: those that were not looked at yet, the next one last."""
    table: Array
    """uint64 ``[slots, 2]``: two keys of each position, 0 where a slot is free; a power of 2 of slots."""
    counts: Array
    """int64 ``[3]``: positions, those that wait, moves played."""


def make_store(rules: Any, megabytes: float) -> Store:
    """Room for as many positions as fit into so many megabytes."""
    each = rules.row_size + 4 + 2 + 4
    positions = max(16, int(megabytes * 1e6 / (each + 3 * 16)))
    slots = 1 << (2 * positions - 1).bit_length()
    while slots * 16 + positions * each > megabytes * 1e6 and slots > 32:
        slots //= 2
        positions = min(positions, slots * 3 // 4)
    return Store(
        np.empty((positions, rules.row_size), dtype=np.int8),
        np.empty(positions, dtype=np.int32),
        np.empty(positions, dtype=np.int16),
        np.empty(positions, dtype=np.int32),
        np.zeros((slots, 2), dtype=np.uint64),
        np.zeros(3, dtype=np.int64),
    )


@_jit
def enter(rules, state, b, parent, action, store):  # type: ignore[no-untyped-def]
    """Keep a position that was not met before, to be looked at next; whether there was room.

    Two different positions are taken for one if both keys, 128 bits, are the same: of 10**8 positions any
    two are with a chance below 10**-22.
    """
    first = key_of(rules, state, b, SALT) | np.uint64(1)
    second = key_of(rules, state, b, SALT_2)
    slots = store.table.shape[0]
    slot = np.int64(second & np.uint64(slots - 1))
    while store.table[slot, 0] != 0:
        if store.table[slot, 0] == first and store.table[slot, 1] == second:
            return True
        slot = (slot + 1) & (slots - 1)
    n = store.counts[0]
    if n == store.rows.shape[0]:
        return False
    store.table[slot, 0] = first
    store.table[slot, 1] = second
    store.rows[n] = state.rows[b]
    store.parents[n] = parent
    store.actions[n] = action
    store.waiting[store.counts[1]] = n
    store.counts[0] += 1
    store.counts[1] += 1
    return True


@_jit
def sure_home(rules, state, b):  # type: ignore[no-untyped-def]
    """A move home that cannot be wrong where sequences are in suit, -1 for none: of a card whose next lower
    ones are home, of all decks. Nothing is left that could lie on it in the tableau, and its foundation waits
    for it or for its copy.
    """
    for source in range(rules.sources):
        if int(state.mask[b, rules.home_actions + source]) == 0:
            continue
        card = int(state.tops[b, source])
        lowest = rules.ranks
        first = rules.row_foundations + (card & 3) * rules.decks
        for place in range(first, first + rules.decks):
            lowest = min(lowest, int(state.rows[b, place]))
        if lowest >= (card >> 2) - 1:
            return rules.home_actions + source
    return -1


@_jit
def explore(rules, state, events, weights, forced, budget, store, room):  # type: ignore[no-untyped-def]
    """Look at waiting positions, depth first, the best move first, until one is won.

    Parameters
    ----------
    forced
        Whether a card that is sure to go home goes home, and nothing else is tried (:func:`sure_home`).
    budget
        So many moves are played, then there is a pause; the next call goes on.

    Returns
    -------
    MORE after a pause; FOUND, the won position being the last of the store; EXHAUSTED if there is nothing
    left to look at: no position that can be reached is won; FULL if there is no room left.
    """
    end = store.counts[2] + budget
    while store.counts[1] > 0:
        if store.counts[2] >= end:
            return MORE
        store.counts[1] -= 1
        at = store.waiting[store.counts[1]]
        state.rows[0] = store.rows[at]
        _derive(rules, state, 0)
        _refresh_tight(rules, state, 0)
        _finish(rules, state, 0)
        if int(state.status[0]) == WON:
            return FOUND
        if int(state.status[0]) != 0:
            continue
        n = look_at(rules, state, 0, weights, room)
        sure = sure_home(rules, state, 0) if forced else -1
        if sure >= 0:
            room.actions[0] = sure
            n = 1
        order = np.argsort(room.scores[:n])
        for k in order:
            _copy(rules, state, 0, 1)
            _step(rules, state, events, 1, room.actions[k])
            store.counts[2] += 1
            before = store.counts[0]
            if not enter(rules, state, 1, at, room.actions[k], store):
                return FULL
            if int(state.status[1]) == WON and store.counts[0] > before:
                return FOUND
    return EXHAUSTED


# --------------------------------------------------------------------------------------- the beam


class Layer(NamedTuple):
    """The positions that a beam can go on to; made once."""

    rows: Array
    """int8 ``[candidates, row_size]``."""
    froms: Array
    """int32 ``[candidates]``: from which place of the beam each is reached."""
    actions: Array
    """int16 ``[candidates]``: and by which action, before what is sure to go home went home."""
    home: Array
    """int16 ``[candidates]``: cards home."""
    over: Array
    """bool ``[candidates]``: whether nothing can be done any more."""
    table: Array
    """uint64 ``[slots, 2]``: two keys of each position that was met, 0 where a slot is free; a power of 2."""
    counts: Array
    """int64 ``[2]``: positions met, moves played."""


def make_layer(rules: Any, candidates: int, slots: int) -> Layer:
    """Room for so many positions, and to know so many slots' worth of them again; a power of 2 of slots."""
    return Layer(
        np.zeros((candidates, rules.row_size), dtype=np.int8),
        np.zeros(candidates, dtype=np.int32),
        np.zeros(candidates, dtype=np.int16),
        np.zeros(candidates, dtype=np.int16),
        np.zeros(candidates, dtype=np.bool_),
        np.zeros((slots, 2), dtype=np.uint64),
        np.zeros(2, dtype=np.int64),
    )


@_jit
def send_home(rules, state, events, b, line, start):  # type: ignore[no-untyped-def]
    """Send home what is sure to go; the actions into ``line`` from ``start``. How many there are then."""
    length = start
    while int(state.status[b]) == 0:
        action = sure_home(rules, state, b)
        if action < 0:
            break
        line[length] = action
        length += 1
        _step(rules, state, events, b, action)
    return length


@_jit
def _meet(rules, state, b, layer):  # type: ignore[no-untyped-def]
    """Whether a position was not met before; from now on it was, unless three quarters of the slots are taken
    (by keys as in :func:`enter`).
    """
    first = key_of(rules, state, b, SALT) | np.uint64(1)
    second = key_of(rules, state, b, SALT_2)
    slots = layer.table.shape[0]
    slot = np.int64(second & np.uint64(slots - 1))
    while layer.table[slot, 0] != 0:
        if layer.table[slot, 0] == first and layer.table[slot, 1] == second:
            return False
        slot = (slot + 1) & (slots - 1)
    if 4 * layer.counts[0] < 3 * slots:
        layer.table[slot, 0] = first
        layer.table[slot, 1] = second
        layer.counts[0] += 1
    return True


@_jit
def widen(rules, state, events, rows, forced, layer, line):  # type: ignore[no-untyped-def]
    """All positions, not met before, that one move leads to from each of ``rows``, int8 ``[n, row_size]``.

    With ``forced``, what is sure to go home then goes home. A won position is the last. ``line`` is room,
    int64 ``[longest]``.

    Returns
    -------
    How many positions there are, and whether there was room for all.
    """
    n = 0
    for place in range(len(rows)):
        state.rows[0] = rows[place]
        _derive(rules, state, 0)
        _refresh_tight(rules, state, 0)
        _finish(rules, state, 0)
        for action in range(rules.actions):
            if int(state.mask[0, action]) == 0:
                continue
            _copy(rules, state, 0, 1)
            _step(rules, state, events, 1, action)
            layer.counts[1] += 1
            if forced:
                layer.counts[1] += send_home(rules, state, events, 1, line, 0)
            if not _meet(rules, state, 1, layer):
                continue
            if n == len(layer.rows):
                return n, False
            layer.rows[n] = state.rows[1]
            layer.froms[n] = place
            layer.actions[n] = action
            layer.home[n] = state.home[1]
            layer.over[n] = int(state.status[1]) != 0
            n += 1
            if int(state.status[1]) == WON:
                return n, True
    return n, True


@_jit
def play_out_all(  # type: ignore[no-untyped-def]
    rules, state, events, rows, weights, patience, line, trial, room, sums
):  # fmt: skip
    """Play out each of ``rows``, int8 ``[n, row_size]``, by each of the weights, float64 ``[k, NUM_MOVE]``;
    the cards that come home into ``sums``, float64 ``[n]``.

    Returns
    -------
    Most cards home, from which of the rows, the length of the line that led there from it, which is in
    ``line``, and moves played. After a win nothing more is played.
    """
    most = -1
    best = length = moves = 0
    for n in range(len(rows)):
        sums[n] = 0
        state.rows[0] = rows[n]
        _derive(rules, state, 0)
        _refresh_tight(rules, state, 0)
        _finish(rules, state, 0)
        for k in range(len(weights)):
            _copy(rules, state, 0, 1)
            end = play_out(rules, state, events, 1, weights[k], patience, trial, 0, room)
            moves += end
            sums[n] += int(state.home[1])
            if int(state.home[1]) > most:
                most = int(state.home[1])
                best = n
                length = end
                line[:end] = trial[:end]
                if most == rules.cards:
                    return most, best, length, moves
    return most, best, length, moves


assert NUM_MOVE == 28, "the numbers of a move have changed: _score knows them by their places"
