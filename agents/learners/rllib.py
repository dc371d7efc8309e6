"""PPO by Ray's RLlib on a cluster, with the same configuration, networks and run folders as :mod:`.ppo`.

Env runners play in the native vector environment, learners (one in this process, or several workers) update
the network, all through RLlib's new API stack. A network plays and learns as an ``RLModule``.
"""

import json
import logging
import signal
from functools import partial
from pathlib import Path
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch as th
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env

from agents.cluster import Cluster
from agents.config import ConfigError, TrainConfig
from agents.learners.initial_weights import initialize
from agents.learners.parallel import MAX_GRAD_NORM
from agents.learners.progress import WINDOW, Progress, Rates
from agents.learners.selection import Selection
from agents.learners.training_env import derived_seed
from agents.networks import network_class
from agents.networks.actor_critic import make_value_layer
from agents.runs.config_files import import_games
from agents.runs.folders import CURVE, cut_curve
from agents.runs.interrupt import first_interrupt
from agents.runs.models import save_model
from solitaire_env.move_features.autoplay import keep_chosen, safe_moves_in_play
from solitaire_env.move_features.finishing import finishing_moves
from solitaire_env.util.files import read_json, write_text
from solitaire_env.util.progress import ProgressLine
from solitaire_env.vector import SolitaireVectorEnv

Array = npt.NDArray[Any]
CHECKPOINT: Final = "rllib"
"""Folder of a run with RLlib's checkpoint."""
PROGRESS: Final = "progress.json"
"""File of that folder: steps, seconds and games of the training."""
ENV: Final = "solitaire"
ROLLOUT_TIMEOUT_S: Final = 600.0
"""Maximum number of seconds of an env runner's rollout; the first one may build the kernels."""
MASKED: Final = -1e8
"""Logit of an action that is not legal."""


# --------------------------------------------------------------------------------------- in workers


class MaskInObservation(gym.vector.VectorWrapper):
    """The native vector environment as RLlib's env runners need it.

    An observation is followed by the mask of the legal actions, in one array ``[size + actions]``; after a
    game has ended no action is legal. A truncated game counts as lost. Infos are given at the end of a game.
    """

    env: SolitaireVectorEnv

    def __init__(self, env: SolitaireVectorEnv, safe_autoplay: bool, finish_games: bool) -> None:
        super().__init__(env)
        self.safe_autoplay = safe_autoplay
        self.finish_games = finish_games
        seen = env.single_observation_space
        assert isinstance(seen, gym.spaces.Box)
        actions = np.ones(env.game.num_actions, dtype=seen.dtype)
        self.single_observation_space = gym.spaces.Box(
            np.concatenate((seen.low, 0 * actions)),
            np.concatenate((seen.high, actions)),
            dtype=seen.dtype.type,
        )
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, env.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new games."""
        # RLlib gives consecutive seeds to its env runners.
        own = derived_seed(seed) if isinstance(seed, int) else seed
        observations, infos = self.env.reset(seed=own, options=options)
        return self._join(observations, infos, np.zeros(self.num_envs, dtype=np.bool_)), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play one action in each game, or deal the next game where one has ended."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended = terminated | truncated
        ends = {
            name: values
            for key in ("is_success", "cards_home")
            for name, values in ((key, infos[key].copy()), (f"_{key}", ended))
        }
        return self._join(observations, infos, ended), rewards.copy(), ended, np.zeros_like(ended), ends

    def _join(self, observations: Array, infos: dict[str, Any], ended: npt.NDArray[np.bool_]) -> Array:
        """Observations and masks."""
        legal, rules = infos["action_mask"].astype(np.bool_), self.env.batch.rules
        masks = legal
        if self.safe_autoplay:
            masks = keep_chosen(masks, safe_moves_in_play(rules, self.env.batch.state))
        if self.finish_games:
            masks = keep_chosen(masks, finishing_moves(rules, observations, legal))
        masks = np.where(ended[:, None], 0, masks)
        return np.concatenate((observations, masks.astype(observations.dtype)), axis=1)


def make_vector_env(config: TrainConfig, num_envs: int) -> MaskInObservation:
    """The games of an env runner."""
    import_games(config.env, config.games)
    env = SolitaireVectorEnv(
        config.variant, num_envs, deals=config.deals, observation=config.observation,
        information=config.information, reward=config.reward, stall_limit=config.stall_limit, copy=False,
    )  # fmt: skip
    return MaskInObservation(env, config.safe_autoplay, config.finish_games)


class NetworkModule(TorchRLModule, ValueFunctionAPI):
    """A network of :mod:`agents.networks` as an RLModule; its value is one linear layer more.

    ``model_config`` has the keys ``config``, a configuration, and ``weights``: arrays to start from, or None.
    """

    def setup(self) -> None:
        """Make the network."""
        config = self.model_config["config"]
        self.spec = config.game
        self.network = network_class(config.network)(self.spec, **config.network_sizes)
        self.value_net = make_value_layer(self.network.width)
        if (weights := self.model_config["weights"]) is not None:
            self.load_state_dict({name: th.as_tensor(values) for name, values in weights.items()})

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Logits of all actions, and the inputs of the value layer."""
        joined = batch[Columns.OBS]
        size = self.spec.observation_size
        masks = joined[:, size:].cpu().numpy().astype(np.int8, copy=False)
        seen = self.network.score(joined[:, :size], np.ascontiguousarray(masks))
        logits = seen.dense(self.spec.num_actions).clamp(min=MASKED)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: seen.features}

    def _forward_inference(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._forward(batch)[Columns.ACTION_DIST_INPUTS]}

    _forward_exploration = _forward_inference

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """The values of positions, ``[n]``."""
        if embeddings is None:
            embeddings = self.network.value(batch[Columns.OBS][:, : self.spec.observation_size])
        return self.value_net(embeddings)[:, 0]


