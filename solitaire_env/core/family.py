"""Several games in one batch: one observation and one action space for all of them.

Actions are numbered by their text, which means the same move in every game, and each pile has the same place
in the observation of every game. Entries that a game does not use are 0.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import deals
from solitaire_env.core.batch import Batch, IllegalActionError, Rows, Start
from solitaire_env.core.cards import SUITS
from solitaire_env.core.layout import (
    AWAY,
    DEAL,
    PLAY,
    REFUSE,
    Action,
    Information,
    Rules,
    action_layout,
    action_number,
    make_rules,
    observation_layout,
    slices_of,
)
from solitaire_env.core.native import Bound, Int8, Int64, kernel
from solitaire_env.core.observations import cards_high, write_cards
from solitaire_env.core.position import Position
from solitaire_env.core.rules.state import State
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.threads import in_one_thread
from solitaire_env.core.variant import Variant
from solitaire_env.util.immutable import Immutable
from solitaire_env.util.lazy import cached_property
from solitaire_env.util.messages import shown

RULE_FIELDS: Final = (
    "decks", "ranks", "piles", "cells", "has_stock", "build", "run_build", "spaces", "space_rank", "moves",
    "hides", "draw", "passes", "fill", "aces_home", "alternate_home", "base", "wraps", "worrying_back",
)  # fmt: skip
"""The fields of :class:`~solitaire_env.core.layout.Rules` that are part of the observation."""

_KINDS: Final = ("draw", "redeal", "home", "cell", "tableau", "space", "worry")
"""Kinds of action, in the order of their numbers."""


def _place(action: Action, variant: Variant) -> tuple[int, int, int, int, int]:
    """Sort key of an action among those of all games: kind, source, target and number of cards."""
    rules = make_rules(variant)
    source = action.source
    if source >= rules.sources:
        kind, number = 3, source - rules.sources
    elif source >= rules.first_cell:
        kind, number = 2, source - rules.first_cell
    else:
        kind, number = int(source >= rules.piles), source if source < rules.piles else 0
    return _KINDS.index(action.kind), kind, number, action.target, action.cards


class FamilyLayout(Immutable):
    """The common observation and action space of some games.

    Parameters
    ----------
    variants
        The games, each once.
    information
        Whether the order of the stock is part of the observation.
    """

    def __init__(self, variants: Sequence[Variant], information: Information = "player") -> None:
        self.variants = tuple(variants)
        self.information = information
        layouts = [action_layout(variant) for variant in self.variants]
        places = {
            _place(layout.decode(number), layout.variant): layout.text(number)
            for layout in layouts
            for number in range(layout.size)
        }
        self.texts: tuple[str, ...] = tuple(places[place] for place in sorted(places))
        """Text of each action, by its number."""
        self.numbers = {text: number for number, text in enumerate(self.texts)}
        """Number of each action, by its text."""
        self.actions = [
            np.array([self.numbers[layout.text(n)] for n in range(layout.size)], dtype=np.int64)
            for layout in layouts
        ]
        """For each game, the number of each of its actions, int64 ``[its actions]``."""
        self.own_actions = np.full((len(self.variants), len(self.texts)), -1, dtype=np.int64)
        """For each game, its own number of each action, -1 for actions that it does not have."""
        for game, numbers in enumerate(self.actions):
            self.own_actions[game, numbers] = np.arange(len(numbers))

    def text(self, number: int) -> str:
        """Text of an action: ``t3>f``."""
        whole = action_number(number)
        if not 0 <= whole < len(self.texts):
            raise ValueError(f"action {shown(whole)} is outside the space, allowed: 0..{len(self.texts) - 1}")
        return self.texts[whole]

    def parse(self, text: str) -> int:
        """Number of an action from its text, the inverse of :meth:`text`."""
        number = self.numbers.get(text) if isinstance(text, str) else None
        if number is None:
            raise ValueError(
                f"no game has action {shown(text)}, allowed: such as {', '.join(self.texts[:3])}"
            )
        return number

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Named slices of the observation: the parts of a game, and ``rules``."""
        rules = [make_rules(variant) for variant in self.variants]
        capacity = max(r.pile_capacity for r in rules)
        decks = max(r.decks for r in rules)
        sizes = {f"t{pile + 1}": capacity for pile in range(max(r.piles for r in rules))}
        sizes |= {"cells": max(r.cells for r in rules), "waste": max(r.stock_capacity for r in rules)}
        sizes |= {"foundations": SUITS * decks, "stock_count": 1, "redeals": 1, "base": 1}
        sizes["rules"] = len(RULE_FIELDS)
        if self.information == "thoughtful":
            sizes["stock"] = sizes["waste"]
        return slices_of(sizes)

    @property
    def size(self) -> int:
        """Number of entries of the observation."""
        return max(int(part.stop) for part in self.slices.values())

    @cached_property
    def places(self) -> list[npt.NDArray[np.int64]]:
        """For each game, the index of each entry of its own observation, int64 ``[its size]``."""
        decks = (self.slices["foundations"].stop - self.slices["foundations"].start) // SUITS
        out = []
        for variant in self.variants:
            own = observation_layout(variant, self.information)
            places = np.zeros(max(part.stop for part in own.values()), dtype=np.int64)
            for name, part in own.items():
                offsets = np.arange(part.stop - part.start)
                if name == "foundations":
                    offsets = offsets // variant.decks * decks + offsets % variant.decks
                places[part] = self.slices[name].start + offsets
            out.append(places)
        return out

    @cached_property
    def rules(self) -> npt.NDArray[np.int8]:
        """The rules of each game as numbers, int8 ``[games, rule fields]``."""
        rows = [[getattr(make_rules(v), field) for field in RULE_FIELDS] for v in self.variants]
        return np.array(rows, dtype=np.int8)

    @cached_property
    def high(self) -> npt.NDArray[np.int8]:
        """Highest value of each entry of the observation, int8 ``[size]``."""
        high = np.zeros(self.size, dtype=np.int8)
        for variant, places in zip(self.variants, self.places, strict=True):
            np.maximum.at(high, places, cards_high(variant, self.information))
        high[self.slices["rules"]] = self.rules.max(axis=0)
        # Gymnasium warns about an entry that can only be 0.
        return np.maximum(high, 1)


