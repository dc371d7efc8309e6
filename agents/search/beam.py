"""Beams: of all positions that lie so many moves from the start, the most promising are kept and searched on.

What a position promises is what a network expects of it; or, of those alone that the network speaks for, what
comes of it when it is played out. Then each keeps the best line that is known from it, and counts by that:
a beam with a memory (Cazenave, "Monte Carlo Beam Search", 2012). Between moves safe autoplay is played
(:mod:`solitaire_env.move_features.autoplay`): without it a beam is filled with positions that differ by
nothing else. A beam that never had to leave a position out, and dies, has proved that there is no win.
"""

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.layers import Layer, make_layer, widen
from agents.search.positions import make_trail
from agents.search.rollouts import Known, hand_on, make_known, near, play_out_all
from solitaire_env import Variant
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import autoplay_safe, has_safe_moves
from solitaire_env.move_features.moves import make_room

Array = npt.NDArray[Any]

Expects = Callable[[Array], Array]
"""What is expected of position rows, int8 ``[n, row_size]``: about 1 of a game that is won, float ``[n]``."""

BRANCHES: Final = 16
"""There is room for so many new positions for each that a beam stands on; of more, some are left out."""
LONGEST: Final = 1000
"""A line has at most so many moves."""
PLAYERS: Final = 2
"""So many habits play out a position: the linear policy, and others that differ by chance."""
FINALISTS: Final = 2
"""For each position that a beam keeps so many are played out, the others are left out."""
MEAN: Final = 0.1
"""The share of cards that playouts bring home on average counts so much beside that of the best line."""
TRUST: Final = 0.2
"""And so much what the network expects."""
PATIENCE: Final = 20
"""After so many moves without a card going home or coming off the stock a playout is given up."""
SLICE: Final = 64
"""So many positions are played out between two looks at the clock."""


class Found(NamedTuple):
    """What a beam came to."""

    line: tuple[int, ...]
    """Actions that lead to most cards home, but for what is sure to go there."""
    home: int
    nodes: int
    """Moves that were played."""
    exhausted: bool
    """Whether no position was left out: without a win there is none."""
    stopped: bool
    """Whether Ctrl-C ended it."""


class Best(NamedTuple):
    """How a beam came to the most cards home."""

    home: int
    step: int = 0
    """So many moves were searched on before."""
    place: int = 0
    """Where the beam stood then."""
    actions: tuple[int, ...] = ()
    """From there on."""


class Played(NamedTuple):
    """What was played out."""

    kept: Array
    """int64 ``[n]``: which places of the layer."""
    worth: Array
    """float64 ``[n]``: what they promise."""
    nodes: int
    """Moves that were played."""


