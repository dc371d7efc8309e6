"""Beam search: at each depth, keep the most promising positions and expand only those.

Positions are ranked by the value of a network, or by playouts of the positions with the highest values. With
playouts, each position keeps the best line known from it, and is ranked by that: a beam with a memory
(Cazenave, "Monte Carlo Beam Search", 2012). Safe autoplay follows each move
(:mod:`solitaire_env.move_features.autoplay`): without it the beam fills with positions that differ in nothing
else. If a beam never left a position out and becomes empty, the game cannot be won.
"""

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.move_features.autoplay import autoplay_safe, has_safe_moves
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.search.layers import Layer, widen
from solitaire_env.search.positions import make_trail
from solitaire_env.search.rollouts import KnownLines, advance_lines, make_known_lines, perturb, play_out_all

Array = npt.NDArray[Any]

ValueFunction = Callable[[Array], Array]
"""Values of position rows, int8 ``[n, row_size]``: float ``[n]``, about 1 for a game that is won."""

BRANCHES: Final = 16
"""Capacity for new positions, per position of the beam; further ones are left out."""
MAX_LINE: Final = 1000
"""Maximum length of a line, in moves."""
NUM_PLAYOUTS: Final = 2
"""Playouts of a position: one by the linear policy, the others with perturbed weights."""
PLAYED_OUT: Final = 2
"""With a network, the maximum number of positions that are played out, per position that a beam keeps."""
MEAN_WEIGHT: Final = 0.1
"""Weight of the mean share of cards that the playouts bring home; the best line has weight 1."""
VALUE_WEIGHT: Final = 0.2
"""Weight of the network's value."""
STALL_LIMIT: Final = 20
"""A playout ends after this many moves without a card going home or leaving the stock."""
SLICE: Final = 64
"""Positions that are played out between two checks of the time."""


class BeamResult(NamedTuple):
    """The result of a beam search."""

    line: tuple[int, ...]
    """Actions to the most cards home, without those of safe autoplay."""
    home: int
    nodes: int
    """Number of moves played."""
    exhausted: bool
    """Whether no position was left out: without a win there is none."""


class BeamInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a beam search; ``found`` is its result."""

    def __init__(self, found: BeamResult) -> None:
        self.found = found


class Best(NamedTuple):
    """The line to the most cards home."""

    home: int
    step: int = 0
    """Number of the beam's moves before ``actions``."""
    place: int = 0
    """Index in the beam from which ``actions`` start."""
    actions: tuple[int, ...] = ()
    """The actions after those."""


class PlayoutScores(NamedTuple):
    """The positions that were played out."""

    kept: Array
    """int64 ``[n]``: their indices in the layer."""
    scores: Array
    """float64 ``[n]``: their scores, by which the beam keeps positions."""
    nodes: int
    """Number of moves played."""


