"""Scores of many positions and gradients of a minibatch, in parts on several threads."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch as th

from agents.networks import Network
from agents.networks.kept import Kept, Rows
from agents.networks.scores import Scores
from solitaire_env.core import run_parts

PART: Final = 512
"""Positions of a part. It does not depend on the number of threads, so that gradients do not either: they are
added up in order."""
SCORED: Final = 128
"""Positions that are scored together: a number of its own for the same reason."""


def score_in_parts(network: Network, kept: Kept, rows: Rows) -> Scores:
    """The scores of the moves of kept positions, int64 ``[n]``; without gradients."""

    def score(part: slice) -> Scores:
        with th.inference_mode():
            return network.score_kept(kept, rows[part])  # type: ignore[arg-type]

    slices = [slice(first, first + SCORED) for first in range(0, len(rows), SCORED)]
    parts = run_parts(score, slices)
    games = [seen.games + part.start for seen, part in zip(parts, slices, strict=True)]
    return Scores(th.cat(games), *(th.cat(tensors) for tensors in list(zip(*parts, strict=True))[1:]))


def set_gradients(
    parameters: Sequence[th.nn.Parameter],
    loss_of: Callable[[Rows], tuple[th.Tensor, th.Tensor]],
    rows: Rows,
) -> npt.NDArray[np.float64]:
    """Set the gradients of a sum over positions, and give the sums of what is logged.

    Parameters
    ----------
    parameters
        Whose ``grad`` is set; None where the loss does not depend on one.
    loss_of
        Gives the loss of some positions, int64 ``[n]``, which is a sum over them, and what is logged of
        them, ``[numbers]``, sums as well. Several threads call it at the same time.
    rows
        int64: all positions of the minibatch.
    """

    def differentiate(part: Rows) -> tuple[Any, npt.NDArray[np.float64]]:
        loss, logged = loss_of(part)
        gradients = th.autograd.grad(loss, parameters, allow_unused=True)
        return gradients, logged.detach().cpu().numpy().astype(np.float64)

    parts = np.array_split(rows, -(-len(rows) // PART))
    done = run_parts(differentiate, parts)
    for place, parameter in enumerate(parameters):
        given = [gradients[place] for gradients, _ in done if gradients[place] is not None]
        parameter.grad = th.stack(given).sum(0) if given else None
    sums: npt.NDArray[np.float64] = np.sum([logged for _, logged in done], axis=0)
    return sums
