"""The runner: games played by a policy, many in parallel. Everything that lets a policy play goes through it.

The same deal, policy and seed give the same game here, whatever is played beside it and whoever asks:
evaluation, watching, hints and play-on in the browser, the solver's check of its lines, tuning, data sets.

A policy looks at one view of the game (its action set, its observation); what it chooses is played in the
game itself. The two differ when it plays a one-card game with supermoves: each is expanded and played as
single cards.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch, IllegalActionError, Start, check_size
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.position import Position
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation.random_streams import RandomStreams, random_stream
from solitaire_env.evaluation.repeats import Repeats
from solitaire_env.evaluation.thoughts import think
from solitaire_env.notation import format_position
from solitaire_env.policies.policy import Policy, ask, view_of
from solitaire_env.transcripts import Thought

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
NUM_ENVS: Final = 1024
"""Games in parallel by default. A round of decisions has a fixed cost, which more games share; a game takes
some kilobytes of memory."""
_GAME_NUMBERS: Final = count()
"""No two games of a process have the same number."""


class Decisions(NamedTuple):
    """What a policy decided in some games, in the order of ``rows``."""

    rows: Rows
    """Which games, int64 ``[n]``."""
    observations: Array
    """What the policy saw, ``[n, size]``."""
    masks: npt.NDArray[np.int8]
    """int8 ``[n, actions]``, of its action set."""
    actions: npt.NDArray[np.int64]
    """int64 ``[n]``, in its action set."""
    singles: npt.NDArray[np.int64]
    """The actions of the game itself, int64 ``[n, most]``: several where a supermove is played card by
    card."""
    counts: npt.NDArray[np.int64]
    """How many there are, int64 ``[n]``; what follows in a row means nothing."""
    thoughts: list[Thought | None]
    """What the policy thought; None where it does not say."""

    def singles_of(self, place: int) -> list[int]:
        """The actions of the game itself that the decision at a place stands for."""
        return [int(single) for single in self.singles[place, : self.counts[place]]]


class Move(NamedTuple):
    """An action that was played, in the game's own action set."""

    action: int
    thought: Thought | None
    """What the policy thought before it; None with the second card of a supermove, and the others."""


class Finished(NamedTuple):
    """A game that is over."""

    start: Start
    number: int
    """The game's number, as stateful policies are told it."""
    won: bool
    cards_home: int
    steps: int
    """Actions of the game itself; the step limit where the policy went in circles."""
    truncated: bool
    repeated: int
    """Positions before a decision that had stood before in the game."""
    position: str
    """Position text of the start, when the moves are recorded, else empty."""
    moves: list[Move]
    """When they are recorded."""


class _Seats:
    """What is known of each row's game apart from its cards; arrays and lists with an entry a row."""

    def __init__(self, spec: GameSpec, rows: int) -> None:
        self.starts: list[Start] = [0] * rows
        self.numbers = np.zeros(rows, dtype=np.int64)
        self.positions = [""] * rows
        self.moves: list[list[Move]] = [[] for _ in range(rows)]
        self.streams = RandomStreams(rows)
        self.repeats = Repeats(spec.rules, rows)
        self.circling = np.zeros(rows, dtype=np.bool_)
        """Games of a deterministic policy that have come back to a position."""
        self.stale = np.ones(rows, dtype=np.bool_)
        """Games in which the policy's view is not up to date."""


