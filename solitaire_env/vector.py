"""The native vector environment: many games in one compiled step."""

from typing import Any, Final, Literal, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from typing_extensions import Unpack

from solitaire_env.arguments import GameArguments, MaskDtype, check_arguments
from solitaire_env.core.batch import Batch, Draw, Start
from solitaire_env.core.deals import Deal
from solitaire_env.core.layout import PLAY
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import BatchRow, check_options, need_start, picture, read_start, spaces_of
from solitaire_env.family import Games
from solitaire_env.render import RENDER_FPS, RENDER_MODES
from solitaire_env.util.arguments import check_choice, check_count, check_flag
from solitaire_env.util.lazy import cached_property
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number

Array = npt.NDArray[Any]

_INFOS: Final = ("action_mask", "invalid_action", "is_success", "cards_home", "deal")
_MARKS: Final = tuple(f"_{name}" for name in _INFOS)
"""Infos that mark the rows with a value of the info of that name."""


class _Views(NamedTuple):
    """Read-only views of the arrays that reset and step return: making them in each step takes longer.

    Other libraries, such as torch, can write to them all the same. The engine takes neither cards nor legal
    actions from these arrays; only whether a game is stuck is read from the mask.
    """

    results: tuple[Array, ...]
    """Observations, rewards, terminated and truncated."""
    infos: dict[str, Array]
    """By the names in :data:`_INFOS`."""
    all: Array
    """Marks all games."""


def read_only(array: Array) -> Array:
    """A view of an array for users, in which NumPy does not write."""
    view = array.view()
    view.setflags(write=False)
    return view


AutoresetName = Literal["NextStep", "SameStep", "Disabled"]


