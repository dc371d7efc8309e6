"""The scores that a network gives to the legal moves of games, in one flat list."""

from typing import NamedTuple

import numpy as np
import torch as th

from agents.networks.layers import log_softmax


class Scores(NamedTuple):
    """A network's output for games: a score for each legal move, game by game, and features for the value."""

    games: th.Tensor
    """int64 ``[moves]``."""
    actions: th.Tensor
    """int64 ``[moves]``."""
    scores: th.Tensor
    """float ``[moves]``: the logits of the choice among the moves of a game."""
    features: th.Tensor
    """float ``[games, width]``, from which a linear layer reads the value."""

    def highest(self, numbers: th.Tensor) -> th.Tensor:
        """The maximum over the moves of each game: ``[games]`` of ``[moves]``."""
        lowest = numbers.new_full((len(self.features),), -th.inf)
        return lowest.scatter_reduce(0, self.games, numbers, "amax")

    def choose(self, numbers: th.Tensor) -> th.Tensor:
        """The index of the move with the highest number of each game: ``[games]``."""
        highest = (numbers == self.highest(numbers)[self.games]).nonzero()[:, 0]
        chosen = highest.new_full((len(self.features),), -1).index_copy(0, self.games[highest], highest)
        if (chosen < 0).any():
            raise ValueError("the network has diverged: its scores are no longer finite")
        return chosen

    def draw(self, logs: th.Tensor) -> th.Tensor:
        """The index of a move of each game, drawn from log probabilities ``[moves]``: ``[games]``."""
        # The maximum of log probabilities with Gumbel noise is a draw from the probabilities.
        return self.choose(logs - th.empty_like(logs).exponential_().clamp_(min=1e-30).log_())

    def of(self, actions: th.Tensor, numbers: th.Tensor) -> th.Tensor:
        """The number of an action of each game, ``[games]`` of ``[moves]``; 0 where it is not legal."""
        taken = (self.actions == actions[self.games]).nonzero()[:, 0]
        return numbers.new_zeros(len(self.features)).index_add(0, self.games[taken], numbers[taken])

    def logs(self) -> th.Tensor:
        """Log probabilities of the moves, the scores being logits: ``[moves]``."""
        if self.scores.dtype == th.float32 and self.scores.device.type == "cpu":
            games = self.games.numpy()
            return log_softmax(self.scores, np.searchsorted(games, np.arange(len(self.features) + 1)))
        shifted = self.scores - self.highest(self.scores.detach())[self.games]
        total = shifted.new_zeros(len(self.features)).index_add(0, self.games, shifted.exp())
        return shifted - total.log()[self.games]

    def dense(self, actions: int) -> th.Tensor:
        """The scores as ``[games, actions]``; minus infinity where an action is not legal."""
        empty = self.scores.new_full((len(self.features), actions), -th.inf)
        return empty.index_put((self.games, self.actions), self.scores)
