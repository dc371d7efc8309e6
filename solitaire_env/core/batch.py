"""Many games in parallel, of one variant or of several: the engine with deals, rewards, limits and
observations around it.

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

from solitaire_env.core import deals, supermoves
from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.deals import Deal
from solitaire_env.core.episodes import Limits, make_episodes, play_rows
from solitaire_env.core.family import FamilyLayout, show_rows
from solitaire_env.core.layout import AWAY, DEAL, LEAVE, PLAY, REFUSE, WON, ActionLayout, Rules
from solitaire_env.core.native import Bound, Int8, Int64, kernel
from solitaire_env.core.observations import INFORMATION, observation_writer
from solitaire_env.core.position import (
    Position,
    position_faults,
    position_from_row,
    position_to_row,
    read_row,
)
from solitaire_env.core.rules.deal import deal_rows
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.state import CODES, State, copy_rows, make_events, make_state
from solitaire_env.core.shuffle import Deals, make_deals, order_rows
from solitaire_env.core.spec import REWARDS, GameSpec
from solitaire_env.core.threads import Running, in_one_thread
from solitaire_env.core.variant import Variant
from solitaire_env.core.worlds import resample_rows
from solitaire_env.util.arguments import check_count, check_flag
from solitaire_env.util.lazy import cached_property
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number, whole_numbers

Start = Position | Deal | dict[str, Any]
"""The start of a game: a position, a deal, or a saved state."""
Draw = npt.NDArray[np.int64]
"""Deal numbers, of which a stream draws one; none: all that are not reserved."""
NO_NUMBER: Final = -1
"""Deal number of a game that did not start from one."""
_INT64: Final = np.dtype(np.int64)
_STATE_KEYS: Final = ("variant", "row", "deal", "stream", "steps", "stalls", "most_home", "stock_seen")


_BOUND: Final = ("_kernels", "_illegal", "_highest")
"""Attributes of a batch that are bound to its arrays."""


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


class Group(NamedTuple):
    """What a batch has for each of its variants."""

    spec: GameSpec
    state: State
    """Positions, with a row for each game of the batch: in use are the rows that play this variant."""
    deals: Deals

    @property
    def variant(self) -> Variant:
        """The rules."""
        return self.spec.variant

    @property
    def limits(self) -> Limits:
        """Rewards and limits of an episode."""
        variant, settings = self.variant, self.spec.settings
        progress, win = REWARDS[settings.reward]
        return Limits(
            progress / (variant.cards - variant.home_at_deal), win, settings.stall_limit or 0,
            settings.max_episode_steps or 0, int(settings.on_invalid == "terminate"),
        )  # fmt: skip


class _Kernels(NamedTuple):
    """The kernels of one variant, bound to the arrays of a batch."""

    order: Bound
    """Takes rows, as do `deal` and `derive`."""
    deal: Bound
    derive: Bound
    resample: Bound
    """Takes rows and seeds."""
    play: Bound
    show: Callable[..., Any]
    """In a batch of one variant, writes all observations; otherwise takes rows, and writes their observations
    and masks among those of all variants."""


class Batch:
    """``size`` games of one variant or of several, each in a numbered row.

    The rows that play a variant are stepped by one call of its kernels. In a batch of several variants, the
    stream of a row also chooses the variant of its next game. Arrays are reused: copy what you keep.

    Parameters
    ----------
    spec
        The game, or several games.
    size
        Number of rows.
    layout
        Observation and action space of several games, if not those of :class:`FamilyLayout`.
    chosen
        The deal numbers that new games are drawn from, int64 ``[n]``; none: all that are not reserved.
    """

    spec: GameSpec
    """Of a batch of one variant: the game, as `variant`, `rules` and `state`."""
    variant: Variant
    rules: Rules
    state: State
    num_actions: int
    """Number of actions, legal or not."""
    action_layout: ActionLayout | FamilyLayout
    """The texts of actions."""
    slices: dict[str, slice]
    """Named slices of the observation."""

    def __init__(
        self,
        spec: GameSpec | Sequence[GameSpec],
        size: int,
        layout: FamilyLayout | None = None,
        chosen: npt.NDArray[np.int64] = deals.ANY_DEAL,
    ) -> None:
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
        self.played = np.zeros(size, dtype=np.int64)
        """Index of the variant of each row, int64 ``[size]``."""
        self.started = False
        """Whether games have been dealt."""
        self._shape = (size,)
        self._actions, self._todo = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int8)
        self._running: Running = {}
        self._shown = False
        """In a batch of one variant, whether the last step wrote the observations, and no game has changed
        since."""
        if isinstance(spec, GameSpec):
            self.layout = None
            self.groups: tuple[Group, ...] = (self._make_group(spec),)
            self.spec, self.variant, self.rules = spec, spec.variant, spec.rules
            self.state = self.groups[0].state
            self.settings, self.mask = spec.settings, self.state.mask
            self.num_actions, self.action_layout, self.slices = spec.num_actions, spec.actions, spec.slices
            kind = np.float32 if spec.settings.observation == "features" else np.int8
            self._observations: npt.NDArray[Any] = np.zeros((size, spec.observation_size), dtype=kind)
        else:
            self.groups = tuple(map(self._make_group, spec))
            self.settings = spec[0].settings
            """Observation, rewards and limits; the step limit of several variants may differ."""
            self.layout = layout or FamilyLayout([s.variant for s in spec], self.settings.information)
            """Of a batch of several variants."""
            self.num_actions, self.action_layout = len(self.layout.texts), self.layout
            self.slices = self.layout.slices
            self.mask = np.zeros((size, self.num_actions), dtype=np.int8)
            """The legal actions, int8 ``[size, actions]``."""
            self._observations = np.zeros((size, self.layout.size), dtype=np.int8)

    def _make_group(self, spec: GameSpec) -> Group:
        variant, rules = spec.variant, spec.rules
        dealt = make_deals(rules, variant.tableau, self.size, variant.face_down_rows or ())
        return Group(
            spec,
            make_state(rules, self.size)._replace(home=self.home, status=self.status),
            dealt._replace(streams=self.streams, numbers=self.deal_numbers, chosen=self.chosen),
        )

    def share_positions(self, other: "Batch") -> None:
        """Observe the games of another batch of the same variant, which plays them; before the first game."""
        self.groups = (self.groups[0]._replace(state=other.state),)
        self.state, self.mask, self.stock_seen = other.state, other.mask, other.stock_seen

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self.chosen)] = self.chosen
        copied = memo[id(self)] = copy.copy(self)
        vars(copied).update(copy.deepcopy(vars(copied), memo))
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """A copy binds its kernels to its own arrays."""
        return {name: value for name, value in self.__dict__.items() if name not in _BOUND}

    @cached_property
    def _kernels(self) -> list[_Kernels]:
        """For each variant, its kernels."""
        return [self._bind(number) for number in range(len(self.groups))]

    def _bind(self, number: int) -> _Kernels:
        group, layout = self.groups[number], self.layout
        spec, state, dealt = group
        rules, information = spec.rules, INFORMATION.index(spec.settings.information)
        written = layout is None and spec.settings.observation == "cards"
        if layout is None:
            actions, todo = self._actions, self._todo
            show: Any = observation_writer(
                rules,
                state,
                spec.settings.information,
                self.stock_seen,
                self._observations,
                np.arange(self.size),
            )
        else:
            actions, todo = self._own
            places, numbers = layout.places[number], layout.actions[number]
            own = np.zeros((self.size, len(places)), dtype=np.int8)
            show = show_rows.bind(
                rules,
                state,
                information,
                self.stock_seen,
                own,
                places,
                numbers,
                self._observations,
                self.mask,
            )
        return _Kernels(
            order_rows.bind(rules, dealt),
            deal_rows.bind(rules, dealt, state),
            derive_rows.bind(rules, state),
            resample_rows.bind(
                rules, dealt, state, self.stock_seen,
                np.zeros(rules.cards, dtype=np.int64), np.zeros(CODES, dtype=np.int64),
            ),
            play_rows.bind(
                rules, dealt, state, self.events, group.limits, self.episodes, int(written), information,
                self._observations if written else np.zeros((self.size, 0), dtype=np.int8), actions, todo,
            ),
            show,
        )  # fmt: skip

    @cached_property
    def _own(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
        """Of several variants: actions as their games number them, and what is done to the rows of one."""
        return np.zeros(self.size, dtype=np.int64), np.zeros(self.size, dtype=np.int8)

    @cached_property
    def _illegal(self) -> Bound:
        """The kernel that finds an illegal action, by rows and actions."""
        return _find_illegal.bind(self.mask)

    @cached_property
    def _highest(self) -> Callable[[], np.uint64]:
        """The highest action; a negative one is higher than all others."""
        return partial(np.maximum.reduce, self._actions.view(np.uint64))

    # -------------------------------------------------------------------------- rows, variants

    def group_of(self, row: int) -> Group:
        """What the batch has for the variant of a row."""
        return self.groups[int(self.played[row])]

    def _by_variant(self, rows: npt.NDArray[np.int64]) -> list[tuple[int, Any]]:
        """The index of each variant that some rows play, and those rows as an index into ``rows``."""
        if self.layout is None:
            return [(0, slice(None))]
        played = self.played[rows]
        return [(number, np.flatnonzero(played == number)) for number in np.unique(played).tolist()]

    def deal_of(self, row: int) -> Deal | None:
        """The deal that a game started from; None if it started from a position."""
        number = int(self.deal_numbers[row])
        return self.deal_names.get(row) if number == NO_NUMBER else number

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

    # --------------------------------------------------------------------------------- actions

    def action_text(self, action: int) -> str:
        """Text of an action: ``t3>f``."""
        return self.action_layout.text(action)

    def parse_action(self, text: str) -> int:
        """Number of an action from its text."""
        return self.action_layout.parse(text)

    def own_action(self, row: int, action: int) -> int | None:
        """The number of an action in the game of a row alone; None if the game does not have it."""
        if self.layout is None:
            return action
        number = int(self.layout.own_actions[self.played[row], action])
        return number if number >= 0 else None

    def own_observation(self, row: int, observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """An observation of a row as that of its game alone."""
        return observation if self.layout is None else observation[self.layout.places[self.played[row]]]

    def read_actions(self, actions: Any, todo: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """Check the actions that a user passed, one per game, for :meth:`step` with ``todo``."""
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
        return int(self._illegal(rows, actions))

    def explain_illegal(self, row: int, action: int) -> str:
        """An error message for an illegal action, with the legal ones or the action space."""
        name = self.group_of(row).variant.name
        if not 0 <= action < self.num_actions:
            return f"action {action} is outside the space of {name}, allowed: 0..{self.num_actions - 1}"
        if self.own_action(row, action) is None:
            return f"illegal action {self.action_text(action)}: {name} has no such move"
        legal = ", ".join(map(self.action_text, np.flatnonzero(self.mask[row]).tolist()))
        return f"illegal action {action} ({self.action_text(action)}), allowed here: {legal}"

    def expand(self, row: int, action: int) -> list[int]:
        """A legal supermove, as the game of the row numbers it, as actions of the same game with single cards
        only.
        """
        group = self.group_of(row)
        singles, _ = supermoves.expand_rows(group.variant, group.state, np.array([row]), np.array([action]))
        expanded: list[int] = singles[0].tolist()
        return expanded

    # ------------------------------------------------------------------------------- new games

    def seed_streams(self, rows: npt.NDArray[np.int64], generators: Sequence[np.random.Generator]) -> None:
        """Start the streams of deal numbers of some rows from Gymnasium's seeded generators."""
        for row, generator in zip(rows.tolist(), generators, strict=True):
            self.streams[row] = generator.integers(2**64, dtype=np.uint64)

    @in_one_thread
    def begin(
        self,
        rows: npt.NDArray[np.int64],
        starts: Sequence[Start | Draw | None],
        played: Sequence[int | None] | None = None,
    ) -> None:
        """Start new games in some rows.

        Parameters
        ----------
        rows
            int64 ``[n]``.
        starts
            The start of each game, or the deals that its stream draws from; None for the batch's.
        played
            The index of the variant of each deal; None for any, which the stream chooses.
        """
        if self.layout is None:
            played = [0] * len(rows)
        else:
            picked = deals.pick_deals(self.streams, rows) % len(self.groups)
            numbers = deals.pick_deals(self.streams, rows, self.chosen)
            played = (
                picked.tolist()
                if played is None
                else [k if k is not None else other for k, other in zip(played, picked.tolist(), strict=True)]
            )
            starts = [
                number if start is None else start
                for number, start in zip(numbers.tolist(), starts, strict=True)
            ]
        dealt: dict[tuple[int, bool], dict[int, Any]] = {}
        for row, start, number in zip(rows.tolist(), starts, played, strict=True):
            if isinstance(start, np.ndarray):
                start = int(deals.pick_deals(self.streams, np.array([row]), start)[0])
            if isinstance(start, Position):
                self.place(row, start)
            elif isinstance(start, dict):
                self.set_state(row, start)
            else:
                dealt.setdefault((number, start is None), {})[row] = start
        for (number, is_next), named in dealt.items():
            those = np.array(list(named), dtype=np.int64)
            if is_next:
                self._deal_next(those)
            else:
                self.deal(those, list(named.values()), number)

    @in_one_thread
    def deal_next(self, rows: npt.NDArray[np.int64]) -> None:
        """Start new games in some rows (int64 ``[n]``) from the next deals of their streams."""
        if self.layout is None:
            self._deal_next(rows)
        else:
            self.begin(rows, [None] * len(rows))

    def _deal_next(self, rows: npt.NDArray[np.int64]) -> None:
        """The same, of the only variant."""
        self._kernels[0].order(rows)
        self._kernels[0].deal(rows)
        self._start(rows, 0)

    def deal(self, rows: npt.NDArray[np.int64], names: Sequence[Deal], number: int = 0) -> None:
        """Start new games in some rows from given deals, of the variant with an index."""
        variant, dealt = self.groups[number].variant, self.groups[number].deals
        names = [deals.check_deal(variant, name) for name in names]
        numbers = [name for name in names if not isinstance(name, str)]
        dealt.orders[rows] = (
            deals.shuffled(variant, numbers)
            if len(numbers) == len(names)
            else [deals.deal_order(variant, name) for name in names]
        )
        self._kernels[number].deal(rows)
        self._start(rows, number)
        for row, name in zip(rows.tolist(), names, strict=True):
            self._name_deal(row, name)

    def _name_deal(self, row: int, deal: Deal | None) -> None:
        self.deal_numbers[row] = deal if isinstance(deal, int) else NO_NUMBER
        if isinstance(deal, str):
            self.deal_names[row] = deal

    def _forget_names(self, rows: npt.NDArray[np.int64]) -> None:
        if self.deal_names:
            for row in rows.tolist():
                self.deal_names.pop(row, None)

    def _start(self, rows: npt.NDArray[np.int64], number: int, stock_seen: bool = False) -> None:
        """Start the episodes of games that have been dealt, of the variant with an index."""
        self.started = True
        self.steps[rows] = 0
        self.stalls[rows] = 0
        self.most_home[rows] = self.home[rows]
        self.stock_seen[rows] = stock_seen | (self.groups[number].state.stock[rows] == 0)
        self.events.invalid[rows] = 0
        self.won[rows] = self.status[rows] == WON
        self.cards_home[rows] = self.home[rows]
        self._forget_names(rows)
        if self.layout is not None:
            self.played[rows] = number
            self._observations[rows] = 0
            self._observations[rows, self.layout.slices["rules"]] = self.layout.rules[number]
            self.mask[rows] = 0
        self._show(rows, number)

    def _show(self, rows: npt.NDArray[np.int64], number: int) -> None:
        """Update what users see of rows that play a variant: in a batch of one, when they ask for it."""
        if self.layout is None:
            self._shown = False
        else:
            self._kernels[number].show(rows)

    def place(self, row: int, position: Position) -> None:
        """Start a game in a row from a position.

        Hidden cards are drawn from the unseen cards with the row's stream: every order has the same
        probability. A stock whose cards the position lists is one that the player has seen.
        """
        number = self.check_position(position)
        rules = self.groups[number].spec.rules
        cards = position_to_row(position)
        stock, tableau = cards[rules.row_stock :], cards[: rules.row_cells]
        hidden = position.stock.count(FACE_DOWN)
        if hidden or FACE_DOWN in tableau:
            unseen = np.array(position.unseen(), dtype=np.int8)
            state = deals.pick_deals(self.streams, np.array([row], dtype=np.int64))
            deals.shuffle_in_place(int(state[0]), unseen)
            stock[stock == FACE_DOWN] = unseen[:hidden]
            tableau[tableau == FACE_DOWN] = unseen[hidden:] | DOWN
        self.set_row(row, cards, number, stock_seen=not hidden)
        self._name_deal(row, None)

    def check_position(self, position: Position) -> int:
        """The index of a position's variant; a position of another game, or an impossible one, raises an
        error.
        """
        variant = position.variant
        number = next((n for n, group in enumerate(self.groups) if group.variant == variant), None)
        if number is None:
            raise ValueError(f"position is of variant {variant.name!r}, allowed: {self.names}")
        if faults := position_faults(position):
            raise ValueError(f"position is not possible: {'; '.join(faults[:3])}")
        return number

    @property
    def title(self) -> str:
        """What is played: ``'klondike'``, or ``58 games``."""
        return repr(self.variant.name) if self.layout is None else f"{len(self.groups)} games"

    @property
    def names(self) -> str:
        """The names of the variants, for messages."""
        return ", ".join(group.variant.name for group in self.groups)

    def set_row(
        self, row: int, cards: npt.NDArray[np.int8], number: int = 0, stock_seen: bool = False
    ) -> None:
        """Start a game in a row from a position row (int8 ``[row_size]``), of the variant with an index.
        ``stock_seen``: whether the player has seen the stock.
        """
        rows = np.array([row], dtype=np.int64)
        self.groups[number].state.rows[row] = cards
        self._kernels[number].derive(rows)
        self._start(rows, number, stock_seen)

    def derive(self, rows: npt.NDArray[np.int64]) -> None:
        """Update some rows (int64 ``[n]``) after a change of their cards in ``state.rows``."""
        for number, those in self._by_variant(rows):
            self._kernels[number].derive(rows[those])
            self._show(rows[those], number)

    @in_one_thread
    def copy_rows(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> None:
        """Copy the games in ``sources`` to ``targets``, including their random futures.

        Both are int64 ``[n]``; ``targets`` has no duplicates, and rows in both are read first.
        """
        self.check_once("targets", targets)
        parts = self._by_variant(sources)
        shared: tuple[npt.NDArray[Any], ...] = ()
        if self.layout is not None:
            shared = (self.played, self.home, self.status, self.mask, self._observations)
        copied = [array[sources] for array in shared]
        for number, those in parts:
            self._copy_cards(self.groups[number], sources[those], targets[those])
        for array, values in zip(shared, copied, strict=True):
            array[targets] = values
        arrays: tuple[npt.NDArray[Any], ...] = (self.streams, self.deal_numbers, *self.events, *self.episodes)
        for array in arrays:
            array[targets] = array[sources]
        if self.deal_names:
            names = [self.deal_names.get(row) for row in sources.tolist()]
            self._forget_names(targets)
            self.deal_names |= {
                row: name for row, name in zip(targets.tolist(), names, strict=True) if name is not None
            }
        self._shown = False

    def _copy_cards(
        self, group: Group, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]
    ) -> None:
        """Copy the cards of games of one variant, and what follows from them."""
        overwritten = np.zeros(self.size, dtype=np.bool_)
        overwritten[targets] = True
        if overwritten[sources].any():  # sources are read first
            for array in group.state:
                array[targets] = array[sources]
        else:
            copy_rows(group.spec.rules, group.state, sources, targets)

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
        if self.settings.information == "thoughtful":
            return
        for number, those in self._by_variant(rows):
            rules = self.groups[number].spec.rules
            if rules.has_stock or rules.hides:
                dealt = rows[those]
                self._kernels[number].resample(dealt, seeds[those])
                self._forget_names(dealt)
                self.deal_numbers[dealt] = NO_NUMBER

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
            int8 ``[size]``: PLAY the action, LEAVE the game unchanged, or DEAL the next game of its stream.
        """
        if self.settings.on_invalid == "raise":
            self._refuse_illegal(actions, todo)
        self._actions[:] = actions
        self._todo[:] = todo
        if self._highest() >= self.num_actions:
            self._refuse_outside(actions, todo)
        if self.deal_names:
            self._forget_names(np.flatnonzero(todo == DEAL))
        return self._play()

    @in_one_thread
    def step_one(self, action: int) -> None:
        """The same for a batch of one game, with an action of the action space."""
        self._actions[0], self._todo[0] = action, PLAY
        if self.settings.on_invalid == "raise":
            self._refuse_illegal(self._actions, self._todo)
        self._play()

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
        if self.layout is not None:
            return self._play_several(self.layout)
        ended: int = self._kernels[0].play()
        self._shown = self._observations.dtype == np.int8
        return ended

    def _play_several(self, layout: FamilyLayout) -> int:
        """The same, one variant after the other."""
        for array in (self.rewards, self.terminated, self.truncated, self.ended, *self.events):
            array[:] = 0
        actions, todo = self._own
        rows = np.flatnonzero(self._todo == PLAY)
        own = layout.own_actions[self.played[rows], self._actions[rows]]
        for number, those in self._by_variant(rows):
            todo[:] = AWAY
            todo[rows[those]] = np.where(own[those] < 0, REFUSE, PLAY)
            actions[rows[those]] = np.maximum(own[those], 0)
            self._kernels[number].play()
            self._show(rows[those], number)
        dealt = np.flatnonzero(self._todo == DEAL)
        if len(dealt):
            self.deal_next(dealt)
        return int(np.count_nonzero(self.ended))

    # ----------------------------------------------------------------- observations, positions

    def observations(self) -> npt.NDArray[Any]:
        """The observations ``[size, entries]``: an array that the next call or step overwrites."""
        if not self._shown and self.layout is None:
            self._kernels[0].show()
        return self._observations

    def position(self, row: int) -> Position:
        """The full position of a game."""
        group = self.group_of(row)
        return position_from_row(group.variant, group.state.rows[row])

    def visible(self, row: int, memory: bool = False) -> Position:
        """The position of a game as its player sees it; with the stock if ``information`` is thoughtful, or
        if the player has seen it and remembers it (``memory``, or the information of this name).
        """
        position = self.position(row)
        if self.settings.information == "thoughtful":
            return position
        group = self.group_of(row)
        seen = (memory or self.settings.information == "memory") and self.stock_seen[row]
        return position.hidden(group.state.rows[row, group.spec.rules.row_stock :] if seen else None)

    # ---------------------------------------------------------------------------- save, restore

    def get_state(self, row: int) -> dict[str, Any]:
        """The complete state of a game, including its random future, as plain data (JSON-able)."""
        group = self.group_of(row)
        return {
            "variant": group.variant.name,
            "row": group.state.rows[row].tolist(),
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
        number = self.check_state(saved)
        self.set_row(row, np.array(saved["row"], dtype=np.int8), number, bool(saved["stock_seen"]))
        deal = saved["deal"]
        self._name_deal(row, None if deal is None else deals.check_deal(self.groups[number].variant, deal))
        self.streams[row] = np.uint64(int(saved["stream"]))
        self.steps[row] = int(saved["steps"])
        self.stalls[row] = int(saved["stalls"])
        self.most_home[row] = int(saved["most_home"])

    def check_state(self, saved: Any) -> int:
        """The index of a state's variant; a state of another game, an impossible one, or one that is not in
        the format of :meth:`get_state` raises an error.
        """
        if not isinstance(saved, dict) or set(saved) != set(_STATE_KEYS):
            given = shown(list(saved)) if isinstance(saved, dict) else type(saved).__name__
            raise ValueError(f"state has {given}, allowed: a dict with {', '.join(_STATE_KEYS)}")
        names, name = [group.variant.name for group in self.groups], saved["variant"]
        if not isinstance(name, str) or name not in names:
            raise ValueError(f"state is of variant {shown(name)}, allowed: {self.names}")
        group = self.groups[names.index(name)]
        for key, most in (
            ("stream", 2**64 - 1),
            ("steps", 2**62),
            ("stalls", 2**62),
            ("most_home", group.variant.cards),
        ):
            check_count(f"state {key}", saved[key], 0, most)
        seen = check_flag("state stock_seen", saved["stock_seen"])
        codes, size = saved["row"], group.spec.rules.row_size
        if not isinstance(codes, list) or len(codes) != size:
            raise ValueError(
                f"state row is {shown(codes, 60)}, allowed: a list of {size} whole numbers from 0 to 127"
            )
        if not read_row(group.variant, codes, "state").stock and not seen:
            raise ValueError("state stock_seen is False, allowed: True, since the stock is empty")
        if saved["deal"] is not None:
            deals.check_deal(group.variant, saved["deal"])
        return names.index(name)
