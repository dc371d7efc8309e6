"""Compiled parts of the network "moves" in float32, forward and backward; :mod:`agents.networks.layers` wraps
them as layers of torch.

Torch multiplies dense matrices faster than this code could. But nearly all features of a move are 0 after
subtracting those of the position before it, and torch's layer normalization and softmax over the moves of a
game write every intermediate result to memory.
"""

from typing import Annotated, Final, NamedTuple

import numpy as np

from solitaire_env.core.native import Float32, Int64, UInt16, kernel

EPSILON: Final = np.float32(1e-5)
"""Added to the variance by layer normalization, as in torch."""
ZERO: Final = np.float32(0)
ONE: Final = np.float32(1)


class Packed(NamedTuple):
    """The features of positions and of their moves, as :func:`pack` writes them. Arrays may be longer than
    what is used of them.
    """

    move_ends: Annotated[Int64, "positions+1"]
    """End of the moves of each position; the first entry is 0."""
    entry_ends: Annotated[Int64, "moves+1"]
    """End of the numbers of each move; the first entry is 0."""
    columns: Annotated[UInt16, "entries"]
    """Index of the feature of a number."""
    values: Annotated[Float32, "entries"]
    """The number."""
    positions: Annotated[Float32, "_ position_features"]
    """The features of each position."""


@kernel(fast=True)
def pack(
    moves: Annotated[Float32, "moves all_features"],
    positions: Annotated[Float32, "games features"],
    games: Annotated[Int64, "moves"],
    own: int,
    entry_ends: Annotated[Int64, "moves+1"],
    columns: Annotated[UInt16, "entries"],
    values: Annotated[Float32, "entries"],
) -> None:
    """Write the nonzero features of moves and their indices.

    The features of the position after a move, which follow the ``own`` features of the move itself, are
    written as differences from the features of the position before it.

    Parameters
    ----------
    moves, positions, games
        As in :class:`solitaire_env.move_features.reader.LegalMoves`.
    entry_ends
        int64 ``[moves + 1]``: where the numbers of each move end; the first entry is an input.
    columns, values
        uint16 and float32; with room for all numbers and one more.
    """
    k = entry_ends[0]
    for m in range(moves.shape[0]):
        game = games[m]
        for column in range(own):
            values[k] = moves[m, column]
            columns[k] = column
            k += moves[m, column] != 0
        for column in range(positions.shape[1]):
            difference = moves[m, own + column] - positions[game, column]
            values[k] = difference
            columns[k] = own + column
            k += difference != 0
        entry_ends[m + 1] = k


@kernel(fast=True)
def unpack(
    rows: Annotated[Int64, "n"],
    ends: Annotated[Int64, "n+1"],
    packed: Packed,
    moves: Annotated[Float32, "moves all_features"],
    own: int,
) -> None:
    """Write the features of some positions' moves as they were before :func:`pack`, except for rounding."""
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            for column in range(own):
                moves[k, column] = ZERO
            for column in range(packed.positions.shape[1]):
                moves[k, own + column] = packed.positions[rows[n], column]
            move = packed.move_ends[rows[n]] + k - ends[n]
            for entry in range(packed.entry_ends[move], packed.entry_ends[move + 1]):
                moves[k, packed.columns[entry]] += packed.values[entry]


