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
from solitaire_env.core.native import Bound, Float32, Float64, Int8, Int64, inner, kernel
from solitaire_env.core.rules import legal
from solitaire_env.core.rules.building import playable
from solitaire_env.core.rules.moves import decode, move_cards
from solitaire_env.core.rules.state import copy, copy_cards, write_row
from solitaire_env.core.rules.step import step
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.move_features.columns import (
    LOOKAHEAD,
    MOVE_NAMES,
    NUM_DIG,
    NUM_FAMILY,
    NUM_HIDDEN,
    NUM_MOVE,
    NUM_PLAIN,
    position_names,
)
from solitaire_env.move_features.dig_outs import planning_rules, write_dig_outs
from solitaire_env.move_features.family import family_rules, write_family, write_family_move
from solitaire_env.move_features.hidden_cards import write_hidden_cards, write_hidden_move
from solitaire_env.move_features.lookahead import Passed, look_ahead, make_passed
from solitaire_env.move_features.moves import MoveScratch, make_move_scratch, measure, next_action, survey
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


class Scratch(NamedTuple):
    """Scratch arrays for reading one game at a time."""

    state: State
    """The rows of :mod:`solitaire_env.move_features.positions`."""
    events: Events
    moves: MoveScratch
    notes: Notes
    passed: Passed


class FeatureGroups(NamedTuple):
    """The groups of features that are read besides those of every position, which are the arguments of
    :class:`MoveReader`, and the arrays that they need.
    """

    dig_out: int
    relaxed_reachability: int
    rollout_lookahead: int
    family: int
    hidden_cards: int
    weights: Annotated[Float64, "own_features"]
    """float64 ``[NUM_MOVE]``: the weights of the linear policy that the lookahead follows."""
    rules: Annotated[Float32, "family"]
    """float32 ``[NUM_FAMILY]``: the family's features of the rules."""


class LegalMoves(NamedTuple):
    """The legal moves of games, game by game, actions in order, and their features."""

    games: Annotated[Int64, "moves"]
    """int64 ``[moves]``."""
    actions: Annotated[Int64, "moves"]
    """int64 ``[moves]``."""
    moves: Annotated[Float32, "moves all_features"]
    """float32 ``[moves, NUM_MOVE + features of a position]``: of the move, then of the position after it."""
    positions: Annotated[Float32, "n features"]
    """float32 ``[games, features of a position]``: of the positions before the moves."""


class Kernels(NamedTuple):
    """The kernels of a reader, bound to scratch arrays of their own."""

    write_features: Bound
    write_move_features: Bound


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
    hidden_cards
        Whether to read the features of hidden cards too: see
        :class:`~solitaire_env.move_features.columns.HiddenColumns`. Only observations with
        ``information="memory"`` have a stock that the player has seen.
    """

    def __init__(
        self, spec: GameSpec, dig_out: int = DIG_OUT_ROUNDS, relaxed_reachability: int = 0,
        rollout_lookahead: int = 0, family: bool = False, hidden_cards: bool = False,
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
        self.groups = FeatureGroups(
            dig_out,
            relaxed_reachability,
            rollout_lookahead,
            int(family),
            int(hidden_cards),
            NO_WEIGHTS,
            family_rules(spec.rules),
        )
        self._free: list[Kernels] = []
        """The kernels, each with scratch arrays, that no thread uses now."""
        self.position_names = position_names(
            dig_out, relaxed_reachability, rollout_lookahead, family, hidden_cards
        )
        """The names of the features of a position, in order."""
        self.move_names = MOVE_NAMES + self.position_names
        """The names of the features of a move, in order."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of features of a move, and of a position."""
        return len(self.move_names), len(self.position_names)

    def read(self, observations: Array, masks: Array, weights: Array | None = None) -> LegalMoves:
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
        groups = self.groups
        if weights is not None:
            groups = groups._replace(weights=np.ascontiguousarray(weights, dtype=np.float64))

        def read_part(kernels: Kernels, observations: Array, masks: Array, features: LegalMoves) -> None:
            kernels.write_features(observations, masks, groups, features)

        return self._in_parts(read_part, observations, masks, self.sizes)

    def read_moves(self, observations: Array, masks: Array) -> LegalMoves:
        """The features of the moves only, float32 ``[moves, NUM_MOVE]``, in a fraction of the time."""

        def read_part(kernels: Kernels, observations: Array, masks: Array, features: LegalMoves) -> None:
            kernels.write_move_features(observations, masks, *features[:3])

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
        self, read_part: Callable[[Kernels, Array, Array, LegalMoves], None], observations: Array,
        masks: Array, sizes: tuple[int, int],
    ) -> LegalMoves:  # fmt: skip
        """Read games, in parts on several threads; ``sizes`` as in :attr:`sizes`."""
        observations = np.ascontiguousarray(observations, dtype=np.int8)
        masks = np.ascontiguousarray(masks).view(np.int8)
        ends = np.zeros(len(masks) + 1, dtype=np.int64)
        np.cumsum(np.count_nonzero(masks, axis=1), out=ends[1:])
        features = LegalMoves(
            np.empty(ends[-1], dtype=np.int64),
            np.empty(ends[-1], dtype=np.int64),
            np.empty((ends[-1], sizes[0]), dtype=np.float32),
            np.empty((len(observations), sizes[1]), dtype=np.float32),
        )

        def read(part: slice) -> None:
            moves = slice(ends[part.start], ends[part.stop])
            games = features.games[moves]
            try:
                kernels = self._free.pop()
            except IndexError:
                kernels = self._bind()
            read_part(
                kernels, observations[part], masks[part],
                LegalMoves(games, features.actions[moves], features.moves[moves], features.positions[part]),
            )  # fmt: skip
            self._free.append(kernels)
            games += part.start

        run_parts(read, list(split_evenly(len(masks), SMALLEST_PART)))
        return features

    def _bind(self) -> Kernels:
        scratch = make_scratch(self.rules)
        return Kernels(
            write_features.bind(self.rules, self.plans, scratch),
            write_move_features.bind(self.rules, scratch.state, scratch.moves, NO_WEIGHTS),
        )