class CountGames(RLlibCallback):
    """Counts the games that ended."""

    def on_episode_end(self, *, episode: Any, metrics_logger: Any, **_: Any) -> None:
        """Count a finished game."""
        info = episode.get_infos(-1)
        for key in ("is_success", "cards_home"):
            metrics_logger.log_value(key, float(info[key]), reduce="mean", window=WINDOW)


# ------------------------------------------------------------------------------------- in the driver


def check_config(config: TrainConfig) -> None:
    """Raise an error if RLlib's PPO does not support the configuration."""
    config.variant  # noqa: B018 - refuses many games
    for key, allowed in (
        ("learner", ("ppo", "maskable-ppo")),
        ("value_warmup_steps", (0,)),
        ("wandb", (None,)),
    ):
        value = getattr(config, key)
        if value not in allowed:
            raise ConfigError(f"{key} is {value!r}, allowed with --ray: {', '.join(map(repr, allowed))}")


Weights = dict[str, Array]


def make_module(config: TrainConfig, weights: Weights | None = None) -> NetworkModule:
    """The network of a configuration on this machine."""
    return NetworkModule(
        observation_space=None, action_space=gym.spaces.Discrete(config.game.num_actions),
        model_config={"config": config, "weights": weights},
    )  # fmt: skip


def initial_weights(config: TrainConfig) -> Weights:
    """The initial weights of a configuration."""
    th.manual_seed(config.seed)
    module = make_module(config)
    initialize(config, module)
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def make_algorithm(config: TrainConfig, weights: Weights, runners: int, learners: int) -> Any:
    """RLlib's PPO of a configuration.

    Parameters
    ----------
    weights
        Initial weights of the network.
    runners
        Number of workers that play; with 0 this process plays.
    learners
        Number of workers that learn; with 0 this process learns.
    """
    games = max(1, config.num_envs // max(1, runners))
    steps = games * max(1, runners) * config.n_steps
    per_learner = max(1, steps // max(1, learners))
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)  # it recommends its API stack at each start
    register_env(ENV, lambda context: make_vector_env(config, int(context["num_envs"])))
    settings = (
        PPOConfig()
        .environment(ENV, disable_env_checking=True)
        .env_runners(
            num_env_runners=runners, num_envs_per_env_runner=games, rollout_fragment_length=config.n_steps,
            gym_env_vectorize_mode="vector_entry_point", sample_timeout_s=ROLLOUT_TIMEOUT_S,
        )
        .learners(num_learners=learners)
        .training(
            lr=config.learning_rate, gamma=config.gamma, lambda_=config.gae_lambda,
            train_batch_size_per_learner=per_learner, minibatch_size=min(config.batch_size, per_learner),
            num_epochs=config.n_epochs, clip_param=config.clip_range, use_kl_loss=False,
            entropy_coeff=config.ent_coef, vf_loss_coeff=1.0, vf_clip_param=float("inf"),
            grad_clip=MAX_GRAD_NORM, grad_clip_by="global_norm",
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=NetworkModule, model_config={"config": config, "weights": weights}
            )
        )
        .callbacks(CountGames)
        .debugging(seed=derived_seed(config.seed) >> 31, log_level="ERROR")
    )  # fmt: skip
    return settings.build_algo()


