"""The Gymnasium environment of one game."""

from dataclasses import asdict
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from solitaire_env import notation
from solitaire_env.core.batch import Batch, IllegalActionError, Start
from solitaire_env.core.deals import Deal, check_deal
from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.observations import cards_high, decode_cards
from solitaire_env.core.position import Position
from solitaire_env.core.rewards import RewardName
from solitaire_env.core.spec import GameSpec, OnInvalid, Settings
from solitaire_env.core.variant import Build, Moves, Spaces, Variant
from solitaire_env.registration import resolve_variant
from solitaire_env.render import (
    RENDER_FPS,
    RENDER_MODES,
    SIZE,
    LastMove,
    RenderMode,
    check_render_mode,
    check_render_size,
    last_move,
    render,
)
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number


def observation_space(spec: GameSpec) -> Box:
    """The space of one game's observation, 1-D."""
    if spec.settings.observation == "cards":
        high = cards_high(spec.variant, spec.settings.information)
        return Box(low=np.zeros_like(high), high=high, dtype=np.int8)
    return Box(low=0.0, high=1.0, shape=(spec.observation_size,), dtype=np.float32)


_ROW_0 = np.zeros(1, dtype=np.int64)

RESET_OPTIONS = ("deal", "position")


def check_options(options: dict[str, Any] | None, allowed: tuple[str, ...] = RESET_OPTIONS) -> dict[str, Any]:
    """A copy of reset's options, unknown and contradicting ones refused."""
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"reset options are a {type(options).__name__}, allowed: a dict or None")
    options = dict(options or {})
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise ValueError(f"unknown reset options {shown(unknown)}, allowed: {', '.join(map(repr, allowed))}")
    if "deal" in options and "position" in options:
        raise ValueError("reset options 'deal' and 'position' exclude each other")
    return options


def read_start(batch: Batch, options: dict[str, Any]) -> Start | None:
    """What reset's options, which are checked, say that a game of the batch starts from."""
    if "position" in options:
        position = notation.read_position(options["position"], batch.variant)
        batch.check_position(position)
        return position
    return check_deal(batch.variant, options["deal"]) if "deal" in options else None


def check_started(started: bool) -> None:
    """Refuse what needs a game before the first reset."""
    if not started:
        raise gym.error.ResetNeeded("call reset() before anything that needs a game")


def position_text(batch: Batch, row: int, hidden: bool) -> str:
    """The position text of a game, in full or as the player sees it."""
    position = batch.position(row)
    return notation.format_position(position.hidden() if hidden else position)


