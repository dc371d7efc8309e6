"""Networks that score every action, legal or not: their base, and the plain multilayer perceptron."""

from itertools import pairwise

import torch as th
from torch import nn

from agents.networks.feature_cache import Array, ObservationCache, Rows
from agents.networks.scores import Scores
from solitaire_env.core.cards import DOWN
from solitaire_env.core.spec import GameSpec


class DenseNetwork(nn.Module):
    """A network that scores all actions, legal or not; ``forward(observations)`` also returns features."""

    width: int
    """Number of value features."""

    def score(self, observations: th.Tensor, masks: Array) -> Scores:
        """Score the legal moves of observations ``[n, size]`` with masks ``[n, actions]``."""
        scores, features = self(observations)
        games, actions = (th.from_numpy(part).to(scores.device) for part in masks.nonzero())
        return Scores(games, actions, scores[games, actions], features)

    def make_cache(self) -> ObservationCache:
        """Make a cache for positions that are scored more than once."""
        return ObservationCache()

    def score_cached(self, cache: ObservationCache, rows: Rows) -> Scores:
        """Score cached positions, int64 ``[n]``; see :meth:`score`."""
        observations, masks = cache.of(rows)
        return self.score(th.from_numpy(observations).to(next(self.parameters()).device), masks)

    def value(self, observations: th.Tensor) -> th.Tensor:
        """Only the value features, ``[n, width]``."""
        features: th.Tensor = self(observations)[1]
        return features


class MlpNetwork(DenseNetwork):
    """A plain multilayer perceptron, for either kind of observation.

    Parameters
    ----------
    spec
        The game as the network sees it.
    hidden
        Sizes of the hidden layers.
    """

    def __init__(self, spec: GameSpec, hidden: tuple[int, ...] = (256, 256)) -> None:
        super().__init__()
        # Cards are below DOWN; features are in [0, 1] already.
        self.scale = DOWN if spec.settings.observation == "cards" else 1
        sizes = (spec.observation_size, *hidden)
        layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
        self.body = nn.Sequential(*(module for pair in layers for module in pair))
        self.width = sizes[-1]
        self.scores = nn.Linear(self.width, spec.num_actions)
        nn.init.orthogonal_(self.scores.weight, 0.01)
        nn.init.zeros_(self.scores.bias)

    def forward(self, observations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Scores ``[batch, actions]`` and value features ``[batch, width]`` of ``[batch, size]``."""
        hidden = self.body(observations.float() / self.scale)
        return self.scores(hidden), hidden
