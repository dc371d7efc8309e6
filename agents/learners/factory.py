"""Makes the learner that a configuration names, with its network and initial weights."""

from typing import Final

from sb3_contrib import MaskablePPO

from agents.config import TrainConfig
from agents.learners.base import TeamLearner
from agents.learners.initial_weights import initialize
from agents.learners.maskable_ppo import make_maskable_ppo
from agents.learners.ppo import PPO
from agents.learners.pqn import PQN
from agents.learners.rollout import RolloutLearner
from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.networks.sb3_policy import NetworkPolicy

Learner = TeamLearner | MaskablePPO

LEARNERS: Final[dict[str, type[TeamLearner]]] = {"ppo": PPO, "pqn": PQN, "playouts": RolloutLearner}


def make_model(config: TrainConfig, env: TrainingEnv, team: Team | None = None) -> Learner:
    """The learner of a configuration; ``team.share`` is the completed share of the training, 0 to 1."""
    team = team or Team()
    model: Learner = (
        make_maskable_ppo(config, env, team)
        if config.learner == "maskable-ppo"
        else LEARNERS[config.learner](config, env, team)
    )
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    initialize(config, policy)
    if isinstance(model, RolloutLearner):
        model.set_reference()
    return model