@kernel(fast=True)
def read_moves(
    rows: Annotated[Int64, "n"],
    ends: Annotated[Int64, "n+1"],
    packed: Packed,
    weight: Annotated[Float32, "features outputs"],
    here: Annotated[Float32, "n outputs"],
    out: Annotated[Float32, "moves outputs"],
) -> None:
    """Write ``here[n] + features @ weight`` for each move of position n: ``[moves, outputs]``.

    Parameters
    ----------
    rows
        int64 ``[n]``: numbers of cached positions.
    ends
        int64 ``[n + 1]``: where the moves of each position end in ``out``.
    weight, here
        ``[features, outputs]`` and ``[n, outputs]``.
    """
    columns, values = packed.columns, packed.values
    outputs = weight.shape[1]
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            move = packed.move_ends[rows[n]] + k - ends[n]
            first, last = packed.entry_ends[move], packed.entry_ends[move + 1]
            whole = first + (last - first) // 4 * 4
            for j in range(outputs):
                out[k, j] = here[n, j]
            for entry in range(first, whole, 4):  # four at a time: the sums are read and written less often
                x0, x1, x2, x3 = values[entry], values[entry + 1], values[entry + 2], values[entry + 3]
                c0, c1 = np.int64(columns[entry]), np.int64(columns[entry + 1])
                c2, c3 = np.int64(columns[entry + 2]), np.int64(columns[entry + 3])
                for j in range(outputs):
                    out[k, j] += (
                        x0 * weight[c0, j] + x1 * weight[c1, j] + x2 * weight[c2, j] + x3 * weight[c3, j]
                    )
            for entry in range(whole, last):
                x0, c0 = values[entry], np.int64(columns[entry])
                for j in range(outputs):
                    out[k, j] += x0 * weight[c0, j]


@kernel(fast=True)
def read_moves_back(
    rows: Annotated[Int64, "n"],
    ends: Annotated[Int64, "n+1"],
    packed: Packed,
    gradient: Annotated[Float32, "moves outputs"],
    weight: Annotated[Float32, "features outputs"],
    here: Annotated[Float32, "n outputs"],
) -> None:
    """Add to the gradient of :func:`read_moves`' weights, and write that of ``here``; ``gradient`` is that of
    the output.
    """
    outputs = weight.shape[1]
    for n in range(rows.shape[0]):
        for j in range(outputs):
            here[n, j] = ZERO
        for k in range(ends[n], ends[n + 1]):
            for j in range(outputs):
                here[n, j] += gradient[k, j]
            move = packed.move_ends[rows[n]] + k - ends[n]
            for entry in range(packed.entry_ends[move], packed.entry_ends[move + 1]):
                value, column = packed.values[entry], np.int64(packed.columns[entry])
                for j in range(outputs):
                    weight[column, j] += value * gradient[k, j]


@kernel(fast=True)
def normalize(
    rows: Annotated[Float32, "n size"],
    scale: Annotated[Float32, "size"],
    shift: Annotated[Float32, "size"],
    factors: Annotated[Float32, "n"],
    out: Annotated[Float32, "n size"],
) -> None:
    """Layer normalization and ReLU.

    ``rows`` ``[n, size]`` are normalized in place, before ``scale`` and ``shift``; ``factors`` ``[n]``
    are set to the factors of the normalization; ``out`` is the input of the next layer.
    """
    size = np.float32(rows.shape[1])
    for n in range(rows.shape[0]):
        total = ZERO
        for j in range(rows.shape[1]):
            total += rows[n, j]
        mean = total / size
        squares = ZERO
        for j in range(rows.shape[1]):
            value = rows[n, j] - mean
            squares += value * value
        factor = ONE / np.sqrt(squares / size + EPSILON)
        factors[n] = factor
        for j in range(rows.shape[1]):
            value = (rows[n, j] - mean) * factor
            rows[n, j] = value
            value = value * scale[j] + shift[j]
            out[n, j] = value if value > ZERO else ZERO


@kernel(fast=True)
def normalize_back(
    gradient: Annotated[Float32, "n size"],
    rows: Annotated[Float32, "n size"],
    out: Annotated[Float32, "n size"],
    factors: Annotated[Float32, "n"],
    scale: Annotated[Float32, "size"],
    of_scale: Annotated[Float32, "size"],
    of_shift: Annotated[Float32, "size"],
) -> None:
    """Replace the gradient of ``out`` by that of the rows before :func:`normalize`, in place; add to the
    gradients of scale and shift.
    """
    size = np.float32(rows.shape[1])
    for n in range(rows.shape[0]):
        row, of_row, of_out = rows[n], gradient[n], out[n]
        total = along = ZERO
        for j in range(row.shape[0]):
            value = of_row[j] if of_out[j] > ZERO else ZERO
            of_shift[j] += value
            of_scale[j] += value * row[j]
            value *= scale[j]
            of_row[j] = value
            total += value
            along += value * row[j]
        total /= size
        along /= size
        for j in range(row.shape[0]):
            of_row[j] = (of_row[j] - total - row[j] * along) * factors[n]


