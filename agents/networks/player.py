"""TorchPlayer: a torch network as a policy that plays."""

from typing import Any

import torch as th

from agents.networks import Network
from agents.networks.feature_cache import Array
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies.model_files import hash_weights
from solitaire_env.policies.network import NetworkPlayer


class TorchPlayer(NetworkPlayer):
    """A torch network as a policy.

    Parameters
    ----------
    network
        It is changed to compute in float64. In float32 the rounding of a sum depends on the batch size and on
        the machine, and occasionally another action would be drawn.
    value
        Maps the network's value features to the value, ``[n, 1]``; None if the model has no value head.
    spec, name, options
        See :class:`~solitaire_env.policies.network.NetworkPlayer`.
    """

    def __init__(
        self,
        network: Network,
        spec: GameSpec,
        name: str,
        *,
        value: th.nn.Module | None = None,
        **options: Any,
    ) -> None:
        super().__init__(spec, name, **options)
        self.network = _in_64_bits(network.eval())
        self.value = value and _in_64_bits(value)

    @th.inference_mode()
    def compute(self, observations: Array, masks: Array) -> tuple[Array, Array, Array]:
        """See :class:`~solitaire_env.policies.network.NetworkPlayer`."""
        seen = self.network.score(th.tensor(observations), masks)
        scores = seen.dense(masks.shape[1])
        probabilities = (scores / (self.temperature or 1.0)).softmax(1)
        return probabilities.numpy(), scores.amax(1).numpy(), seen.features.numpy()

    @th.inference_mode()
    def value_of(self, features: Array) -> Array | None:
        """The expected returns ``[n]`` from the value's features; None without a value head."""
        return None if self.value is None else self.value(th.from_numpy(features))[:, 0].numpy()

    @th.inference_mode()
    def values(self, observations: Array) -> Array | None:
        """The expected returns of positions, ``[n]``; None without a value head, and if they are the highest
        value of a move.
        """
        if self.value is None:
            return None
        return self.value_of(self.network.value(th.from_numpy(observations)).numpy())

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the weights, in float32 as they are stored."""
        state = self.network.state_dict()
        return hash_weights({name: tensor.float().cpu().numpy() for name, tensor in state.items()})


def _in_64_bits(network: Any) -> Any:
    """The network, with linear layers that compute in float64 from now on, for any input."""
    for part in network.double().modules():
        if isinstance(part, th.nn.Linear):
            part.register_forward_pre_hook(lambda layer, given: (given[0].to(layer.weight.dtype),))
    return network