class SolitaireEnv(gym.Env[npt.NDArray[Any], np.int64]):
    """
    ## Description
    One game of solitaire. Bring all cards home to the foundations, in suit from Ace to King. The rules of a
    game are those of its :class:`~solitaire_env.variants.Variant`; ``variant.describe()`` tells them.

    ## Action Space
    ``Discrete(n)``: one action is one move that a player would name, a single card or a sequence; see
    :class:`~solitaire_env.core.layout.ActionLayout` for the numbers and :mod:`solitaire_env.notation` for
    their texts. ``info["action_mask"]`` (int8 ``[n]``) tells which are legal;
    ``action_space.sample(info["action_mask"])`` picks one.

    ## Observation Space
    ``observation="cards"``: ``Box`` int8 ``[size]``, card codes of the piles (bottom first, padded), cells,
    waste, then the foundations' top ranks and the stock count; ``observation_layout`` names the slices.
    ``observation="features"``: ``Box`` float32 ``[size]`` in [0, 1], for a plain multilayer perceptron.

    ## Starting State
    ``reset(seed=s)`` picks a deal; ``reset(options={"deal": 7})`` deals number 7 and ``"ms:11982"`` or
    ``"pysol:24"`` another program's deal; ``reset(options={"position": text})`` starts from position text.
    Deal numbers below 2**20 are kept for evaluation and are never picked at random. ``info["deal"]`` is the
    deal number, an int, and -1 for a game that did not start from one; :attr:`deal` names other deals too.

    ## Rewards
    ``progress``: cards gone home in this step / all cards. ``win``: 1 at the win. ``progress+win``: both.

    ## Episode End
    Terminated when the game is won or stuck (no legal action). Truncated at the registered step limit, and at
    ``stall_limit`` steps without a card going home or coming off the stock, when one is set.
    ``info["is_success"]`` tells whether the game is won, ``info["cards_home"]`` how many cards are home.

    ## Arguments
    variant
        A published game's name, a :class:`Variant`, or its fields as a dict.
    build, spaces, moves
        House rules in the variant's words. ``moves="supermove"`` lets a one-card game carry a sequence over
        spaces as one action; :meth:`expand` gives the single moves that it stands for.
    observation, information
        See above; ``information="thoughtful"`` shows the order of the stock.
    reward
        The reward scheme.
    on_invalid
        What an illegal action does: ``"noop"`` changes nothing and sets ``info["invalid_action"]``,
        ``"raise"`` raises, ``"terminate"`` ends the episode.
    stall_limit
        See above; None is none.
    render_mode
        None; ``"ansi"``: :meth:`render` gives the board as text; ``"rgb_array"``: as pixels, uint8
        ``[height, width, 3]``; ``"human"``: a window shows every reset and step, ``metadata["render_fps"]`` a
        second, until :meth:`close` or whoever looks closes it.
    render_size
        Width and height of the picture in pixels.

    ## Version History
    v0: first version.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}

    def __init__(
        self,
        variant: str | Variant | dict[str, Any] = "forty-thieves",
        *,
        build: Build | None = None,
        spaces: Spaces | None = None,
        moves: Moves | None = None,
        observation: Observation = "cards",
        information: Information = "player",
        reward: RewardName = "progress",
        on_invalid: OnInvalid = "noop",
        stall_limit: int | None = None,
        render_mode: RenderMode | None = None,
        render_size: tuple[int, int] = SIZE,
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        self.render_size = check_render_size(render_size)
        self.variant = resolve_variant(variant, build=build, spaces=spaces, moves=moves)
        self.settings = Settings(
            observation=observation,
            information=information,
            reward=reward,
            on_invalid=on_invalid,
            stall_limit=stall_limit,
        )
        self.game = GameSpec(self.variant, self.settings)
        self.observation_space = observation_space(self.game)
        self._actions = self.game.actions
        self.action_space = Discrete(self._actions.size)
        self.batch = Batch(self.game, 1)
        self._started = False
        self._last: LastMove | None = None
        self._screen: Any = None

    # ------------------------------------------------------------------------------- Gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Start a new game: see the class for ``options``."""
        start = read_start(self.batch, check_options(options))
        super().reset(seed=seed)
        if seed is not None or not self._started:
            self.batch.seed_streams(_ROW_0, [self.np_random])
        self.batch.begin(_ROW_0, [start])
        self._started = True
        self._last = None
        if self.render_mode == "human":
            self._show()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Play one action: a whole number of the action space, a NumPy or torch scalar included."""
        self._need_start()
        number = _action_number(action)
        self._actions.decode(number)
        batch = self.batch
        if self.render_mode is None:
            batch.step(np.array([number], dtype=np.int64), batch.everyone)
        else:
            self._step_and_show(number)
        return (
            self._observation(),
            float(batch.rewards[0]),
            bool(batch.terminated[0]),
            bool(batch.truncated[0]),
            self._info(),
        )

    def render(self) -> Any:
        """The board, as the render mode says: text, pixels, or None as a window shows it already."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() without a render_mode: pass one to gym.make, such as render_mode='ansi'"
            )
            return None
        self._need_start()
        return None if self.render_mode == "human" else self._picture(self.render_mode)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._screen is not None:
            self._screen.close()

    def _picture(self, mode: str) -> Any:
        return render(mode, self.batch.visible(0), self._last, self.batch.deal_of(0), self.render_size)

    def __repr__(self) -> str:
        """The game, and its position as the player sees it."""
        name = f"{type(self).__name__}({self.variant.name!r})"
        return f"{name}\n{notation.format_position(self.batch.visible(0))}" if self._started else name

    def _step_and_show(self, number: int) -> None:
        last = last_move(self.variant, self.batch.state, 0, number)
        self.batch.step(np.array([number], dtype=np.int64), self.batch.everyone)
        self._last = last
        if self.render_mode == "human":
            self._show()

    def _show(self) -> None:
        if self._screen is None:
            from solitaire_env.render.screen import Screen

            self._screen = Screen(self.variant.title)
        if not self._screen.closed:
            self._screen.show(self._picture("human"), self.metadata["render_fps"])

    def _repr_html_(self) -> str | None:
        """The board as SVG, for a notebook; None before the first reset."""
        if not self._started:
            return None
        from solitaire_env.render.board import headline
        from solitaire_env.render.svg import render_svg

        words, move = self._last or ("", None)
        position = self.batch.visible(0)
        return render_svg(position, move=move, caption=headline(position, self.batch.deal_of(0)), note=words)

    def _observation(self) -> npt.NDArray[Any]:
        observation: npt.NDArray[Any] = self.batch.observations()[0].copy()
        return observation

    def _info(self) -> dict[str, Any]:
        state = self.batch.state
        home = int(state.home[0])
        return {
            "action_mask": state.mask[0].copy(),
            "deal": int(self.batch.deal_numbers[0]),
            "invalid_action": bool(self.batch.events.invalid[0]),
            "is_success": home == self.batch.rules.cards,
            "cards_home": home,
        }

    def _need_start(self) -> None:
        check_started(self._started)

    # ---------------------------------------------------------------------------------- actions

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions, bool ``[n]``, under the name that sb3-contrib asks for."""
        self._need_start()
        mask: npt.NDArray[np.bool_] = self.batch.state.mask[0].astype(np.bool_)
        return mask

    def action_text(self, action: int) -> str:
        """Text of an action: ``t3>f``."""
        return notation.action_text(self.variant, _action_number(action))

    def parse_action(self, text: str) -> int:
        """Number of an action from its text."""
        return notation.parse_action(self.variant, text)

    def describe_action(self, action: int) -> str:
        """What a legal action does in this position, in words: ``9S to 6S, 4 cards, from t2 to t7``."""
        return notation.describe_action(self.variant, self.batch.state, 0, self._legal(action))

    def move(self, action: int) -> notation.Move:
        """What a legal action moves in this position, and between which piles."""
        return notation.move_of(self.variant, self.batch.state, 0, self._legal(action))

    def legal_actions(self) -> list[int]:
        """The legal actions; none when the game is finished, whose mask is all ones."""
        self._need_start()
        if self.batch.state.status[0]:
            return []
        legal: list[int] = np.flatnonzero(self.batch.state.mask[0]).tolist()
        return legal

    def expand(self, action: int) -> list[int]:
        """A legal supermove as actions of the same game with single cards only (``moves="one card"``)."""
        return self.batch.expand(0, self._legal(action))

    def _legal(self, action: int) -> int:
        """The number of an action, refused when it is not legal here."""
        self._need_start()
        number = _action_number(action)
        self._actions.decode(number)
        if self.batch.state.status[0]:
            raise IllegalActionError("the game is finished: no action is legal")
        if not self.batch.state.mask[0, number]:
            raise IllegalActionError(self.batch.explain_illegal(0, number))
        return number

    # --------------------------------------------------------------------------------- position

    def position(self, hidden: bool = False) -> str:
        """The position text, in full; with ``hidden=True`` as the player sees it."""
        self._need_start()
        return position_text(self.batch, 0, hidden)

    @property
    def deal(self) -> Deal | None:
        """What was dealt: a number, the name of another program's deal, or None after a position."""
        self._need_start()
        return self.batch.deal_of(0)

    @property
    def observation_layout(self) -> dict[str, slice]:
        """Named slices of the observation."""
        return dict(self.game.slices)

    def decode_observation(self, observation: npt.NDArray[np.int8]) -> Position:
        """The position that a ``cards`` observation shows."""
        if self.settings.observation != "cards":
            raise ValueError(f"observation {self.settings.observation!r} has no decoder, 'cards' has")
        return decode_cards(self.variant, observation)

    # ----------------------------------------------------------------------------- save, restore

    def get_state(self) -> dict[str, Any]:
        """All that the game's future depends on, random state included, as plain data (JSON-able)."""
        self._need_start()
        return self.batch.get_state(0)

    def set_state(self, state: dict[str, Any]) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Restore what :meth:`get_state` gave; the observation and info of that moment."""
        self.batch.set_state(0, state)
        self._started = True
        self._last = None
        return self._observation(), self._info()

    def clone(self) -> "SolitaireEnv":
        """An environment of its own in the same state."""
        arguments = asdict(self.settings)
        del arguments["max_episode_steps"]  # the TimeLimit wrapper's
        arguments |= {"render_mode": self.render_mode, "render_size": self.render_size}
        other = SolitaireEnv(self.variant, **arguments)
        other.spec = self.spec
        if self._started:
            other.set_state(self.get_state())
        return other


def _action_number(action: Any) -> int:
    number = whole_number(action)
    if number is None:
        raise TypeError(f"action {shown(action)} is a {type(action).__name__}, allowed: a whole number")
    return number
