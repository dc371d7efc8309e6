"""Beams: of all positions that lie so many moves from the start, the most promising are kept and searched on.

What a position promises a judge says: the network's value of it, or what comes of it when it is played out,
of those alone that the network's value speaks for. Between moves all goes home that is sure to
(:func:`agents.search.positions.sure_home`): without it a beam is filled with positions that differ by nothing
else. A beam that never had to leave a position out, and dies, has proved that there is no win.
"""

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from agents.search.layers import make_layer, widen
from agents.search.positions import make_trail, send_home
from agents.search.rollouts import make_room, near, play_out_all
from solitaire_env import Variant
from solitaire_env.batch import Batch, Settings

Array = npt.NDArray[Any]

BRANCHES: Final = 16
"""There is room for so many new positions for each that a beam stands on; of more, some are left out."""
LONGEST: Final = 4000
"""A line has at most so many moves."""
PLAYERS: Final = 2
"""So many habits play out a position: the linear policy, and others that differ by chance."""
FINALISTS: Final = 2
"""For each position that a beam keeps so many are played out, the others are left out."""
TRUST: Final = 0.5
"""The value counts so much beside the share of cards that playouts bring home."""
PATIENCE: Final = 20
"""After so many moves without a card going home or coming off the stock a playout is given up."""
SLICE: Final = 64
"""So many positions are played out between two looks at the clock."""


class Judged(NamedTuple):
    """What positions promise."""

    worth: Array
    """float ``[n]``."""
    home: int = -1
    """Most cards home that a playout came to, -1 where there was none."""
    place: int = 0
    """From which of the positions."""
    line: tuple[int, ...] = ()
    """By which actions."""
    nodes: int = 0
    """Moves that were played."""


class Judge(Protocol):
    """Says what positions promise."""

    narrower: int
    """A beam by this judge is so many times narrower than one by the cheapest."""
    plays: bool
    """Whether it may find a win, and is asked even where all positions can be kept."""

    def __call__(self, rows: Array, width: int, until: float) -> Judged:
        """Of position rows, int8 ``[n, row_size]``, of which so many can be kept."""


class ByPlayouts:
    """Cards home that the linear policy and like ones come to, on average.

    Parameters
    ----------
    variant
        The game.
    weights
        The linear policy's.
    random
        From which others are drawn.
    value
        Says which positions are played out, and counts beside it; without one all are.
    """

    narrower = 8
    plays = True

    def __init__(
        self, variant: Variant, weights: Array, random: np.random.Generator, value: Judge | None = None
    ) -> None:
        self.weights = weights
        self.random = random
        self.value = value
        self.batch = Batch(variant, Settings(), 2)
        self.room = make_room(self.batch.rules)
        self.lines = np.zeros((2, LONGEST), dtype=np.int64)

    def __call__(self, rows: Array, width: int, until: float) -> Judged:
        """See :class:`Judge`. What was not played out, for its value, for time or a win, promises nothing."""
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        habits = near(self.weights, PLAYERS, self.random)
        habits[0] = self.weights
        judged = Judged(np.full(len(rows), -np.inf))
        asked = np.arange(len(rows))
        trust = np.zeros(len(rows))
        if self.value is not None:
            trust = TRUST * self.value(rows, width, until).worth
            if len(rows) > FINALISTS * width:
                asked = np.argpartition(-trust, FINALISTS * width)[: FINALISTS * width]
        for start in range(0, len(asked), SLICE):
            if judged.home == rules.cards or time.perf_counter() >= until:
                break
            part = asked[start : start + SLICE]
            sums = np.empty(len(part))
            home, place, length, moves = play_out_all(
                rules, state, events, rows[part], habits, PATIENCE, *self.lines, self.room, sums
            )
            judged.worth[part] = sums / (PLAYERS * rules.cards) + trust[part]
            judged = judged._replace(nodes=judged.nodes + moves)
            if home > judged.home:
                line = tuple(self.lines[0, :length].tolist())
                judged = judged._replace(home=home, place=int(part[place]), line=line)
        return judged


