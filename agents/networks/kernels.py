"""Compiled parts of the network "moves" in float32, forward and backward; :mod:`agents.networks.layers` wraps
them as layers of torch.

Torch multiplies dense matrices faster than this code could. But nearly all features of a move are 0 after
subtracting those of the position before it, and torch's layer normalization and softmax over the moves of a
game write every intermediate result to memory.
"""

from typing import Final

import numpy as np

from solitaire_env.core import jit_fast

EPSILON: Final = np.float32(1e-5)
"""Added to the variance by layer normalization, as in torch."""
ZERO: Final = np.float32(0)
ONE: Final = np.float32(1)


@jit_fast
def pack(moves, positions, games, own, entry_ends, columns, values):  # type: ignore[no-untyped-def]
    """Write the nonzero features of moves and their indices.

    The features of the position after a move, which follow the ``own`` features of the move itself, are
    written as differences from the features of the position before it.

    Parameters
    ----------
    moves, positions, games
        As in :class:`solitaire_env.move_features.reader.MoveFeatures`.
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


@jit_fast
def unpack(rows, ends, move_ends, entry_ends, columns, values, positions, moves, own):  # type: ignore[no-untyped-def]
    """Write the features of some positions' moves as they were before :func:`pack`, except for rounding."""
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            for column in range(own):
                moves[k, column] = ZERO
            for column in range(positions.shape[1]):
                moves[k, own + column] = positions[rows[n], column]
            move = move_ends[rows[n]] + k - ends[n]
            for entry in range(entry_ends[move], entry_ends[move + 1]):
                moves[k, columns[entry]] += values[entry]


@jit_fast
def read_moves(rows, ends, move_ends, entry_ends, columns, values, weight, here, out):  # type: ignore[no-untyped-def]
    """Write ``here[n] + features @ weight`` for each move of position n: ``[moves, outputs]``.

    Parameters
    ----------
    rows
        int64 ``[n]``: numbers of cached positions.
    ends
        int64 ``[n + 1]``: where the moves of each position end in ``out``.
    move_ends, entry_ends, columns, values
        Of :class:`agents.networks.feature_cache.Packed`.
    weight, here
        ``[features, outputs]`` and ``[n, outputs]``.
    """
    outputs = weight.shape[1]
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            move = move_ends[rows[n]] + k - ends[n]
            first, last = entry_ends[move], entry_ends[move + 1]
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


@jit_fast
def read_moves_back(  # type: ignore[no-untyped-def]
    rows, ends, move_ends, entry_ends, columns, values, gradient, weight, here
):  # fmt: skip
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
            move = move_ends[rows[n]] + k - ends[n]
            for entry in range(entry_ends[move], entry_ends[move + 1]):
                value, column = values[entry], np.int64(columns[entry])
                for j in range(outputs):
                    weight[column, j] += value * gradient[k, j]


@jit_fast
def normalize(rows, scale, shift, factors, out):  # type: ignore[no-untyped-def]
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


@jit_fast
def normalize_back(gradient, rows, out, factors, scale, of_scale, of_shift):  # type: ignore[no-untyped-def]
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


@jit_fast
def weigh_moves(rows, ends, move_ends, entry_ends, columns, values, weight, out):  # type: ignore[no-untyped-def]
    """Write ``own features @ weight`` for each move, ``[moves]``; arguments as for :func:`read_moves`, except
    ``weight``, ``[own features]``.
    """
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            total = ZERO
            move = move_ends[rows[n]] + k - ends[n]
            for entry in range(entry_ends[move], entry_ends[move + 1]):
                column = np.int64(columns[entry])
                if column >= weight.shape[0]:  # the position's features follow
                    break
                total += values[entry] * weight[column]
            out[k] = total


@jit_fast
def weigh_moves_back(rows, ends, move_ends, entry_ends, columns, values, gradient, weight):  # type: ignore[no-untyped-def]
    """Add to the gradient of :func:`weigh_moves`' weights."""
    for n in range(rows.shape[0]):
        for k in range(ends[n], ends[n + 1]):
            move = move_ends[rows[n]] + k - ends[n]
            for entry in range(entry_ends[move], entry_ends[move + 1]):
                column = np.int64(columns[entry])
                if column >= weight.shape[0]:
                    break
                weight[column] += values[entry] * gradient[k]


@jit_fast
def log_softmax(scores, ends, logs):  # type: ignore[no-untyped-def]
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


@jit_fast
def log_softmax_back(gradient, logs, ends, of_scores):  # type: ignore[no-untyped-def]
    """Write the gradient of the scores from that of the log probabilities."""
    for n in range(ends.shape[0] - 1):
        total = ZERO
        for k in range(ends[n], ends[n + 1]):
            total += gradient[k]
        for k in range(ends[n], ends[n + 1]):
            of_scores[k] = gradient[k] - np.exp(logs[k]) * total


@jit_fast
def adam_step(weights, gradient, first, second, betas, size, correction, eps):  # type: ignore[no-untyped-def]
    """A step of Adam, in place: weights and moments, float32 ``[n]``.

    ``size`` is the learning rate, divided by the correction of the first moment; ``correction`` is that of
    the second.
    """
    keep, keep_square = np.float32(betas[0]), np.float32(betas[1])
    size, correction, eps = np.float32(size), np.float32(correction), np.float32(eps)
    for k in range(weights.shape[0]):
        first[k] += (ONE - keep) * (gradient[k] - first[k])
        second[k] = keep_square * second[k] + (ONE - keep_square) * gradient[k] * gradient[k]
        weights[k] -= size * first[k] / (np.sqrt(second[k] / correction) + eps)
