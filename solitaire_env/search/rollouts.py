"""Playouts: games played to their end by the linear policy, and nested rollouts.

Moves are scored as in :mod:`solitaire_env.move_features.moves`, from the engine's state; a move of a playout
takes about a microsecond.
"""

from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.native import Float64, Int8, Int16, Int64, kernel
from solitaire_env.core.rules.derive import place
from solitaire_env.core.rules.state import copy, write_row
from solitaire_env.core.rules.step import step_legal
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.move_features.autoplay import autoplay_safe
from solitaire_env.move_features.moves import MoveScratch, best_move, score_moves

Array = npt.NDArray[Any]

NOISE: Final = 2.0
"""Standard deviation of the noise added to perturbed weights."""


def perturb(weights: Array, n: int, random: np.random.Generator) -> Array:
    """``n`` perturbed copies of weights, float64 ``[n, NUM_MOVE]``."""
    return weights + NOISE * random.standard_normal((n, len(weights)))


@kernel
def play_out(
    rules: Rules,
    state: State,
    events: Events,
    b: int,
    weights: Annotated[Float64, "own_features"],
    stall_limit: int,
    autoplay: int,
    line: Annotated[Int64, "longest"],
    start: int,
    scratch: MoveScratch,
) -> tuple[int, int]:
    """Play the moves with the highest scores until the game ends, or for ``stall_limit`` moves in which no
    card goes home, leaves the stock or is turned up. Write the actions to ``line`` from index ``start``. With
    ``autoplay``, safe autoplay follows each move and is not written.

    Where redeals are unlimited, one pass through the stock is added to the limit, and a card counts when it
    leaves the waste instead of the stock; with worrying back, only a new maximum of cards home counts.

    Returns
    -------
    The new length of the line, and the number of moves played.
    """
    length = start
    moves = still = 0
    most = state.home[b]
    if rules.passes == 0:
        stall_limit += rules.stock_capacity
    while state.status[b] == 0 and length < line.shape[0] and still < stall_limit:
        line[length] = best_move(rules, state, b, weights, scratch)
        step_legal(rules, state, events, b, line[length])
        moves += 1
        length += 1
        went = events.advanced[b]
        if autoplay:
            moves += autoplay_safe(rules, state, events, b)
        if state.home[b] > most:
            most = state.home[b]
            went = 1
        still = 0 if went else still + 1
    return length, moves


@kernel
def play_to_end(
    rules: Rules,
    state: State,
    events: Events,
    games: Annotated[Int64, "n"],
    weights: Annotated[Float64, "own_features"],
    stall_limit: int,
    autoplay: int,
    line: Annotated[Int64, "longest"],
    scratch: MoveScratch,
) -> int:
    """Play each of ``games``, int64 ``[n]``, to its end; ``line`` gets the actions of the last one. Returns
    the number of moves played.
    """
    moves = 0
    for b in games:
        if autoplay:
            moves += autoplay_safe(rules, state, events, b)
        _, played = play_out(rules, state, events, b, weights, stall_limit, autoplay, line, 0, scratch)
        moves += played
    return moves


