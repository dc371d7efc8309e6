"""NetworkPolicy: a network with a value head as the policy of sb3-contrib's MaskablePPO."""

from typing import Any

import numpy as np
import torch as th
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from agents.family_spec import FamilySpec
from agents.networks import network_class
from agents.networks.actor_critic import ADAM_EPSILON, ActorCritic, make_value_layer
from agents.networks.adam import Adam
from agents.networks.scores import Scores
from solitaire_env.core.spec import GameSpec


class NetworkPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's masked actor-critic policy over a network; ``kind``, ``spec`` and ``sizes`` are those of
    :class:`~agents.networks.actor_critic.ActorCritic`.

    Scores, probabilities and entropies cover only the legal moves, in one flat list: most actions are never
    legal together.
    """

    def __init__(
        self, *args: Any, kind: str, spec: GameSpec | FamilySpec, sizes: dict[str, Any], **kwargs: Any
    ) -> None:
        self._network = (kind, sizes)
        self.spec = spec
        self.value_only = False
        """While it is true, only the value learns."""
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        kind, sizes = self._network
        self.network = network_class(kind)(self.spec, **sizes)
        self.value_net = make_value_layer(self.network.width)
        self.mlp_extractor = nn.Identity()  # type: ignore[assignment]
        self.action_net = nn.Identity()
        self.optimizer = Adam(self.parameters(), lr_schedule(1), ADAM_EPSILON)  # type: ignore[assignment]

    def log_probabilities(self, observations: th.Tensor, masks: Any) -> tuple[Scores, th.Tensor]:
        """The network's scores, and the log probabilities of the moves."""
        n = len(observations)
        if masks is None:
            masks = np.ones((n, int(self.action_space.n)), dtype=np.int8)  # type: ignore[attr-defined]
        masks = masks.cpu().numpy() if isinstance(masks, th.Tensor) else np.asarray(masks)
        seen = self.network.score(observations, masks.reshape(n, -1).astype(np.int8, copy=False))
        return seen, seen.logs()

    def forward(
        self, obs: th.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Actions, values and log probabilities."""
        seen, logs = self.log_probabilities(obs, action_masks)
        chosen = seen.choose(logs) if deterministic else seen.draw(logs)
        return seen.actions[chosen], self.value_net(seen.features), logs[chosen]

    def evaluate_actions(
        self, obs: th.Tensor, actions: th.Tensor, action_masks: Any = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Values, log probabilities of actions, and entropies."""
        seen, logs = self.log_probabilities(obs, action_masks)
        chosen_logs = seen.of(actions, logs)
        entropy = logs.new_zeros(len(obs)).index_add(0, seen.games, -logs.exp() * logs)
        if self.value_only:
            chosen_logs, entropy = chosen_logs.detach(), entropy.detach()
        return self.value_net(seen.features), chosen_logs, entropy

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableCategoricalDistribution:
        """The probabilities of all actions, as sb3-contrib returns them."""
        seen, _ = self.log_probabilities(obs, action_masks)
        logits = seen.dense(int(self.action_space.n))  # type: ignore[attr-defined]
        distribution = MaskableCategoricalDistribution(logits.shape[1])
        distribution.proba_distribution(logits.clamp(min=-1e8))
        distribution.apply_masking(logits.isfinite().numpy(force=True))
        return distribution

    def predict_values(self, obs: Any) -> th.Tensor:
        """Values, ``[n, 1]``."""
        values: th.Tensor = self.value_net(self.network.value(obs))
        return values


AnyPolicy = ActorCritic | NetworkPolicy
"""What learns: in our learners, and in MaskablePPO."""
