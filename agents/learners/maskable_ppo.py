"""sb3-contrib's MaskablePPO (``learner: maskable-ppo``); override its ``train`` for another loss.

It reads each position again in every pass: :mod:`agents.learners.ppo` computes the same in a fraction of the
time. Log probabilities, values and entropies come from :class:`agents.networks.sb3_policy.NetworkPolicy`,
over the legal moves alone.
"""

from typing import Final

from sb3_contrib import MaskablePPO

from agents.config import TrainConfig
from agents.learners.base import policy_arguments
from agents.learners.parallel import MAX_GRAD_NORM
from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.networks.sb3_policy import NetworkPolicy

KEYS: Final = (
    "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "seed", "device",
)  # fmt: skip
"""Keys of a configuration that it takes unchanged."""


def make_maskable_ppo(config: TrainConfig, env: TrainingEnv, team: Team) -> MaskablePPO:
    """The learner of a configuration."""
    return MaskablePPO(
        NetworkPolicy, env, learning_rate=lambda _: config.rate_at(team.share),
        policy_kwargs=policy_arguments(config, env), vf_coef=1.0, max_grad_norm=MAX_GRAD_NORM,
        **{key: getattr(config, key) for key in KEYS},
    )  # fmt: skip