@kernel(fast=True)
def weigh_moves(
    rows: Annotated[Int64, "n"],
    ends: Annotated[Int64, "n+1"],
    packed: Packed,
    weight: Annotated[Float32, "own"],
    out: Annotated[Float32, "moves"],
) -> None:
    """Write ``own features @ weight`` for each move, ``[moves]``; arguments as for :func:`read_moves`, except
    ``weight``, ``[own features]``.
    """
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            total = ZERO
            move = packed.move_ends[rows[n]] + k - ends[n]
            for entry in range(packed.entry_ends[move], packed.entry_ends[move + 1]):
                column = np.int64(packed.columns[entry])
                if column >= weight.shape[0]:  # the position's features follow
                    break
                total += packed.values[entry] * weight[column]
            out[k] = total


@kernel(fast=True)
def weigh_moves_back(
    rows: Annotated[Int64, "n"],
    ends: Annotated[Int64, "n+1"],
    packed: Packed,
    gradient: Annotated[Float32, "moves"],
    weight: Annotated[Float32, "own"],
) -> None:
    """Add to the gradient of :func:`weigh_moves`' weights."""
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            move = packed.move_ends[rows[n]] + k - ends[n]
            for entry in range(packed.entry_ends[move], packed.entry_ends[move + 1]):
                column = np.int64(packed.columns[entry])
                if column >= weight.shape[0]:
                    break
                weight[column] += packed.values[entry] * gradient[k]


@kernel(fast=True)
def log_softmax(
    scores: Annotated[Float32, "moves"], ends: Annotated[Int64, "n+1"], logs: Annotated[Float32, "moves"]
) -> None:
    """Write the log probabilities of each game's moves, which end at ``ends[n + 1]``."""
    for n in range(ends.shape[0] - 1):
        highest = np.float32(-np.inf)
        for k in range(ends[n], ends[n + 1]):
            highest = max(highest, scores[k])
        total = ZERO
        for k in range(ends[n], ends[n + 1]):
            total += np.exp(scores[k] - highest)
        total = highest + np.log(total)
        for k in range(ends[n], ends[n + 1]):
            logs[k] = scores[k] - total


@kernel(fast=True)
def log_softmax_back(
    gradient: Annotated[Float32, "moves"],
    logs: Annotated[Float32, "moves"],
    ends: Annotated[Int64, "n+1"],
    of_scores: Annotated[Float32, "moves"],
) -> None:
    """Write the gradient of the scores from that of the log probabilities."""
    for n in range(ends.shape[0] - 1):
        total = ZERO
        for k in range(ends[n], ends[n + 1]):
            total += gradient[k]
        for k in range(ends[n], ends[n + 1]):
            of_scores[k] = gradient[k] - np.exp(logs[k]) * total


@kernel(fast=True)
def adam_step(
    weights: Annotated[Float32, "n"],
    gradient: Annotated[Float32, "n"],
    first: Annotated[Float32, "n"],
    second: Annotated[Float32, "n"],
    keep: float,
    keep_square: float,
    size: float,
    correction: float,
    eps: float,
) -> None:
    """A step of Adam, in place: weights and moments, float32 ``[n]``.

    ``size`` is the learning rate, divided by the correction of the first moment; ``correction`` is that of
    the second.
    """
    keep_first, keep_second = np.float32(keep), np.float32(keep_square)
    rate, divisor, added = np.float32(size), np.float32(correction), np.float32(eps)
    for k in range(weights.shape[0]):
        first[k] += (ONE - keep_first) * (gradient[k] - first[k])
        second[k] = keep_second * second[k] + (ONE - keep_second) * gradient[k] * gradient[k]
        weights[k] -= rate * first[k] / (np.sqrt(second[k] / divisor) + added)
