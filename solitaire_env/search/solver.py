"""A thoughtful solver: decides whether a game can be won when the order of the stock is known.

1. Games like Klondike: an exhaustive search that ignores how face-up cards are arranged
   (:mod:`solitaire_env.search.collapsed`). It decides all but a few deals in thousands.
2. Other games: nested rollouts of the linear policy (:func:`solitaire_env.search.rollouts.nested_rollouts`),
   milliseconds a game; then more, each playout with perturbed weights, which win other deals.
3. In games of one deck or less, an exhaustive search in bounded memory. It finds wins that rollouts miss, and
   proves that there is no win if it ends without one. In turn with it, short searches that try the moves in
   other orders: where one order does not find a win in minutes, another finds it in milliseconds.
4. In larger games beam searches (:mod:`solitaire_env.search.beam`), alternately by playouts and by the
   values of a network, each three times as wide as the last of its kind, or as wide as time allows.

One-card games are searched by supermoves, which stand for single moves; lines are given in the moves of the
game itself. Winning lines are shortened (:mod:`solitaire_env.search.shorten`).
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch, Start
from solitaire_env.core.layout import make_rules
from solitaire_env.core.position import Position
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.supermoves import MOST_SINGLES, make_scratch
from solitaire_env.core.variant import Variant
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.notation import action_text
from solitaire_env.policies.linear import weights_for
from solitaire_env.policies.policy import Policy
from solitaire_env.search.beam import MAX_LINE, Beam, BeamInterrupted, BeamResult
from solitaire_env.search.collapsed import Collapsed, collapses
from solitaire_env.search.exhaustive import EXHAUSTED, FOUND, FULL, MORE, Exhaustive
from solitaire_env.search.positions import expand_line, spell_out
from solitaire_env.search.rollouts import nested_rollouts, perturb
from solitaire_env.search.shorten import shorten
from solitaire_env.search.values import PositionValues
from solitaire_env.util.arguments import check_amount

Array = npt.NDArray[Any]

Status = Literal["won", "unwinnable", "open"]
"""Result of a search; ``open``: neither a win nor a proof that there is none."""

Kind = Literal["playouts", "network"]
"""Ranking of the positions of a beam."""

WIDTHS: Final[dict[Kind, int]] = {"playouts": 32, "network": 128}
"""Widths of the first beams."""
STALL_LIMIT: Final = 12
"""A playout ends after this many moves without a card going home or leaving the stock."""
PERTURBED: Final = 64
"""Number of perturbed sets of weights that the playouts of each try after the first use."""
TRIES_BEFORE_EXHAUSTIVE: Final = 40
"""Number of tries (nested rollouts) before the exhaustive search."""
TRIES_BEFORE_BEAM: Final = 16
"""Number of tries (nested rollouts) before the first beam."""
WIDTH_FACTOR: Final = 3
"""Factor of the width from one beam to the next of its kind."""
MIN_WIDTH_FACTOR: Final = 0.5
"""Minimum of :data:`WIDTH_FACTOR` if time is short."""
MAX_DEFICIT: Final = 0.1
"""No further network beams after one that ended this far behind the best line, as a share of all cards."""
SLICE: Final = 200_000
"""Moves of a turn of the exhaustive search, and of a search in another order."""
PART: Final = 50_000
"""Positions of an exhaustive search between two checks of the time."""
MAX_EXHAUSTIVE_CARDS: Final = 52
"""Games of at most this many cards are searched exhaustively."""
GRACE: Final = 0.1
"""Time for shortening a line after the time limit, as a share of it."""


@dataclass(frozen=True)
class Solution:
    """The solver's result for a game."""

    status: Status
    """``won``; ``unwinnable``: no position that can be reached is won; ``open``: neither was found."""
    line: tuple[int, ...]
    """Actions of the game itself, to a win or to the most cards home."""
    texts: tuple[str, ...]
    """The actions of ``line`` as text, such as ``t3>f``."""
    cards_home: int
    """Cards home after ``line``."""
    positions: int
    """Number of positions that the search reached, repeats included."""
    seconds: float
    """Duration of the search and of shortening its line."""


def explore_in_parts(search: Exhaustive | Collapsed, budget: int, until: float = inf) -> tuple[int, int]:
    """Continue a search for ``budget`` positions or moves, at most until a time of :func:`time.perf_counter`:
    its result, as of :func:`solitaire_env.search.exhaustive.explore`, and how many there were.
    """
    end, done = MORE, 0
    while end == MORE and done < budget and time.perf_counter() < until:
        end, more = search.explore(min(budget - done, PART))
        done += more
    return end, done


def searched_variant(variant: Variant) -> Variant:
    """The game whose moves are searched: a supermove stands for single moves, and reaches the same positions
    in fewer steps.
    """
    if variant.moves == "one card":
        with suppress(ValueError):  # some games have no supermoves that expand
            return GameSpec(variant).view(moves="supermove").variant
    return variant