class _Training:
    """A training by RLlib in a run folder."""

    def __init__(self, config: TrainConfig, run: Path, cluster: Cluster, learners: int, resume: bool) -> None:
        self.config, self.folder = config, run / CHECKPOINT
        workers = cluster.count_workers()
        if learners >= workers:
            raise ValueError(f"ray_learners is {learners}, allowed: fewer than the {workers} workers")
        self.algorithm = make_algorithm(config, initial_weights(config), workers - learners, learners)
        stored: dict[str, Any] = {}
        if resume:
            self.algorithm.restore_from_path(str(self.folder.absolute()))
            stored = read_json(self.folder / PROGRESS)
            cut_curve(run / CURVE, stored["steps"])
        self.progress = Progress(config, run, **stored)

    def update(self) -> Rates | None:
        """Play and learn once; return the rates of the last games."""
        rate = self.config.rate_at(self.progress.share)
        self.algorithm.learner_group.foreach_learner(_set_rate, rate=rate)
        result = self.algorithm.train()
        if "env_runners" not in result:
            raise OSError("no env runner has returned games: RLlib's workers failed or took too long")
        played = result["env_runners"]
        self.progress.steps = int(played["num_env_steps_sampled_lifetime"])
        self.progress.games += int(played.get("num_episodes", 0))
        keys = ("is_success", "cards_home", "episode_len_mean")
        return Rates(*(float(played[key]) for key in keys)) if "is_success" in played else None

    def save(self, folder: Path) -> None:
        """Write the current network as a model folder."""
        weights = self.algorithm.learner_group.get_weights([DEFAULT_MODULE_ID])[DEFAULT_MODULE_ID]
        module = make_module(self.config, weights)
        steps = self.progress.steps
        save_model(folder, module.network, self.config, steps=steps, value=module.value_net)

    def checkpoint(self) -> None:
        """Write the checkpoint of a resumable training."""
        self.algorithm.save_to_path(str(self.folder.absolute()))
        write_text(self.folder / PROGRESS, json.dumps(self.progress.stored) + "\n")


def _set_rate(learner: Any, *, rate: float) -> None:
    """Set the learning rate of a learner, until the end of its next update."""
    for _, optimizer in learner.get_optimizers_for_module(DEFAULT_MODULE_ID):
        for group in optimizer.param_groups:
            group["lr"] = rate


def learn(
    config: TrainConfig, run: Path, cluster: Cluster, *, learners: int, resume: bool, quiet: bool
) -> bool:
    """Train in a run folder; whether the training was completed. The first Ctrl-C ends it after the update.

    Parameters
    ----------
    learners
        Number of workers that learn; the other workers of the cluster play. With 0 this process learns.
    """
    training = _Training(config, run, cluster, learners, resume)
    progress = training.progress
    line = ProgressLine(quiet)
    try:
        selection = Selection(config, run, training.save)
        selection.begin(progress.share)
        with first_interrupt(signal.SIGTERM) as interrupt:
            while progress.share < 1 and not interrupt.requested:
                rates = training.update()
                progress.write_row(rates)
                selection.evaluate_at(progress.share, progress.steps)
                line.show(partial(progress.text, rates))
                if progress.checkpoint_is_due():
                    training.checkpoint()
        training.checkpoint()
        training.save(run / "model")
        if not interrupt.requested:
            selection.evaluate_at(1.0, progress.steps)
            selection.restore_best(run / "model")
    finally:
        line.close()
        training.algorithm.stop()
    return not interrupt.requested
