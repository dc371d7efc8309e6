"""A thoughtful solver: the order of the stock is known, and the question is whether the game can be won.

1. Nested rollouts of the linear policy (:func:`agents.search.rollouts.nested_rollouts`): milliseconds a game.
2. The same again and again, each playout with weights that differ by chance: other habits win other deals.
3. In games of one deck or less, a search that leaves nothing out, in bounded memory. It finds what rollouts
miss, and where it comes to its end without a win there is none.
4. In larger games beams (:mod:`agents.search.beam`), by playouts and by what a network expects in turn, each
three times as wide as the last of its kind, or as wide as there is time for.

One-card games are searched by supermoves, which stand for single moves; lines are given in the moves of the
game itself.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.beam import LONGEST, Beam
from agents.search.exhaustive import EXHAUSTED, FOUND, MORE, Store, begin, explore, make_store
from agents.search.positions import SALT, keys_of, make_trail, spell_out
from agents.search.rollouts import near, nested_rollouts
from solitaire_env import Variant
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.move_features.moves import make_room
from solitaire_env.policies.linear import weights_for

if TYPE_CHECKING:
    from agents.networks.player import NetworkPlayer

Array = npt.NDArray[Any]

Result = Literal["winnable", "unwinnable", "unknown"]

Kind = Literal["playouts", "network"]
"""What a beam goes by."""

WIDTHS: Final[dict[Kind, int]] = {"playouts": 32, "network": 128}
"""Of the first beams."""
PATIENCE: Final = 12
"""After so many moves without a card going home or coming off the stock a playout is given up."""
HABITS: Final = 64
"""So many weights that differ by chance play out a further try in turn."""
TRIES: Final = 40
"""So many tries are made before nothing is left out."""
FEW: Final = 16
"""So many tries are made before the first beam."""
WIDER: Final = 3
"""The next beam of a kind is so many times as wide."""
LEAST: Final = 0.5
"""If there is not time for it, it is so wide that there is, but not narrower than so many times the last."""
BEHIND: Final = 0.1
"""The network's beams are given up after one that ended so far behind the best line, of all cards."""
SLICE: Final = 100_000
"""Moves of the exhaustive search between two looks at the clock."""
SMALL: Final = 52
"""Games of at most so many cards are searched exhaustively."""


@dataclass(frozen=True)
class Solution:
    """What the solver found out about a game."""

    result: Result
    """``unknown``: neither a win nor a proof that there is none was found."""
    line: tuple[int, ...]
    """Actions of the game itself, that win it, or come to the most cards home."""
    cards_home: int
    """After the line."""
    nodes: int
    """Moves that were played."""
    seconds: float
    gains: tuple[tuple[float, int], ...] = ()
    """After so many seconds a line brought so many cards home, the most until then."""
    stopped: bool = False
    """Whether Ctrl-C ended it."""


class Ended(NamedTuple):
    """A beam that has ended."""

    width: int
    seconds: float
    home: int


@dataclass
class Search:
    """How far the search for one game's line has come."""

    cards: Array
    """The position row that it starts from."""
    all_cards: int
    """So many cards are home after a win."""
    random: np.random.Generator
    start: float
    """In seconds of :func:`time.perf_counter`."""
    until: float
    """Where it ends."""
    progress: Callable[[int, int], None] | None
    result: Result = "unknown"
    home: int = -1
    """Most cards home, after ``line``."""
    line: tuple[int, ...] = ()
    """But for what is sure to go home."""
    gains: list[tuple[float, int]] = field(default_factory=list)
    """Each time that a line led further: after how many seconds, and to how many cards."""
    nodes: int = 0
    tries: int = 0
    beams: dict[Kind, list[Ended]] = field(default_factory=lambda: {kind: [] for kind in WIDTHS})
    """Those that have ended."""
    store: Store | None = None
    """Of an exhaustive search that goes on."""
    explored: bool = False
    """Whether one has ended, for want of room."""
    stopped: bool = False

    def came(self, home: int, line: tuple[int, ...]) -> None:
        """A line leads to so many cards home."""
        if home > self.home:
            self.home, self.line = home, line
        self._gained(home)
        if home == self.all_cards:
            self.result = "winnable"

    def _gained(self, home: int) -> None:
        if not self.gains or home > self.gains[-1][1]:
            self.gains.append((time.perf_counter() - self.start, home))

    def tell(self, nodes: int = 0, home: int = 0) -> None:
        """Say how far it has come, and the search in hand beyond that."""
        self._gained(max(self.home, home))
        if self.progress is not None:
            self.progress(self.nodes + nodes, max(self.home, home))


