"""Wrappers for other libraries: the mask in the observation, and move features as observation."""

from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorWrapper
from gymnasium.vector.utils import batch_space

from solitaire_env.core.batch import Batch
from solitaire_env.env import SolitaireEnv
from solitaire_env.move_features.table import FamilyMoveTable, MoveTable, value_range
from solitaire_env.util.arguments import check_choice
from solitaire_env.vector import SolitaireVectorEnv, read_only

Array = npt.NDArray[Any]

if TYPE_CHECKING:
    _VectorWrapper = VectorWrapper[Array, Array, Array]
else:
    _VectorWrapper = VectorWrapper  # which takes no types before Gymnasium 1.3


class DictObservation(gym.Wrapper[dict[str, Any], np.int64, Any, np.int64], gym.utils.RecordConstructorArgs):
    """Put observation and mask into one dict: ``{obs_key: observation, mask_key: mask}``.

    ==========  ================  ===============
    library     ``obs_key``       ``mask_key``
    ==========  ================  ===============
    RLlib       ``observations``  ``action_mask``
    PettingZoo  ``observation``   ``action_mask``
    Tianshou    ``obs``           ``mask``
    ==========  ================  ===============

    Parameters
    ----------
    env
        An environment with infos that have an ``action_mask``.
    obs_key, mask_key
        The keys; those of RLlib by default.
    dtype
        ``"float32"``, because the default networks of these libraries do not take int8, or None for the type
        of the observation, for a network that embeds card codes. The values do not change:
        ``observation="features"`` and :class:`MoveFeatures` are scaled for a network, card codes are not.
    """

    def __init__(
        self,
        env: gym.Env[Any, np.int64],
        *,
        obs_key: str = "observations",
        mask_key: str = "action_mask",
        dtype: Literal["float32"] | None = "float32",
    ) -> None:
        check_choice("dtype", dtype, (None, "float32"))
        if obs_key == mask_key:
            raise ValueError(f"obs_key and mask_key are both {obs_key!r}, allowed: two different keys")
        gym.utils.RecordConstructorArgs.__init__(self, obs_key=obs_key, mask_key=mask_key, dtype=dtype)
        super().__init__(env)
        self.obs_key, self.mask_key, self.dtype = obs_key, mask_key, dtype
        space: Any = env.observation_space
        if dtype is not None:
            low, high = space.low.astype(np.float32), space.high.astype(np.float32)
            space = spaces.Box(low, high, dtype=np.float32)
        actions: Any = env.action_space
        mask: Any = spaces.Box(0, 1, shape=(int(actions.n),), dtype=np.int8)
        self.observation_space = spaces.Dict({obs_key: space, mask_key: mask})

    def _observation(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        if self.dtype is not None:
            observation = observation.astype(self.dtype)
        return {self.obs_key: observation, self.mask_key: info["action_mask"].astype(np.int8)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a new game."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observation(observation, info), info

    def step(self, action: np.int64) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._observation(observation, info), reward, terminated, truncated, info


# -------------------------------------------------------------------------------- features of moves


class MoveFeatures(gym.Wrapper[Array, np.int64, Array, np.int64], gym.utils.RecordConstructorArgs):
    """Observe the features of each move: a ``Box`` float32 ``[actions, 28]``, with a row of 0 for each
    illegal action.

    They suit a network that scores every row with the same weights; one that flattens the table, such as
    SB3's ``MlpPolicy``, has to learn each row separately. In a finished game all rows are 0. The features do
    not describe cards that no legal move touches.

    :class:`~solitaire_env.move_features.columns.MoveColumns` lists the features. All lie in [0, 1], except
    that numbers of cards reach the capacity of a pile / 13, those of cells the number of cells / 4 and those
    of spaces the number of piles / 4, and that ``home`` is -1 for a card that worries back.

    Parameters
    ----------
    env
        A :class:`~solitaire_env.env.SolitaireEnv`, wrapped or not, with ``observation="cards"``.

    Raises
    ------
    TypeError
        If it is another environment.
    ValueError
        If it has another observation.
    """

    def __init__(self, env: gym.Env[Array, np.int64]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        game = env.unwrapped
        if not isinstance(game, SolitaireEnv):
            raise TypeError(f"environment is a {type(game).__name__}, allowed: SolitaireEnv")
        self.observation_space = move_space(game.batch)
        self._table = make_table(game.batch)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start a new game."""
        _, info = self.env.reset(seed=seed, options=options)
        return self._table.read()[0].copy(), info

    def step(self, action: np.int64) -> tuple[Array, Any, bool, bool, dict[str, Any]]:
        """Play one action."""
        _, reward, terminated, truncated, info = self.env.step(action)
        return self._table.read()[0].copy(), reward, terminated, truncated, info


class VectorMoveFeatures(_VectorWrapper):
    """:class:`MoveFeatures` of many games, float32 ``[num_envs, actions, 28]``, read by one compiled call.

    Parameters
    ----------
    env
        A :class:`~solitaire_env.vector.SolitaireVectorEnv`, wrapped or not, with ``observation="cards"``. If
        it has ``copy=False``, the observation is a read-only view that the next call overwrites, which is
        several times as fast.

    Raises
    ------
    TypeError
        If it is another environment.
    ValueError
        If it has another observation.
    """

    def __init__(self, env: gym.vector.VectorEnv[Array, Array, Array]) -> None:
        super().__init__(env)
        games = env.unwrapped
        if not isinstance(games, SolitaireVectorEnv):
            raise TypeError(f"environment is a {type(games).__name__}, allowed: SolitaireVectorEnv")
        self.autoreset_mode = games.autoreset_mode  # TorchRL asks the outermost wrapper
        self.single_observation_space = move_space(games.batch)
        self.observation_space = batch_space(self.single_observation_space, games.num_envs)
        self._copy = games.copy
        self._table = make_table(games.batch)
        self._played = games.batch.played
        self._same_step = games.autoreset_mode is AutoresetMode.SAME_STEP

    def _observations(self) -> Array:
        table = self._table.read()
        return table.copy() if self._copy else read_only(table)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new games."""
        _, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]  # a list too
        return self._observations(), infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play one action in every game."""
        played = self._played.copy()
        _, rewards, terminated, truncated, infos = self.env.step(actions)
        if self._same_step and "final_obs" in infos:
            rows = np.flatnonzero(infos["_final_obs"])
            tables = self._table.read_ended(np.stack(infos["final_obs"][rows]), played[rows])
            for row, table in zip(rows.tolist(), tables, strict=True):
                infos["final_obs"][row] = table
        return self._observations(), rewards, terminated, truncated, infos


def make_table(batch: Batch) -> MoveTable | FamilyMoveTable:
    """The features of the moves of some games."""
    return MoveTable(batch) if batch.layout is None else FamilyMoveTable(batch)


def move_space(batch: Batch) -> spaces.Box:
    """The space of the features of each game's moves, float32 ``[actions, features]``.

    Raises
    ------
    ValueError
        If the observation is not ``cards``.
    """
    if batch.settings.observation != "cards":
        raise ValueError(
            f"observation is {batch.settings.observation!r}, allowed with move features: 'cards'"
        )
    lows, highs = zip(*(value_range(group.spec.rules) for group in batch.groups), strict=True)
    actions = (batch.num_actions, 1)
    return spaces.Box(np.tile(np.min(lows, 0), actions), np.tile(np.max(highs, 0), actions), dtype=np.float32)
