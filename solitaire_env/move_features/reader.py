"""Reads the features of legal moves, and of positions, from ``cards`` observations and masks.

It uses only what the player sees: an observation becomes a game of the engine with placeholders for hidden
cards, and moves are played there.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import (
    Events,
    Rules,
    State,
    make_events,
    make_state,
    run_parts,
    split_evenly,
)
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import Float32, Float64, Int8, Int64, inner, kernel
from solitaire_env.core.rules.building import playable
from solitaire_env.core.rules.moves import decode, move_cards
from solitaire_env.core.rules.state import copy, copy_cards, write_row
from solitaire_env.core.rules.step import step
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.move_features.columns import (
    MOVE_NAMES,
    NUM_DIG,
    NUM_FAMILY,
    NUM_MOVE,
    NUM_PLAIN,
    WAY,
    position_names,
)
from solitaire_env.move_features.dig_outs import planning_rules, write_dig_outs
from solitaire_env.move_features.family import family_rules, write_family, write_family_move
from solitaire_env.move_features.lookahead import Passed, look_ahead, make_passed
from solitaire_env.move_features.moves import MoveScratch, make_move_scratch, measure, survey
from solitaire_env.move_features.observed import GAME, place_cards, place_seen
from solitaire_env.move_features.positions import (
    AFTER,
    BEST,
    PLAN,
    ROWS,
    TRIAL,
    Notes,
    make_notes,
    note_pile,
    note_unseen,
    write_plain,
)
from solitaire_env.move_features.reachability import write_reachability

Array = npt.NDArray[Any]

NOTHING: Final = -1
"""No action."""
DIG_OUT_ROUNDS: Final = 2
"""Default number of rounds of dig-outs."""
NO_WEIGHTS: Final = np.zeros(NUM_MOVE)
"""Weights of the linear policy if it is not followed; with them it plays the first legal move."""
SMALLEST_PART: Final = 16
"""Minimum number of games of a thread."""

Scratch = tuple[State, Events, MoveScratch, Notes, Passed]


class MoveFeatures(NamedTuple):
    """The legal moves of games, game by game, actions in order."""

    games: Array
    """int64 ``[moves]``."""
    actions: Array
    """int64 ``[moves]``."""
    moves: Array
    """float32 ``[moves, NUM_MOVE + features of a position]``: of the move, then of the position after it."""
    positions: Array
    """float32 ``[games, features of a position]``: of the positions before the moves."""


class MoveReader:
    """Reads moves and positions of one game.

    Parameters
    ----------
    spec
        The game as the reader sees it, with ``observation="cards"``.
    dig_out
        Rounds of dig-out features.
    relaxed_reachability
        Number of relaxed-reachability features.
    rollout_lookahead
        Maximum number of moves of the rollout lookahead; 0: no lookahead.
    family
        Whether to read the family's features too, for a network that plays many games: see
        :class:`~solitaire_env.move_features.columns.FamilyColumns`. Dig-outs then follow the game's own
        building rule, not suits. The number of features does not depend on the game.
    """

    def __init__(
        self, spec: GameSpec, dig_out: int = DIG_OUT_ROUNDS, relaxed_reachability: int = 0,
        rollout_lookahead: int = 0, family: bool = False,
    ) -> None:  # fmt: skip
        if spec.settings.observation != "cards":
            raise ValueError(
                f"observation is {spec.settings.observation!r}, allowed for move features: 'cards'"
            )
        if rollout_lookahead and not has_safe_moves(spec.variant):
            raise ValueError(
                f"rollout_lookahead is {rollout_lookahead} with build {spec.variant.build!r} and "
                f"foundation_build {spec.variant.foundation_build!r}, allowed: 0"
            )
        self.rules = spec.rules
        self.plans = planning_rules(spec.rules, own_build=family)
        self.rollout_lookahead = rollout_lookahead
        self.numbers = dig_out, relaxed_reachability, rollout_lookahead, int(family)
        """The last four arguments."""
        self._family_rules = family_rules(spec.rules)
        self._free: list[Scratch] = []
        self.position_names = position_names(dig_out, relaxed_reachability, rollout_lookahead, family)
        """The names of the features of a position, in order."""
        self.move_names = MOVE_NAMES + self.position_names
        """The names of the features of a move, in order."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of features of a move, and of a position."""
        return len(self.move_names), len(self.position_names)

    def read(self, observations: Array, masks: Array, weights: Array | None = None) -> MoveFeatures:
        """The features of the legal moves of games, and of their positions.

        Parameters
        ----------
        observations
            int8 ``[n, size]``.
        masks
            int8 or bool ``[n, actions]``. An illegal action, such as those of finished games, is read as an
            action that does nothing.
        weights
            The linear policy's, float64 ``[NUM_MOVE]``, for the rollout lookahead; zeros by default.
        """
        weights = NO_WEIGHTS if weights is None else np.ascontiguousarray(weights, dtype=np.float64)

        def read_part(arrays: Scratch, observations: Array, masks: Array, features: MoveFeatures) -> None:
            _read(
                self.rules, self.plans, *arrays, observations, masks, *self.numbers, weights,
                self._family_rules, *features,
            )  # fmt: skip

        return self._in_parts(read_part, observations, masks, self.sizes)

    def read_moves(self, observations: Array, masks: Array) -> MoveFeatures:
        """The features of the moves only, float32 ``[moves, NUM_MOVE]``, in a fraction of the time."""

        def read_part(arrays: Scratch, observations: Array, masks: Array, features: MoveFeatures) -> None:
            state, _, scratch, *_ = arrays
            _read_moves(self.rules, state, scratch, NO_WEIGHTS, observations, masks, *features[:3])

        return self._in_parts(read_part, observations, masks, (NUM_MOVE, 0))

    def read_table(self, observations: Array) -> Array:
        """The features of the moves only, with a row per action, float32 ``[n, actions, NUM_MOVE]``.

        The rows of illegal actions are 0; those of finished games too.
        """
        masks = np.ones((len(observations), self.rules.actions), dtype=np.int8)
        return self.read_moves(observations, masks).moves.reshape(*masks.shape, NUM_MOVE)

    def read_positions(self, observations: Array, weights: Array | None = None) -> Array:
        """The features of the positions only, float32 ``[n, features]``."""
        nothing = np.zeros((len(observations), 0), dtype=np.int8)
        return self.read(observations, nothing, weights).positions

    def _in_parts(
        self, read_part: Callable[[Scratch, Array, Array, MoveFeatures], None], observations: Array,
        masks: Array, sizes: tuple[int, int],
    ) -> MoveFeatures:  # fmt: skip
        """Read games, in parts on several threads; ``sizes`` as in :attr:`sizes`."""
        observations = np.ascontiguousarray(observations, dtype=np.int8)
        masks = np.ascontiguousarray(masks).view(np.int8)
        ends = np.zeros(len(masks) + 1, dtype=np.int64)
        np.cumsum(np.count_nonzero(masks, axis=1), out=ends[1:])
        features = MoveFeatures(
            np.empty(ends[-1], dtype=np.int64),
            np.empty(ends[-1], dtype=np.int64),
            np.empty((ends[-1], sizes[0]), dtype=np.float32),
            np.empty((len(observations), sizes[1]), dtype=np.float32),
        )

        def read(part: slice) -> None:
            moves = slice(ends[part.start], ends[part.stop])
            games = features.games[moves]
            try:
                arrays = self._free.pop()
            except IndexError:
                arrays = _make_scratch(self.rules)
            read_part(
                arrays, observations[part], masks[part],
                MoveFeatures(games, features.actions[moves], features.moves[moves], features.positions[part]),
            )  # fmt: skip
            self._free.append(arrays)
            games += part.start

        run_parts(read, list(split_evenly(len(masks), SMALLEST_PART)))
        return features


