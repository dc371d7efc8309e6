"""The linear policy: each legal move gets a score, a weighted sum of :data:`solitaire_env.move_features.moves.MOVE_FEATURES`, and
the highest is played. ``agents.commands.fit_linear`` finds the weights, which stand in ``linear.json``.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core import jit_allocating
from solitaire_env.core.spec import layout_hash
from solitaire_env.move_features.columns import MOVE_NAMES as MOVE_FEATURES
look = moves_of = None
from solitaire_env.util.files import read_json

Array = npt.NDArray[Any]

WEIGHTS: Final = Path(__file__).with_name("weights") / "linear.json"
"""Weights by the name of the game, and how they were found."""


class Linear:
    """See the module.

    Parameters
    ----------
    layout
        Of the game.
    weights
        Float ``[features]``, or ``[sets, features]`` with ``sets`` in each call.
    moves
        The action set that it plays.
    """

    name = "linear"
    observation = "cards"
    memoryless = True

    def __init__(self, layout: dict[str, Any], weights: Array, moves: str | None = None) -> None:
        self.moves = moves
        self.weights = np.atleast_2d(np.asarray(weights, dtype=np.float32))
        if self.weights.shape[1] != len(MOVE_FEATURES):
            raise ValueError(f"{self.weights.shape[1]} weights, allowed: {len(MOVE_FEATURES)}, one a feature")
        self.table = moves_of(layout)

    def __call__(self, observations: Array, masks: Array, sets: Array | None = None) -> Array:
        """Actions ``[n]``; ``sets`` int64 ``[n]`` says which weights play each game, by default the first."""
        seen = look(observations, masks, self.table, ahead=False)
        actions = np.zeros(len(masks), dtype=np.int64)
        sets = np.zeros(len(masks), dtype=np.int64) if sets is None else sets
        _best(seen.games, seen.actions, seen.moves, self.weights, sets, actions)
        return actions


@jit_allocating
def _best(games, actions, moves, weights, sets, chosen):  # type: ignore[no-untyped-def]
    """Write the action with the highest score of each game into ``chosen``; of equal ones the first."""
    game = -1
    most = np.float32(0.0)
    for k in range(games.shape[0]):
        of_set = weights[sets[games[k]]]
        score = np.float32(0.0)
        for n in range(of_set.shape[0]):
            score += of_set[n] * moves[k, n]
        if games[k] != game or score > most:
            game = games[k]
            most = score
            chosen[game] = actions[k]


# ----------------------------------------------------------------------------------- its weights


LayoutOf = Callable[[Any], dict[str, Any]]
"""Gives the layout of a game as a policy wants to see it."""


def _find(layout_of: LayoutOf) -> tuple[dict[str, Any] | None, list[str]]:
    """The entry for a game, and the names of all games that have one."""
    entries = read_json(WEIGHTS)
    for entry in entries.values():
        try:
            layout = layout_of(SimpleNamespace(moves=entry["moves"]))
        except ValueError:  # its moves cannot be played here
            continue
        if layout_hash(layout) == entry["layout_hash"]:
            return entry, list(entries)
    return None, list(entries)


def has_weights(layout_of: LayoutOf) -> bool:
    """Whether weights were found for the game."""
    return _find(layout_of)[0] is not None


def weights_for(name: str, *, stock: bool) -> Array:
    """The weights of a game, float64 ``[NUM_MOVE]``; those of a like one, with a stock or without, where none
    were found for it.
    """
    entries = read_json(WEIGHTS)
    entry = entries.get(name, entries["busy-aces" if stock else "eights-down"])
    return np.array([entry["weights"][name] for name in MOVE_FEATURES])


def weights_of(layout: dict[str, Any]) -> Array:
    """The same, for the game with a layout."""
    hashed = layout_hash(layout)
    names = [name for name, entry in read_json(WEIGHTS).items() if entry["layout_hash"] == hashed]
    return weights_for(names[0] if names else "", stock=bool(layout["waste"]))


def load_linear(layout_of: LayoutOf) -> Linear:
    """The linear policy of the game whose layout ``layout_of`` gives, with the weights found for it."""
    entry, games = _find(layout_of)
    if entry is None:
        raise ValueError(
            f"policy 'linear' has no weights for this game, only for {', '.join(games)}; "
            "find some with: python -m agents fit-linear GAME"
        )
    weights = [entry["weights"][name] for name in MOVE_FEATURES]
    return Linear(layout_of(SimpleNamespace(moves=entry["moves"])), np.array(weights), entry["moves"])
