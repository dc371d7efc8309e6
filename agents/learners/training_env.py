"""The vector environment of all learners."""

from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from agents.config import TrainConfig
from solitaire_env.arguments import REGISTERED
from solitaire_env.core.native import Bool, Int8, Int64, kernel
from solitaire_env.move_features.autoplay import find_safe_moves_in_play, keep_safe_moves
from solitaire_env.sb3 import Played, SolitaireVecEnv
from solitaire_env.splits import chosen_deals

MAX_FORCED: Final = 8
"""Maximum number of moves played for a game within a step; then the learner chooses in any case."""


class TrainingEnv(SolitaireVecEnv):
    """The native vector environment, in which a truncated game counts as lost and forced moves are skipped.

    PPO would add the value of the position at which a game was truncated: making no progress would pay as
    well as playing, and in games that cannot be won it would pay better.

    After each action, moves without a choice are played in the same step and their rewards are added: the
    only legal move of a position and, with ``safe_autoplay``, safe autoplay. In some games a third of the
    positions have only one legal move.
    """

    def __init__(self, *args: Any, safe_autoplay: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.safe_autoplay = safe_autoplay
        self.steps = 0
        """Steps of all games in the last call, with forced moves but without safe autoplay."""
        self._only = np.empty(self.num_envs, dtype=np.int64)
        self._safe = np.empty(self.num_envs, dtype=np.int64)
        # Called up to MAX_FORCED times a step: binding the arrays then would take longer than the kernels.
        self._find_only_moves = find_only_moves.bind(self.batch.mask)
        if safe_autoplay:
            self._find_safe_moves = find_safe_moves_in_play.bind(
                self.batch.rules, self.batch.state, self._safe
            )

    def _play(self) -> Played:
        played = super()._play()
        played = Played(played.rewards.copy(), *(flag.copy() for flag in played[1:]))
        self.steps = self.num_envs
        batch = self.batch
        for _ in range(MAX_FORCED):
            actions, forced = self._moves_without_choice(played.ended)
            moved = actions >= 0
            if not moved.any():
                break
            batch.step(np.maximum(actions, 0), moved.astype(np.int8))
            self.steps += int(np.count_nonzero(forced))
            played.rewards[:] += batch.rewards
            # A game at its stall limit continues if a card goes home by safe autoplay.
            for end, now in zip(played[1:], (batch.terminated, batch.truncated, batch.ended), strict=True):
                end[moved] = now[moved]
        return played

    def _moves_without_choice(
        self, ended: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """The move of each game without a choice, int64 ``[num_envs]``, -1 elsewhere, and which of them are
        forced. A game that has ended only makes safe autoplay.
        """
        actions = self._only
        self._find_only_moves(ended, actions)
        forced = actions >= 0
        if self.safe_autoplay:
            self._find_safe_moves()
            forced &= self._safe < 0
            actions = np.where(self._safe >= 0, self._safe, actions)
        return actions, forced

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The moves to choose from, bool ``[num_envs, actions]``."""
        masks = super().action_masks()
        if not self.safe_autoplay:
            return masks
        # A new deal may begin with safe autoplay.
        self._find_safe_moves()
        return keep_safe_moves(masks, self._safe)

    def step_wait(self) -> VecEnvStepReturn:
        """Play the actions; deal new games where one has ended."""
        observations, rewards, dones, infos = super().step_wait()
        for row in np.flatnonzero(dones).tolist():
            infos[row]["TimeLimit.truncated"] = False
        return observations, rewards, dones, infos


@kernel
def find_only_moves(
    masks: Annotated[Int8, "batch rules.actions"],
    ended: Annotated[Bool, "batch"],
    actions: Annotated[Int64, "batch"],
) -> None:
    """Write the only legal action of each game that has not ended; -1 where there are several."""
    for game in range(masks.shape[0]):
        actions[game] = -1
        if ended[game]:
            continue
        for action in range(masks.shape[1]):
            if masks[game, action] != 0:
                if actions[game] >= 0:
                    actions[game] = -1
                    break
                actions[game] = action


def derived_seed(seed: int, *stream: int) -> int:
    """The seed, below ``2**62``, of one of the independent streams of a seed.

    Rows of an environment have consecutive seeds. So those of two trainings would share most deals if their
    environments had consecutive seeds too.
    """
    return int(np.random.SeedSequence([seed, *stream]).generate_state(1, np.uint64)[0] >> 2)


def make_env(config: TrainConfig, num_envs: int | None = None) -> TrainingEnv:
    """The native vector environment of a configuration."""
    size = num_envs or config.num_envs
    if config.is_family:
        spec = config.family_spec
        return TrainingEnv(spec.make_batch(size, chosen_deals(config.deals, spec.variants)), size)
    return TrainingEnv(
        config.variant,
        size,
        max_episode_steps=REGISTERED,
        deals=config.deals,
        observation=config.observation,
        information=config.information,
        reward=config.reward,
        stall_limit=config.stall_limit,
        safe_autoplay=config.safe_autoplay,
    )
