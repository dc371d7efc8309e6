"""The vector environment of all learners."""

from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from agents.config import TrainConfig
from solitaire_env.arguments import REGISTERED
from solitaire_env.core.native import Bool, Int8, Int64, kernel
from solitaire_env.move_features.autoplay import find_safe_moves_in_play, keep_chosen
from solitaire_env.move_features.finishing import finishing_moves
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

    With ``finish_games``, a game that can be finished (:mod:`solitaire_env.move_features.finishing`) is
    played to its end in the same step. So the step that made it possible earns the win.
    """

    def __init__(
        self, *args: Any, safe_autoplay: bool = False, finish_games: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.safe_autoplay = safe_autoplay
        self.finish_games = finish_games
        self.steps = 0
        """Steps of all games in the last call, with forced moves but without safe autoplay and the moves that
        finish games."""
        self._only = np.empty(self.num_envs, dtype=np.int64)
        self._finishing = np.full(self.num_envs, -1, dtype=np.int64)
        """The move that finishes a new game, -1 elsewhere."""
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
            self._add_results(played, moved)
        if self.finish_games:
            self._play_to_end(played)
        return played

    def _add_results(self, played: Played, moved: npt.NDArray[np.bool_]) -> None:
        """Add the results of a further step of some games."""
        batch = self.batch
        played.rewards[:] += batch.rewards
        # A game at its stall limit continues if a card goes home by safe autoplay.
        for end, now in zip(played[1:], (batch.terminated, batch.truncated, batch.ended), strict=True):
            end[moved] = now[moved]

    def _play_to_end(self, played: Played) -> None:
        """Play games to their end where that is found."""
        rows = np.flatnonzero(~played.terminated)
        while len(rows):
            actions = self._find_finishing(rows)
            moved = actions >= 0
            if not moved.any():
                break
            self.batch.step(np.maximum(actions, 0), moved.astype(np.int8))
            self._add_results(played, moved)
            rows = np.flatnonzero(moved & ~played.terminated)

    def _find_finishing(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The moves that finish some games, int64 ``[num_envs]``; -1 for none, and in all other games."""
        batch = self.batch
        actions = np.full(self.num_envs, -1, dtype=np.int64)
        played = batch.played[rows]
        for number in np.unique(played).tolist():
            those = rows[played == number]
            rules, seen = batch.groups[number].spec.rules, batch.observations()[those]
            if batch.layout is not None:  # it numbers actions as the game does
                seen = seen[:, batch.layout.places[number]]
            actions[those] = finishing_moves(rules, seen, batch.mask[those, : rules.actions])
        return actions

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
        # A new deal may begin with safe autoplay, or with the move that finishes it.
        if self.safe_autoplay:
            self._find_safe_moves()
            masks = keep_chosen(masks, self._safe)
        return keep_chosen(masks, self._finishing) if self.finish_games else masks

    def reset(self) -> VecEnvObs:
        """Start new games in all rows."""
        observations = super().reset()
        self._prepare(np.arange(self.num_envs))
        return observations

    def step_wait(self) -> VecEnvStepReturn:
        """Play the actions; deal new games where one has ended."""
        observations, rewards, dones, infos = super().step_wait()
        ended = np.flatnonzero(dones)
        for row in ended.tolist():
            infos[row]["TimeLimit.truncated"] = False
        self._prepare(ended)
        return observations, rewards, dones, infos

    def _prepare(self, dealt: npt.NDArray[np.int64]) -> None:
        """Find the moves that finish new games; where a game goes on, there is none."""
        if self.finish_games:
            self._finishing = self._find_finishing(dealt)


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
        batch = spec.make_batch(size, chosen_deals(config.deals, spec.variants))
        return TrainingEnv(batch, size, finish_games=config.finish_games)
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
        finish_games=config.finish_games,
    )
