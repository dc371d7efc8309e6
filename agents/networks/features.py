"""The base of networks that read the move features of :mod:`solitaire_env.move_features`."""

from abc import abstractmethod
from typing import Any

import numpy as np
import torch as th
from torch import nn

from agents.family_spec import FamilySpec
from agents.networks.family_reader import FamilyReader
from agents.networks.feature_cache import Array, FeatureCache, Rows
from agents.networks.scores import Scores
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.reader import LegalMoves, MoveReader


class FeaturesNetwork(nn.Module):
    """A network that scores each legal move from its features. A subclass defines :meth:`forward`, and
    ``width``, the number of its value features.

    Parameters
    ----------
    spec
        The game as the network sees it, with ``observation="cards"``, or several games, for which the
        family's features are always read.
    features
        The features that are read: the arguments of :class:`~solitaire_env.move_features.reader.MoveReader`.
    """

    width: int
    """Number of value features."""

    def __init__(self, spec: GameSpec | FamilySpec, **features: Any) -> None:
        super().__init__()
        self.reader = (
            FamilyReader(spec, **features) if isinstance(spec, FamilySpec) else MoveReader(spec, **features)
        )
        self.sizes = self.reader.sizes
        """Number of features of a move, and of a position."""

    @abstractmethod
    def forward(self, games: th.Tensor, actions: th.Tensor, moves: th.Tensor, positions: th.Tensor) -> Scores:
        """Score the legal moves of games.

        Parameters
        ----------
        games
            int64 ``[moves]``: which game each move belongs to, in order.
        actions
            int64 ``[moves]``.
        moves
            float32 ``[moves, sizes[0]]``: the features of the moves.
        positions
            float32 ``[games, sizes[1]]``: the features of the positions before the moves. The value features
            may depend only on these: :meth:`value` passes no moves.
        """

    def read_features(self, observations: Array, masks: Array) -> LegalMoves:
        """The move features of games: observations int8 ``[n, size]``, masks ``[n, actions]``."""
        return self.reader.read(observations, masks)

    def score(self, observations: th.Tensor, masks: Array) -> Scores:
        """Score the legal moves of observations ``[n, size]`` with masks ``[n, actions]``."""
        codes = observations.cpu().numpy().astype(np.int8, copy=False)
        return self.score_features(self.read_features(codes, masks), observations.device)

    def make_cache(self) -> FeatureCache:
        """Make a cache for positions that are scored more than once."""
        return FeatureCache(self.read_features, self.sizes)

    def score_cached(self, cache: FeatureCache, rows: Rows) -> Scores:
        """Score cached positions, int64 ``[n]``; see :meth:`score`."""
        return self.score_features(cache.unpack(rows), next(self.parameters()).device)

    def score_features(self, seen: LegalMoves, device: th.device) -> Scores:
        """Score moves from their features."""
        scores: Scores = self(*(th.from_numpy(part).to(device) for part in seen))
        return scores

    def value(self, observations: th.Tensor) -> th.Tensor:
        """Only the value features, ``[n, width]``."""
        return self.score(observations, np.zeros((len(observations), 0), dtype=np.int8)).features
