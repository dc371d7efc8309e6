"""sb3-contrib's MaskablePPO (``learner: maskable-ppo``); override its ``train`` for another loss.

It reads each position again in every pass: :mod:`agents.learners.ppo` computes the same in a fraction of the
time.

Each update collects ``n_steps`` of all games, estimates advantages (``gamma``, ``gae_lambda``) and takes
``n_epochs`` passes over minibatches of ``batch_size`` steps. The loss is the clipped policy loss
(``clip_range``), plus ``vf_coef`` times the value loss, minus ``ent_coef`` times the entropy. Log
probabilities, values and entropies come from :class:`agents.networks.sb3_policy.NetworkPolicy`, over the
legal moves alone. For the first ``value_warmup_steps`` steps only the value head learns.
"""

from collections.abc import Callable
from typing import Any

from sb3_contrib import MaskablePPO

from agents.config import TrainConfig
from agents.learners.ppo import KEYS
from agents.learners.training_env import TrainingEnv
from agents.networks.sb3_policy import NetworkPolicy


def make_maskable_ppo(
    config: TrainConfig, env: TrainingEnv, rate: Callable[[float], float], policy: dict[str, Any]
) -> MaskablePPO:
    """The learner; ``policy`` holds the arguments of :class:`NetworkPolicy`."""
    return MaskablePPO(
        NetworkPolicy, env, learning_rate=rate, policy_kwargs=policy,
        **{key: getattr(config, key) for key in KEYS},
    )  # fmt: skip
