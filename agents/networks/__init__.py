"""Torch networks that score the legal moves of games and estimate the value of a position.

All have ``score(observations, masks)``, which returns :class:`~agents.networks.scores.Scores`, and
``value(observations)``. No learners, files or search here: see the folders beside this one.
"""

from typing import Any, Final

from agents.networks.features import FeaturesNetwork
from agents.networks.mlp import DenseNetwork, MlpNetwork
from agents.networks.moves import MovesNetwork
from solitaire_env.loading import load_class
from solitaire_env.util.messages import shown

__all__ = [
    "NETWORKS",
    "DenseNetwork",
    "FeaturesNetwork",
    "MlpNetwork",
    "MovesNetwork",
    "Network",
    "network_class",
]

Network = FeaturesNetwork | DenseNetwork

NETWORKS: Final[dict[str, type[Network]]] = {"moves": MovesNetwork, "mlp": MlpNetwork}
"""The networks by their names in a configuration; their constructors take a GameSpec and sizes.
:func:`network_class` adds the custom networks that it imports."""


def network_class(name: str) -> type[Network]:
    """The network of a configuration: a key of :data:`NETWORKS`, or a custom one, ``module:Class``.

    Raises
    ------
    ValueError
        If there is no such class, or it derives from neither ``FeaturesNetwork`` nor ``DenseNetwork``.
    """
    if name not in NETWORKS:
        made: Any = load_class(name, "network")
        if not isinstance(made, type) or not issubclass(made, (FeaturesNetwork, DenseNetwork)):
            raise ValueError(
                f"network {shown(name)} is {shown(made)}, "
                "allowed: a class derived from FeaturesNetwork or DenseNetwork of agents.networks"
            )
        NETWORKS[name] = made
    return NETWORKS[name]
