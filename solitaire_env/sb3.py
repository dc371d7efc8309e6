"""A native Stable-Baselines3 ``VecEnv``: all games in one compiled step, in one process."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from typing_extensions import Unpack

from solitaire_env.arguments import CommonArguments, check_arguments
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import BatchRow, check_options, need_start, picture, read_start, spaces_of
from solitaire_env.family import Games
from solitaire_env.render import RENDER_FPS, RENDER_MODES
from solitaire_env.util.arguments import check_count, check_kind
from solitaire_env.util.numbers import whole_number

try:
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn
except ImportError as error:
    raise ImportError(f'solitaire_env.sb3 needs {error.name}: pip install "solitaire-env[train]"') from error

METHODS: Final = tuple(
    name for name, value in vars(BatchRow).items() if callable(value) and not name.startswith("_")
)
"""Methods of single environments that ``env_method`` calls."""
_ATTRIBUTES: Final = tuple(name for name in vars(BatchRow) if not name.startswith("_"))
"""Attributes of single environments that ``get_attr`` returns."""


class Played(NamedTuple):
    """What a step of all games led to, arrays ``[num_envs]``."""

    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    ended: npt.NDArray[np.bool_]
    """Terminated, truncated or both."""


class SolitaireVecEnv(VecEnv):
    """``num_envs`` games for SB3 and sb3-contrib; replaces ``DummyVecEnv``.

    Takes every argument of :class:`~solitaire_env.env.SolitaireEnv` except ``mask_dtype``, and ``num_envs``,
    the number of games that are played at a time. ``games`` may also be a
    :class:`~solitaire_env.core.batch.Batch`, which has all other arguments but those of rendering.

    ``env_method`` calls the methods of single environments in :data:`METHODS`; ``env_method("action_masks")``
    returns the rows of one array. Finished games restart in the same step, with
    ``infos[i]["terminal_observation"]``, ``["TimeLimit.truncated"]``, ``["is_success"]``, ``["cards_home"]``,
    ``["deal"]`` (the deal number, -1 if there is none; ``get_attr("deal")`` names other deals too), and
    ``["episode"]`` (return ``r``, length ``l``, seconds ``t``) as in ``VecMonitor``.
    """

    def __init__(
        self,
        games: Games | Batch = "forty-thieves",
        num_envs: int = 1,
        **arguments: Unpack[CommonArguments],
    ) -> None:
        checked = check_arguments(arguments, CommonArguments)
        batch = self.batch = checked.batch(games, num_envs)
        self.render_mode, self.render_size = checked.render_mode, checked.render_size
        self.metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}
        self._rows = np.arange(batch.size, dtype=np.int64)
        self._actions = np.zeros(batch.size, dtype=np.int64)
        self._returns = np.zeros(batch.size, dtype=np.float64)
        self._began = np.zeros(batch.size, dtype=np.float64)
        super().__init__(batch.size, *spaces_of(batch))

    def __repr__(self) -> str:
        """What is played, and the number of games."""
        return f"{type(self).__name__}({self.batch.title}, num_envs={self.num_envs})"

    @property
    def game(self) -> GameSpec:
        """The game, of an environment of one variant."""
        return self.batch.spec

    def reset(self) -> VecEnvObs:
        """Start new games in all rows, as set by :meth:`seed` and :meth:`set_options`."""
        batch = self.batch
        read = [read_start(batch, check_options(batch, options)) for options in self._options]
        for row, seed in enumerate(self._seeds):
            if seed is not None or not batch.started:
                batch.seed_streams(self._rows[row : row + 1], [seeding.np_random(seed)[0]])
        batch.begin(self._rows, [start for _, start in read], [number for number, _ in read])
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0.0
        self._began[:] = time.perf_counter()
        self.reset_infos = [{"deal": deal} for deal in batch.deal_numbers.tolist()]
        return batch.observations().copy()

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set the options of the next reset: one dict for all games, or a list of one for each."""
        if not isinstance(options, list):
            check_kind("options", options, (dict, type(None)), "a dict, a list of them or None")
        elif len(options) != self.num_envs:
            raise ValueError(
                f"{len(options)} options were given, "
                f"allowed: one, or one for each of the {self.num_envs} games"
            )
        super().set_options(options)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seeds of the next reset: game ``i`` has ``seed + i``; None for random ones."""
        return super().seed(None if seed is None else check_count("seed", seed))

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions, int ``[num_envs]``."""
        need_start(self.batch)
        self._actions[:] = self.batch.read_actions(actions, self.batch.everyone)

    def step_wait(self) -> VecEnvStepReturn:
        """Play the actions; restart finished games."""
        batch = self.batch
        played = self._play()
        self._returns += played.rewards
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        rewards, dones = played.rewards.astype(np.float32), played.ended.copy()
        if batch.settings.on_invalid != "raise":
            for row in np.flatnonzero(batch.events.invalid).tolist():
                infos[row]["invalid_action"] = True
        if dones.any():
            rows = np.flatnonzero(dones)
            self._finish(rows, infos, played.truncated & ~played.terminated)
            batch.deal_next(rows)
            for row in rows.tolist():
                self.reset_infos[row] = {"deal": int(batch.deal_numbers[row])}
        return batch.observations().copy(), rewards, dones, infos

    def _play(self) -> Played:
        """Play the actions."""
        batch = self.batch
        batch.step(self._actions, batch.everyone)
        return Played(batch.rewards, batch.terminated, batch.truncated, batch.ended)

    def _finish(
        self, rows: npt.NDArray[np.int64], infos: list[dict[str, Any]], cut_off: npt.NDArray[np.bool_]
    ) -> None:
        """Write the infos of episodes that ended; ``cut_off`` marks those that were only truncated."""
        batch = self.batch
        observations = batch.observations()
        now = time.perf_counter()
        for row in rows.tolist():
            home = int(batch.home[row])
            infos[row].update(
                {
                    "terminal_observation": observations[row].copy(),
                    "TimeLimit.truncated": bool(cut_off[row]),
                    "is_success": bool(batch.won[row]),
                    "cards_home": home,
                    "deal": int(batch.deal_numbers[row]),
                    "episode": {
                        "r": round(float(self._returns[row]), 6),
                        "l": int(batch.steps[row]),
                        "t": round(now - self._began[row], 6),
                    },
                }
            )
        self._returns[rows] = 0.0
        self._began[rows] = now

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """The boards as pixels, uint8 ``[height, width, 3]`` each; None in other render modes."""
        pictures = self.render_mode == "rgb_array"
        return [picture(self, row) if pictures else None for row in range(self.num_envs)]

    def render(self, mode: str | None = None) -> Any:
        """All boards in the render mode: as one text, or tiled in one picture, uint8 ``[h, w, 3]``."""
        if self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return "\n\n".join(picture(self, row) for row in range(self.num_envs))
        return super().render(mode)

    # ------------------------------------------------------------ methods for single games in SB3

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The current legal actions, bool ``[num_envs, actions]``."""
        need_start(self.batch)
        return self.batch.mask.astype(np.bool_)

    def _game(self, row: int) -> BatchRow:
        """One of the games."""
        return BatchRow(self.batch, row)

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of single environments on games: see :data:`METHODS`."""
        rows = self._get_indices(indices)
        if method_name == "action_masks" and not args and not kwargs:
            masks = self.action_masks()
            return [masks[row] for row in rows]
        if method_name not in METHODS:
            raise AttributeError(f"no method {method_name!r} on single games, allowed: {', '.join(METHODS)}")
        if method_name == "set_state":
            need_start(self.batch)
        return [getattr(self._game(row), method_name)(*args, **kwargs) for row in rows]

    def _get_indices(self, indices: VecEnvIndices) -> list[int]:
        """The rows that a user selected: all, one, or some."""
        if indices is None:
            return list(range(self.num_envs))
        if whole_number(indices) is not None:
            return [self.batch.check_row(indices)]
        if isinstance(indices, Iterable) and not isinstance(indices, (str, np.ndarray)):
            indices = list(indices)
        rows: list[int] = self.batch.check_rows("indices", indices).tolist()
        return rows

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of games, one value each."""
        rows = self._get_indices(indices)
        if attr_name in _ATTRIBUTES:
            return [getattr(self._game(row), attr_name) for row in rows]
        return [getattr(self, attr_name)] * len(rows)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Raise an error: games have no attributes to set."""
        raise AttributeError(f"{attr_name!r} cannot be set on single games; pass it to SolitaireVecEnv")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """True for ``Monitor``, since ``infos[i]["episode"]`` exists; False for all other wrappers.

        SB3 checks for ``Monitor`` before it reads returns and lengths there.
        """
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor] * len(self._get_indices(indices))