def _make_scratch(rules: Rules) -> Scratch:
    return (
        make_state(rules, ROWS),
        make_events(ROWS),
        make_move_scratch(rules),
        make_notes(rules),
        make_passed(rules),
    )


# ----------------------------------------------------------------------------------------- kernels


@inner
def is_legal(state, b, action):
    """Whether an action is legal; none is in a finished game, whose mask is all ones."""
    return state.status[b] == PLAYING and state.mask[b, action] != 0


@inner
def _write_moves(
    rules, state, scratch, mask, trusted, game, first, weights, games, actions, moves
):  # fmt: skip
    """Write the moves of the game in row ``GAME`` from index ``first``; return where they end.

    ``trusted`` is 1 if the mask contains only legal actions: then the state's own mask is not needed.
    """
    view = survey(rules, state, GAME, scratch.near)
    k = first
    for action in range(mask.shape[0]):
        if mask[action] == 0:
            continue
        games[k] = game
        actions[k] = action
        out = moves[k, :NUM_MOVE]
        out[:] = 0.0
        if trusted or is_legal(state, GAME, action):
            measure(rules, state, GAME, action, view, scratch.near, weights, out)
        k += 1
    return k


@kernel
def _read_moves(
    rules: Rules,
    state: State,
    scratch: MoveScratch,
    weights: Annotated[Float64, "own_features"],
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n rules.actions"],
    games: Annotated[Int64, "moves"],
    actions: Annotated[Int64, "moves"],
    moves: Annotated[Float32, "moves all_features"],
) -> None:
    k = 0
    for game in range(masks.shape[0]):
        ones = 0
        while ones < masks.shape[1] and masks[game, ones] != 0:
            ones += 1
        trusted = int(ones < masks.shape[1])
        if trusted:
            place_cards(rules, state, GAME, observations[game])
        else:
            # A finished game, or a caller without a mask: use the state's mask.
            place_seen(rules, state, GAME, observations[game])
        k = _write_moves(
            rules, state, scratch, masks[game], trusted, game, k, weights, games, actions, moves
        )  # fmt: skip


