"""Minibatches and their gradients, over all processes of a group."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import torch as th

from agents.learners.process_group import ProcessGroup
from agents.networks.feature_cache import Rows

PART: Final = 1024
"""Positions learned from at a time: with half as many, learning takes a third longer, because torch is called
more often; twice as many gain nothing."""
MAX_GRAD_NORM: Final = 1.0
"""Maximum norm of the gradient."""


def make_minibatches(
    group: ProcessGroup, positions: int, batch_size: int, random: np.random.Generator
) -> tuple[list[Rows], float]:
    """This process's part of the minibatches of a pass, and the number of positions of a whole minibatch.

    Parameters
    ----------
    positions
        Of this process.
    batch_size
        Of all processes together.
    """
    total = float(group.sum([positions])[0])
    count = max(1, -int(-total // batch_size))
    return np.array_split(random.permutation(positions), count), total / count


def set_gradients(
    group: ProcessGroup,
    parameters: Sequence[th.nn.Parameter],
    loss_of: Callable[[Rows], tuple[th.Tensor, th.Tensor]],
    rows: Rows,
    max_norm: float = MAX_GRAD_NORM,
) -> npt.NDArray[np.float64]:
    """Set the gradients of a sum over positions, and return the sums of logged values.

    Parameters
    ----------
    parameters
        Parameters whose ``grad`` is set; None if the loss does not depend on one.
    loss_of
        Returns the loss of some positions, int64 ``[n]``, as a sum over them, and their logged values,
        ``[numbers]``, also as sums.
    rows
        int64: the positions of this process; those of the other processes are added.
    max_norm
        Maximum norm of all gradients together.
    """
    sums: list[th.Tensor] = []
    logged: list[th.Tensor] = []
    for first in range(0, max(len(rows), 1), PART):
        loss, numbers = loss_of(rows[first : first + PART])
        gradients = th.autograd.grad(loss, parameters, allow_unused=True)
        given = [k for k, gradient in enumerate(gradients) if gradient is not None]
        sums.append(th.cat([gradients[k].flatten() for k in given]))
        logged.append(numbers.detach())
    flat, numbers = th.stack(sums).sum(0), th.stack(logged).sum(0)
    if group.size > 1:
        total = group.sum(np.concatenate((flat.cpu().numpy(), numbers.cpu().numpy())))
        flat = th.from_numpy(total[: len(flat)].astype(np.float32))
        numbers = th.from_numpy(total[len(flat) :])
    flat *= max_norm / flat.norm().clamp(min=max_norm)
    for parameter in parameters:
        parameter.grad = None
    pieces = th.split(flat, [parameters[k].numel() for k in given])
    for k, piece in zip(given, pieces, strict=True):
        parameters[k].grad = piece.view_as(parameters[k])
    result: npt.NDArray[np.float64] = numbers.cpu().double().numpy()
    return result
