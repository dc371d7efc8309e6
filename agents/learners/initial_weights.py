"""Initial weights of a training: the linear policy's, or those of stored models."""

from typing import Protocol

import torch as th

from agents.config import TrainConfig
from agents.family_spec import FamilySpec
from agents.networks import MovesNetwork, Network
from agents.runs.models import InitialWeights, check_storable, load_initial_weights
from solitaire_env.core import GameSpec
from solitaire_env.policies.linear import load_linear, weights_for, weights_of


class HasNetwork(Protocol):
    """A network with a value head."""

    network: Network
    value_net: th.nn.Linear
    spec: GameSpec | FamilySpec


def initialize(config: TrainConfig, policy: HasNetwork) -> None:
    """Give a policy the initial weights of a configuration, if any.

    Raises
    ------
    ValueError
        If the network could be trained and saved, but not loaded again; or of :func:`initial_weights_of`.
    """
    check_storable(config.network, policy.network)
    if isinstance(policy.network, MovesNetwork) and policy.network.reader.rollout_lookahead:
        assert isinstance(policy.spec, GameSpec)
        policy.network.lookahead_weights.copy_(th.from_numpy(weights_of(policy.spec)))
    if config.init_linear_temperature is not None:
        assert isinstance(policy.network, MovesNetwork)
        weights = weights_for("", stock=True) if config.is_family else load_linear(config.game).weights
        with th.no_grad():
            policy.network.linear.weight.copy_(th.from_numpy(weights) / config.init_linear_temperature)
    if start := initial_weights_of(config):
        policy.network.load_state_dict(start[0])
        if start[1] is not None:
            policy.value_net.load_state_dict(start[1])


def initial_weights_of(config: TrainConfig) -> InitialWeights | None:
    """The weights of the models that ``init_from`` names; of several, their mean.

    The mean of networks that were trained separately from the same one plays better than each: random errors
    of each training cancel out (Wortsman et al., "Model soups", 2022).

    Raises
    ------
    ValueError
        If a folder is no model, or does not fit the configuration.
    """
    if not config.init_folders:
        return None
    starts = [load_initial_weights(path, config) for path in config.init_folders]
    heads = [head for _, head in starts if head is not None]
    return mean_of([weights for weights, _ in starts]), mean_of(heads) if len(heads) == len(starts) else None


def mean_of(networks: list[dict[str, th.Tensor]]) -> dict[str, th.Tensor]:
    """The mean of each tensor."""
    return {name: th.stack([weights[name] for weights in networks]).double().mean(0) for name in networks[0]}
