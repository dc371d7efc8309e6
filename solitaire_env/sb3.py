"""A native Stable-Baselines3 ``VecEnv``: all games in one compiled step, without a process each."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete
from gymnasium.utils import seeding
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Build, Moves, Spaces, Variant
from solitaire_env.env import RESET_OPTIONS, check_options, observation_space
from solitaire_env.notation import format_position, read_position
from solitaire_env.registration import resolve_variant, step_limit
from solitaire_env.render import (
    RENDER_FPS,
    SIZE,
    VECTOR_RENDER_MODES,
    check_render_mode,
    check_render_size,
    render,
)

REGISTERED = "registered"
"""The step limit with which a variant is registered."""


class SolitaireVecEnv(VecEnv):
    """``num_envs`` games of one variant as SB3 and sb3-contrib want them; takes the place of ``DummyVecEnv``.

    Takes every argument of :class:`~solitaire_env.env.SolitaireEnv`; ``env_id`` may be an id or a variant.
    ``env_method("action_masks")`` answers from one buffer. Finished games start anew in the same step, with
    ``infos[i]["terminal_observation"]``, ``["TimeLimit.truncated"]``, ``["is_success"]``, ``["cards_home"]``,
    ``["deal"]``, and ``["episode"]`` (return ``r``, length ``l``, seconds ``t``) as ``VecMonitor`` gives.
    """

    def __init__(
        self,
        env_id: str | Variant,
        num_envs: int = 1,
        *,
        build: Build | None = None,
        spaces: Spaces | None = None,
        moves: Moves | None = None,
        max_episode_steps: int | str | None = REGISTERED,
        render_mode: str | None = None,
        render_size: tuple[int, int] = SIZE,
        **settings: Any,
    ) -> None:
        self.variant = resolve_variant(env_id, build=build, spaces=spaces, moves=moves)
        limit = step_limit(self.variant) if max_episode_steps == REGISTERED else max_episode_steps
        self.settings = Settings(max_episode_steps=limit, **settings)  # type: ignore[arg-type]
        self.game = GameSpec(self.variant, self.settings)
        self.batch = Batch(self.game, num_envs)
        self.render_mode = check_render_mode(render_mode, VECTOR_RENDER_MODES)
        self.render_size = check_render_size(render_size)
        self.metadata: dict[str, Any] = {"render_modes": list(VECTOR_RENDER_MODES), "render_fps": RENDER_FPS}
        size = self.batch.size
        self._rows = np.arange(size, dtype=np.int64)
        self._actions = np.zeros(size, dtype=np.int64)
        self._returns = np.zeros(size, dtype=np.float64)
        self._started = np.zeros(size, dtype=np.float64)
        self._streams_started = False
        super().__init__(
            size,
            observation_space(self.game),
            Discrete(self.game.num_actions),
        )

    def reset(self) -> VecEnvObs:
        """New games in all rows, by what :meth:`seed` and :meth:`set_options` were given."""
        batch = self.batch
        for row, seed in enumerate(self._seeds):
            if seed is not None or not self._streams_started:
                batch.seed_streams(self._rows[row : row + 1], [seeding.np_random(seed)[0]])
        self._streams_started = True
        given = [check_options(options, RESET_OPTIONS) for options in self._options]
        batch.deal_next(np.array([row for row, options in enumerate(given) if not options], dtype=np.int64))
        for row, options in enumerate(given):
            if "position" in options:
                batch.place(row, read_position(options["position"], self.variant))
            elif "deal" in options:
                batch.deal(self._rows[row : row + 1], [options["deal"]])
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0.0
        self._started[:] = time.perf_counter()
        self.reset_infos = [{"deal": batch.deal_of(row)} for row in range(self.num_envs)]
        return batch.observations().copy()

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the actions, int ``[num_envs]``."""
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(
                f"actions have shape {actions.shape} and type {actions.dtype}, "
                f"allowed: ({self.num_envs},) whole numbers"
            )
        self._actions[:] = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Play the actions; finished games start anew."""
        batch = self.batch
        ended = self._play()
        self._returns += batch.rewards
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        dones = batch.ended.copy()
        if batch.settings.on_invalid != "raise":
            for row in np.flatnonzero(batch.events.invalid).tolist():
                infos[row]["invalid_action"] = True
        if ended:
            rows = np.flatnonzero(dones)
            self._finish(rows, infos)
            batch.deal_next(rows)
            for row in rows.tolist():
                self.reset_infos[row] = {"deal": batch.deal_of(row)}
        return batch.observations().copy(), batch.rewards.astype(np.float32), dones, infos

    def _play(self) -> int:
        """Play the actions; how many episodes ended."""
        return self.batch.step(self._actions, self.batch.everyone)

    def _finish(self, rows: npt.NDArray[np.int64], infos: list[dict[str, Any]]) -> None:
        batch = self.batch
        observations = batch.observations()
        now = time.perf_counter()
        for row in rows.tolist():
            home = int(batch.state.home[row])
            infos[row].update(
                {
                    "terminal_observation": observations[row].copy(),
                    "TimeLimit.truncated": bool(batch.truncated[row] and not batch.terminated[row]),
                    "is_success": home == batch.rules.cards,
                    "cards_home": home,
                    "deal": batch.deal_of(row),
                    "episode": {
                        "r": round(float(self._returns[row]), 6),
                        "l": int(batch.steps[row]),
                        "t": round(now - self._started[row], 6),
                    },
                }
            )
        self._returns[rows] = 0.0
        self._started[rows] = now

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions, bool ``[num_envs, actions]``."""
        return self.batch.state.mask.astype(np.bool_)

    def close(self) -> None:
        """Nothing is held open."""

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """The boards as pixels, uint8 ``[height, width, 3]`` each; None with another render mode."""
        return self._pictures() if self.render_mode == "rgb_array" else [None] * self.num_envs

    def render(self, mode: str | None = None) -> Any:
        """All boards, as the render mode says: as one text, or tiled in one picture, uint8 ``[h, w, 3]``."""
        if self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return "\n\n".join(self._pictures())
        return super().render(mode)

    def _pictures(self) -> list[Any]:
        return [
            render(
                str(self.render_mode),
                self.batch.position(row).hidden(),
                deal=self.batch.deal_of(row),
                size=self.render_size,
            )
            for row in range(self.num_envs)
        ]

    # ---------------------------------------------------- what SB3 asks of the games one by one

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method on games: ``action_masks``, ``position``, ``get_state`` or ``set_state``."""
        rows = list(self._get_indices(indices))
        if method_name == "action_masks" and not args and not kwargs:
            masks = self.action_masks()
            return [masks[row] for row in rows]
        methods: dict[str, Callable[..., Any]] = {
            "position": self._position_text,
            "get_state": self.batch.get_state,
            "set_state": self.batch.set_state,
        }
        if method_name not in methods:
            raise AttributeError(
                f"no method {method_name!r} on single games, allowed: action_masks, {', '.join(methods)}"
            )
        return [methods[method_name](row, *args, **kwargs) for row in rows]

    def _position_text(self, row: int, hidden: bool = False) -> str:
        position = self.batch.position(row)
        return format_position(position.hidden() if hidden else position)

    def has_attr(self, attr_name: str) -> bool:
        """Whether games have the attribute; sb3-contrib asks for ``action_masks``."""
        return attr_name == "action_masks" or hasattr(type(self), attr_name) or attr_name in self.__dict__

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of games, one each."""
        rows = list(self._get_indices(indices))
        if attr_name == "action_masks":
            return [(lambda row=row: self.action_masks()[row]) for row in rows]
        if not self.has_attr(attr_name):
            raise AttributeError(f"games have no attribute {attr_name!r}")
        return [getattr(self, attr_name)] * len(rows)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Games have no attributes of their own to set."""
        raise AttributeError(f"{attr_name!r} cannot be set on single games; pass it to SolitaireVecEnv")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """Games are not wrapped; what a ``Monitor`` would log is in ``infos[i]["episode"]``."""
        from stable_baselines3.common.monitor import Monitor

        return [issubclass(wrapper_class, Monitor)] * len(list(self._get_indices(indices)))