class Beam:
    """Searches games of one variant, one after another.

    Parameters
    ----------
    variant
        The game.
    megabytes
        What the positions may take that are known again; of more, some are met twice.
    weights
        The linear policy's.
    expects
        What the network expects; without one all positions are played out.
    """

    def __init__(
        self, variant: Variant, megabytes: float, weights: Array, expects: Expects | None = None
    ) -> None:
        self.batch = Batch(GameSpec(variant), 2)
        self.trail = make_trail(self.batch.rules)
        self.room = make_room(self.batch.rules)
        self.trial = np.zeros(LONGEST, dtype=np.int64)
        self.forced = has_safe_moves(variant)
        self.slots = 1 << max(4, int(megabytes * 1e6 / 16).bit_length() - 1)
        self.weights = weights
        self.expects = expects
        self.asked = FINALISTS if expects else BRANCHES
        """For each position that is kept so many are played out at most."""
        self.widest = int(megabytes * 1e6 / (BRANCHES * self.batch.rules.row_size + 4 * self.asked * LONGEST))
        """So wide a beam's positions and lines take the megabytes once more."""

    def search(
        self, cards: Array, width: int, random: np.random.Generator | None = None, *,
        line: tuple[int, ...] = (), home: int = -1, until: float = float("inf"),
        progress: Callable[[int, int], None] | None = None,
    ) -> Found:  # fmt: skip
        """Search on from a position row (int8 ``[row_size]``, the stock in its order).

        Parameters
        ----------
        width
            So many positions are kept.
        random
            From which the habits are drawn that play out; None: the beam goes by what the network expects
            alone.
        line, home
            The best line that is known, but for what is sure to go home, and to how many cards home it leads.
        until
            Where it ends, in seconds of :func:`time.perf_counter`.
        progress
            Is told moves played and most cards home.
        """
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        # Made anew: memory that was never written costs nothing, clearing it all would.
        layer = make_layer(rules, BRANCHES * width, self.slots)
        known, after = (make_known(self.asked * width, LONGEST) for _ in range(2))
        known.home[0], known.lengths[0], known.lines[0, : len(line)] = home, len(line), line
        places = np.zeros(1, dtype=np.int64)
        self.batch.set_row(0, cards)
        if self.forced:
            autoplay_safe(rules, state, events, 0)
        rows = state.rows[:1].copy()
        best = Best(int(state.home[0]))
        steps: list[tuple[Array, Array]] = []
        whole, stopped = True, False
        played = 0
        try:
            while len(rows) and best.home < rules.cards and time.perf_counter() < until:
                n, fits = widen(rules, state, events, rows, self.forced, self.trail, layer)
                if n:
                    best = _best_move(best, layer, n, len(steps))
                if best.home == rules.cards:
                    break
                kept = np.flatnonzero(~layer.over[:n])
                whole = whole and fits and len(kept) <= width
                if len(kept) and random is not None:
                    kept, worth, nodes = self._play_out(
                        layer, kept, places, known, after, width, random, until
                    )
                    played += nodes
                    best = _best_playout(best, layer, kept, after, len(steps))
                elif len(kept) > width:
                    assert self.expects is not None
                    worth = self.expects(layer.rows[kept])
                else:
                    worth = np.zeros(len(kept))
                # The most promising first: what two moves lead to stands in the beam once, after the first.
                places = np.argsort(-worth)[:width]
                kept = kept[places]
                known, after = after, known
                steps.append((layer.froms[kept], layer.actions[kept]))
                rows = layer.rows[kept]
                if progress is not None:
                    progress(played + int(layer.counts[1]), best.home)
        except KeyboardInterrupt:
            stopped = True
        nodes = played + int(layer.counts[1])
        return Found(_line(steps, best), best.home, nodes, whole and len(rows) == 0, stopped)

    def _play_out(
        self, layer: Layer, kept: Array, places: Array, known: Known, after: Known, width: int,
        random: np.random.Generator, until: float,
    ) -> Played:  # fmt: skip
        """Play out the positions of a layer that the network speaks for, and those on known lines.

        Parameters
        ----------
        kept
            Where in the layer they stand.
        places
            int64 ``[rows]``: where in ``known`` each position stands from which they are reached.
        after
            Is made what is known from those that were played out. What was not, for time or a win, promises
            nothing.
        """
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        expected = np.zeros(len(kept))
        if self.expects is not None:
            expected = self.expects(layer.rows[kept])
            if len(kept) > self.asked * width:
                of = places[layer.froms[kept]]
                on_line = (known.lengths[of] > 0) & (known.lines[of, 0] == layer.actions[kept])
                first = np.argpartition(-np.where(on_line, np.inf, expected), self.asked * width)
                first = first[: self.asked * width]
                kept, expected = kept[first], expected[first]
        hand_on(known, places[layer.froms[kept]], layer.actions[kept], after)
        habits = near(self.weights, PLAYERS, random)
        habits[0] = self.weights
        worth = np.full(len(kept), -np.inf)
        nodes = 0
        for start in range(0, len(kept), SLICE):
            if time.perf_counter() >= until:
                break
            part = slice(start, min(start + SLICE, len(kept)))
            sums = np.zeros(part.stop - start)
            nodes += play_out_all(
                rules, state, events, layer.rows[kept[part]], habits, PATIENCE, self.forced, self.trial,
                self.room, sums, after, start,
            )  # fmt: skip
            mean = sums / (PLAYERS * rules.cards)
            worth[part] = after.home[part] / rules.cards + MEAN * mean + TRUST * expected[part]
            if after.home[part].max() == rules.cards:
                break
        return Played(kept, worth, nodes)


def _best_move(best: Best, layer: Layer, n: int, depth: int) -> Best:
    """The best line so far, or one to the first ``n`` positions of a layer that brings more cards home."""
    top = int(layer.home[:n].argmax())
    if layer.home[top] <= best.home:
        return best
    return Best(int(layer.home[top]), depth, int(layer.froms[top]), (int(layer.actions[top]),))


def _best_playout(best: Best, layer: Layer, kept: Array, after: Known, depth: int) -> Best:
    """The best line so far, or one of the playouts from the kept positions that brings more cards home."""
    top = int(after.home[: len(kept)].argmax())
    if after.home[top] <= best.home:
        return best
    at = kept[top]
    onward = after.lines[top, : after.lengths[top]].tolist()
    return Best(int(after.home[top]), depth, int(layer.froms[at]), (int(layer.actions[at]), *onward))


def _line(steps: list[tuple[Array, Array]], best: Best) -> tuple[int, ...]:
    """The actions that lead from the start to the most cards home."""
    place = best.place
    before: list[int] = []
    for froms, actions in steps[: best.step][::-1]:
        before.append(int(actions[place]))
        place = int(froms[place])
    return (*before[::-1], *best.actions)
