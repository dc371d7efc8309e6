"""Environments that play many games, with a random one at each reset.

For learning across rules, and for playing games that were never seen in training: :data:`TRAIN` and
:data:`TEST` are constant lists of games.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.core.deals import Deal, check_deal
from solitaire_env.core.family import FamilyBatch, FamilyLayout, FamilyStart
from solitaire_env.core.layout import Information, action_number
from solitaire_env.core.rewards import RewardName
from solitaire_env.core.spec import GameSpec, OnInvalid, Settings
from solitaire_env.core.variant import Variant
from solitaire_env.env import (
    BatchRow,
    MaskDtype,
    check_mask_dtype,
    check_options,
    check_started,
    row_info,
)
from solitaire_env.notation import read_position
from solitaire_env.registration import resolve_variant, step_limit
from solitaire_env.render import (
    RENDER_FPS,
    SIZE,
    VECTOR_RENDER_MODES,
    LastMove,
    VectorRenderMode,
    check_render_mode,
    check_render_size,
    last_move,
    render,
)
from solitaire_env.util.arguments import check_choice, check_count
from solitaire_env.util.messages import shown
from solitaire_env.variants import VARIANTS
from solitaire_env.vector import SolitaireVectorEnv

TEST: Final = (
    "emperor", "corona", "napoleons-folly", "forty-and-eight", "zebra", "triple-line", "little-forty",
    "unlimited", "pluto", "russian-solitaire", "double-klondike-draw-3", "thieves-of-egypt", "squadron",
    "forecell", "kingcell", "relaxed-seahaven-towers", "westcliff", "waterloo",
)  # fmt: skip
"""Test games, each with a combination of rules that no game of :data:`TRAIN` has."""
TRAIN: Final = tuple(variant.name for variant in VARIANTS if variant.name not in TEST)
"""Training games: the other published ones."""
SPLITS: Final = {"train": TRAIN, "test": TEST, "all": tuple(variant.name for variant in VARIANTS)}

Games = str | Sequence[str | Variant | dict[str, Any]]
"""A split (``"train"``, ``"test"`` or ``"all"``) or a list of games."""

_OPTIONS: Final = ("variant", "deal", "position")


def read_games(games: Games) -> tuple[Variant, ...]:
    """The variants of a split or a list.

    Raises
    ------
    ValueError
        If the split is unknown, or the list is empty or names a game twice.
    """
    if isinstance(games, str):
        check_choice("split", games, SPLITS)
        games = SPLITS[games]
    if not isinstance(games, Iterable):
        raise TypeError(f"games are a {type(games).__name__}, allowed: a split or a list of games")
    variants = tuple(resolve_variant(game) for game in games)
    names = [variant.name for variant in variants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not variants or twice:
        raise ValueError(f"games are {shown(names, 60)}, allowed: one or more, each once")
    return variants


def _make_batch(
    games: Games,
    size: int,
    information: Information,
    reward: RewardName,
    on_invalid: OnInvalid,
    stall_limit: int | None,
    max_episode_steps: int | None,
) -> FamilyBatch:
    specs = [
        GameSpec(
            variant,
            Settings(
                information=information,
                reward=reward,
                on_invalid=on_invalid,
                stall_limit=stall_limit,
                max_episode_steps=step_limit(variant) if max_episode_steps is None else max_episode_steps,
            ),
        )
        for variant in read_games(games)
    ]
    return FamilyBatch(specs, size)


def _read_start(batch: FamilyBatch, options: dict[str, Any]) -> FamilyStart:
    """The start of a game from reset's checked options."""
    variants = batch.layout.variants
    names = [variant.name for variant in variants]
    game = None
    if "variant" in options:
        name = resolve_variant(options["variant"]).name
        if name not in names:
            raise ValueError(f"reset option 'variant' is {name!r}, allowed: {', '.join(names)}")
        game = names.index(name)
    if "position" in options:
        text = options["position"]
        named = next((v for v in variants if isinstance(text, str) and f"variant: {v.name}\n" in text), None)
        position = read_position(text, variants[game] if game is not None else named or variants[0])
        if position.variant not in variants:
            raise ValueError(f"position is of variant {position.variant.name!r}, allowed: {', '.join(names)}")
        batch.batches[variants.index(position.variant)].check_position(position)
        return FamilyStart(game, position)
    deal = options.get("deal")
    return FamilyStart(game, None if deal is None else check_deal(variants[game or 0], deal))


def _space(layout: FamilyLayout) -> Box:
    return Box(low=np.zeros_like(layout.high), high=layout.high, dtype=np.int8)


