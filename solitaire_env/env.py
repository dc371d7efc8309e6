"""The Gymnasium environment: one game at a time, of one variant or of several."""

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from typing_extensions import Unpack

from solitaire_env import notation
from solitaire_env.arguments import GameArguments, MaskDtype, check_arguments
from solitaire_env.core.batch import Batch, Draw, Group, IllegalActionError, Start
from solitaire_env.core.deals import Deal, check_deal
from solitaire_env.core.layout import action_number
from solitaire_env.core.observations import cards_high
from solitaire_env.core.position import Position, read_row
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Variant
from solitaire_env.family import Games
from solitaire_env.registration import resolve_variant
from solitaire_env.render import RENDER_FPS, RENDER_MODES, LastMove, last_move, render, render_png
from solitaire_env.splits import chosen_deals
from solitaire_env.util.arguments import check_count
from solitaire_env.util.messages import shown

_ROW_0 = np.zeros(1, dtype=np.int64)

_STARTS = ("deal", "deals", "position", "state")
"""Reset options that cannot be combined."""


def spaces_of(batch: Batch) -> tuple[Box, Discrete]:
    """The spaces of one game's observation (1-D) and actions."""
    if batch.settings.observation == "features":
        seen = Box(low=0.0, high=1.0, shape=(batch.spec.observation_size,), dtype=np.float32)
        return seen, Discrete(batch.num_actions)
    high = batch.layout.high if batch.layout else cards_high(batch.variant, batch.settings.information)
    return Box(low=np.zeros_like(high), high=high, dtype=np.int8), Discrete(batch.num_actions)


def check_options(batch: Batch, options: dict[str, Any] | None, *more: str) -> dict[str, Any]:
    """A copy of reset's options; unknown and conflicting ones raise an error."""
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"reset options are a {type(options).__name__}, allowed: a dict or None")
    options = dict(options or {})
    allowed = (*(["variant"] if batch.layout else []), *_STARTS, *more)
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise ValueError(f"unknown reset options {shown(unknown)}, allowed: {', '.join(map(repr, allowed))}")
    starts = [repr(option) for option in _STARTS if option in options]
    if len(starts) > 1:
        raise ValueError(f"reset options {' and '.join(starts)} cannot be combined")
    return options


def read_start(batch: Batch, options: dict[str, Any]) -> tuple[int | None, Start | Draw | None]:
    """From reset's checked options, the index of a game's variant, None for any, and its start, or the deals
    that it is drawn from.
    """
    variants = [group.variant for group in batch.groups]
    number = None if batch.layout else 0
    if "variant" in options:
        variant = resolve_variant(options["variant"])
        if variant not in variants:
            other = " with other rules" if variant.name in {v.name for v in variants} else ""
            raise ValueError(f"reset option 'variant' is {variant.name!r}{other}, allowed: {batch.names}")
        number = variants.index(variant)
    start: Start | Draw | None = None
    found = number
    if "state" in options:
        start = options["state"]
        found = batch.check_state(start)
    elif "position" in options:
        text = options["position"]
        named = (v for v in variants if isinstance(text, str) and f"variant: {v.name}\n" in text)
        start = notation.read_position(text, next(named, variants[0]) if number is None else variants[number])
        found = batch.check_position(start)
    elif "deal" in options:
        start = check_deal(variants[number or 0], options["deal"])
    elif "deals" in options:
        start = chosen_deals(options["deals"], variants if number is None else [variants[number]])
    if number is not None and found is not None and number != found:
        raise ValueError(
            f"reset option 'variant' is {variants[number].name!r}, allowed with this start: "
            f"{variants[found].name!r}"
        )
    return found, start


def need_start(batch: Batch) -> None:
    """Raise an error before the first reset."""
    if not batch.started:
        raise gym.error.ResetNeeded("no game has started: call reset() first")


def picture(env: Any, row: int, last: LastMove | None = None) -> Any:
    """The board of a row of an environment in its render mode."""
    need_start(env.batch)
    return render(env.render_mode, env.batch.visible(row), last, env.batch.deal_of(row), env.render_size)


