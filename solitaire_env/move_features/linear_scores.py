"""Scores of legal moves by the linear policy's weights, read from what the engine keeps of a game."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import jit_inline
from solitaire_env.core.engine import decode
from solitaire_env.move_features.moves import NUM_MOVE

Array = npt.NDArray[Any]


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


@jit_inline
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


@jit_inline
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


@jit_inline
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


@jit_inline
def best_action(rules, state, b, weights, room):  # type: ignore[no-untyped-def]
    """The action with the highest score in a game that goes on; of equal ones the first."""
    n = look_at(rules, state, b, weights, room)
    best = 0
    for k in range(1, n):
        if room.scores[k] > room.scores[best]:
            best = k
    return room.actions[best]


assert NUM_MOVE == 28, "the numbers of a move have changed: _score knows them by their places"
