"""MovesNetwork: scores each legal move from the move features of :mod:`solitaire_env.move_features`."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from torch import nn

from agents.networks.cache import Memory
from agents.networks.scores import Scores
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.reader import DIGS, MoveFeatures, MoveReader

Array = npt.NDArray[Any]


class MovesNetwork(nn.Module):
    """Scores of the legal moves, from the features of each move and of the positions before and after it.

    Every move goes through the same multilayer perceptron. A weighted sum of the move's own features is
    added to its output, as in the linear policy; training may start from the linear policy's weights.

    Parameters
    ----------
    spec
        The game as the network sees it, with ``observation="cards"``.
    hidden
        Sizes of the hidden layers for moves.
    width
        Size of the two hidden layers for the value.
    digs
        Rounds of dig-out features (:mod:`solitaire_env.move_features.dig_outs`).
    onward
        Rollout lookahead: the linear policy plays on from each move, for at most this many moves, and the
        features of the position where it stops are added (:mod:`solitaire_env.move_features.lookahead`). 0
        turns it off.
    reach
        Number of relaxed-reachability features (:mod:`solitaire_env.move_features.reachability`).
    """

    def __init__(
        self, spec: GameSpec, hidden: tuple[int, ...] = (64, 32), width: int = 64, digs: int = DIGS,
        onward: int = 0, reach: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.width = width
        self.memory: Memory | None = None
        """A cache of move features for positions that are scored several times, if any."""
        self.habit: th.Tensor
        """The linear policy's weights that rollout lookahead plays by; part of the model, not trained. With
        zeros it does not play on."""
        self.reader = MoveReader(spec, digs, reach, onward)
        if onward:
            self.register_buffer("habit", th.zeros(NUM_MOVE))
        self.sizes = self.reader.sizes
        """Number of features of a move, and of a position."""
        move, size = self.sizes
        self.read_move = nn.Linear(move, hidden[0])
        self.read_position = nn.Linear(size, hidden[0], bias=False)
        self.body = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(hidden))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in hidden)
        self.head = nn.Linear(hidden[-1], 1, bias=False)
        nn.init.orthogonal_(self.head.weight, 0.1)
        self.linear = nn.Linear(NUM_MOVE, 1, bias=False)
        nn.init.zeros_(self.linear.weight)
        self.to_value = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def look(self, observations: Array, masks: Array) -> MoveFeatures:
        """The move features of games: observations int8 ``[n, size]``, masks ``[n, actions]``."""
        weights = self.habit.double().cpu().numpy() if self.reader.rollout else None
        return self.reader.read(observations, masks, weights)

    def score(self, observations: th.Tensor, masks: Array) -> Scores:
        """Observations ``[n, size]``, masks ``[n, actions]``."""
        device = observations.device
        codes = observations.cpu().numpy().astype(np.int8, copy=False)
        seen = self.memory.look(codes, masks) if self.memory else self.look(codes, masks)
        games, actions, moves, positions = (th.from_numpy(part).to(device) for part in seen)
        hidden = self.read_move(moves) + self.read_position(positions)[games]
        hidden = th.relu(self.norms[0](hidden))
        for layer, norm in zip(self.body, self.norms[1:], strict=True):
            hidden = th.relu(norm(layer(hidden)))
        scores = self.head(hidden) + self.linear(moves[:, :NUM_MOVE])
        return Scores(games, actions, scores[:, 0], self.to_value(positions))

    @th.no_grad()
    def divide_scores(self, divisor: float) -> None:
        """Divide all scores by a number, for good."""
        self.head.weight /= divisor
        self.linear.weight /= divisor

    def value(self, observations: th.Tensor) -> th.Tensor:
        """The features for the value alone, ``[n, width]``."""
        codes = observations.cpu().numpy().astype(np.int8, copy=False)
        seen = self.look(codes, np.zeros((len(codes), 0), dtype=np.int8)).positions
        features: th.Tensor = self.to_value(th.from_numpy(seen).to(observations.device))
        return features