class BatchRow:
    """One game of a batch, with the methods that all environments have in common.

    Parameters
    ----------
    batch
        The games.
    row
        The row of the game.
    mask_dtype
        Type of the mask in the infos.
    """

    def __init__(self, batch: Batch, row: int, mask_dtype: MaskDtype = "int8") -> None:
        self.batch = batch
        self.row = row
        self.mask_dtype: MaskDtype = mask_dtype
        """Type of the mask in the infos."""
        self._mask_type = np.dtype(mask_dtype)

    @property
    def game(self) -> GameSpec:
        """The game that is played."""
        return self.batch.group_of(self.row).spec

    @property
    def variant(self) -> Variant:
        """The rules of the game."""
        return self.game.variant

    @property
    def settings(self) -> Settings:
        """Observation, rewards and limits of an episode."""
        return self.game.settings

    def _observation(self) -> npt.NDArray[Any]:
        observation: npt.NDArray[Any] = self.batch.observations()[self.row].copy()
        return observation

    def _info(self) -> dict[str, Any]:
        """The info of reset and step.

        NumPy values, because TorchRL reads the dtype of each. Bools are 0-d arrays: Gymnasium's vector
        environments would turn NumPy's bool scalars into arrays of objects.
        """
        batch, row = self.batch, self.row
        info = {
            "action_mask": batch.mask[row].astype(self._mask_type),
            "deal": batch.deal_numbers[row],
            "invalid_action": np.array(batch.events.invalid[row], dtype=np.bool_),
            "is_success": np.array(batch.won[row]),
            "cards_home": batch.home[row],
        }
        if batch.layout is not None:
            info["variant"] = self.variant.name
        return info

    # ---------------------------------------------------------------------------------- actions

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions, bool ``[n]``; the name is that of sb3-contrib."""
        need_start(self.batch)
        mask: npt.NDArray[np.bool_] = self.batch.mask[self.row].astype(np.bool_)
        return mask

    def action_text(self, action: int) -> str:
        """Text of an action: ``t3>f``."""
        return self.batch.action_text(action)

    def parse_action(self, text: str) -> int:
        """Number of an action from its text."""
        return self.batch.parse_action(text)

    def describe_action(self, action: int) -> str:
        """A legal action in this position, in words: ``9S to 6S, 4 cards, from t2 to t7``."""
        game, number = self._legal(action)
        return notation.describe_action(game.variant, game.state, self.row, number)

    def moved_cards(self, action: int) -> notation.Move:
        """The cards that a legal action moves in this position, and the piles."""
        game, number = self._legal(action)
        return notation.move_of(game.variant, game.state, self.row, number)

    def legal_actions(self) -> list[int]:
        """The legal actions; none if the game is finished, although its mask is all ones."""
        need_start(self.batch)
        if self.batch.status[self.row]:
            return []
        legal: list[int] = np.flatnonzero(self.batch.mask[self.row]).tolist()
        return legal

    def expand(self, action: int) -> list[int]:
        """A legal supermove as actions of the same game with single cards only (``moves="one card"``)."""
        _, number = self._legal(action)
        return self.batch.expand(self.row, number)

    def _legal(self, action: int) -> tuple[Group, int]:
        """The game, and its own number of a legal action; an illegal one raises an error."""
        need_start(self.batch)
        batch, row, number = self.batch, self.row, action_number(action)
        batch.action_text(number)  # raises an error for a number outside the space
        own = batch.own_action(row, number)
        if own is not None and batch.status[row]:
            raise IllegalActionError("the game is finished: no action is legal")
        if own is None or not batch.mask[row, number]:
            raise IllegalActionError(batch.explain_illegal(row, number))
        return batch.group_of(row), own

    # --------------------------------------------------------------------------------- position

    def position(self, hidden: bool = False) -> str:
        """The position text, in full; with ``hidden=True`` as the player sees it."""
        need_start(self.batch)
        position = self.batch.position(self.row)
        return notation.format_position(position.hidden() if hidden else position)

    @property
    def deal(self) -> Deal | None:
        """The deal of the game: a number, the name of another program's deal, or None after a position."""
        need_start(self.batch)
        return self.batch.deal_of(self.row)

    @property
    def observation_layout(self) -> dict[str, slice]:
        """Named slices of the observation."""
        return dict(self.batch.slices)

    def decode_observation(self, observation: npt.NDArray[np.int8]) -> Position:
        """The position in a ``cards`` observation."""
        if self.settings.observation != "cards":
            raise ValueError(f"observation is {self.settings.observation!r}, allowed for decoding: 'cards'")
        own, hidden = self.batch.own_observation(self.row, observation), self.settings.information == "memory"
        return read_row(self.variant, own, "observation", hidden=hidden)

    # ----------------------------------------------------------------------------- save, restore

    def get_state(self) -> dict[str, Any]:
        """The complete state of the game, including random state, as plain data (JSON-able)."""
        need_start(self.batch)
        return self.batch.get_state(self.row)

    def set_state(self, state: dict[str, Any]) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Restore a state of :meth:`get_state`; return its observation and info."""
        self.batch.set_state(self.row, state)
        return self._observation(), self._info()


class SolitaireEnv(BatchRow, gym.Env[npt.NDArray[Any], np.int64]):
    """
    ## Description
    One game of solitaire. Bring all cards home to the foundations, in suit from Ace to King. The rules of a
    game are those of its :class:`~solitaire_env.variants.Variant`; ``variant.describe()`` returns them.

    ## Action Space
    ``Discrete(n)``: one action is one move that a player would name, a single card or a sequence; see
    :class:`~solitaire_env.core.layout.ActionLayout` for the numbers and :mod:`solitaire_env.notation` for
    their texts. ``info["action_mask"]`` (int8 ``[n]``) is 1 for legal actions;
    ``action_space.sample(info["action_mask"])`` draws one.

    ## Observation Space
    ``observation="cards"``: ``Box`` int8 ``[size]``, card codes of the piles (bottom first, padded), cells,
    waste, then the foundations' top ranks and the stock count; ``observation_layout`` names the slices.
    ``observation="features"``: ``Box`` float32 ``[size]`` in [0, 1], for a plain multilayer perceptron.

    ## Starting State
    ``reset(seed=s)`` picks a deal; ``reset(options={"deal": 7})`` deals number 7 and ``"ms:11982"`` or
    ``"pysol:24"`` another program's deal; ``reset(options={"deals": "train-easy"})`` picks one of the deals
    that it names, as the argument ``deals`` does; ``reset(options={"position": text})`` starts from position
    text, ``reset(options={"state": state})`` from a state of :meth:`get_state`, random state included.
    Deal numbers below 2**20 are reserved for evaluation and are picked at random only from a split that the
    argument ``deals`` names. ``info["deal"]`` is the deal number, int64, and -1 for a game that did not start
    from one; :attr:`deal` names other deals too.

    ## Several Games
    An environment of several games chooses one at random at each reset; ``reset(options={"variant": name})``
    names it, and ``info["variant"]`` is its name. ``variant``, ``game`` and ``settings`` are those of the
    current game. All games have one action space, in which the same text is the same number, and one
    ``cards`` observation: each part is as large as the largest game needs it, and the rules of the game
    follow as numbers (:data:`~solitaire_env.core.family.RULE_FIELDS`).

    ## Rewards
    ``progress``: cards gone home in this step / cards that were not home at the deal. ``win``: 1 at the win.
    ``progress+win``: both.

    ## Episode End
    Terminated when the game is won or stuck (no legal action). Truncated at the step limit and, if
    ``stall_limit`` is set, after that many steps without progress: no card went home for the first time, was
    turned up or left the stock. With unlimited redeals a card must leave stock and waste, and the steps of
    one pass (the draws and the redeal) are added to the limit.
    ``info["is_success"]`` (bool) is True if the game is won, ``info["cards_home"]`` (int64) the number of
    cards home. All infos are NumPy arrays or scalars, so each has a dtype.

    ## Arguments
    games
        A game: its id or name, a :class:`Variant`, or its fields as a dict. Or several games: ``"train"``,
        ``"test"`` or ``"all"`` (:data:`~solitaire_env.family.SPLITS`), or a list.
    build, spaces, moves
        House rules of one game, as values of the variant's fields. ``moves="supermove"`` lets a one-card game
        carry a sequence over spaces as one action; :meth:`expand` returns its single moves.
    deals
        The deals that resets draw from, all with the same probability: the name of a split
        (:data:`~solitaire_env.splits.SPLITS`), such as ``"train-1k"``; a text, such as
        ``"2000000:2100000"``; a range, a list or an array of deal numbers from 2**20; None for all of these.
    observation, information
        See above; ``information="memory"`` shows the order of a stock that the player has seen,
        ``"thoughtful"`` that of any.
    reward
        The reward scheme.
    on_invalid
        What an illegal action does: ``"noop"`` changes nothing and sets ``info["invalid_action"]``,
        ``"raise"`` raises, ``"terminate"`` ends the episode.
    stall_limit
        See above; None for no limit.
    mask_dtype
        Type of ``info["action_mask"]``: ``"int8"``, for ``action_space.sample``, or ``"bool"``, for TorchRL.
    render_mode
        None; ``"ansi"``: :meth:`render` returns the board as text, in ASCII if standard output cannot print
        ``♣♦♥♠``; ``"rgb_array"``: as pixels, uint8 ``[height, width, 3]``. ``gym.make`` also takes
        ``"human"``: Gymnasium then shows the pixels in a window.
    render_size
        Width and height of the picture in pixels.
    max_episode_steps
        Step limit: a number, ``"registered"`` for that of the game's id, or None (default) for no limit.
        ``gym.make`` and ``gym.make_vec`` add the registered one, and for several games that of the longest.

    ## Version History
    Every game has its own version, :attr:`Variant.version`. All are v0, the first one.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}

    def __init__(self, games: Games = "forty-thieves", **arguments: Unpack[GameArguments]) -> None:
        checked = check_arguments(arguments, GameArguments)
        super().__init__(checked.batch(games, 1), 0, checked.mask_dtype)
        self.render_mode, self.render_size = checked.render_mode, checked.render_size
        self.observation_space, self.action_space = spaces_of(self.batch)
        self._num_actions = self.batch.num_actions
        self._last: LastMove | None = None

    # ------------------------------------------------------------------------------- Gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Start a new game: see the class for ``options``."""
        number, start = read_start(self.batch, check_options(self.batch, options))
        super().reset(seed=seed)
        if seed is not None or not self.batch.started:
            self.batch.seed_streams(_ROW_0, [self.np_random])
        self.batch.begin(_ROW_0, [start], [number])
        self._last = None
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Play one action: a whole number of the action space; NumPy and torch scalars are allowed."""
        need_start(self.batch)
        number = action_number(action)
        batch = self.batch
        if not 0 <= number < self._num_actions:
            batch.action_text(number)  # raises the error
        last = None if self.render_mode is None else self._describe_move(number)
        batch.step_one(number)
        self._last = last
        return (
            self._observation(),
            float(batch.rewards[0]),
            bool(batch.terminated[0]),
            bool(batch.truncated[0]),
            self._info(),
        )

    def render(self) -> Any:
        """The board in the render mode: text or pixels."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() without a render_mode: pass one to gym.make, such as render_mode='ansi'"
            )
            return None
        return picture(self, 0, self._last)

    def _describe_move(self, action: int) -> LastMove | None:
        """The description of an action that is about to be played; None if the game does not have it."""
        number = self.batch.own_action(0, action)
        game = self.batch.group_of(0)
        return None if number is None else last_move(game.variant, game.state, 0, number)

    def __repr__(self) -> str:
        """The game, and its position as the player sees it."""
        name = f"{type(self).__name__}({self.variant.name!r})"
        return f"{name}\n{notation.format_position(self.batch.visible(0))}" if self.batch.started else name

    def _repr_png_(self) -> bytes | None:
        """The board, for a notebook; None before the first reset, and without Pillow."""
        if not self.batch.started:
            return None
        return render_png(self.batch.visible(0), self._last, self.batch.deal_of(0))

    # ----------------------------------------------------------------------------- save, restore

    def set_state(self, state: dict[str, Any]) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Restore a state of :meth:`get_state`; return its observation and info."""
        restored = super().set_state(state)
        self._last = None
        return restored

    def clone(self) -> "SolitaireEnv":
        """A separate environment in the same state, random state and hidden cards included."""
        return copy.deepcopy(self)

    def resample(self, seed: int = 0) -> "SolitaireEnv":
        """A separate environment in the same state, except that the hidden cards are dealt again.

        For planners: the copy is consistent with all that the player has seen, and every order of the hidden
        cards has the same probability. Hidden are the face-down cards and, unless the player has seen it, the
        stock: nothing with ``information="thoughtful"``. What follows from the seed does not depend on the
        hidden cards of this environment. Unless the game hides nothing, the copy has no deal.

        Parameters
        ----------
        seed
            A whole number from 0.
        """
        need_start(self.batch)
        seeds = np.array([check_count("seed", seed)], dtype=np.uint64)
        world = self.clone()
        world.batch.resample(_ROW_0, seeds)
        return world
