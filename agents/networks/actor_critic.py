"""ActorCritic: a network with a value head, and the optimizer of both."""

from typing import Any, Final

from torch import nn

from agents.family_spec import FamilySpec
from agents.networks import network_class
from agents.networks.adam import Adam
from solitaire_env.core.spec import GameSpec

ADAM_EPSILON: Final = 1e-5
"""As in Stable-Baselines3."""


class ActorCritic(nn.Module):
    """A network that chooses moves; its value is one linear layer more.

    Parameters
    ----------
    kind
        Name of the network, as in :func:`agents.networks.network_class`.
    spec, sizes
        Arguments of its constructor.
    rate
        Learning rate at the start.
    """

    def __init__(self, kind: str, spec: GameSpec | FamilySpec, sizes: dict[str, Any], rate: float) -> None:
        super().__init__()
        self.spec = spec
        self.value_only = False
        """While it is true, only the value learns."""
        self.network = network_class(kind)(spec, **sizes)
        self.value_net = make_value_layer(self.network.width)
        self.optimizer = Adam(self.parameters(), rate, ADAM_EPSILON)


def make_value_layer(width: int) -> nn.Linear:
    """A layer from the value's features to the value, with zeros as weights."""
    layer = nn.Linear(width, 1)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
