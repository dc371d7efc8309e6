"""Games played to their end by a weighted sum of what a move looks like, and nested rollouts.

The numbers of a move are those of :data:`agents.moves.MOVE_FEATURES`, read here from what the engine keeps of
a game, not from an observation: a move in a playout takes about a microsecond. A test compares the two.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.moves import NUM_MOVE
from agents.search.engine import copy, decode, jit, jit_inner, stand, step
from agents.search.positions import send_home

Array = npt.NDArray[Any]

NOISE: Final = 2.0
"""Standard deviation of what is added to weights for another habit."""


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


def near(weights: Array, n: int, random: np.random.Generator) -> Array:
    """``n`` habits, float64 ``[n, NUM_MOVE]``: weights that differ from these by chance."""
    return weights + NOISE * random.standard_normal((n, len(weights)))


@jit_inner
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


@jit_inner
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


@jit_inner
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
            source, target, count = decode(rules, state, b, action)
        room.actions[n] = action
        room.scores[n] = _score(
            rules, state, b, kind, source, target, count, lowest, weights, room
        )  # fmt: skip
        n += 1
    return n


@jit_inner
def best_action(rules, state, b, weights, room):  # type: ignore[no-untyped-def]
    """The action with the highest score in a game that goes on; of equal ones the first."""
    n = look_at(rules, state, b, weights, room)
    best = 0
    for k in range(1, n):
        if room.scores[k] > room.scores[best]:
            best = k
    return room.actions[best]


@jit
def play_out(  # type: ignore[no-untyped-def]
    rules, state, events, b, weights, patience, forced, line, start, room
):  # fmt: skip
    """Play a game to its end by the highest scores, or until no card has gone home or come off the stock
    for ``patience`` moves; the actions into ``line`` from ``start``. With ``forced``, what is sure to go home
    goes home after each, and does not stand in the line.

    Returns
    -------
    How long the line is then, and moves played.
    """
    length = start
    moves = still = 0
    while int(state.status[b]) == 0 and length < line.shape[0] and still < patience:
        line[length] = best_action(rules, state, b, weights, room)
        step(rules, state, events, b, line[length])
        moves += 1
        length += 1
        went = int(events.went_home[b]) + int(events.drew[b])
        if forced:
            gone = send_home(rules, state, events, b)
            moves += gone
            went += gone
        still = 0 if went else still + 1
    return length, moves


@jit
def finish(rules, state, events, games, weights, patience, forced, line, room):  # type: ignore[no-untyped-def]
    """Play each of ``games``, int64 ``[n]``, from where it stands; the last one's actions into ``line``. How
    many moves were played.
    """
    moves = 0
    for b in games:
        if forced:
            moves += send_home(rules, state, events, b)
        _, played = play_out(rules, state, events, b, weights, patience, forced, line, 0, room)
        moves += played
    return moves


@jit
def nested_rollouts(  # type: ignore[no-untyped-def]
    rules, state, events, habits, patience, forced, line, trial, room
):  # fmt: skip
    """From the game in row 0: before each move, each legal one is tried and played out; the best line that
    was found in all is followed. Rows 1 and 2 are written over.

    Yan and others, "Solitaire: Man Versus Machine" (2004).

    Parameters
    ----------
    habits
        float64 ``[k, NUM_MOVE]``: weights that play out in turn.
    forced
        Whether what is sure to go home goes home first and after each move; lines leave it out.
    line, trial
        int64 ``[longest]``; the best line is written into the first.

    Returns
    -------
    Most cards home, the length of the line that led there, and moves played.
    """
    copy(rules, state, 0, 1)
    length = moves = at = tried = 0
    if forced:
        moves += send_home(rules, state, events, 1)
    most = int(state.home[1])
    first = np.zeros(rules.actions, dtype=np.int64)
    while int(state.status[1]) == 0 and most < rules.cards:
        n = look_at(rules, state, 1, habits[0], room)
        first[:n] = room.actions[:n]
        for k in range(n):
            copy(rules, state, 1, 2)
            trial[at] = first[k]
            step(rules, state, events, 2, trial[at])
            moves += 1
            if forced:
                moves += send_home(rules, state, events, 2)
            weights = habits[tried % len(habits)]
            end, played = play_out(
                rules, state, events, 2, weights, patience, forced, trial, at + 1, room
            )  # fmt: skip
            tried += 1
            moves += played
            if int(state.home[2]) > most:
                most = int(state.home[2])
                length = end
                line[at:end] = trial[at:end]
        if at >= length:
            break
        step(rules, state, events, 1, line[at])
        if forced:
            send_home(rules, state, events, 1)
        at += 1
    return most, length, moves


class Known(NamedTuple):
    """The best lines that are known from positions."""

    home: Array
    """int64 ``[n]``: cards home after each, -1 where none is known."""
    lengths: Array
    """int64 ``[n]``."""
    lines: Array
    """int16 ``[n, longest]``: actions, but for what is sure to go home."""


def make_known(n: int, longest: int) -> Known:
    """None of ``n`` positions, with room for lines."""
    # Memory that is not written costs nothing, and few lines are as long.
    return Known(
        np.full(n, -1, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.empty((n, longest), dtype=np.int16),
    )


@jit
def hand_on(known, froms, actions, after):  # type: ignore[no-untyped-def]
    """What is known after a move from one of some positions, ``froms``, int64 ``[n]``, by an action, int16
    ``[n]``, is known from where it leads: into ``after``.
    """
    for n in range(len(froms)):
        at = froms[n]
        length = known.lengths[at]
        after.home[n], after.lengths[n] = -1, 0
        if length > 0 and known.lines[at, 0] == actions[n]:
            after.home[n], after.lengths[n] = known.home[at], length - 1
            for k in range(1, length):
                after.lines[n, k - 1] = known.lines[at, k]


@jit
def play_out_all(  # type: ignore[no-untyped-def]
    rules, state, events, rows, weights, patience, forced, trial, room, sums, known, first
):  # fmt: skip
    """Play out each of ``rows``, int8 ``[n, row_size]``, by each of the weights, float64 ``[k, NUM_MOVE]``;
    the cards that come home into ``sums``, float64 ``[n]``, lines that lead further into ``known``, from its
    place ``first`` on. After a win nothing more is played. How many moves were.
    """
    moves = 0
    for n in range(len(rows)):
        place = first + n
        sums[n] = 0
        stand(rules, state, 0, rows[n])
        for k in range(len(weights)):
            copy(rules, state, 0, 1)
            end, played = play_out(rules, state, events, 1, weights[k], patience, forced, trial, 0, room)
            moves += played
            home = int(state.home[1])
            sums[n] += home
            if home > known.home[place]:
                known.home[place], known.lengths[place] = home, end
                for i in range(end):
                    known.lines[place, i] = trial[i]
                if home == rules.cards:
                    return moves
    return moves


assert NUM_MOVE == 28, "the numbers of a move have changed: _score knows them by their places"