@kernel
def show_rows(
    rules: Rules,
    state: State,
    thoughtful: int,
    own: Annotated[Int8, "batch entries"],
    places: Annotated[Int64, "entries"],
    numbers: Annotated[Int64, "rules.actions"],
    observations: Annotated[Int8, "batch size"],
    mask: Annotated[Int8, "batch actions"],
    rows: Annotated[Int64, "n"],
) -> None:
    """Write the observations and the masks of games of one variant among those of all variants.

    Parameters
    ----------
    own
        Scratch array for the observations of the games alone.
    places, numbers
        The index of each entry of an observation, and of each action, among those of all variants.
    """
    for k in range(rows.shape[0]):
        b = rows[k]
        write_cards(rules, state.rows, thoughtful, b, own)
        for entry in range(places.shape[0]):
            observations[b, places[entry]] = own[b, entry]
        for action in range(numbers.shape[0]):
            mask[b, numbers[action]] = state.mask[b, action]


class FamilyStart(NamedTuple):
    """The start of a game: its variant, None for any, and its deal, position or saved state, None for the
    next deal.
    """

    game: int | None
    start: Start | None


class FamilyState(NamedTuple):
    """The arrays of :class:`~solitaire_env.core.State` that environments read."""

    mask: npt.NDArray[np.int8]
    home: npt.NDArray[np.int64]
    status: npt.NDArray[np.int8]


