"""Makes the learner that a configuration names, with its network and initial weights."""

from typing import Any

from sb3_contrib import MaskablePPO

from agents.config import TrainConfig
from agents.learners.initial_weights import initialize
from agents.learners.maskable_ppo import make_maskable_ppo
from agents.learners.ppo import PPO, make_ppo
from agents.learners.pqn import PQN, make_pqn
from agents.learners.rollout import RolloutLearner, make_rollout_learner
from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.networks.sb3_policy import NetworkPolicy

Learner = PPO | MaskablePPO | PQN | RolloutLearner


def make_model(config: TrainConfig, env: TrainingEnv, team: Team | None = None) -> Learner:
    """The learner of a configuration; ``team.share`` is the completed share of the training, 0 to 1."""
    team = team or Team()

    def rate(_: float) -> float:
        return config.rate_at(team.share)

    kwargs: dict[str, Any] = {"kind": config.network, "spec": env.game, "sizes": config.network_sizes}
    model: Learner
    if config.learner == "pqn":
        model = make_pqn(config, env, rate, kwargs, lambda: team.share, team)
    elif config.learner == "playouts":
        model = make_rollout_learner(config, env, rate, kwargs, team)
    elif config.learner == "maskable-ppo":
        model = make_maskable_ppo(config, env, rate, kwargs)
    else:
        model = make_ppo(config, env, rate, kwargs, team)
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    initialize(config, policy)
    if isinstance(model, RolloutLearner):
        model.set_reference()
    return model