class Solver:
    """Solves games of one variant, one after another.

    Parameters
    ----------
    variant
        The game.
    megabytes
        What the positions of an exhaustive search, or of a beam, may take of memory.
    seed
        Of the weights of further tries.
    network
        What beams go by, if any; it plays the variant's moves, supermoves in a one-card game.
    """

    def __init__(
        self, variant: Variant, *, megabytes: float = 1000, seed: int = 0,
        network: "NetworkPlayer | None" = None,
    ) -> None:  # fmt: skip
        if not 1 <= megabytes <= 1e6:
            raise ValueError(f"memory is {megabytes} MB, allowed: 1 to 1000000")
        self.variant = variant
        self.strict = variant
        if variant.moves == "one card":
            # A supermove stands for single moves: what it reaches, they reach, and in fewer steps.
            with suppress(ValueError):  # they cannot always be expanded
                self.variant = GameSpec(variant).seen(moves="supermove").variant
        self.forced = has_safe_moves(variant)
        """Whether what is sure to go home goes home at once."""
        self.megabytes = megabytes
        self.seed = seed
        self.weights = weights_for(variant.name, stock=variant.stock > 0)
        self.batch = Batch(GameSpec(self.variant), 3)
        self.room = make_room(self.batch.rules)
        self.trail = make_trail(self.batch.rules)
        self.lines = np.zeros((2, LONGEST), dtype=np.int64)
        expects = None
        if network is not None and variant.cards > SMALL:
            from agents.search.values import Expected  # torch is loaded only for a network

            expects = Expected(self.variant, network)
        self.kinds: tuple[Kind, ...] = ("playouts", "network") if expects else ("playouts",)
        self.beam = Beam(self.variant, megabytes / 2, self.weights, expects)

    def compile(self) -> None:
        """Have all kernels compiled, or read from disk, before time counts."""
        rules, state, events = self.batch.rules, self.batch.state, self.batch.events
        store = make_store(rules, 1)
        begin(rules, state, events, False, self.trail, store)
        explore(rules, state, events, self.weights, False, 1, self.trail, store, self.room)
        for kind in self.kinds if self.variant.cards > SMALL else ():
            self.batch.deal(np.zeros(1, dtype=np.int64), [0])
            # Without a limit of time: it would be over before the first kernel is compiled.
            self.beam.search(
                state.rows[0].copy(), 1, np.random.default_rng(0) if kind == "playouts" else None
            )
        self.solve_deal(0, nodes=1)
        self._keys(self.batch, 1)

    def solve_deal(self, deal: int | str, **limits: Any) -> Solution:
        """Solve a numbered or named deal; see :meth:`solve`."""
        batch = Batch(GameSpec(self.variant), 1)
        batch.deal(np.zeros(1, dtype=np.int64), [deal])
        return self.solve(batch.state.rows[0], **limits)

    def solve(
        self, cards: Array, *, seconds: float = 10.0, nodes: float = float("inf"),
        progress: Callable[[int, int], None] | None = None,
    ) -> Solution:  # fmt: skip
        """Solve the game of a position row (int8 ``[row_size]``, the stock in its order).

        Parameters
        ----------
        seconds, nodes
            Where it ends if neither a win nor a proof was found. The nodes are counted when a try or a beam
            has ended.
        progress
            Is told moves played and most cards home.
        """
        start = time.perf_counter()
        cards = cards.copy()
        self.batch.set_row(0, cards)
        home = int(self.batch.state.home[0])
        random = np.random.default_rng(self.seed)
        s = Search(cards, self.batch.rules.cards, random, start, start + seconds, progress)
        s.came(home, ())
        try:
            while s.result == "unknown":
                if s.store is not None:
                    self._explore(s)
                elif self.batch.rules.cards <= SMALL and s.tries >= TRIES and not s.explored:
                    s.store = self._begin(cards)
                elif self.batch.rules.cards > SMALL and s.tries >= FEW and (beam := self._next_beam(s)):
                    self._search_beam(s, *beam)
                else:
                    self._try(s)
                s.tell()
                if s.stopped or time.perf_counter() >= s.until or s.nodes >= nodes:
                    break
        except KeyboardInterrupt:
            s.stopped = True
        line = self._strict_line(cards, spell_out(self.batch, cards, s.line, self.forced, s.home))
        spent = time.perf_counter() - start
        return Solution(s.result, tuple(line), s.home, s.nodes, spent, tuple(s.gains), s.stopped)

    def _try(self, s: Search) -> None:
        """Nested rollouts, the first by the weights as they are, the others by such as differ by chance."""
        self.batch.set_row(0, s.cards)
        habits = near(self.weights, HABITS, s.random) if s.tries else self.weights[None]
        home, length, moves = nested_rollouts(
            self.batch.rules, self.batch.state, self.batch.events, habits, PATIENCE, self.forced, *self.lines,
            self.room,
        )  # fmt: skip
        s.tries += 1
        s.nodes += moves
        s.came(home, tuple(self.lines[0, :length].tolist()))

    def _explore(self, s: Search) -> None:
        """Go on with the exhaustive search."""
        assert s.store is not None
        batch = self.batch
        before = int(s.store.counts[2])
        end = explore(
            batch.rules, batch.state, batch.events, self.weights, self.forced, SLICE, self.trail, s.store,
            self.room,
        )  # fmt: skip
        s.nodes += int(s.store.counts[2]) - before
        if end == FOUND:
            s.came(batch.rules.cards, _path(s.store))
        elif end == EXHAUSTED:
            s.result = "unwinnable"
        if end != MORE:
            s.store, s.explored = None, True

    def _next_beam(self, s: Search) -> tuple[Kind, int] | None:
        """The kind of which there were fewest beams, if there are time and use for one more of it, and its
        width; None if there are for neither.
        """
        left = s.until - time.perf_counter()
        for kind in sorted(self.kinds, key=lambda kind: len(s.beams[kind])):
            if not s.beams[kind]:
                return kind, min(WIDTHS[kind], self.beam.widest)
            last = s.beams[kind][-1]
            wider = min(WIDER, left / last.seconds, self.beam.widest / last.width)
            # The network's beam, as wide as before, would be the same once more.
            useful = wider > 1 and last.home >= s.home - BEHIND * s.all_cards
            if wider >= LEAST if kind == "playouts" else useful:
                return kind, max(1, int(wider * last.width))
        return None

    def _search_beam(self, s: Search, kind: Kind, width: int) -> None:
        """Search a beam."""
        start = time.perf_counter()
        random = s.random if kind == "playouts" else None
        found = self.beam.search(
            s.cards, width, random, line=s.line, home=s.home, until=s.until, progress=s.tell
        )  # fmt: skip
        s.beams[kind].append(Ended(width, time.perf_counter() - start, found.home))
        s.nodes += found.nodes
        s.stopped = found.stopped
        s.came(found.home, found.line)
        if found.exhausted and s.result == "unknown":
            s.result = "unwinnable"

    def _begin(self, cards: Array) -> Store:
        """An exhaustive search that waits to look at a position."""
        store = make_store(self.batch.rules, self.megabytes)
        self.batch.set_row(0, cards)
        begin(
            self.batch.rules, self.batch.state, self.batch.events, self.forced, self.trail, store
        )  # fmt: skip
        return store

    def _strict_line(self, cards: Array, line: list[int]) -> list[int]:
        """A line in the moves of the game itself.

        Carried through spaces, a sequence may come to lie in another space than the supermove says. Spaces
        are alike: from then on the move is made that leads to the like position.
        """
        if self.variant == self.strict:
            return line
        planned = Batch(GameSpec(self.variant), 1)
        seen = Batch(GameSpec(self.variant), self.batch.rules.actions)
        played = Batch(GameSpec(self.strict, Settings(on_invalid="raise")), 1)
        for batch in (planned, played):
            batch.set_row(0, cards)
        one = np.ones(1, dtype=np.int8)
        actions: list[int] = []
        for planned_action in line:
            seen.set_row(0, played.state.rows[0])
            same = np.array_equal(planned.state.rows[0], seen.state.rows[0])
            planned.step(np.array([planned_action]), one)
            action = planned_action if same else self._like(seen, self._keys(planned, 1)[0])
            singles = seen.expand(0, int(action))
            for single in singles:
                played.step(np.array([single]), one)
            actions += singles
        return actions

    @staticmethod
    def _keys(batch: Batch, n: int) -> Array:
        keys = np.zeros(n, dtype=np.uint64)
        keys_of(batch.rules, batch.state, n, SALT, keys)
        return keys

    def _like(self, seen: Batch, key: np.uint64) -> int:
        """The action in row 0 that leads to the position with a key; the other rows are written over."""
        legal = np.flatnonzero(seen.state.mask[0])
        row = seen.state.rows[0].copy()
        for n in range(len(legal)):
            seen.set_row(n, row)
        todo = np.zeros(seen.size, dtype=np.int8)
        todo[: len(legal)] = 1
        actions = np.zeros(seen.size, dtype=np.int64)
        actions[: len(legal)] = legal
        seen.step(actions, todo)
        found = legal[self._keys(seen, len(legal)) == key]
        seen.set_row(0, row)
        return int(found[0])


def _path(store: Store) -> tuple[int, ...]:
    """The actions that lead to the last position of a store."""
    actions = []
    at = int(store.counts[0]) - 1
    while store.parents[at] >= 0:
        actions.append(int(store.actions[at]))
        at = int(store.parents[at])
    return tuple(actions[::-1])
