"""Many games of one variant in parallel: the engine with deals, rewards, limits and observations around it.

The single environment is a batch of one; the vector environment, the SB3 one and the evaluator hold a batch
each.
"""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from solitaire_env.core import deals, observations, supermoves
from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.deals import Deal
from solitaire_env.core.episodes import Limits, make_episodes, play_rows
from solitaire_env.core.layout import DEAL, LEAVE, PLAY, WON
from solitaire_env.core.native import Bound, Int8, Int64, kernel
from solitaire_env.core.position import (
    Position,
    position_faults,
    position_from_row,
    position_to_row,
    read_row,
)
from solitaire_env.core.rules.deal import deal_rows
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.state import KINDS, copy_rows, make_events, make_state
from solitaire_env.core.shuffle import make_deals, order_rows
from solitaire_env.core.spec import REWARDS, GameSpec
from solitaire_env.core.threads import Running, in_one_thread
from solitaire_env.core.worlds import resample_rows
from solitaire_env.util.arguments import check_count, check_flag
from solitaire_env.util.lazy import cached_property
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number, whole_numbers

Start = Position | Deal | dict[str, Any]
"""The start of a game: a position, a deal, or a saved state."""
NO_NUMBER: Final = -1
"""Deal number of a game that did not start from one."""
_INT64: Final = np.dtype(np.int64)
_STATE_KEYS: Final = ("variant", "row", "deal", "stream", "steps", "stalls", "most_home", "stock_seen")


class IllegalActionError(ValueError):
    """An action that the rules do not allow, under ``on_invalid="raise"``."""


@kernel
def _find_illegal(
    mask: Annotated[Int8, "batch rules.actions"], rows: Annotated[Int64, "n"], actions: Annotated[Int64, "n"]
) -> int:
    """The index of the first action that is illegal in its row of the mask; -1 if all are legal."""
    for k in range(rows.shape[0]):
        action = actions[k]
        if action < 0 or action >= mask.shape[1] or mask[rows[k], action] == 0:
            return k
    return -1


class _Kernels(NamedTuple):
    """The kernels of one batch, bound to its arrays."""

    order: Bound
    """Takes rows, as do `deal` and `derive`."""
    deal: Bound
    derive: Bound
    find_illegal: Bound
    """Takes rows and actions."""
    resample: Bound
    """Takes rows and seeds."""
    highest: Callable[[], np.uint64]
    """The highest action; a negative one is higher than all others."""
    play: Bound
    observe: Bound
    """Writes all observations."""