class Beam:
    """Beam search in games of one variant.

    Parameters
    ----------
    variant
        The game.
    megabytes
        Memory for the table of known positions. When it is full, some positions are expanded twice.
    weights
        Weights of the linear policy.
    values
        Values of positions by a network. Without it all positions are played out.
    """

    def __init__(
        self, variant: Variant, megabytes: float, weights: Array, values: ValueFunction | None = None
    ) -> None:
        self.batch = Batch(GameSpec(variant), 2)
        self.trail = make_trail(self.batch.rules)
        self.scratch = make_move_scratch(self.batch.rules)
        self.trial = np.zeros(MAX_LINE, dtype=np.int64)
        self.autoplay = has_safe_moves(variant)
        self.slots = 1 << max(4, int(megabytes * 1e6 / 16).bit_length() - 1)
        self.weights = weights
        self.values = values
        self.max_playouts = PLAYED_OUT if values else BRANCHES
        """Maximum number of playouts, per position that is kept."""
        size = BRANCHES * self.batch.rules.row_size + 4 * self.max_playouts * MAX_LINE
        self.max_width = int(megabytes * 1e6 / size)
        """Maximum width: positions and lines take ``megabytes`` once more."""

    def search(
        self, cards: Array, width: int, random: np.random.Generator | None = None, *,
        line: tuple[int, ...] = (), home: int = -1, until: float = float("inf"),
        progress: Callable[[int, int], None] | None = None,
    ) -> BeamResult:  # fmt: skip
        """Search from a position row (int8 ``[row_size]``, the stock in its order).

        Parameters
        ----------
        width
            Number of positions that are kept.
        random
            Draws the perturbed weights of playouts. With None, positions are ranked by the network alone.
        line, home
            The best known line, without safe autoplay, and the number of cards home after it.
        until
            When to end, in seconds of :func:`time.perf_counter`.
        progress
            Called with the number of moves played and the most cards home.

        Raises
        ------
        BeamInterrupted
            At Ctrl-C.
        """
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        # New arrays: memory that was never written costs nothing, clearing all of it would.
        layer = make_arrays(Layer, rules, candidates=BRANCHES * width, slots=self.slots)
        known, after = (make_known_lines(self.max_playouts * width, MAX_LINE) for _ in range(2))
        known.home[0], known.lengths[0], known.lines[0, : len(line)] = home, len(line), line
        places = np.zeros(1, dtype=np.int64)
        self.batch.set_row(0, cards)
        if self.autoplay:
            autoplay_safe(rules, state, events, 0)
        rows = state.rows[:1].copy()
        best = Best(int(state.home[0]))
        steps: list[tuple[Array, Array]] = []
        whole = True
        played = 0

        def result(exhausted: bool) -> BeamResult:
            return BeamResult(_line(steps, best), best.home, played + int(layer.counts[1]), exhausted)

        try:
            while len(rows) and best.home < rules.cards and time.perf_counter() < until:
                n, fits = widen(rules, state, events, rows, self.autoplay, self.trail, layer)
                if n:
                    best = _best_move(best, layer, n, len(steps))
                if best.home == rules.cards:
                    break
                kept = np.flatnonzero(~layer.over[:n])
                whole = whole and fits and len(kept) <= width
                if len(kept) and random is not None:
                    kept, scores, nodes = self._play_out(
                        layer, kept, places, known, after, width, random, until
                    )
                    played += nodes
                    best = _best_playout(best, layer, kept, after, len(steps))
                elif len(kept) > width:
                    assert self.values is not None
                    scores = self.values(layer.rows[kept])
                else:
                    scores = np.zeros(len(kept))
                # Sorted by rank: a position that two moves reach occurs once, after the better parent.
                places = np.argsort(-scores)[:width]
                kept = kept[places]
                known, after = after, known
                steps.append((layer.froms[kept], layer.actions[kept]))
                rows = layer.rows[kept]
                if progress is not None:
                    progress(played + int(layer.counts[1]), best.home)
        except KeyboardInterrupt:
            raise BeamInterrupted(result(exhausted=False)) from None
        return result(whole and len(rows) == 0)

    def _play_out(
        self, layer: Layer, kept: Array, places: Array, known: KnownLines, after: KnownLines, width: int,
        random: np.random.Generator, until: float,
    ) -> PlayoutScores:  # fmt: skip
        """Play out the positions with the highest values, and those on known lines.

        Parameters
        ----------
        kept
            Indices of the positions in the layer.
        places
            int64 ``[rows]``: index in ``known`` of the position before each.
        after
            Filled with the lines known from the positions that were played out. Positions that were not, for
            lack of time or after a win, get the lowest rank.
        """
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        expected = np.zeros(len(kept))
        if self.values is not None:
            expected = self.values(layer.rows[kept])
            if len(kept) > self.max_playouts * width:
                of = places[layer.froms[kept]]
                on_line = (known.lengths[of] > 0) & (known.lines[of, 0] == layer.actions[kept])
                first = np.argpartition(-np.where(on_line, np.inf, expected), self.max_playouts * width)
                first = first[: self.max_playouts * width]
                kept, expected = kept[first], expected[first]
        advance_lines(known, places[layer.froms[kept]], layer.actions[kept], after)
        weight_sets = perturb(self.weights, NUM_PLAYOUTS, random)
        weight_sets[0] = self.weights
        scores = np.full(len(kept), -np.inf)
        nodes = 0
        for start in range(0, len(kept), SLICE):
            if time.perf_counter() >= until:
                break
            part = slice(start, min(start + SLICE, len(kept)))
            sums = np.zeros(part.stop - start)
            nodes += play_out_all(
                rules, state, events, layer.rows[kept[part]], weight_sets, STALL_LIMIT, self.autoplay,
                self.trial, self.scratch, sums, after, start,
            )  # fmt: skip
            mean = sums / (NUM_PLAYOUTS * rules.cards)
            scores[part] = after.home[part] / rules.cards + MEAN_WEIGHT * mean + VALUE_WEIGHT * expected[part]
            if after.home[part].max() == rules.cards:
                break
        return PlayoutScores(kept, scores, nodes)


def _best_move(best: Best, layer: Layer, n: int, depth: int) -> Best:
    """The better of the best line and the best move to one of the first ``n`` positions of a layer."""
    top = int(layer.home[:n].argmax())
    if layer.home[top] <= best.home:
        return best
    return Best(int(layer.home[top]), depth, int(layer.froms[top]), (int(layer.actions[top]),))


def _best_playout(best: Best, layer: Layer, kept: Array, after: KnownLines, depth: int) -> Best:
    """The better of the best line and the best playout from the kept positions."""
    top = int(after.home[: len(kept)].argmax())
    if after.home[top] <= best.home:
        return best
    at = kept[top]
    rest = after.lines[top, : after.lengths[top]].tolist()
    return Best(int(after.home[top]), depth, int(layer.froms[at]), (int(layer.actions[at]), *rest))


def _line(steps: list[tuple[Array, Array]], best: Best) -> tuple[int, ...]:
    """The actions from the start to the most cards home."""
    place = best.place
    before: list[int] = []
    for froms, actions in steps[: best.step][::-1]:
        before.append(int(actions[place]))
        place = int(froms[place])
    return (*before[::-1], *best.actions)