class SolitaireVectorEnv(VectorEnv[Array, Array, Array]):
    """``num_envs`` games; row ``i`` plays like a single environment.

    Takes every argument of :class:`~solitaire_env.env.SolitaireEnv`, and:

    num_envs
        Number of games played at a time.
    autoreset_mode
        ``"NextStep"`` (default): the step after the end of a game ignores its action and deals the next game;
        ``"SameStep"``: the step that ends a game also deals the next; ``"Disabled"``: reset ended games with
        ``reset_mask``. As in Gymnasium's own vector environments.
    copy
        With False, the returned arrays are read-only views, which the next reset or step overwrites. This
        saves a copy.

    Infos are those of the single environment, with an entry for each game: ``action_mask``
    ``[num_envs, actions]``, of type ``mask_dtype``; ``invalid_action`` and ``is_success``, bool;
    ``cards_home``; ``deal``, -1 after a position. For each ``key``, ``_key`` marks the games that have it.
    With SameStep they are those of the next game where a game has ended: its own are in ``final_info``, and
    its last observation is in ``final_obs``. Both keys are present only in steps in which a game ends.

    ``reset(options=...)`` takes ``deal``, ``deals``, ``position`` or ``state``: one for all games, or one for
    each of the ``num_envs`` games (``deals``: a list of texts). With ``reset_mask`` (a bool array
    ``[num_envs]`` with a True), only the marked games are reset, and the values for others are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from solitaire_env import SolitaireVectorEnv
    >>> env = SolitaireVectorEnv("busy-aces", 64, moves="supermove", autoreset_mode="SameStep")
    >>> observations, info = env.reset(options={"deal": list(range(64))})
    >>> ended = won = 0
    >>> for _ in range(100):
    ...     actions = info["action_mask"].argmax(1)  # the first legal action of each game
    ...     observations, rewards, terminated, truncated, info = env.step(actions)
    ...     over = terminated | truncated
    ...     ended += int(over.sum())
    ...     if over.any():
    ...         won += int(info["final_info"]["is_success"][over].sum())
    >>> marked = np.arange(64) < 10
    >>> observations, info = env.reset(options={"deal": 7, "reset_mask": marked})
    >>> env.deal(3), int(info["cards_home"][3])
    (7, 0)
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}

    def __init__(
        self,
        games: Games = "forty-thieves",
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetName | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **arguments: Unpack[GameArguments],
    ) -> None:
        checked = check_arguments(arguments, GameArguments)
        batch: Batch = checked.batch(games, num_envs)
        self.batch = batch
        self.num_envs = batch.size
        self.render_mode, self.render_size = checked.render_mode, checked.render_size
        self.mask_dtype: MaskDtype = checked.mask_dtype
        if not isinstance(autoreset_mode, AutoresetMode):
            check_choice("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.copy = check_flag("copy", copy)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = spaces_of(batch)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        # What the next step does to each game: a finished game is dealt again, or must be reset first.
        self._todo = np.full(self.num_envs, PLAY, dtype=np.int8)
        self._some_ended = False
        self._names = np.array([group.variant.name for group in batch.groups], dtype=object)

    def __repr__(self) -> str:
        """What is played, and the number of games."""
        return f"{type(self).__name__}({self.batch.title}, num_envs={self.num_envs})"

    @property
    def game(self) -> GameSpec:
        """The game, of an environment of one variant."""
        return self.batch.spec

    # ------------------------------------------------------------------------------- Gymnasium

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new games in all rows, or in those of ``options["reset_mask"]``.

        Observations and infos of all games are returned. ``seed`` is a seed for each game, or a single
        number: then game ``i`` has ``seed + i``. The seed chooses the deals that no option names.
        """
        options = check_options(self.batch, options, "reset_mask")
        mask = self._check_reset_mask(options.pop("reset_mask", None))
        rows = np.flatnonzero(mask)
        seeds = self._check_seeds(seed)
        starts, played = self._read_starts(rows, options)
        if not self.batch.started and len(rows) < self.num_envs:
            raise gym.error.ResetNeeded("the first reset() must be of all games, without a reset_mask")
        if not self.batch.started:
            self.batch.streams[:] = self.np_random.integers(2**64, size=self.num_envs, dtype=np.uint64)
        seeded = [row for row in rows.tolist() if seeds[row] is not None]
        generators = [seeding.np_random(seeds[row])[0] for row in seeded]
        self.batch.seed_streams(np.array(seeded, dtype=np.int64), generators)
        self.batch.begin(rows, starts, played)
        self._set_todo(rows, PLAY)
        return self._results()[0], self._infos(mask)

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play one action in every game (int ``[num_envs]``); ``on_invalid`` decides about illegal ones."""
        need_start(self.batch)
        batch = self.batch
        if self.autoreset_mode is AutoresetMode.DISABLED and self._some_ended:
            rows = np.flatnonzero(self._todo != PLAY).tolist()
            raise gym.error.ResetNeeded(
                f"games {rows[:10]} have ended: reset them with options['reset_mask'] first"
            )
        actions = batch.read_actions(actions, self._todo)
        ended = batch.step(actions, self._todo)
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            if ended:
                infos = self._final()
                batch.deal_next(np.flatnonzero(batch.ended))
        elif ended or self._some_ended:
            # True is 1: PLAY becomes DEAL.
            np.add(batch.ended, PLAY, out=self._todo)
            self._some_ended = ended > 0
        infos.update(self._infos(self._views.all))
        observations, rewards, terminated, truncated = self._results()
        return observations, rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """The boards, one per game: as text, or as pixels, uint8 ``[height, width, 3]`` each."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() without a render_mode: pass one to gym.make_vec, such as render_mode='ansi'"
            )
            return None
        need_start(self.batch)
        return tuple(picture(self, row) for row in range(self.num_envs))

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The current legal actions, bool ``[num_envs, actions]``, under the name that sb3-contrib expects.

        All actions of an ended game are marked, so that a policy can choose one, which is ignored.
        """
        need_start(self.batch)
        return self.batch.mask.astype(np.bool_)

    # -------------------------------------------------------------------------------- the games

    def _game(self, row: int) -> BatchRow:
        """One of the games."""
        return BatchRow(self.batch, self.batch.check_row(row), self.mask_dtype)

    def position(self, row: int, hidden: bool = False) -> str:
        """Full position text of a game; with ``hidden=True`` as the player sees it."""
        return self._game(row).position(hidden)

    def deal(self, row: int) -> Deal | None:
        """The deal of a game: a number, another program's deal by name, or None after a position."""
        return self._game(row).deal

    def get_state(self, row: int) -> dict[str, Any]:
        """The complete state of a game, in the format of :meth:`SolitaireEnv.get_state`."""
        return self._game(row).get_state()

    def set_state(self, row: int, state: dict[str, Any]) -> tuple[Array, dict[str, Any]]:
        """Restore a state of :meth:`get_state` or of a single environment; return the observation and info
        of the game.
        """
        need_start(self.batch)
        game = self._game(row)
        restored = game.set_state(state)
        self._set_todo(game.row, PLAY)
        return restored

    def copy_rows(self, sources: Any, targets: Any) -> None:
        """Copy the games of the rows ``sources`` to ``targets`` (int ``[n]`` each).

        For search: a copy continues exactly like its source, including future deals. A row may occur several
        times in ``sources``, but once in ``targets``; rows in both are read first. Observations and infos
        that were returned before do not change: the observations of the targets are now those of the sources.
        """
        need_start(self.batch)
        sources = self.batch.check_rows("sources", sources)
        targets = self.batch.check_rows("targets", targets)
        if len(sources) != len(targets):
            raise ValueError(
                f"{len(sources)} sources were given for {len(targets)} targets, allowed: one each"
            )
        self.batch.copy_rows(sources, targets)
        self._set_todo(targets, self._todo[sources])

    def resample(self, rows: Any, seed: int = 0) -> None:
        """Deal the hidden cards of some rows (int ``[n]``, each once) again, in place.

        For planners, after :meth:`copy_rows`: the games of ``rows[i]`` get the hidden cards that
        :meth:`SolitaireEnv.resample` deals with ``seed + i``. Observations and masks do not change.
        """
        need_start(self.batch)
        rows = self.batch.check_rows("rows", rows)
        self.batch.check_once("rows", rows)
        first = np.uint64(check_count("seed", seed))
        self.batch.resample(rows, first + np.arange(len(rows), dtype=np.uint64))

    # --------------------------------------------------------------------------------- details

    def _set_todo(self, rows: int | npt.NDArray[np.int64], todo: int | npt.NDArray[np.int8]) -> None:
        """Set what the next step does to the games in these rows."""
        self._todo[rows] = todo
        self._some_ended = bool((self._todo != PLAY).any())

    @cached_property
    def _views(self) -> _Views:
        batch = self.batch
        infos = (
            batch.mask.view(self.mask_dtype),
            batch.events.invalid.view(np.bool_),
            batch.won,
            batch.cards_home,
            batch.deal_numbers,
        )
        results = batch.observations(), batch.rewards, batch.terminated, batch.truncated
        return _Views(
            tuple(map(read_only, results)),
            dict(zip(_INFOS, map(read_only, infos), strict=True)),
            read_only(np.ones(self.num_envs, dtype=np.bool_)),
        )

    def __getstate__(self) -> dict[str, Any]:
        """A copy makes views of its own arrays."""
        return {name: value for name, value in self.__dict__.items() if name != "_views"}

    def _results(self) -> tuple[Array, ...]:
        """Observations, rewards, terminated and truncated."""
        self.batch.observations()  # writes to the array of the view
        views = self._views.results
        return tuple([view.copy() for view in views]) if self.copy else views

    def _infos(self, mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Infos in Gymnasium's vector format: an array per key, and ``_key`` for the rows that have it."""
        infos = self._views.infos
        if self.copy:
            infos = {key: view.copy() for key, view in infos.items()}
            mask = mask.copy()
        infos = infos | dict.fromkeys(_MARKS, mask)
        if self.batch.layout is not None:
            infos.update(variant=self._names[self.batch.played], _variant=mask)
        return infos

    def _final(self) -> dict[str, Any]:
        """The last observations and infos of finished games, before new ones are dealt."""
        ended = self.batch.ended.copy()
        observations = self.batch.observations()
        final = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended).tolist():
            final[row] = observations[row].copy()
        info = {key: value.copy() for key, value in self._infos(ended).items()}
        return {"final_obs": final, "_final_obs": ended, "final_info": info, "_final_info": ended}

    def _check_reset_mask(self, mask: Any) -> npt.NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if (
            not isinstance(mask, np.ndarray)
            or mask.shape != (self.num_envs,)
            or mask.dtype != np.bool_
            or not mask.any()
        ):
            raise ValueError(
                f"reset_mask is {shown(mask, 60)}, "
                f"allowed: a bool array of shape ({self.num_envs},), not all False"
            )
        return mask.copy()

    def _check_seeds(self, seed: Any) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        first = whole_number(seed)
        if first is not None:
            return [first + row for row in range(self.num_envs)]
        given = seed if isinstance(seed, (list, tuple)) else ()
        if len(given) != self.num_envs or not all(s is None or whole_number(s) is not None for s in given):
            raise TypeError(
                f"seed is {shown(seed, 60)}, allowed: None, a whole number, or a list of one for each of the "
                f"{self.num_envs} games"
            )
        return [None if s is None else int(s) for s in given]

    def _read_starts(
        self, rows: npt.NDArray[np.int64], options: dict[str, Any]
    ) -> tuple[list[Start | Draw | None], list[int | None]]:
        """The starts of some rows, and the indices of their variants; all are read before a game changes."""
        several = {name for name, value in options.items() if self._is_for_each(name, value)}
        if not several:
            number, start = read_start(self.batch, options)
            return [start] * len(rows), [number] * len(rows)
        read = [
            read_start(self.batch, {name: v[row] if name in several else v for name, v in options.items()})
            for row in rows.tolist()
        ]
        return [start for _, start in read], [number for number, _ in read]

    def _is_for_each(self, name: str, value: Any) -> bool:
        """Whether the value of a reset option is a list with one value per game."""
        kinds = (list, tuple, np.ndarray, range) if name == "deal" else (list, tuple)
        if not isinstance(value, kinds) or getattr(value, "ndim", 1) == 0:
            return False
        if name == "deals" and not all(isinstance(one, str) for one in value):
            return False  # numbers, of which every game draws one
        if len(value) != self.num_envs:
            raise ValueError(
                f"{len(value)} {name.rstrip('s')}s were given, allowed: one, or one for each of the "
                f"{self.num_envs} games"
            )
        return True
