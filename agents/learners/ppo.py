"""What a configuration trains, and in what: the vector environment, and the learner with its network."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from agents.config import ConfigError, TrainConfig
from agents.learners.pqn import PQN
from agents.learners.rollout import Judge, Playouts
from agents.networks import NETWORKS, MovesNetwork
from agents.networks.cache import Memory
from agents.networks.sb3_policy import NetworkPolicy
from agents.runs.models import Start, load_start
from solitaire_env.move_features.moves import keep_sure_homes, moves_of, sure_homes
from solitaire_env.policies.linear import load_linear, weights_of
from solitaire_env.sb3 import SolitaireVecEnv

Learner = MaskablePPO | PQN | Playouts


class TrainingEnv(SolitaireVecEnv):
    """The native vector environment, in which a game that is cut off is a game lost.

    PPO would add the value of the position in which it was cut off: standing still would pay as well as going
    on, and in games that cannot be won better.

    With ``sure_home`` what is sure to go home goes home in the same step.
    """

    def __init__(self, *args: Any, sure_home: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = moves_of(self.game.layout) if sure_home else None

    def _play(self) -> int:
        ended = super()._play()
        if self.table is None:
            return ended
        batch = self.batch
        rewards = batch.rewards.copy()
        flags = (batch.terminated, batch.truncated, batch.ended)
        ends = [flag.copy() for flag in flags]
        while True:
            sure = sure_homes(batch.observations(), batch.state.mask, self.table)
            sent = sure >= 0
            if not sent.any():
                break
            batch.step(np.maximum(sure, 0), sent.astype(np.int8))
            rewards += batch.rewards
            for end, now in zip(ends, flags, strict=True):
                # A game that was to be cut off goes on, as a card went home.
                end[sent] = now[sent]
        batch.rewards[:] = rewards
        for flag, end in zip(flags, ends, strict=True):
            flag[:] = end
        return int(np.count_nonzero(ends[-1]))

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The moves to choose among, bool ``[num_envs, actions]``."""
        masks = super().action_masks()
        if self.table is None:
            return masks
        # A new deal may begin with a card that is sure to go home.
        return keep_sure_homes(self.batch.observations(), masks, self.table)

    def step_wait(self) -> VecEnvStepReturn:
        """Play the actions; finished games start anew."""
        observations, rewards, dones, infos = super().step_wait()
        for row in np.flatnonzero(dones).tolist():
            infos[row]["TimeLimit.truncated"] = False
        return observations, rewards, dones, infos


def make_env(config: TrainConfig, num_envs: int | None = None) -> TrainingEnv:
    """The native vector environment of a configuration."""
    return TrainingEnv(
        config.variant,
        num_envs or config.num_envs,
        observation=config.observation,
        information=config.information,
        reward=config.reward,
        stall_limit=config.stall_limit,
        sure_home=config.sure_home,
    )


def make_model(config: TrainConfig, env: TrainingEnv, share: Callable[[], float] = lambda: 0.0) -> Learner:
    """The learner of a configuration with its network; ``share()`` tells how much of the training is done."""

    def learning_rate(_: float) -> float:
        return config.rate_at(share())

    common: dict[str, Any] = {
        "learning_rate": learning_rate,
        "policy_kwargs": {"kind": config.network, "spec": env.game, "sizes": config.network_sizes},
    }
    for key in ("n_steps", "batch_size", "n_epochs", "max_grad_norm", "seed", "device"):
        common[key] = getattr(config, key)
    model: Learner
    if config.learner == "pqn":
        exploration = config.exploration, config.exploration_end
        common |= {"gamma": config.gamma, "trace": config.gae_lambda, "exploration": exploration}
        model = PQN(env, share=share, **common)
    elif config.learner == "playouts":
        model = Playouts(
            env, num_playouts=config.num_playouts, least=config.least, kl_coef=config.kl_coef, **common
        )
    else:
        keys = ("gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef")
        model = MaskablePPO(NetworkPolicy, env, **{key: getattr(config, key) for key in keys}, **common)
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    begin(config, policy)
    if isinstance(model, Playouts):
        model.hold()
    if config.learner != "pqn" and isinstance(policy.network, MovesNetwork):
        network = policy.network
        network.memory = Memory(network.look, network.sizes, config.num_envs * config.n_steps)
    return model


def begin(config: TrainConfig, policy: NetworkPolicy) -> None:
    """Give a policy the weights that a configuration has it start from, if any."""
    if isinstance(policy.network, MovesNetwork) and policy.network.onward:
        policy.network.habit.copy_(th.from_numpy(weights_of(policy.spec)))
    if config.linear_start is not None:
        linear = load_linear(config.game)
        assert isinstance(policy.network, MovesNetwork)
        with th.no_grad():
            policy.network.linear.weight.copy_(th.from_numpy(linear.weights) / config.linear_start)
    if weights := start_of(config):
        policy.network.load_state_dict(weights[0])
        if weights[1] is not None:
            policy.value_net.load_state_dict(weights[1])


def start_of(config: TrainConfig) -> Start | None:
    """What ``start`` names, when it is a model that fits, or several; of several the mean of their weights.

    Networks that learned side by side from the same one are averaged for the better: what each has learned
    by luck cancels out (Wortsman et al., "Model soups", 2022).
    """
    if not config.starts:
        return None
    spec = config.game
    values = config.learner == "pqn"
    starts = [
        load_start(path, config.network, config.network_sizes, spec, values=values) for path in config.starts
    ]
    heads = [head for _, head in starts if head is not None]
    return mean_of([weights for weights, _ in starts]), mean_of(heads) if len(heads) == len(starts) else None


def mean_of(networks: list[dict[str, th.Tensor]]) -> dict[str, th.Tensor]:
    """The mean of each tensor."""
    return {name: th.stack([weights[name] for weights in networks]).mean(0) for name in networks[0]}


def warm_up(config: TrainConfig) -> None:
    """Have engine and networks compiled, or their compiled code loaded, before the clock starts."""
    env = make_env(config, 2)
    observations, masks = th.as_tensor(env.reset()), env.action_masks()
    network = NETWORKS[config.network](env.game, **config.network_sizes)
    network.score(observations, masks)
    network.value(observations)
    if config.learner == "playouts":
        judge = Judge(config.variant, config.reward, 1)
        judge(np.asarray(env.reset()), np.array([0]), masks.argmax(1)[:1], np.random.default_rng(0))
    env.step(masks.argmax(1))


def check_device(name: str) -> None:
    """Refuse a device that is not here, where SB3 would quietly take the CPU."""
    here = ["auto", "cpu"]
    if th.backends.mps.is_available():
        here.append("mps")
    if th.cuda.is_available():
        here += ["cuda", *(f"cuda:{number}" for number in range(th.cuda.device_count()))]
    if name not in here:
        raise ConfigError(f"device is {name!r}, which is not here, allowed: {', '.join(here)}")
