"""Makes the learner that a configuration names, with its network and initial weights.

``maskable-ppo`` is sb3-contrib's MaskablePPO; override its ``train`` for another loss. It reads each position
again in every pass: :mod:`agents.learners.ppo` computes the same in a fraction of the time.
"""

from typing import Final

from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from agents.config import TrainConfig
from agents.learners.base import Learner
from agents.learners.initial_weights import initialize
from agents.learners.parallel import MAX_GRAD_NORM
from agents.learners.playouts import PlayoutLearner
from agents.learners.ppo import PPO
from agents.learners.pqn import PQN
from agents.learners.process_group import ProcessGroup
from agents.learners.training_env import TrainingEnv
from agents.networks.actor_critic import ActorCritic
from agents.networks.sb3_policy import AnyPolicy, NetworkPolicy

AnyLearner = Learner | MaskablePPO

LEARNERS: Final[dict[str, type[Learner]]] = {"ppo": PPO, "pqn": PQN, "playouts": PlayoutLearner}
KEYS: Final = (
    "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "seed", "device",
)  # fmt: skip
"""Keys of a configuration that MaskablePPO takes unchanged."""


def _make_maskable_ppo(config: TrainConfig, env: TrainingEnv, group: ProcessGroup) -> MaskablePPO:
    about = {"kind": config.network, "spec": config.spec, "sizes": config.network_sizes}
    return MaskablePPO(
        NetworkPolicy, env, learning_rate=lambda _: config.rate_at(group.share),
        policy_kwargs=about, vf_coef=1.0, max_grad_norm=MAX_GRAD_NORM,
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
    initialize(config, policy_of(model))
    if isinstance(model, PlayoutLearner):
        model.set_reference()
    return model


def policy_of(model: AnyLearner) -> AnyPolicy:
    """The network of a learner, with value head and optimizer."""
    assert isinstance(model.policy, (ActorCritic, NetworkPolicy))
    return model.policy


def run_learner(model: AnyLearner, callback: BaseCallback) -> None:
    """Play and learn until the callback ends it."""
    if isinstance(model, MaskablePPO):
        model.learn(2**62, callback, reset_num_timesteps=False)  # it counts those before a resumption
    else:
        model.learn(2**62, callback)
