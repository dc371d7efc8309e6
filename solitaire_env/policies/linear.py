"""The linear policy: the score of a legal move is a weighted sum of its features; the highest is played.

The features are those of :class:`~solitaire_env.move_features.columns.MoveColumns`. In a clone of the
repository ``python -m agents fit-linear`` finds the weights, which are stored in ``weights/linear.json``.
"""

from pathlib import Path
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.native import Float32, Int64, kernel
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.columns import MOVE_NAMES
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies.policy import Array, Policy
from solitaire_env.util.files import read_json

WEIGHTS: Final = Path(__file__).with_name("weights") / "linear.json"
"""Weights by the name of the game, with a record of how they were found."""


class Linear(Policy):
    """Plays the move with the highest weighted sum of its features; the first of equal ones.

    Parameters
    ----------
    spec
        The game, with the policy's action set; its observation is ``cards``.
    weights
        Float ``[features]``, or several sets of weights ``[sets, features]``.
    """

    name = "linear"
    deterministic = True

    def __init__(self, spec: GameSpec, weights: Array) -> None:
        self.moves = spec.variant.moves
        self.weights = np.atleast_2d(np.asarray(weights, dtype=np.float32))
        if self.weights.shape[1] != len(MOVE_NAMES):
            raise ValueError(
                f"{self.weights.shape[1]} weights, allowed: {len(MOVE_NAMES)}, one for each feature"
            )
        self.reader = MoveReader(spec)

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Actions int64 ``[n]``, all by the first set of weights."""
        return self.best(observations, masks, np.zeros(len(masks), dtype=np.int64))

    def best(
        self, observations: Array, masks: npt.NDArray[np.int8], sets: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Actions int64 ``[n]``; ``sets`` int64 ``[n]`` is the index of the weights of each game."""
        seen = self.reader.read_moves(observations, masks)
        actions = np.zeros(len(masks), dtype=np.int64)
        choose_best(seen.games, seen.actions, seen.moves, self.weights, sets, actions)
        return actions


@kernel
def choose_best(
    games: Annotated[Int64, "moves"],
    actions: Annotated[Int64, "moves"],
    moves: Annotated[Float32, "moves features"],
    weights: Annotated[Float32, "sets features"],
    sets: Annotated[Int64, "n"],
    chosen: Annotated[Int64, "n"],
) -> None:
    """Write the action with the highest score of each game to ``chosen``; the first of equal ones."""
    game = -1
    most = np.float32(0.0)
    for k in range(games.shape[0]):
        score = np.float32(0.0)
        for n in range(weights.shape[1]):
            score += weights[sets[games[k]], n] * moves[k, n]
        if games[k] != game or score > most:
            game = games[k]
            most = score
            chosen[game] = actions[k]


# ----------------------------------------------------------------------------------- its weights


def _entry_for(spec: GameSpec) -> tuple[str, GameSpec] | None:
    """The name of the stored entry for a game, and the game as it was fitted: a one-card game is played with
    supermoves.
    """
    for name, entry in read_json(WEIGHTS).items():
        try:
            seen = spec.view(moves=entry["moves"], observation="cards", information="player")
        except ValueError:  # its moves cannot be used here
            continue
        if seen.hash == entry["game_hash"]:
            return name, seen
    return None


def has_weights(spec: GameSpec) -> bool:
    """Whether weights are stored for the game."""
    return _entry_for(spec) is not None


def weights_for(name: str, *, stock: bool) -> npt.NDArray[np.float64]:
    """The weights of a game, float64 ``[features]``; if none are stored for it, those of a similar one,
    with a stock or without.
    """
    entries = read_json(WEIGHTS)
    entry = entries.get(name, entries["busy-aces" if stock else "eights-down"])
    return np.array([entry["weights"][name] for name in MOVE_NAMES])


def weights_of(spec: GameSpec) -> npt.NDArray[np.float64]:
    """The same for the game with this layout."""
    names = [name for name, entry in read_json(WEIGHTS).items() if entry["game_hash"] == spec.hash]
    return weights_for(names[0] if names else "", stock=spec.variant.stock > 0)


def load_linear(spec: GameSpec) -> Linear:
    """The linear policy of a game, with its stored weights; without any, with those of a similar
    game, as in :func:`weights_for`. In a clone of the repository ``python -m agents fit-linear GAME`` finds
    better ones.

    A one-card game is played with supermoves if they can be expanded to its moves.
    """
    if (found := _entry_for(spec)) is not None:
        name, seen = found
    else:
        name = ""
        try:
            seen = spec.view(moves="supermove", observation="cards", information="player")
        except ValueError:
            seen = spec.view(observation="cards", information="player")
    return Linear(seen, weights_for(name, stock=spec.variant.stock > 0))