class Runner:
    """Plays games with a policy.

    Parameters
    ----------
    policy
        Who plays.
    spec
        The game that is played. Of its settings ``reward``, ``stall_limit`` and ``max_episode_steps``
        count: a game is cut off at either limit.
    num_envs
        Games in parallel; no game depends on it.
    seed
        Of the random numbers of a stochastic policy.
    record
        Whether to keep the moves of each game, with the thoughts of a policy that explains itself.
    observe
        Called with each round of decisions, after they were played.
    """

    def __init__(
        self,
        policy: Policy,
        spec: GameSpec,
        *,
        num_envs: int = NUM_ENVS,
        seed: int = 0,
        record: bool = False,
        observe: Callable[[Decisions, "Runner"], object] | None = None,
    ) -> None:
        self.policy = policy
        self.view = view_of(policy, spec)
        """The game as the policy sees it."""
        self.expands = self.view.variant != spec.variant
        self.num_envs = check_size(num_envs)
        self.seed = seed
        self.record = record
        self.observe = observe
        self.spec = spec.with_settings(observation="cards", information="player", on_invalid="raise")
        self.answers = 0
        """Actions that the policy was asked for."""
        self.answer_seconds = 0.0
        """Processor time that it took for them."""
        self._waiting: Iterator[Start] = iter(())
        self._rows = 0
        self.active = np.zeros(0, dtype=np.bool_)
        """Games that go on, bool ``[rows]``."""

    def _seat(self, rows: int) -> None:
        """Make room for games."""
        self._rows = rows
        self.active = np.zeros(rows, dtype=np.bool_)
        self.rewards = np.zeros(rows, dtype=np.float64)
        """What the last decision of each game earned."""
        self.cut = np.zeros(rows, dtype=np.bool_)
        """Games that have run into a limit."""
        self._seats = _Seats(self.spec, rows)
        self.played = self.seen = Batch(self.spec, rows)
        if self.expands or self.view.settings != GameSpec(self.view.variant).settings:
            self.seen = Batch(self.view, rows)
        if not self.expands:
            # The same cards and moves; only what is shown of them may differ.
            self.seen.state = self.played.state

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The number of each row's game, as stateful policies are told it, int64 ``[rows]``."""
        return self._seats.numbers

    # ------------------------------------------------------------------------------- many games

    def play(self, starts: Iterable[Start]) -> Iterator[list[Finished]]:
        """Play games from their starts to their ends; after each round of decisions those that are over."""
        self.begin(starts)
        while self.active.any():
            yield self.step()

    def begin(self, starts: Iterable[Start]) -> None:
        """Start games: as many as there is room for; the others follow as games end."""
        starts = list(starts)
        self._seat(max(1, min(self.num_envs, len(starts))))
        self._waiting = iter(starts)
        self._start_next(np.arange(self._rows))

    def _start_next(self, rows: Rows) -> None:
        """Start the next games in some rows, while there are any."""
        starts = list(islice(self._waiting, len(rows)))
        self.active[rows] = False
        rows = rows[: len(starts)]
        if not starts:
            return
        seats = self._seats
        self.played.begin(rows, starts)
        self.active[rows], self.cut[rows] = True, False
        seats.circling[rows], seats.stale[rows] = False, True
        seats.repeats.forget(rows)
        for row, start in zip(rows.tolist(), starts, strict=True):
            seats.starts[row], seats.numbers[row] = start, next(_GAME_NUMBERS)
            if self.policy.stochastic:
                seats.streams.begin(row, random_stream(start, self.seed))
            if self.record:
                seats.positions[row], seats.moves[row] = format_position(self.played.position(row)), []
        if self.policy.stateful:
            self.policy.begun(seats.numbers[rows].tolist(), starts)

    def step(self) -> list[Finished]:
        """One decision in every game that goes on; the games that are over then."""
        rows, state = np.flatnonzero(self.active), self.played.state
        self._seats.repeats.add(state.rows, rows)
        if self.policy.deterministic:
            # It goes in circles from where it has been before.
            self._seats.circling[rows] = self._seats.repeats.came_back(rows)
        deciding = rows[state.status[rows] == PLAYING]
        if len(deciding):
            decisions = self.decide(deciding)
            self.carry_out(decisions)
            if self.observe is not None:
                self.observe(decisions, self)
        over = (state.status[rows] != PLAYING) | self.cut[rows] | self._seats.circling[rows]
        return self._finish(rows[over]) if over.any() else []

    def _finish(self, rows: Rows) -> list[Finished]:
        """The games in some rows are over; others take their places."""
        finished = [self._finished(row) for row in rows.tolist()]
        if self.policy.stateful:
            self.policy.ended([end.number for end in finished])
        self._start_next(rows)
        return finished

    def _finished(self, row: int) -> Finished:
        seats, state = self._seats, self.played.state
        over = int(state.status[row]) != PLAYING
        steps = int(self.played.steps[row])
        if seats.circling[row] and not over:
            steps = self.spec.settings.max_episode_steps or steps
        return Finished(
            seats.starts[row], int(seats.numbers[row]), int(state.status[row]) == WON, int(state.home[row]),
            steps, not over, seats.repeats.count(row), seats.positions[row], seats.moves[row],
        )  # fmt: skip

    # ------------------------------------------------------------------------------- decisions

    def decide(self, rows: Rows, *, explain: bool | None = None) -> Decisions:
        """Ask the policy what it does in some games (int64 ``[n]``); nothing is played.

        Parameters
        ----------
        explain
            Whether to ask what it thinks; by default when moves are recorded.

        Raises
        ------
        IllegalActionError
            If it names an action that is not legal.
        """
        self.show(rows)
        observations, masks = self.seen.observations()[rows], self.seen.state.mask.take(rows, axis=0)
        thoughts: list[Thought | None] = [None] * len(rows)
        if self.record if explain is None else explain:
            # Copies: what a policy does to its arguments is its own affair.
            thoughts = think(self.policy, self.view, observations.copy(), masks.copy())
        uniforms = self._seats.streams.draw(rows) if self.policy.stochastic else None
        begin = time.process_time()
        actions = ask(self.policy, observations, masks, uniforms, self._seats.numbers[rows])
        self.answer_seconds += time.process_time() - begin
        self.answers += len(rows)
        self._refuse_illegal(rows, actions)
        if self.expands:
            singles, counts = self.seen.expand_rows(rows, actions)
        else:
            singles, counts = actions[:, None], np.ones(len(rows), dtype=np.int64)
        return Decisions(rows, observations, masks, actions, singles, counts, thoughts)

    def _refuse_illegal(self, rows: Rows, actions: npt.NDArray[np.int64]) -> None:
        k = self.seen.find_illegal(rows, actions)
        if k >= 0:
            raise IllegalActionError(self.seen.explain_illegal(int(rows[k]), int(actions[k])))

    def expand(self, row: int, action: int) -> list[int]:
        """An action of the policy's set, in the position that it was last shown, as actions of the game
        itself.
        """
        self._refuse_illegal(np.array([row]), np.array([action]))
        return self.seen.expand(row, action) if self.expands else [action]

    def show(self, rows: Rows) -> None:
        """Show the policy the games as they are now."""
        if not self.expands:
            return
        rows = rows[self._seats.stale[rows]]
        if len(rows):
            self.seen.state.rows[rows] = self.played.state.rows[rows]
            self.seen.derive(rows)
            self._seats.stale[rows] = False

    def carry_out(self, decisions: Decisions) -> None:
        """Play what was decided, single actions one after another until the game is over or cut off."""
        self.rewards[decisions.rows] = 0.0
        self._play_nth(decisions, 0, np.arange(len(decisions.rows)))
        if not self.expands:
            return
        rows, counts = decisions.rows, decisions.counts
        going = np.flatnonzero(counts > 1)
        self._seats.stale[rows[going]] = True
        for nth in range(1, decisions.singles.shape[1]):
            going = going[(counts[going] > nth) & ~self.cut[rows[going]]]
            self._play_nth(decisions, nth, going)
        # What is one action of both games is played in both: a view is derived where it was several.
        single = counts == 1
        self.seen.play(rows[single], decisions.actions[single])

    def _play_nth(self, decisions: Decisions, nth: int, which: Rows) -> None:
        """Play the nth single action of some decisions."""
        rows, played = decisions.rows[which], self.played
        played.play(rows, decisions.singles[which, nth])
        self.rewards[rows] += played.rewards[rows]
        self.cut[rows] = played.truncated[rows]
        if self.record:
            self._record(decisions, which, nth)

    def _record(self, decisions: Decisions, which: Rows, nth: int) -> None:
        """Keep the nth single action of some decisions."""
        for k in which.tolist():
            thought = None if nth else decisions.thoughts[k]
            self._seats.moves[decisions.rows[k]].append(Move(int(decisions.singles[k, nth]), thought))

    # -------------------------------------------------------------------------- one game, asked

    def take_up(self, position: Position, start: Start, decision: int, number: int) -> None:
        """Make the only game one that somebody else plays, to ask for a decision in it.

        Parameters
        ----------
        position
            Where it stands.
        start
            What it started from, which its random numbers depend on.
        decision
            How many decisions were made in it.
        number
            The game's number, for a stateful policy.
        """
        if not self._rows:
            self._seat(1)
        self.played.place(0, position)
        self._seats.stale[0] = True
        self._seats.numbers[0] = number
        if self.policy.stochastic:
            self._seats.streams.begin(0, random_stream(start, self.seed, decision))


def new_game_number() -> int:
    """A number that no other game of this process has."""
    return next(_GAME_NUMBERS)
