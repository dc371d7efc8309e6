"""Torch layers over the compiled kernels: weighted sums of move features, layer normalization, softmax.

They support float32 on the CPU; :class:`agents.networks.moves.MovesNetwork` computes the same elsewhere.
"""

from typing import Any

import torch as th
from torch.autograd import Function

from agents.networks import kernels
from agents.networks.feature_cache import FeatureCache, Rows


class _ReadMoves(Function):
    @staticmethod
    def forward(
        ctx: Any, weight: th.Tensor, here: th.Tensor, cache: FeatureCache, rows: Rows, ends: Rows
    ) -> Any:
        out = th.empty(int(ends[-1]), weight.shape[1])
        weight = weight.contiguous()
        kernels.read_moves(rows, ends, cache.packed, weight.numpy(), here.numpy(), out.numpy())
        ctx.given, ctx.shape = (cache, rows, ends), weight.shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: th.Tensor) -> Any:
        cache, rows, ends = ctx.given
        gradient = gradients[0].contiguous()
        weight, here = th.zeros(ctx.shape), th.empty(len(rows), ctx.shape[1])
        kernels.read_moves_back(rows, ends, cache.packed, gradient.numpy(), weight.numpy(), here.numpy())
        return weight, here, None, None, None


def read_moves(weight: th.Tensor, here: th.Tensor, cache: FeatureCache, rows: Rows, ends: Rows) -> th.Tensor:
    """``here[n] + features @ weight`` for each move of position n, float32 ``[moves, outputs]``; see
    :func:`agents.networks.kernels.read_moves`.
    """
    out: th.Tensor = _ReadMoves.apply(weight, here, cache, rows, ends)  # type: ignore[no-untyped-call]
    return out


class _WeighMoves(Function):
    @staticmethod
    def forward(ctx: Any, weight: th.Tensor, cache: FeatureCache, rows: Rows, ends: Rows) -> Any:
        out = th.empty(int(ends[-1]))
        kernels.weigh_moves(rows, ends, cache.packed, weight.numpy(), out.numpy())
        ctx.given, ctx.shape = (cache, rows, ends), weight.shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: th.Tensor) -> Any:
        cache, rows, ends = ctx.given
        weight = th.zeros(ctx.shape)
        gradient = gradients[0].contiguous()
        kernels.weigh_moves_back(rows, ends, cache.packed, gradient.numpy(), weight.numpy())
        return weight, None, None, None


def weigh_moves(weight: th.Tensor, cache: FeatureCache, rows: Rows, ends: Rows) -> th.Tensor:
    """The features of each move itself times ``weight`` ``[NUM_MOVE]``: float32 ``[moves]``."""
    out: th.Tensor = _WeighMoves.apply(weight, cache, rows, ends)  # type: ignore[no-untyped-call]
    return out


class _NormalizeReLU(Function):
    @staticmethod
    def forward(ctx: Any, rows: th.Tensor, scale: th.Tensor, shift: th.Tensor) -> Any:
        factors, out = rows.new_empty(len(rows)), th.empty_like(rows)
        kernels.normalize(*(tensor.numpy() for tensor in (rows, scale, shift, factors, out)))
        ctx.save_for_backward(rows, out, factors, scale)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: th.Tensor) -> Any:
        rows, out, factors, scale = ctx.saved_tensors
        gradient = gradients[0].contiguous()  # of a layer that no longer needs it: it is overwritten
        sums = th.zeros_like(scale), th.zeros_like(scale)
        kernels.normalize_back(*(t.numpy() for t in (gradient, rows, out, factors, scale, *sums)))
        return gradient, *sums


def normalize_relu(rows: th.Tensor, norm: th.nn.Module) -> th.Tensor:
    """Layer normalization and ReLU, ``[n, size]``; ``rows`` are overwritten."""
    out: th.Tensor = _NormalizeReLU.apply(rows, norm.weight, norm.bias)  # type: ignore[no-untyped-call]
    return out


class _LogSoftmax(Function):
    @staticmethod
    def forward(ctx: Any, scores: th.Tensor, ends: Rows) -> Any:
        logs = th.empty_like(scores)
        kernels.log_softmax(scores.contiguous().numpy(), ends, logs.numpy())
        ctx.save_for_backward(logs)
        ctx.ends = ends
        return logs

    @staticmethod
    def backward(ctx: Any, *gradients: th.Tensor) -> Any:
        (logs,) = ctx.saved_tensors
        of_scores = th.empty_like(logs)
        kernels.log_softmax_back(gradients[0].contiguous().numpy(), logs.numpy(), ctx.ends, of_scores.numpy())
        return of_scores, None


def log_softmax(scores: th.Tensor, ends: Rows) -> th.Tensor:
    """The log probabilities of the moves of games, ``[moves]``, from scores as logits; the moves of game n
    end at ``ends[n + 1]``.
    """
    logs: th.Tensor = _LogSoftmax.apply(scores, ends)  # type: ignore[no-untyped-call]
    return logs
