"""Reads the same move features in many games, for one network."""

from typing import Any

import numpy as np

from agents.family_spec import FamilySpec
from agents.networks.feature_cache import Array
from solitaire_env.move_features.reader import LegalMoves, MoveReader


class FamilyReader:
    """Reads the moves of many games with a :class:`MoveReader` for each, and the family's features.

    Parameters
    ----------
    spec
        The games.
    features
        The other arguments of :class:`MoveReader`.
    """

    def __init__(self, spec: FamilySpec, **features: Any) -> None:
        self.readers = [MoveReader(game, **{**features, "family": True}) for game in spec.games]
        self.rollout_lookahead = self.readers[0].rollout_lookahead
        self.widths = [len(places) for places in spec.layout.places]
        self.sizes = self.readers[0].sizes
        """Number of features of a move, and of a position."""

    def read(self, observations: Array, masks: Array, weights: Array | None = None) -> LegalMoves:
        """The features of the legal moves of games, and of their positions: see :meth:`MoveReader.read`.

        Parameters
        ----------
        observations
            int8 ``[n, size]`` of :class:`~agents.family_spec.NumberedLayout`.
        masks
            int8 or bool ``[n, actions]``.
        """
        counts = np.count_nonzero(masks, axis=1)
        ends = np.cumsum(counts)
        out = LegalMoves(
            np.repeat(np.arange(len(counts)), counts),
            np.empty(counts.sum(), dtype=np.int64),
            np.empty((counts.sum(), self.sizes[0]), dtype=np.float32),
            np.empty((len(counts), self.sizes[1]), dtype=np.float32),
        )
        for number in np.unique(observations[:, 0]).tolist():
            reader = self.readers[number]
            rows = np.flatnonzero(observations[:, 0] == number)
            seen = reader.read(
                observations[rows, 1 : 1 + self.widths[number]], masks[rows, : reader.rules.actions], weights
            )
            # The moves of a game are consecutive, in both arrays.
            shift = ends[rows] - np.cumsum(counts[rows])
            places = np.arange(len(seen.actions)) + shift[seen.games]
            out.actions[places] = seen.actions
            out.moves[places] = seen.moves
            out.positions[rows] = seen.positions
        return out