class FamilyBatch(Rows):
    """``size`` games, each of one of several variants, with the interface of a :class:`Batch`.

    Each variant has its own batch, which steps the rows that play it; all share the arrays of :class:`Rows`.
    The row's stream chooses the variant of a new game.

    Parameters
    ----------
    specs
        The games.
    size
        Number of rows.
    layout
        Observation and action space, if not those of :class:`FamilyLayout`.
    chosen
        The deal numbers that new games are drawn from, int64 ``[n]``; none: all that are not reserved.
    """

    def __init__(
        self,
        specs: Sequence[GameSpec],
        size: int,
        layout: "FamilyLayout | None" = None,
        chosen: npt.NDArray[np.int64] = deals.ANY_DEAL,
    ) -> None:
        super().__init__(size, chosen=chosen)
        rows = Rows(size, self)
        self.batches = [Batch(spec, size, rows) for spec in specs]
        self.specs = tuple(specs)
        self.settings = specs[0].settings
        self.layout = layout or FamilyLayout([spec.variant for spec in specs], self.settings.information)
        self.num_actions, self.action_layout = len(self.layout.texts), self.layout
        self.slices = self.layout.slices
        self.games = np.zeros(size, dtype=np.int64)
        """Index of the variant of each row, int64 ``[size]``."""
        mask = np.zeros((size, self.num_actions), dtype=np.int8)
        self.state = FamilyState(mask, self.home, self.status)
        self._observations = np.zeros((size, self.layout.size), dtype=np.int8)

    def find_action(self, row: int, action: int) -> int | None:
        """The number of an action in the game of a row; None if the game does not have it."""
        number = int(self.layout.own_actions[self.games[row], action])
        return number if number >= 0 else None

    def own_observation(self, row: int, observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """An observation of a row as that of its game alone."""
        own: npt.NDArray[Any] = observation[self.layout.places[self.games[row]]]
        return own

    # ------------------------------------------------------------------------------- new games

    @in_one_thread
    def begin(self, rows: npt.NDArray[np.int64], starts: Sequence[FamilyStart | Start | None]) -> None:
        """Start new games in some rows (int64 ``[n]``), each from its start."""
        picked = deals.pick_deals(self.streams, rows)
        numbers = deals.pick_deals(self.streams, rows, self.chosen)
        dealt: dict[int, dict[int, Start]] = {}
        for row, any_number, number, given in zip(
            rows.tolist(), picked.tolist(), numbers.tolist(), starts, strict=True
        ):
            game, start = given if isinstance(given, FamilyStart) else (None, given)
            if isinstance(start, Position):
                game = self.layout.variants.index(start.variant)
            elif isinstance(start, dict):
                game = self.game_of_state(start)
            elif game is None:
                game = any_number % len(self.batches)
            dealt.setdefault(game, {})[row] = number if start is None else start
        for game, named in dealt.items():
            those = np.array(list(named), dtype=np.int64)
            self.batches[game].begin(those, list(named.values()))
            self._change(game, those)

    def deal_next(self, rows: npt.NDArray[np.int64]) -> None:
        """Start new games of any variant in some rows (int64 ``[n]``)."""
        self.begin(rows, [None] * len(rows))

    def _change(self, game: int, rows: npt.NDArray[np.int64]) -> None:
        """Show another game in some rows."""
        self.games[rows] = game
        self._observations[rows] = 0
        self._observations[rows, self.layout.slices["rules"]] = self.layout.rules[game]
        self.state.mask[rows] = 0
        self._show[game](rows)

    @cached_property
    def _show(self) -> list[Bound]:
        """For each game, the kernel that updates the observations and masks of rows that play it."""
        thoughtful = int(self.settings.information == "thoughtful")
        return [
            show_rows.bind(
                batch.rules, batch.state, thoughtful, np.zeros((self.size, len(places)), dtype=np.int8),
                places, numbers, self._observations, self.state.mask,
            )
            for batch, places, numbers in zip(
                self.batches, self.layout.places, self.layout.actions, strict=True
            )
        ]  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """A copy binds its kernels to its own arrays."""
        return {name: value for name, value in self.__dict__.items() if name != "_show"}

    # ------------------------------------------------------------------------------------ steps

    @in_one_thread
    def step(self, actions: npt.NDArray[np.int64], todo: npt.NDArray[np.int8]) -> int:
        """Step the games; return the number of episodes that ended. See :meth:`Batch.step`."""
        self._refuse_outside(actions, todo)
        playing = todo == PLAY
        own = self.layout.own_actions[self.games, np.where(playing, actions, 0)]
        if self.settings.on_invalid == "raise":
            self._refuse_illegal(np.flatnonzero(playing), actions, own)
        for array in (self.rewards, self.terminated, self.truncated, self.ended, *self.events):
            array[:] = 0
        what = np.where(own < 0, REFUSE, PLAY).astype(np.int8)
        rows = np.flatnonzero(playing)
        rows = rows[self.games[rows].argsort(kind="stable")]
        for those in np.split(rows, np.flatnonzero(np.diff(self.games[rows])) + 1):
            if len(those):
                game = int(self.games[those[0]])
                self._actions[:] = 0
                self._actions[those] = np.maximum(own[those], 0)
                self._todo[:] = AWAY
                self._todo[those] = what[those]
                self.batches[game].step(self._actions, self._todo)
                self._show[game](those)
        if (todo == DEAL).any():
            self.deal_next(np.flatnonzero(todo == DEAL))
        return int(np.count_nonzero(self.ended))

    def _refuse_illegal(
        self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], own: npt.NDArray[np.int64]
    ) -> None:
        for row in rows.tolist():
            if self.state.mask[row, actions[row]] == 0:
                batch = self.game_of(row)
                if own[row] < 0:
                    text = self.layout.texts[actions[row]]
                    raise IllegalActionError(f"illegal action {text}: {batch.variant.name} has no such move")
                raise IllegalActionError(batch.explain_illegal(row, int(own[row])))

    # ----------------------------------------------------------------- observations, positions

    def game_of(self, row: int) -> Batch:
        """The batch that plays a row, under the same row number."""
        return self.batches[int(self.games[row])]

    def observations(self) -> npt.NDArray[np.int8]:
        """The observations ``[size, entries]``: a view that the next step overwrites."""
        return self._observations

    def position(self, row: int) -> Position:
        """The full position of a game."""
        return self.game_of(row).position(row)

    def visible(self, row: int) -> Position:
        """The position of a game as its player sees it."""
        return self.game_of(row).visible(row)

    # ---------------------------------------------------------------------------- save, restore

    def get_state(self, row: int) -> dict[str, Any]:
        """The complete state of a game, including its random future, as plain data (JSON-able)."""
        return self.game_of(row).get_state(row)

    @in_one_thread
    def set_state(self, row: int, saved: dict[str, Any]) -> None:
        """Restore a state of :meth:`get_state`; the game is unchanged if it is refused."""
        game = self.game_of_state(saved)
        self.batches[game].set_state(row, saved)
        self._change(game, np.array([row], dtype=np.int64))

    def game_of_state(self, saved: Any) -> int:
        """The index of the variant of a saved state."""
        names = [variant.name for variant in self.layout.variants]
        name = saved.get("variant") if isinstance(saved, dict) else None
        if name not in names:
            raise ValueError(f"state is of variant {shown(name)}, allowed: {', '.join(names)}")
        return names.index(name)

    @in_one_thread
    def copy_rows(self, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> None:
        """Copy the games in ``sources`` to ``targets``, including their random futures."""
        self.check_once("targets", targets)
        shared = [
            (array, array[sources])
            for array in (self.home, self.status, self.games, self.state.mask, self._observations)
        ]
        games = self.games[sources]
        for game in np.unique(games).tolist():
            self.batches[game].copy_positions(sources[games == game], targets[games == game])
        for array, copied in shared:
            array[targets] = copied
        self.copy_episodes(sources, targets)

    @in_one_thread
    def resample(self, rows: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64]) -> None:
        """Deal the hidden cards of some games again: see :meth:`Batch.resample`."""
        games = self.games[rows]
        for game in np.unique(games).tolist():
            self.batches[game].resample(rows[games == game], seeds[games == game])