def make_scratch(rules: Rules) -> Scratch:
    """Scratch arrays for reading one game at a time."""
    return Scratch(
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
def _is_full(mask):
    """Whether a mask is all ones: of a finished game, or of a caller without a mask."""
    ones = 0
    while ones < mask.shape[0] and mask[ones] != 0:
        ones += 1
    return ones == mask.shape[0]


@inner
def _write_moves(
    rules, state, scratch, mask, trusted, game, first, weights, games, actions, moves
):  # fmt: skip
    """Write the moves of the game in row ``GAME`` from index ``first``; return where they end.

    ``trusted``: the mask contains only legal actions, so that the state's own mask is not needed.
    """
    view = survey(rules, state, GAME, scratch.near)
    k = first
    action = next_action(mask, 0)
    while action < mask.shape[0]:
        games[k] = game
        actions[k] = action
        out = moves[k, :NUM_MOVE]
        out[:] = 0.0
        if trusted or is_legal(state, GAME, action):
            measure(rules, state, GAME, action, view, scratch.near, weights, out)
        k += 1
        action = next_action(mask, action + 1)
    return k


@kernel
def write_move_features(
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
    """Write the legal moves of games and their own features, without those of positions."""
    k = 0
    for game in range(masks.shape[0]):
        trusted = not _is_full(masks[game])
        if trusted:
            place_cards(rules, state, GAME, observations[game])
        else:
            # Use the state's mask.
            place_seen(rules, state, GAME, observations[game])
        k = _write_moves(
            rules, state, scratch, masks[game], trusted, game, k, weights, games, actions, moves
        )  # fmt: skip


@inner
def _check_moves(rules, state, mask):
    """Write only the entries of the mask in row ``GAME`` that are asked for, and the status as if the game
    were not finished: then no move is legal.
    """
    state.status[GAME] = PLAYING
    action = next_action(mask, 0)
    while action < mask.shape[0]:
        source, target, count = decode(rules, state, GAME, action)
        state.mask[GAME, action] = legal.is_legal(rules, state, GAME, action, source, target, count)
        action = next_action(mask, action + 1)


@inner
def _place_game(rules, scratch, observation, mask, playing, game, first, weights, out):
    """Place a game in row ``GAME``, note its shared data, and write its moves; return where they end.

    The row has the whole mask only if the game is ``playing`` on from there, or ``mask`` is full.
    """
    state, notes = scratch.state, scratch.notes
    if playing or (mask.shape[0] and _is_full(mask)):
        place_seen(rules, state, GAME, observation)
    else:
        place_cards(rules, state, GAME, observation)
        _check_moves(rules, state, mask)
    note_unseen(rules, state, GAME, notes.unseen)
    for pile in range(rules.piles):
        note_pile(rules, state, GAME, pile, notes.piles[GAME, pile])
    return _write_moves(
        rules, state, scratch.moves, mask, 0, game, first, weights, out.games, out.actions, out.moves
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
def _make_move(rules, state, events, action, playing, remembers, notes):
    """Make the move of an action, not a draw, from row ``GAME``, in row ``AFTER``; note the piles there.

    That row has mask and status only if the game is ``playing`` on from there, and the stock if a player
    ``remembers`` it.
    """
    source, target, count = decode(rules, state, GAME, action)
    if playing:
        copy(rules, state, GAME, AFTER)
        step(rules, state, events, AFTER, action)
    else:
        copy_cards(rules, state, GAME, AFTER)
        if rules.fill or remembers:
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
def _place_of(move, first, game, out):
    """The action of a move, and the output row for the position after it. Before the first move it is
    ``NOTHING``, for the position itself.
    """
    action = NOTHING
    row = out.positions[game, :]
    if move >= first:
        action = out.actions[move]
        row = out.moves[move, NUM_MOVE:]
    return action, row


@inner
def _start_after(rules, state, action, here, row):
    """Copy the features of the position itself to an action's output row; whether the action is legal."""
    if action < 0:
        return True
    write_row(here, row)
    return is_legal(state, GAME, action)


@inner
def _read_end(rules, plans, state, notes, moved, plain, reachability, out):
    """Write the features of the position in row ``AFTER`` at the end of a lookahead, and the number of cards
    that went home during it.

    ``plain`` and ``reachability`` are the features of the position at its beginning: those of the end too,
    if no card was ``moved``.
    """
    own = NUM_PLAIN + reachability.shape[0]
    if moved:
        for pile in range(rules.piles):
            note_pile(rules, state, AFTER, pile, notes.piles[AFTER, pile])
        write_plain(rules, plans, state, AFTER, 0, notes, out[:NUM_PLAIN])
        if reachability.shape[0]:
            write_reachability(plans, state, AFTER, TRIAL, notes.unseen, notes.hand, out[NUM_PLAIN:own])
    else:
        write_row(plain, out[:NUM_PLAIN])
        write_row(reachability, out[NUM_PLAIN:own])
    out[own + LOOKAHEAD.home] = (state.home[AFTER] - state.home[GAME]) / 13


@inner
def _write_position(rules, plans, state, b, drawn, notes, size, out):
    """Write the plain features of a position, its dig-outs up to column ``size``, and its reachability."""
    write_plain(rules, plans, state, b, drawn, notes, out[:NUM_PLAIN])
    write_dig_outs(plans, state, PLAN, TRIAL, BEST, out[NUM_PLAIN:size])
    # A draw changes nothing that it depends on: it is copied from the position before.
    if size < out.shape[0] and not drawn:
        write_reachability(plans, state, b, TRIAL, notes.unseen, notes.hand, out[size:])


@kernel
def write_features(
    rules: Rules,
    plans: Rules,
    scratch: Scratch,
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n masked"],
    groups: FeatureGroups,
    out: LegalMoves,
) -> None:
    """Read games: for each, the position itself, then the position after each move."""
    state, events, notes, passed = scratch.state, scratch.events, scratch.notes, scratch.passed
    limit = groups.rollout_lookahead
    size = NUM_PLAIN + groups.dig_out * NUM_DIG
    ahead = size + groups.relaxed_reachability
    of_hidden = out.positions.shape[1] - groups.hidden_cards * NUM_HIDDEN
    of_family = of_hidden - groups.family * NUM_FAMILY
    k = 0
    for game in range(observations.shape[0]):
        first = k
        k = _place_game(
            rules, scratch, observations[game], masks[game], limit > 0, game, first, groups.weights, out
        )  # fmt: skip
        here = out.positions[game, :]
        passed.number[0] = 0
        for move in range(first - 1, k):
            action, row = _place_of(move, first, game, out)
            if not _start_after(rules, state, action, here, row):
                continue
            b = GAME
            drawn = cards_drawn(rules, state, action)
            if action >= 0 and not drawn:
                b = AFTER
                _make_move(rules, state, events, action, limit > 0, groups.hidden_cards, notes)
            _write_position(rules, plans, state, b, drawn, notes, size, row[:ahead])
            if groups.family:
                write_family(rules, state, b, drawn, notes.unseen, groups.rules, row[of_family:of_hidden])
                if action >= 0:
                    write_family_move(rules, state, GAME, action, row[of_family:of_hidden])
            if groups.hidden_cards:
                write_hidden_cards(rules, state, b, drawn, row[of_hidden:])
                if action >= 0:
                    write_hidden_move(rules, state, GAME, action, row[of_hidden:])
            if limit and not drawn:  # a draw has the lookahead of the position itself
                if action < 0:
                    copy(rules, state, GAME, AFTER)
                home = state.home[AFTER]
                end, made = look_ahead(
                    rules, state, events, AFTER, move, groups.weights, limit, scratch.moves, passed
                )
                if end == move:
                    moved = made > 0 or state.home[AFTER] > home
                    _read_end(
                        rules, plans, state, notes, moved, row[:NUM_PLAIN], row[size:ahead], row[ahead:]
                    )
                else:
                    _, known = _place_of(end, first, game, out)
                    write_row(known[ahead:of_family], row[ahead:of_family])
                row[ahead + NUM_PLAIN + groups.relaxed_reachability + LOOKAHEAD.moves] = made / limit
            if action >= 0 and not drawn and _changes_unseen(rules, action):
                note_unseen(rules, state, GAME, notes.unseen)
