"""MovesNetwork: scores each legal move from the move features of :mod:`solitaire_env.move_features`."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch as th
from torch import nn
from torch.nn import functional as F

from agents.family_spec import FamilySpec
from agents.networks.feature_cache import Array, FeatureCache, Rows
from agents.networks.features import FeaturesNetwork
from agents.networks.layers import normalize_relu, read_moves, weigh_moves
from agents.networks.scores import Scores
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.reader import LegalMoves
from solitaire_env.policies.network import LOOKAHEAD


class MovesNetwork(FeaturesNetwork):
    """Scores of the legal moves, from the features of each move and of the positions before and after it.

    Every move goes through the same multilayer perceptron. A weighted sum of the move's own features is
    added to its output, as in the linear policy; training may start from the linear policy's weights.

    Parameters
    ----------
    spec
        The game as the network sees it, with ``observation="cards"``, or several games.
    hidden
        Sizes of the hidden layers for moves.
    width
        Size of the two hidden layers for the value.
    features
        The features that are read: the arguments of :class:`~solitaire_env.move_features.reader.MoveReader`.
        With ``family``, the weights are of the same shapes in every game.
    """

    def __init__(
        self, spec: GameSpec | FamilySpec, hidden: tuple[int, ...] = (64, 32), width: int = 64,
        **features: Any,
    ) -> None:  # fmt: skip
        super().__init__(spec, **features)
        self.width = width
        if self.reader.rollout_lookahead:
            self.register_buffer(LOOKAHEAD, th.zeros(NUM_MOVE))
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

    @property
    def lookahead_weights(self) -> th.Tensor:
        """Weights of the linear policy for rollout lookahead; part of the model, not trained. With zeros it
        plays no moves.
        """
        return self.get_buffer(LOOKAHEAD)

    def read_features(self, observations: Array, masks: Array) -> LegalMoves:
        """The move features of games: observations int8 ``[n, size]``, masks ``[n, actions]``."""
        weights = self.lookahead_weights.double().cpu().numpy() if self.reader.rollout_lookahead else None
        return self.reader.read(observations, masks, weights)

    def score(self, observations: th.Tensor, masks: Array) -> Scores:
        """Score the legal moves of observations ``[n, size]`` with masks ``[n, actions]``."""
        if not self._is_compiled:
            return super().score(observations, masks)
        codes = observations.cpu().numpy().astype(np.int8, copy=False)
        cache = self.make_cache()
        return self.score_cached(cache, cache.add(codes, masks))

    def score_cached(self, cache: FeatureCache, rows: Rows) -> Scores:
        """Score cached positions, int64 ``[n]``; see :meth:`score`."""
        if not self._is_compiled:
            return super().score_cached(cache, rows)
        ends = cache.ends(rows)
        positions = th.from_numpy(cache.packed.positions[rows])
        # Moves are stored as differences from the position before them.
        after = self.read_move.weight[:, NUM_MOVE:]
        here = F.linear(positions, self.read_position.weight + after, self.read_move.bias)
        hidden = read_moves(self.read_move.weight.t(), here, cache, rows, ends)
        hidden = normalize_relu(hidden, self.norms[0])
        for layer, norm in zip(self.body, self.norms[1:], strict=True):
            hidden = normalize_relu(layer(hidden), norm)
        scores = self.head(hidden)[:, 0] + weigh_moves(self.linear.weight[0], cache, rows, ends)
        games = np.repeat(np.arange(len(rows)), np.diff(ends))
        actions = cache.actions[cache.moves(rows, ends)]
        return Scores(th.from_numpy(games), th.from_numpy(actions), scores, self.to_value(positions))

    @property
    def _is_compiled(self) -> bool:
        """Whether the compiled kernels compute: float32 on the CPU."""
        weight = self.head.weight
        return weight.dtype == th.float32 and weight.device.type == "cpu"

    def forward(self, games: th.Tensor, actions: th.Tensor, moves: th.Tensor, positions: th.Tensor) -> Scores:
        """Compute the scores by torch layers, on any device and with any precision."""
        hidden = self.read_move(moves) + self.read_position(positions)[games]
        hidden = th.relu(self.norms[0](hidden))
        for layer, norm in zip(self.body, self.norms[1:], strict=True):
            hidden = th.relu(norm(layer(hidden)))
        scores = self.head(hidden) + self.linear(moves[:, :NUM_MOVE])
        return Scores(games, actions, scores[:, 0], self.to_value(positions))

    def value(self, observations: th.Tensor) -> th.Tensor:
        """Only the value features, ``[n, width]``."""
        codes = observations.cpu().numpy().astype(np.int8, copy=False)
        seen = self.read_features(codes, np.zeros((len(codes), 0), dtype=np.int8)).positions
        features: th.Tensor = self.to_value(th.from_numpy(seen).to(observations.device))
        return features
