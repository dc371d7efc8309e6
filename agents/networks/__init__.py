"""Torch networks that score the legal moves of games and estimate the value of a position.

All have ``score(observations, masks)``, which gives :class:`~agents.networks.scores.Scores`, and
``value(observations)``. No learners, no files, no search: those are in the folders beside this one.
"""

from typing import Final

from agents.networks.mlp import MlpNetwork
from agents.networks.moves import MovesNetwork
from agents.networks.piles import PileNetwork

__all__ = ["NETWORKS", "MlpNetwork", "MovesNetwork", "Network", "PileNetwork"]

Network = MovesNetwork | PileNetwork | MlpNetwork

NETWORKS: Final[dict[str, type[MovesNetwork] | type[PileNetwork] | type[MlpNetwork]]] = {
    "moves": MovesNetwork,
    "piles": PileNetwork,
    "mlp": MlpNetwork,
}
"""The networks by their names in a configuration; each is made with a GameSpec and its sizes."""