@inner
def _place_game(
    rules, state, scratch, notes, observation, mask, game, first, weights, games, actions, moves
):  # fmt: skip
    """Place a game in row ``GAME``, note its shared data, and write its moves; return where they end."""
    place_seen(rules, state, GAME, observation)
    note_unseen(rules, state, GAME, notes.unseen)
    for pile in range(rules.piles):
        note_pile(rules, state, GAME, pile, notes.piles[GAME, pile])
    return _write_moves(
        rules, state, scratch, mask, 0, game, first, weights, games, actions, moves
    )  # fmt: skip


@inner
def cards_drawn(rules, state, action):
    """Number of cards that an action in row ``GAME`` draws; 0 for other actions and ``NOTHING``."""
    return min(rules.draw, state.stock[GAME]) if action == 0 and rules.has_stock else 0


@inner
def _changes_unseen(rules, action):
    """Whether an action, not a draw, changes the unseen cards: a redeal hides the waste, and foundations of
    alternating colors hide the suits of their cards.
    """
    return action < rules.home_actions or rules.alternate_home != 0


@inner
def _make_move(rules, state, events, action, playing, notes):
    """Make the move of an action, not a draw, from row ``GAME``, in row ``AFTER``; note the piles there.

    That row has mask and status only if the game is ``playing`` on from there.
    """
    source, target, count = decode(rules, state, GAME, action)
    if playing:
        copy(rules, state, GAME, AFTER)
        step(rules, state, events, AFTER, action)
    else:
        copy_cards(rules, state, GAME, AFTER)
        if rules.fill:
            # A card of the stock may fill a space.
            for place in range(rules.row_stock, rules.row_size):
                state.rows[AFTER, place] = state.rows[GAME, place]
        move_cards(rules, state, AFTER, action, source, target, count)
        for other in range(rules.sources):
            state.tops[AFTER, other] = playable(rules, state, AFTER, other)
    for pile in range(rules.piles):
        if pile in (source, target):
            note_pile(rules, state, AFTER, pile, notes.piles[AFTER, pile])
        else:
            write_row(notes.piles[GAME, pile], notes.piles[AFTER, pile])
    if _changes_unseen(rules, action):
        note_unseen(rules, state, AFTER, notes.unseen)