class SolverInterrupted(KeyboardInterrupt):
    """Ctrl-C ended the solver; ``solution`` is what it had found. A caller that does not catch it ends."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution


class FinishedBeam(NamedTuple):
    """A finished beam search."""

    width: int
    seconds: float
    home: int


@dataclass
class Search:
    """The state of the search in one game."""

    cards: Array
    """The position row at the start."""
    all_cards: int
    """Number of cards home after a win."""
    random: np.random.Generator
    until: float
    """When to end, in seconds of :func:`time.perf_counter`."""
    progress: Callable[[int, int], None] | None
    status: Status = "open"
    home: int = -1
    """Most cards home, after ``line``."""
    line: tuple[int, ...] = ()
    """The best line, without safe autoplay."""
    positions: int = 0
    tries: int = 0
    beams: dict[Kind, list[FinishedBeam]] = field(default_factory=lambda: {kind: [] for kind in WIDTHS})
    """The finished beam searches."""
    exhaustive: bool = False
    """Whether the exhaustive search has begun."""
    full: bool = False
    """Whether it has ended for lack of memory."""

    def add_line(self, home: int, line: tuple[int, ...]) -> None:
        """Record a line and the number of cards home after it."""
        if home > self.home:
            self.home, self.line = home, line
        if home == self.all_cards:
            self.status = "won"

    def add_beam(self, found: BeamResult) -> None:
        """Record the line and the moves of a beam search."""
        self.positions += found.nodes
        self.add_line(found.home, found.line)

    def report(self, positions: int = 0, home: int = 0) -> None:
        """Report progress, including that of the running beam."""
        if self.progress is not None:
            self.progress(self.positions + positions, max(self.home, home))


class Solver:
    """Solver for games of one variant.

    Parameters
    ----------
    variant
        The game.
    megabytes
        Memory for the positions of an exhaustive search or a beam.
    network
        Ranks the positions of beams, if given. It must play the variant, with supermoves in a one-card game.
    """

    def __init__(self, variant: Variant, *, megabytes: float = 1000, network: Policy | None = None) -> None:
        megabytes = check_amount("megabytes of memory", megabytes, 1, 1e6)
        self.strict = variant
        self.variant = searched_variant(variant)
        self.autoplay = has_safe_moves(variant)
        """Whether safe autoplay follows each move."""
        self.megabytes = megabytes
        self.weights = weights_for(variant.name, stock=variant.stock > 0)
        self.batch = Batch(GameSpec(self.variant), 3)
        self.scratch = make_move_scratch(self.batch.rules)
        self.lines = np.zeros((2, MAX_LINE), dtype=np.int64)
        values = None
        if network is not None and variant.cards > MAX_EXHAUSTIVE_CARDS:
            values = PositionValues(self.variant, network)
        self.kinds: tuple[Kind, ...] = ("playouts", "network") if values else ("playouts",)
        self.beam = Beam(self.variant, megabytes / 2, self.weights, values)
        self.collapsed = Collapsed(variant, megabytes) if collapses(variant) else None

    @cached_property
    def exhaustive(self) -> Exhaustive:
        """The exhaustive search."""
        return Exhaustive(self.variant, self.weights, 0.9 * self.megabytes)

    @cached_property
    def short(self) -> Exhaustive:
        """For short searches in other orders of moves."""
        return Exhaustive(self.variant, self.weights, 0.1 * self.megabytes, SLICE + 1)

    def solve_deal(self, deal: Start, **limits: Any) -> Solution:
        """Solve a numbered or named deal, a position or a state; see :meth:`solve`."""
        if isinstance(deal, Position) and (hidden := len(deal.unseen())):
            raise ValueError(f"position has {hidden} hidden cards (??), allowed: all cards known")
        batch = Batch(GameSpec(self.strict), 1)
        batch.begin(np.zeros(1, dtype=np.int64), [deal])
        return self.solve(batch.state.rows[0], **limits)

    def solve(
        self, cards: Array, *, seconds: float = 10.0, positions: float = float("inf"),
        progress: Callable[[int, int], None] | None = None,
    ) -> Solution:  # fmt: skip
        """Solve the game of a position row (int8 ``[row_size]``, the stock in its order).

        Parameters
        ----------
        seconds, positions
            Limits of time and of positions. The positions are counted after each try or beam. A winning line
            that is found just before the end is shortened for a tenth of ``seconds`` more.
        progress
            Called with the number of positions and the most cards home.

        Raises
        ------
        SolverInterrupted
            At Ctrl-C.
        ValueError
            If the time is out of range.
        """
        seconds = check_amount("seconds", seconds)
        start = time.perf_counter()
        cards = cards.copy()
        self.batch.set_row(0, cards)
        home = int(self.batch.state.home[0])
        s = Search(cards, self.batch.rules.cards, np.random.default_rng(0), start + seconds, progress)
        s.add_line(home, ())
        try:
            self._search(s, positions)
            line = self._full_line(s)
            if s.status == "won":
                line = shorten(self.strict, cards, line, self.megabytes, start + (1 + GRACE) * seconds)
        except KeyboardInterrupt:
            raise SolverInterrupted(self._solution(s, self._full_line(s), start)) from None
        return self._solution(s, line, start)

    def _search(self, s: Search, positions: float) -> None:
        """Search until there is a result, or until the limits are reached."""
        small = self.batch.rules.cards <= MAX_EXHAUSTIVE_CARDS
        collapsed = self.collapsed if self.collapsed and self.collapsed.begin(s.cards) else None
        while s.status == "open":
            if collapsed:
                collapsed = collapsed if self._continue(s, collapsed) == MORE else None
            elif small and s.tries >= TRIES_BEFORE_EXHAUSTIVE:
                self._explore(s)
            elif not small and s.tries >= TRIES_BEFORE_BEAM and (beam := self._next_beam(s)):
                self._search_beam(s, *beam)
            else:
                self._play_nested(s)
            s.report()
            if time.perf_counter() >= s.until or s.positions >= positions:
                break
        if s.status == "open" and not s.tries:
            self._play_nested(s)

    def _full_line(self, s: Search) -> tuple[int, ...]:
        """The line of a search in the moves of the game itself."""
        return self._strict_line(s.cards, spell_out(self.batch, s.cards, s.line, self.autoplay, s.home))

    def _solution(self, s: Search, line: tuple[int, ...], start: float) -> Solution:
        """The result of a search that began at ``start``."""
        texts = tuple(action_text(self.strict, action) for action in line)
        return Solution(s.status, line, texts, s.home, s.positions, time.perf_counter() - start)

    def _play_nested(self, s: Search) -> None:
        """Nested rollouts: the first try by the linear policy's weights, the others by perturbed weights."""
        self.batch.set_row(0, s.cards)
        weight_sets = perturb(self.weights, PERTURBED, s.random) if s.tries else self.weights[None]
        home, length, moves = nested_rollouts(
            self.batch.rules, self.batch.state, self.batch.events, weight_sets, STALL_LIMIT, self.autoplay,
            *self.lines, np.zeros(self.batch.rules.actions, dtype=np.int64), self.scratch,
        )  # fmt: skip
        s.tries += 1
        s.positions += moves
        s.add_line(home, tuple(self.lines[0, :length].tolist()))

    def _explore(self, s: Search) -> None:
        """Continue the exhaustive search, then search for a while in another order of moves."""
        if not s.exhaustive:
            self.exhaustive.begin(s.cards)
            s.exhaustive = True
        if not s.full:
            s.full = self._continue(s, self.exhaustive) == FULL
        if s.status == "open":
            self.short.begin(s.cards, perturb(self.weights, 1, s.random)[0])
            self._continue(s, self.short)

    @staticmethod
    def _continue(s: Search, search: Exhaustive | Collapsed) -> int:
        """Continue a search; the result of :func:`solitaire_env.search.exhaustive.explore`."""
        end, moves = explore_in_parts(search, SLICE, s.until)
        s.positions += moves
        if end == FOUND:
            s.add_line(s.all_cards, search.line())
        elif end == EXHAUSTED:
            s.status = "unwinnable"
        return end

    def _next_beam(self, s: Search) -> tuple[Kind, int] | None:
        """The kind with the fewest beams that has time and use for another, and the width of that beam; None
        if there is no such kind.
        """
        left = s.until - time.perf_counter()
        for kind in sorted(self.kinds, key=lambda kind: len(s.beams[kind])):
            if not s.beams[kind]:
                return kind, min(WIDTHS[kind], self.beam.max_width)
            last = s.beams[kind][-1]
            wider = min(WIDTH_FACTOR, left / last.seconds, self.beam.max_width / last.width)
            # The network's beam is deterministic: with the same width it would find the same.
            useful = wider > 1 and last.home >= s.home - MAX_DEFICIT * s.all_cards
            if wider >= MIN_WIDTH_FACTOR if kind == "playouts" else useful:
                return kind, max(1, int(wider * last.width))
        return None

    def _search_beam(self, s: Search, kind: Kind, width: int) -> None:
        """Run one beam search."""
        start = time.perf_counter()
        random = s.random if kind == "playouts" else None
        try:
            found = self.beam.search(
                s.cards, width, random, line=s.line, home=s.home, until=s.until, progress=s.report
            )  # fmt: skip
        except BeamInterrupted as interrupt:
            s.add_beam(interrupt.found)
            raise
        s.beams[kind].append(FinishedBeam(width, time.perf_counter() - start, found.home))
        s.add_beam(found)
        if found.exhausted and s.status == "open":
            s.status = "unwinnable"

    def _strict_line(self, cards: Array, line: list[int]) -> tuple[int, ...]:
        """A line in the moves of the game itself."""
        if self.variant == self.strict:
            return tuple(line)
        batch, strict = self.batch, make_rules(self.strict)
        batch.set_row(0, cards)
        singles = np.zeros(MOST_SINGLES * (len(line) + 1), dtype=np.int64)
        games = batch.rules, strict, batch.state, batch.events
        length = expand_line(*games, np.array(line, dtype=np.int64), make_scratch(batch.rules), singles)
        return tuple(singles[:length].tolist())