class FamilyVectorEnv(SolitaireVectorEnv):
    """``num_envs`` games, each of one of several variants; see :class:`FamilyEnv`.

    Row ``i`` of ``reset(seed=s)`` plays like a single environment with ``seed=s + i``. ``info["variant"]``
    contains the names of the games, an array of objects ``[num_envs]``.
    """

    batch: FamilyBatch  # type: ignore[assignment]
    _reset_options = _OPTIONS

    def __init__(
        self,
        num_envs: int = 1,
        games: Games = "train",
        *,
        information: Information = "player",
        reward: RewardName = "progress",
        on_invalid: OnInvalid = "noop",
        stall_limit: int | None = None,
        mask_dtype: MaskDtype = "int8",
        max_episode_steps: int | None = None,
        render_mode: VectorRenderMode | None = None,
        render_size: tuple[int, int] = SIZE,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        self.batch = _make_batch(
            games, num_envs, information, reward, on_invalid, stall_limit, max_episode_steps
        )
        self._set_up(mask_dtype, render_mode, render_size, autoreset_mode, copy)
        self.variants = self.batch.layout.variants
        self._names = np.array([variant.name for variant in self.variants], dtype=object)
        self.single_observation_space = _space(self.batch.layout)
        self.single_action_space = Discrete(len(self.batch.layout.texts))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    @property
    def layout(self) -> FamilyLayout:
        """The layout of the observation, and the text and number of each action."""
        return self.batch.layout

    def __repr__(self) -> str:
        """The numbers of games and variants."""
        return f"{type(self).__name__}({len(self.variants)} games, num_envs={self.num_envs})"

    def _infos(self, mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        infos = super()._infos(mask)
        return {**infos, "variant": self._names[self.batch.games], "_variant": infos["_deal"]}

    def _game(self, row: int) -> BatchRow:
        self._need_start()
        row = self.batch.check_row(row)
        return BatchRow(self.batch.game_of(row), row)

    def get_state(self, row: int) -> dict[str, Any]:
        """The complete state of a game, including its random future, as plain data (JSON-able)."""
        self._need_start()
        return self.batch.get_state(self.batch.check_row(row))

    def _read_start(self, options: dict[str, Any]) -> FamilyStart:
        return _read_start(self.batch, options)

    def _last_move(self, row: int, action: int) -> LastMove:
        batch = self.batch.game_of(row)
        own = int(self.layout.own_actions[self.batch.games[row], action])
        return last_move(batch.variant, batch.state, row, own)


class FamilyEnv(gym.Env[npt.NDArray[Any], np.int64]):
    """
    ## Description
    One of several games of solitaire, chosen at random at each reset, with the same observation and action
    space for all.

    ## Action Space
    ``Discrete(n)``: the moves of all games. The same text is the same number in each of them.
    ``info["action_mask"]`` (int8 ``[n]``) is 1 for legal actions.

    ## Observation Space
    ``Box`` int8 ``[size]``: tableau piles, cells, waste, foundations, stock count, redeals and base as in the
    ``cards`` observation of a single game, each part as large as the largest game needs it; then the rules of
    the game as numbers (:data:`~solitaire_env.core.family.RULE_FIELDS`). ``layout.slices`` names the parts.

    ## Starting State
    ``reset(seed=s)`` picks a game and a deal. ``reset(options={"variant": "klondike", "deal": 7})`` names
    both; ``options={"position": text}`` starts from position text. ``info["variant"]`` is the game's name.

    ## Rewards and Episode End
    As :class:`~solitaire_env.env.SolitaireEnv`; the step limit is the registered one of the game.

    ## Arguments
    games
        ``"train"`` (default), ``"test"``, ``"all"``, or a list of games.
    information, reward, on_invalid, stall_limit, mask_dtype, render_size
        As :class:`~solitaire_env.env.SolitaireEnv`.
    max_episode_steps
        Step limit for all games, instead of the registered ones.
    render_mode
        None, ``"ansi"``, ``"ascii"`` or ``"rgb_array"``.
    """

    metadata: dict[str, Any] = {"render_modes": list(VECTOR_RENDER_MODES), "render_fps": RENDER_FPS}

    def __init__(
        self,
        games: Games = "train",
        *,
        information: Information = "player",
        reward: RewardName = "progress",
        on_invalid: OnInvalid = "noop",
        stall_limit: int | None = None,
        mask_dtype: MaskDtype = "int8",
        max_episode_steps: int | None = None,
        render_mode: VectorRenderMode | None = None,
        render_size: tuple[int, int] = SIZE,
    ) -> None:
        self.render_mode = check_render_mode(render_mode, VECTOR_RENDER_MODES)
        self.render_size = check_render_size(render_size)
        self.batch = _make_batch(games, 1, information, reward, on_invalid, stall_limit, max_episode_steps)
        self.layout = self.batch.layout
        """The layout of the observation, and the text and number of each action."""
        self.variants = self.layout.variants
        self.mask_dtype = check_mask_dtype(mask_dtype)
        self.observation_space = _space(self.layout)
        self.action_space = Discrete(len(self.layout.texts))
        self._started = False
        self._last: LastMove | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.int8], dict[str, Any]]:
        """Start a new game: see the class for ``options``."""
        start = _read_start(self.batch, check_options(options, _OPTIONS))
        super().reset(seed=seed)
        row = np.zeros(1, dtype=np.int64)
        if seed is not None or not self._started:
            self.batch.seed_streams(row, [self.np_random])
        self.batch.begin(row, [start])
        self._started, self._last = True, None
        return self.batch.observations()[0].copy(), self._info()

    def step(self, action: Any) -> tuple[npt.NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Play one action: a whole number of the action space."""
        check_started(self._started)
        number = action_number(action)
        batch = self.batch
        actions = batch.read_actions([number], batch.everyone)
        own = int(self.layout.own_actions[batch.games[0], number])
        last = None
        if self.render_mode is not None and own >= 0:
            last = last_move(self.variant, batch.game_of(0).state, 0, own)
        batch.step(actions, batch.everyone)
        self._last = last
        return (
            batch.observations()[0].copy(),
            float(batch.rewards[0]),
            bool(batch.terminated[0]),
            bool(batch.truncated[0]),
            self._info(),
        )

    def render(self) -> Any:
        """The board, as text or as pixels (uint8 ``[height, width, 3]``)."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() without a render_mode: pass one to gym.make, such as render_mode='ansi'"
            )
            return None
        check_started(self._started)
        batch = self.batch
        return render(self.render_mode, batch.visible(0), self._last, batch.deal_of(0), self.render_size)

    def _info(self) -> dict[str, Any]:
        return {**row_info(self.batch, 0, np.dtype(self.mask_dtype)), "variant": self.variant.name}

    @property
    def variant(self) -> Variant:
        """The current game."""
        return self.batch.game_of(0).variant

    @property
    def game(self) -> BatchRow:
        """The current game, with methods that use its own action numbers."""
        check_started(self._started)
        return BatchRow(self.batch.game_of(0), 0)

    @property
    def deal(self) -> Deal | None:
        """The deal of the game: a number, the name of another program's deal, or None after a position."""
        return self.game.deal

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions, bool ``[n]``; the name is that of sb3-contrib."""
        check_started(self._started)
        mask: npt.NDArray[np.bool_] = self.batch.state.mask[0].astype(np.bool_)
        return mask

    def action_text(self, action: int) -> str:
        """Text of an action: ``t3>f``."""
        return self.layout.texts[self._number(action)]

    def parse_action(self, text: str) -> int:
        """Number of an action from its text."""
        if not isinstance(text, str) or text not in self.layout.numbers:
            raise ValueError(
                f"no game has action {shown(text)}, allowed: such as {', '.join(self.layout.texts[:3])}"
            )
        return self.layout.numbers[text]

    def describe_action(self, action: int) -> str:
        """A legal action in this position, in words."""
        own = int(self.layout.own_actions[self.batch.games[0], self._number(action)])
        if own < 0:
            raise IllegalActionError(
                f"{self.variant.name} has no action {self.action_text(action)}, allowed: its legal ones"
            )
        return self.game.describe_action(own)

    def _number(self, action: Any) -> int:
        return check_count("action", action, 0, len(self.layout.texts) - 1)

    def position(self, hidden: bool = False) -> str:
        """The position text, in full; with ``hidden=True`` as the player sees it."""
        return self.game.position(hidden)

    def get_state(self) -> dict[str, Any]:
        """The complete state, including the random future, as plain data (JSON-able)."""
        check_started(self._started)
        return self.batch.get_state(0)

    def set_state(self, state: dict[str, Any]) -> tuple[npt.NDArray[np.int8], dict[str, Any]]:
        """Restore a state of :meth:`get_state`; return its observation and info."""
        self.batch.set_state(0, state)
        self._started, self._last = True, None
        return self.batch.observations()[0].copy(), self._info()
