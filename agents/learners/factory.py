"""Makes the learner that a configuration names, with its network and initial weights.

``maskable-ppo`` is sb3-contrib's MaskablePPO; override its ``train`` for another loss. It reads each position
again in every pass: :mod:`agents.learners.ppo` computes the same in a fraction of the time.
"""

from typing import Final

from sb3_contrib import MaskablePPO

from agents.config import TrainConfig
from agents.learners.base import Learner, policy_arguments
from agents.learners.initial_weights import initialize
from agents.learners.parallel import MAX_GRAD_NORM
from agents.learners.playouts import PlayoutLearner
from agents.learners.ppo import PPO
from agents.learners.pqn import PQN
from agents.learners.process_group import ProcessGroup
from agents.learners.training_env import TrainingEnv
from agents.networks.sb3_policy import NetworkPolicy

AnyLearner = Learner | MaskablePPO

LEARNERS: Final[dict[str, type[Learner]]] = {"ppo": PPO, "pqn": PQN, "playouts": PlayoutLearner}
KEYS: Final = (
    "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "seed", "device",
)  # fmt: skip
"""Keys of a configuration that MaskablePPO takes unchanged."""


def _make_maskable_ppo(config: TrainConfig, env: TrainingEnv, group: ProcessGroup) -> MaskablePPO:
    return MaskablePPO(
        NetworkPolicy, env, learning_rate=lambda _: config.rate_at(group.share),
        policy_kwargs=policy_arguments(config, env), vf_coef=1.0, max_grad_norm=MAX_GRAD_NORM,
        **{key: getattr(config, key) for key in KEYS},
    )  # fmt: skip


def make_model(config: TrainConfig, env: TrainingEnv, group: ProcessGroup | None = None) -> AnyLearner:
    """The learner of a configuration; ``group.share`` is the completed share of the training, 0 to 1."""
    group = group or ProcessGroup()
    model: AnyLearner = (
        _make_maskable_ppo(config, env, group)
        if config.learner == "maskable-ppo"
        else LEARNERS[config.learner](config, env, group)
    )
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    initialize(config, policy)
    if isinstance(model, PlayoutLearner):
        model.set_reference()
    return model