class Rows:
    """Games of one variant or of several, each in a numbered row: the arrays that environments read.

    Parameters
    ----------
    size
        Number of rows.
    shared
        Use the arrays of these rows.
    chosen
        The deal numbers that new games are drawn from, int64 ``[n]``; none: all that are not reserved.
    """

    num_actions: int
    """Number of actions, legal or not."""
    action_layout: Any
    """The texts of actions: an ActionLayout, or a FamilyLayout."""
    slices: dict[str, slice]
    """Named slices of the observation."""

    def __init__(
        self, size: int, shared: "Rows | None" = None, chosen: npt.NDArray[np.int64] = deals.ANY_DEAL
    ) -> None:
        if shared is not None:
            vars(self).update(vars(shared))
            return
        size = self.size = check_count("num_envs", size, 1)
        self.streams = np.zeros(size, dtype=np.uint64)
        """State of each game's stream of deal numbers."""
        self.chosen = chosen
        """The deal numbers that streams draw from; copies share the array, which may have millions."""
        self.deal_numbers = np.full(size, NO_NUMBER, dtype=np.int64)
        """The deal number of each game, int64 ``[size]``; NO_NUMBER if it did not start from one."""
        self.deal_names: dict[int, str] = {}
        """Deals of other programs, by row."""
        self.home = np.zeros(size, dtype=np.int64)
        self.status = np.zeros(size, dtype=np.int8)
        self.events = make_events(size)
        self.episodes = make_episodes(size)
        (
            self.steps, self.stalls, self.most_home, self.stock_seen,
            self.rewards, self.terminated, self.truncated, self.ended, self.won, self.cards_home,
        ) = self.episodes  # fmt: skip
        self.everyone = np.full(size, PLAY, dtype=np.int8)
        self._shape = (size,)
        self._actions = np.zeros(size, dtype=np.int64)
        self._todo = np.zeros(size, dtype=np.int8)
        self._running: Running = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self.chosen)] = self.chosen
        copied = memo[id(self)] = copy.copy(self)
        vars(copied).update(copy.deepcopy(vars(copied), memo))
        return copied

    def action_text(self, action: int) -> str:
        """Text of an action: ``t3>f``."""
        text: str = self.action_layout.text(action)
        return text

    def parse_action(self, text: str) -> int:
        """Number of an action from its text."""
        number: int = self.action_layout.parse(text)
        return number

    def deal_of(self, row: int) -> Deal | None:
        """The deal that a game started from; None if it started from a position."""
        number = int(self.deal_numbers[row])
        return self.deal_names.get(row) if number == NO_NUMBER else number

    def read_actions(self, actions: Any, todo: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """Check the actions that a user passed, one per game, for :meth:`Batch.step` with ``todo``."""
        # The usual case first, for speed.
        if type(actions) is np.ndarray and actions.dtype == _INT64 and actions.shape == self._shape:
            return actions
        actions = whole_numbers("actions", actions, self.size)
        if actions.dtype == np.uint64:  # numbers from 2**63 would become negative
            self._refuse_outside(actions, todo)
        return np.ascontiguousarray(actions, dtype=np.int64)

    def _refuse_outside(self, actions: npt.NDArray[Any], todo: npt.NDArray[np.int8]) -> None:
        """Raise an error if an action is outside the action space."""
        outside = (todo == PLAY) & ((actions < 0) | (actions >= self.num_actions))
        if outside.any():
            self.action_text(int(actions[outside][0]))  # raises the error

    def check_row(self, row: Any) -> int:
        """Check the row number that a user passed, and return it as an int."""
        number = whole_number(row)
        if number is None:
            raise TypeError(
                f"row {shown(row)} is a {type(row).__name__}, "
                f"allowed: a whole number from 0 to {self.size - 1}"
            )
        if not 0 <= number < self.size:
            raise IndexError(f"there is no game {shown(number)}, allowed: 0..{self.size - 1}")
        return number

    def check_rows(self, name: str, rows: Any) -> npt.NDArray[np.int64]:
        """Check the row numbers that a user passed as the argument ``name``; int64 ``[n]``."""
        rows = whole_numbers(name, rows)
        wrong = rows[(rows < 0) | (rows >= self.size)]
        if wrong.size:
            raise IndexError(f"there is no game {wrong[0]} for {name}, allowed: 0..{self.size - 1}")
        return np.ascontiguousarray(rows, dtype=np.int64)

    def check_once(self, name: str, rows: npt.NDArray[np.int64]) -> None:
        """Raise an error if a row occurs twice in the argument ``name``."""
        numbers = np.bincount(rows, minlength=self.size)
        if numbers.max() > 1:
            raise ValueError(f"row {numbers.argmax()} occurs twice in {name}, allowed: each row once")

    def copy_episodes(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> None:
        """Copy all of some games but their positions."""
        for array in (*self.events, self.streams, self.deal_numbers, *self.episodes):
            array[targets] = array[sources]
        if self.deal_names:
            names = [self.deal_names.get(row) for row in sources.tolist()]
            self._forget_names(targets)
            for row, name in zip(targets.tolist(), names, strict=True):
                if name is not None:
                    self.deal_names[row] = name

    def _forget_names(self, rows: npt.NDArray[np.int64]) -> None:
        if self.deal_names:
            for row in rows.tolist():
                self.deal_names.pop(row, None)

    def seed_streams(self, rows: npt.NDArray[np.int64], generators: Sequence[np.random.Generator]) -> None:
        """Start the streams of deal numbers of some rows from Gymnasium's seeded generators."""
        for row, generator in zip(rows.tolist(), generators, strict=True):
            self.streams[row] = generator.integers(2**64, dtype=np.uint64)


class Batch(Rows):
    """``size`` games of one variant. The arrays are reused: copy what you keep.

    Parameters
    ----------
    spec
        The game.
    size
        Number of rows.
    shared
        Use the arrays of these rows, in which other batches play other games.
    chosen
        The deal numbers that new games are drawn from, int64 ``[n]``; none: all that are not reserved.
    """

    def __init__(
        self,
        spec: GameSpec,
        size: int,
        shared: Rows | None = None,
        chosen: npt.NDArray[np.int64] = deals.ANY_DEAL,
    ) -> None:
        super().__init__(size, shared, chosen)
        self._running = {}
        variant, settings = spec.variant, spec.settings
        size = self.size
        self.spec = spec
        self.variant = variant
        self.settings = settings
        self.rules = spec.rules
        self.num_actions, self.action_layout, self.slices = self.rules.actions, spec.actions, spec.slices
        self.state = make_state(self.rules, size)._replace(home=self.home, status=self.status)
        self.deals = make_deals(self.rules, variant.tableau, size, variant.face_down_rows or ())._replace(
            streams=self.streams, numbers=self.deal_numbers, chosen=self.chosen
        )
        progress, win = REWARDS[settings.reward]
        self.pay = (progress / (variant.cards - variant.home_at_deal), win)
        """Rewards of a card that goes home, and of a win; a card that worries back costs its reward."""
        kind = np.float32 if settings.observation == "features" else np.int8
        self._observations: npt.NDArray[Any] = np.zeros((size, spec.observation_size), dtype=kind)
        self._shown = False
        """Whether the last step wrote the observations, and nothing has changed the games since."""

    # ---------------------------------------------------------------------------- rows, actions

    def game_of(self, row: int) -> "Batch":
        """The batch that plays a row, under the same row number: this one."""
        return self

    def find_action(self, row: int, action: int) -> int | None:
        """The number of an action in the game of a row; None if the game does not have it."""
        return action

    def own_observation(self, row: int, observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """An observation of a row as that of its game alone."""
        return observation

    # ------------------------------------------------------------------------------- new games

    @in_one_thread
    def begin(self, rows: npt.NDArray[np.int64], starts: Sequence[Start | None]) -> None:
        """Start new games in some rows (int64 ``[n]``), each from its start."""
        named: dict[int, Deal] = {}
        others = []
        for row, start in zip(rows.tolist(), starts, strict=True):
            if isinstance(start, Position):
                self.place(row, start)
            elif isinstance(start, dict):
                self.set_state(row, start)
            elif start is not None:
                named[row] = start
            else:
                others.append(row)
        if named:
            self.deal(np.array(list(named), dtype=np.int64), list(named.values()))
        if others:
            self.deal_next(np.array(others, dtype=np.int64))

    @in_one_thread
    def deal_next(self, rows: npt.NDArray[np.int64]) -> None:
        """Start new games in some rows (int64 ``[n]``) from the next deals of their streams."""
        self._kernels.order(rows)
        self._kernels.deal(rows)
        self._start(rows)

    def deal(self, rows: npt.NDArray[np.int64], names: Sequence[Deal]) -> None:
        """Start new games in some rows from given deals."""
        names = [deals.check_deal(self.variant, name) for name in names]
        numbers = [name for name in names if not isinstance(name, str)]
        self.deals.orders[rows] = (
            deals.shuffled(self.variant, numbers)
            if len(numbers) == len(names)
            else [deals.deal_order(self.variant, name) for name in names]
        )
        self._kernels.deal(rows)
        self._start(rows)
        for row, name in zip(rows.tolist(), names, strict=True):
            self._name_deal(row, name)

    def _name_deal(self, row: int, deal: Deal | None) -> None:
        self.deal_numbers[row] = deal if isinstance(deal, int) else NO_NUMBER
        if isinstance(deal, str):
            self.deal_names[row] = deal

    def _start(self, rows: npt.NDArray[np.int64]) -> None:
        self._shown = False
        self.steps[rows] = 0
        self.stalls[rows] = 0
        self.most_home[rows] = self.state.home[rows]
        self.stock_seen[rows] = self.state.stock[rows] == 0
        self.events.invalid[rows] = 0
        self.won[rows] = self.state.status[rows] == WON
        self.cards_home[rows] = self.state.home[rows]
        self._forget_names(rows)

    def place(self, row: int, position: Position) -> None:
        """Start a game in a row from a position.

        Hidden cards are drawn from the unseen cards with the row's stream: every order has the same
        probability. A stock whose cards the position lists is one that the player has seen.
        """
        self.check_position(position)
        cards = position_to_row(position)
        stock, tableau = cards[self.rules.row_stock :], cards[: self.rules.row_cells]
        hidden = position.stock.count(FACE_DOWN)
        if hidden or FACE_DOWN in tableau:
            unseen = np.array(position.unseen(), dtype=np.int8)
            state = deals.pick_deals(self.streams, np.array([row], dtype=np.int64))
            deals.shuffle_in_place(int(state[0]), unseen)
            stock[stock == FACE_DOWN] = unseen[:hidden]
            tableau[tableau == FACE_DOWN] = unseen[hidden:] | DOWN
        self.set_row(row, cards)
        self.stock_seen[row] = not hidden
        self._name_deal(row, None)

    def check_position(self, position: Position) -> None:
        """Raise an error if a position is of another game or impossible."""
        if position.variant != self.variant:
            raise ValueError(
                f"position is of variant {position.variant.name!r}, allowed here: {self.variant.name!r}"
            )
        if faults := position_faults(position):
            raise ValueError(f"position is not possible: {'; '.join(faults[:3])}")

    def set_row(self, row: int, cards: npt.NDArray[np.int8]) -> None:
        """Start a game in a row from a position row (int8 ``[row_size]``)."""
        rows = np.array([row], dtype=np.int64)
        self.state.rows[row] = cards
        self.derive(rows)
        self._start(rows)

    def derive(self, rows: npt.NDArray[np.int64]) -> None:
        """Update some rows (int64 ``[n]``) after a change of ``state.rows``."""
        self._shown = False
        self._kernels.derive(rows)

    @in_one_thread
    def copy_rows(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> None:
        """Copy the games in ``sources`` to ``targets``, including their random futures.

        Both are int64 ``[n]``; ``targets`` has no duplicates, and rows in both are read first.
        """
        self.check_once("targets", targets)
        self.copy_positions(sources, targets)
        self.copy_episodes(sources, targets)

    def copy_positions(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> None:
        """Copy the cards of games, and what follows from them."""
        self._shown = False
        overwritten = np.zeros(self.size, dtype=np.bool_)
        overwritten[targets] = True
        if overwritten[sources].any():  # sources are read first
            for array in self.state:
                array[targets] = array[sources]
        else:
            copy_rows(self.rules, self.state, sources, targets)

    @in_one_thread
    def resample(self, rows: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64]) -> None:
        """Deal the hidden cards of some games again, consistent with all that the player has seen.

        Every such order has the same probability: see :mod:`solitaire_env.core.worlds`. The games then start
        from no deal. With ``information="thoughtful"``, and in games that hide nothing, nothing changes.

        Parameters
        ----------
        rows
            int64 ``[n]``.
        seeds
            uint64 ``[n]``; equal seeds give games that look the same to the player the same hidden cards.
        """
        hides = self.rules.has_stock or self.rules.hides
        if hides and self.settings.information != "thoughtful":
            self._shown = False
            self._kernels.resample(rows, seeds)
            self._forget_names(rows)
            self.deal_numbers[rows] = NO_NUMBER

    # ------------------------------------------------------------------------------------ steps

    @in_one_thread
    def step(self, actions: npt.NDArray[np.int64], todo: npt.NDArray[np.int8]) -> int:
        """Step the games; return the number of episodes that ended.

        Updates ``events``, ``rewards``, ``terminated``, ``truncated`` and ``ended``. A finished game no
        longer changes and is terminated again.

        Parameters
        ----------
        actions
            int64 ``[size]``.
        todo
            int8 ``[size]``: PLAY the action, REFUSE it as illegal, LEAVE the game unchanged, or DEAL the next
            game of its stream; AWAY for rows in which another batch plays.
        """
        if self.settings.on_invalid == "raise":
            self._refuse_illegal(actions, todo)
        self._actions[:] = actions
        self._todo[:] = todo
        if self._kernels.highest() >= self.num_actions:
            self._refuse_outside(actions, todo)
        if self.deal_names:
            self._forget_names(np.flatnonzero(todo == DEAL))
        return self._play()

    @in_one_thread
    def play(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        """Play an action in some games, as :meth:`step` does: for few games.

        Parameters
        ----------
        rows, actions
            int64 ``[n]``.

        Raises
        ------
        IllegalActionError
            Regardless of ``on_invalid``; then nothing is played.
        """
        place = self.find_illegal(rows, actions)
        if place >= 0:
            raise IllegalActionError(self.explain_illegal(int(rows[place]), int(actions[place])))
        self._actions[rows] = actions
        self._todo[:] = LEAVE
        self._todo[rows] = PLAY
        self._play()

    def _play(self) -> int:
        """Do ``_todo`` with ``_actions``; the number of episodes that ended."""
        ended: int = self._kernels.play()
        self._shown = self._observations.dtype == np.int8
        return ended

    @cached_property
    def _kernels(self) -> "_Kernels":
        """The kernels, bound to the arrays of this batch."""
        cards = self.settings.observation == "cards"
        return _Kernels(
            order_rows.bind(self.rules, self.deals),
            deal_rows.bind(self.rules, self.deals, self.state),
            derive_rows.bind(self.rules, self.state),
            _find_illegal.bind(self.state.mask),
            resample_rows.bind(
                self.rules, self.deals, self.state, self.stock_seen,
                np.zeros(self.rules.cards, dtype=np.int64), np.zeros(KINDS, dtype=np.int64),
            ),
            partial(np.maximum.reduce, self._actions.view(np.uint64)),
            play_rows.bind(
                self.rules, self.deals, self.state, self.events, self._limits, self.episodes,
                int(cards), int(self.settings.information == "thoughtful"),
                self._observations if cards else np.zeros((self.size, 0), dtype=np.int8),
                self._actions, self._todo,
            ),
            observations.observation_writer(
                self.rules, self.state, self.settings.information, self._observations, np.arange(self.size)
            ),
        )  # fmt: skip

    @property
    def _limits(self) -> Limits:
        """Rewards and limits of an episode."""
        settings = self.settings
        return Limits(
            *self.pay, settings.stall_limit or 0, settings.max_episode_steps or 0,
            int(settings.on_invalid == "terminate"),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """A copy binds its kernels to its own arrays."""
        return {name: value for name, value in self.__dict__.items() if name != "_kernels"}

    def _refuse_illegal(self, actions: npt.NDArray[np.int64], todo: npt.NDArray[np.int8]) -> None:
        """Raise an error before anything is played, so that all games stay at the same step."""
        played = np.flatnonzero(todo == PLAY)
        place = self.find_illegal(played, actions[played])
        if place >= 0:
            self._refuse_outside(actions, todo)
            row = int(played[place])
            raise IllegalActionError(self.explain_illegal(row, int(actions[row])))

    def find_illegal(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> int:
        """The index of the first action that is illegal in its game, -1 if all are legal.

        ``rows`` and ``actions`` are int64 ``[n]``; an action outside the space is illegal.
        """
        return int(self._kernels.find_illegal(rows, actions))

    def explain_illegal(self, row: int, action: int) -> str:
        """An error message for an illegal action, with the legal ones or the action space."""
        if not 0 <= action < self.rules.actions:
            return (
                f"action {action} is outside the space of {self.variant.name}, "
                f"allowed: 0..{self.rules.actions - 1}"
            )
        text = self.spec.actions.text
        legal = ", ".join(text(a) for a in np.flatnonzero(self.state.mask[row]).tolist())
        return f"illegal action {action} ({text(action)}), allowed here: {legal}"

    def expand(self, row: int, action: int) -> list[int]:
        """A legal supermove as actions of the same game with single cards only."""
        singles, _ = self.expand_rows(np.array([row], dtype=np.int64), np.array([action], dtype=np.int64))
        expanded: list[int] = singles[0].tolist()
        return expanded

    def expand_rows(
        self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The same of several games: see :func:`~solitaire_env.core.supermoves.expand_rows`."""
        return supermoves.expand_rows(self.variant, self.state, rows, actions)

    # ----------------------------------------------------------------- observations, positions

    def observations(self) -> npt.NDArray[Any]:
        """The observations ``[size, entries]``: an array that the next call or step overwrites."""
        if not self._shown:
            self._kernels.observe()
        return self._observations

    def position(self, row: int) -> Position:
        """The full position of a game."""
        return position_from_row(self.variant, self.state.rows[row])

    def visible(self, row: int, memory: bool = False) -> Position:
        """The position of a game as its player sees it; with the stock if ``information`` is thoughtful, and
        if the player has seen it and remembers it (``memory``).
        """
        position = self.position(row)
        if self.settings.information == "thoughtful":
            return position
        seen = memory and self.stock_seen[row]
        return position.hidden(self.state.rows[row, self.rules.row_stock :] if seen else None)

    # ---------------------------------------------------------------------------- save, restore

    def get_state(self, row: int) -> dict[str, Any]:
        """The complete state of a game, including its random future, as plain data (JSON-able)."""
        return {
            "variant": self.variant.name,
            "row": self.state.rows[row].tolist(),
            "deal": self.deal_of(row),
            "stream": int(self.streams[row]),
            "steps": int(self.steps[row]),
            "stalls": int(self.stalls[row]),
            "most_home": int(self.most_home[row]),
            "stock_seen": bool(self.stock_seen[row]),
        }

    @in_one_thread
    def set_state(self, row: int, saved: dict[str, Any]) -> None:
        """Restore a state of :meth:`get_state`; the game is unchanged if it is refused."""
        self.check_state(saved)
        self.set_row(row, np.array(saved["row"], dtype=np.int8))
        deal = saved["deal"]
        self._name_deal(row, None if deal is None else deals.check_deal(self.variant, deal))
        self.streams[row] = np.uint64(int(saved["stream"]))
        self.steps[row] = int(saved["steps"])
        self.stalls[row] = int(saved["stalls"])
        self.most_home[row] = int(saved["most_home"])
        self.stock_seen[row] = saved["stock_seen"]

    def check_state(self, saved: Any) -> None:
        """Raise an error if a state is of another game, impossible, or not in the format of
        :meth:`get_state`.
        """
        if not isinstance(saved, dict) or set(saved) != set(_STATE_KEYS):
            given = shown(list(saved)) if isinstance(saved, dict) else type(saved).__name__
            raise ValueError(f"state has {given}, allowed: a dict with {', '.join(_STATE_KEYS)}")
        if not isinstance(saved["variant"], str) or saved["variant"] != self.variant.name:
            raise ValueError(
                f"state is of variant {shown(saved['variant'])}, allowed here: {self.variant.name!r}"
            )
        for key, most in (
            ("stream", 2**64 - 1),
            ("steps", 2**62),
            ("stalls", 2**62),
            ("most_home", self.variant.cards),
        ):
            check_count(f"state {key}", saved[key], 0, most)
        seen = check_flag("state stock_seen", saved["stock_seen"])
        codes, size = saved["row"], self.rules.row_size
        if not isinstance(codes, list) or len(codes) != size:
            raise ValueError(
                f"state row is {shown(codes, 60)}, allowed: a list of {size} whole numbers from 0 to 127"
            )
        if not read_row(self.variant, codes, "state").stock and not seen:
            raise ValueError("state stock_seen is False, allowed: True, since the stock is empty")
        if saved["deal"] is not None:
            deals.check_deal(self.variant, saved["deal"])