@kernel
def nested_rollouts(
    rules: Rules,
    state: State,
    events: Events,
    weight_sets: Annotated[Float64, "sets own_features"],
    stall_limit: int,
    autoplay: int,
    line: Annotated[Int64, "longest"],
    trial: Annotated[Int64, "longest"],
    first: Annotated[Int64, "rules.actions"],
    scratch: MoveScratch,
) -> tuple[int, int, int]:
    """From the game in row 0: before each move, play out every legal move, then follow the best line found.
    Rows 1 and 2 are overwritten.

    Yan and others, "Solitaire: Man Versus Machine" (2004).

    Parameters
    ----------
    weight_sets
        float64 ``[k, NUM_MOVE]``: weights; playouts take the next ones each time.
    autoplay
        Whether safe autoplay is played at the start and after each move; lines leave it out.
    line, trial
        int64 ``[longest]``; the best line is written into the first.

    Returns
    -------
    Most cards home, the length of the line to them, and the number of moves played.
    """
    copy(rules, state, 0, 1)
    length = moves = at = tried = 0
    if autoplay:
        moves += autoplay_safe(rules, state, events, 1)
    most = state.home[1]
    while state.status[1] == 0 and most < rules.cards:
        n = score_moves(rules, state, 1, weight_sets[0], scratch)
        write_row(scratch.actions[:n], first)
        for k in range(n):
            copy(rules, state, 1, 2)
            trial[at] = first[k]
            step_legal(rules, state, events, 2, trial[at])
            moves += 1
            if autoplay:
                moves += autoplay_safe(rules, state, events, 2)
            weights = weight_sets[tried % len(weight_sets)]
            end, played = play_out(
                rules, state, events, 2, weights, stall_limit, autoplay, trial, at + 1, scratch
            )  # fmt: skip
            tried += 1
            moves += played
            if state.home[2] > most:
                most = state.home[2]
                length = end
                write_row(trial[at:end], line[at:end])
        if at >= length:
            break
        step_legal(rules, state, events, 1, line[at])
        if autoplay:
            autoplay_safe(rules, state, events, 1)
        at += 1
    return most, length, moves


class KnownLines(NamedTuple):
    """The best known lines from positions."""

    home: Annotated[Int64, "_"]
    """int64 ``[n]``: cards home after each line, -1 without a line."""
    lengths: Annotated[Int64, "_"]
    """int64 ``[n]``."""
    lines: Annotated[Int16, "_ known_longest"]
    """int16 ``[n, longest]``: actions, without safe autoplay."""


def make_known_lines(n: int, longest: int) -> KnownLines:
    """No known lines for ``n`` positions."""
    known = make_arrays(KnownLines, _=n, known_longest=longest)
    known.home[:] = -1
    return known


@kernel
def advance_lines(
    known: KnownLines, froms: Annotated[Int64, "n"], actions: Annotated[Int16, "n"], after: KnownLines
) -> None:
    """Copy known lines to the next positions: where the line of ``froms``, int64 ``[n]``, begins with the
    action played, int16 ``[n]``, its rest is written to ``after``.
    """
    for n in range(len(froms)):
        at = froms[n]
        length = known.lengths[at]
        after.home[n], after.lengths[n] = -1, 0
        if length > 0 and known.lines[at, 0] == actions[n]:
            after.home[n], after.lengths[n] = known.home[at], length - 1
            for k in range(1, length):
                after.lines[n, k - 1] = known.lines[at, k]


@kernel
def play_out_all(
    rules: Rules,
    state: State,
    events: Events,
    rows: Annotated[Int8, "n rules.row_size"],
    weights: Annotated[Float64, "sets own_features"],
    stall_limit: int,
    autoplay: int,
    trial: Annotated[Int64, "longest"],
    scratch: MoveScratch,
    sums: Annotated[Float64, "n"],
    known: KnownLines,
    first: int,
) -> int:
    """Play out each of ``rows``, int8 ``[n, row_size]``, with each of the weights, float64 ``[k, NUM_MOVE]``.
    Add the cards home to ``sums``, float64 ``[n]``; write better lines to ``known`` from index ``first``.
    A win ends it. Returns the number of moves played.
    """
    moves = 0
    for n in range(len(rows)):
        at = first + n
        sums[n] = 0
        place(rules, state, 0, rows[n])
        for k in range(len(weights)):
            copy(rules, state, 0, 1)
            end, played = play_out(
                rules, state, events, 1, weights[k], stall_limit, autoplay, trial, 0, scratch
            )
            moves += played
            home = state.home[1]
            sums[n] += home
            if home > known.home[at]:
                known.home[at], known.lengths[at] = home, end
                for i in range(end):
                    known.lines[at, i] = trial[i]
                if home == rules.cards:
                    return moves
    return moves