class Found(NamedTuple):
    """What a beam came to."""

    line: Array
    """int64 ``[moves]``: to the position with most cards home."""
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
    """From there on, but for what is sure to go home after the first."""


class Beam:
    """Searches games of one variant, one after another.

    Parameters
    ----------
    variant
        The game.
    megabytes
        What the positions may take that are known again; of more, some are met twice.
    """

    def __init__(self, variant: Variant, megabytes: float) -> None:
        self.batch = Batch(variant, Settings(), 2)
        self.trail = make_trail(self.batch.rules)
        self.forced = variant.build == "same suit"
        self.slots = 1 << max(4, int(megabytes * 1e6 / 16).bit_length() - 1)

    def search(
        self, cards: Array, width: int, judge: Judge, *, until: float = float("inf"),
        progress: Callable[[int, int], None] | None = None,
    ) -> Found:  # fmt: skip
        """Search on from a position row (int8 ``[row_size]``, the stock in its order).

        Parameters
        ----------
        width
            So many positions are kept.
        judge
            Says which.
        until
            Where it ends, in seconds of :func:`time.perf_counter`.
        progress
            Is told moves played and most cards home.
        """
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        room = np.zeros(rules.cards, dtype=np.int64)
        # Made anew: memory that was never written costs nothing, clearing it all would.
        layer = make_layer(rules, BRANCHES * width, self.slots)
        self.batch.set_row(0, cards)
        if self.forced:
            send_home(rules, state, events, 0, room, 0)
        rows = state.rows[:1].copy()
        best = Best(int(state.home[0]))
        steps: list[tuple[Array, Array]] = []
        whole, stopped = True, False
        played = 0
        try:
            while len(rows) and best.home < rules.cards and time.perf_counter() < until:
                n, fits = widen(rules, state, events, rows, self.forced, self.trail, layer, room)
                froms, actions, home = layer.froms[:n], layer.actions[:n], layer.home[:n]
                if n and home.max() > best.home:
                    top = int(home.argmax())
                    best = Best(int(home[top]), len(steps), int(froms[top]), (int(actions[top]),))
                kept = np.flatnonzero(~layer.over[:n])
                whole = whole and fits and len(kept) <= width
                if len(kept) and (judge.plays or len(kept) > width):
                    judged = judge(layer.rows[kept], width, until)
                    played += judged.nodes
                    if judged.home > best.home:
                        top = int(kept[judged.place])
                        best = Best(
                            judged.home, len(steps), int(froms[top]), (int(actions[top]), *judged.line)
                        )
                    if len(kept) > width:
                        kept = kept[np.argpartition(-judged.worth, width)[:width]]
                steps.append((froms[kept], actions[kept]))
                rows = layer.rows[kept]
                if progress is not None:
                    progress(played + int(layer.counts[1]), best.home)
        except KeyboardInterrupt:
            stopped = True
        nodes = played + int(layer.counts[1])
        return Found(self._line(cards, steps, best), best.home, nodes, whole and len(rows) == 0, stopped)

    def _line(self, cards: Array, steps: list[tuple[Array, Array]], best: Best) -> Array:
        """The actions that lead from a position to the most cards home."""
        place = best.place
        chosen = list(best.actions[:1])
        for froms, actions in steps[: best.step][::-1]:
            chosen.append(int(actions[place]))
            place = int(froms[place])
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        room = np.zeros(rules.cards, dtype=np.int64)
        line: list[int] = []
        self.batch.set_row(0, cards)
        for action in (None, *chosen[::-1]):
            if action is not None:
                self.batch.step(np.array([action, 0]), np.array([1, 0], dtype=np.int8))
                line.append(action)
            if self.forced:
                line += room[: send_home(rules, state, events, 0, room, 0)].tolist()
        return np.array([*line, *best.actions[1:]], dtype=np.int64)