@inner
def _place_of(move, first, actions, moves, here):
    """The action of a move, and the output row for the position after it. Before the first move it is
    ``NOTHING``, for the position itself, with the output row ``here``.
    """
    action = NOTHING
    out = here
    if move >= first:
        action = actions[move]
        out = moves[move, NUM_MOVE:]
    return action, out


@inner
def _start_after(rules, state, action, here, out):
    """Copy the features of the position itself to an action's output row; whether the action is legal."""
    if action < 0:
        return True
    write_row(here, out)
    return is_legal(state, GAME, action)


@inner
def _read_end(rules, plans, state, notes, reach, out):
    """Write the features of the position in row ``AFTER`` at the end of a lookahead, and the number of cards
    that went home during it.
    """
    way = NUM_PLAIN + reach
    for pile in range(rules.piles):
        note_pile(rules, state, AFTER, pile, notes.piles[AFTER, pile])
    write_plain(rules, plans, state, AFTER, 0, notes, out[:NUM_PLAIN])
    if reach:
        write_reachability(plans, state, AFTER, TRIAL, notes.unseen, notes.hand, out[NUM_PLAIN:way])
    out[way + WAY.home] = (state.home[AFTER] - state.home[GAME]) / 13


@inner
def _write_position(rules, plans, state, b, drawn, notes, size, out):
    """Write the plain features of a position, its dig-outs up to column ``size``, and its reachability."""
    write_plain(rules, plans, state, b, drawn, notes, out[:NUM_PLAIN])
    write_dig_outs(plans, state, PLAN, TRIAL, BEST, out[NUM_PLAIN:size])
    if size < out.shape[0]:
        write_reachability(plans, state, b, TRIAL, notes.unseen, notes.hand, out[size:])


@kernel
def _read(
    rules: Rules,
    plans: Rules,
    state: State,
    events: Events,
    scratch: MoveScratch,
    notes: Notes,
    passed: Passed,
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n masked"],
    digs: int,
    reach: int,
    limit: int,
    family: int,
    weights: Annotated[Float64, "own_features"],
    constants: Annotated[Float32, "family"],
    games: Annotated[Int64, "moves"],
    actions: Annotated[Int64, "moves"],
    moves: Annotated[Float32, "moves all_features"],
    positions: Annotated[Float32, "n features"],
) -> None:
    """Read games: for each, the position itself, then the position after each move."""
    size = NUM_PLAIN + digs * NUM_DIG
    ahead = size + reach
    of_family = positions.shape[1] - family * NUM_FAMILY
    k = 0
    for game in range(observations.shape[0]):
        first = k
        k = _place_game(
            rules, state, scratch, notes, observations[game], masks[game], game, first, weights, games,
            actions, moves,
        )  # fmt: skip
        here = positions[game, :]
        passed.number[0] = 0
        for move in range(first - 1, k):
            action, out = _place_of(move, first, actions, moves, here)
            if not _start_after(rules, state, action, here, out):
                continue
            b = GAME
            drawn = cards_drawn(rules, state, action)
            if action >= 0 and not drawn:
                b = AFTER
                _make_move(rules, state, events, action, limit > 0, notes)
            _write_position(rules, plans, state, b, drawn, notes, size, out[:ahead])
            if family:
                write_family(rules, state, b, drawn, notes.unseen, constants, out[of_family:])
                if action >= 0:
                    write_family_move(rules, state, GAME, action, out[of_family:])
            if limit and not drawn:  # a draw has the lookahead of the position itself
                if action < 0:
                    copy(rules, state, GAME, AFTER)
                end, made = look_ahead(rules, state, events, AFTER, move, weights, limit, scratch, passed)
                if end == move:
                    _read_end(rules, plans, state, notes, reach, out[ahead:])
                else:
                    _, known = _place_of(end, first, actions, moves, here)
                    write_row(known[ahead:of_family], out[ahead:of_family])
                out[ahead + NUM_PLAIN + reach + WAY.moves] = made / limit
            if action >= 0 and not drawn and _changes_unseen(rules, action):
                note_unseen(rules, state, GAME, notes.unseen)
