"""The runner: games played by a policy, many in parallel. Everything that lets a policy play goes through it.

The same deal, policy and seed give the same game here, whatever is played beside it and whoever asks:
evaluation, watching, hints and play-on in the browser, the solver's check of its lines, tuning, data sets.

A policy looks at one view of the game (its action set, its observation); what it chooses is played in the
game itself. The two differ when it plays a one-card game with supermoves: each is expanded and played as
single cards.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch, IllegalActionError, Start, check_size
from solitaire_env.core.layout import PLAY, PLAYING, WON
from solitaire_env.core.position import Position
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import action_text, format_position
from solitaire_env.policies.policy import Policy, ask, view_of
from solitaire_env.transcripts import Thought

Array = npt.NDArray[Any]
TOP_ACTIONS: Final = 5
"""A thought names this many of the likeliest actions."""
_GAME_NUMBERS: Final = count()
"""No two games of a process have the same number."""


class Decisions(NamedTuple):
    """What a policy decided in some games, in the order of ``rows``."""

    rows: npt.NDArray[np.int64]
    """Which games, int64 ``[n]``."""
    observations: Array
    """What the policy saw, ``[n, size]``."""
    masks: npt.NDArray[np.int8]
    """int8 ``[n, actions]``, of its action set."""
    actions: npt.NDArray[np.int64]
    """int64 ``[n]``, in its action set."""
    singles: list[list[int]]
    """For each game the actions of the game itself: several where a supermove is played card by card."""
    thoughts: list[Thought | None]
    """What the policy thought; None where it does not say."""


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


@dataclass
class _Seat:
    """One row's game, apart from its cards."""

    start: Start
    number: int
    random: np.random.PCG64
    position: str = ""
    repeated: int = 0
    circling: bool = False
    seen: set[int] = field(default_factory=set)
    """Hashes of the positions that stood before a decision."""
    moves: list[Move] = field(default_factory=list)


def random_stream(start: Start, seed: int, decision: int = 0) -> np.random.PCG64:
    """The random numbers of a game's decisions, from the given one on. They depend on nothing else."""
    key = format_position(start) if isinstance(start, Position) else str(start)
    stream = np.random.PCG64([seed, *key.encode()])
    return stream.advance(decision) if decision else stream


def uniform(stream: np.random.PCG64) -> float:
    """The next number of a stream, in [0, 1): 53 bits, as many as a float holds."""
    return float((stream.random_raw() >> 11) * 2.0**-53)


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
        Games in parallel.
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
        num_envs: int = 256,
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
        self._seat(0)

    def _seat(self, rows: int) -> None:
        """Make room for games."""
        self.seats: list[_Seat] = []
        if rows == 0:
            return
        self.played = Batch(self.spec, rows)
        same = not self.expands and self.view.settings == GameSpec(self.view.variant).settings
        self.seen = self.played if same else Batch(self.view, rows)
        self.active = np.zeros(rows, dtype=np.bool_)
        self.rewards = np.zeros(rows, dtype=np.float64)
        """What the last decision of each game earned."""
        self.cut = np.zeros(rows, dtype=np.bool_)
        """Games that have run into a limit."""
        self._actions = np.zeros(rows, dtype=np.int64)
        # A position's hash is a 64-bit sum of its visible cards with random weights.
        generator = np.random.Generator(np.random.PCG64(0))
        self._weights = generator.integers(2**63, size=self.played.rules.row_stock, dtype=np.int64)

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
        for row in range(self.played.size):
            self._start_next(row)

    def _start_next(self, row: int) -> None:
        start = next(self._waiting, None)
        if start is None:
            self.active[row] = False
            return
        self.played.begin(np.array([row], dtype=np.int64), [start])
        seat = _Seat(start, next(_GAME_NUMBERS), random_stream(start, self.seed))
        if self.record:
            seat.position = format_position(self.played.position(row))
        self.seats[row : row + 1] = [seat]
        self.active[row], self.cut[row] = True, False
        if self.policy.stateful:
            self.policy.begun([seat.number], [start])

    def step(self) -> list[Finished]:
        """One decision in every game that goes on; the games that are over then."""
        rows = np.flatnonzero(self.active)
        self._look_for_repeats(rows)
        deciding = rows[self.played.state.status[rows] == PLAYING]
        if len(deciding):
            decisions = self.decide(deciding)
            self.carry_out(decisions)
            if self.observe is not None:
                self.observe(decisions, self)
        over = (self.played.state.status[rows] != PLAYING) | self.cut[rows]
        over |= [self.seats[row].circling for row in rows.tolist()]
        finished = []
        for row in rows[over].tolist():
            finished.append(self._finish(row))
            self._start_next(row)
        return finished

    def _look_for_repeats(self, rows: npt.NDArray[np.int64]) -> None:
        """Count positions that come back; a deterministic policy would go in circles from there."""
        sums = self.played.state.rows[rows, : self.played.rules.row_stock].astype(np.int64) @ self._weights
        for row, position in zip(rows.tolist(), sums.tolist(), strict=True):
            seat = self.seats[row]
            if position in seat.seen:
                seat.repeated += 1
                seat.circling = self.policy.deterministic
            seat.seen.add(position)

    def _finish(self, row: int) -> Finished:
        seat, state = self.seats[row], self.played.state
        over = int(state.status[row]) != PLAYING
        steps = int(self.played.steps[row])
        if seat.circling and not over:
            steps = self.spec.settings.max_episode_steps or steps
        if self.policy.stateful:
            self.policy.ended([seat.number])
        return Finished(
            seat.start, seat.number, int(state.status[row]) == WON, int(state.home[row]), steps, not over,
            seat.repeated, seat.position, seat.moves,
        )  # fmt: skip

    # ------------------------------------------------------------------------------- decisions

    def decide(self, rows: npt.NDArray[np.int64], *, explain: bool | None = None) -> Decisions:
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
        observations, masks = self.seen.observations()[rows], self.seen.state.mask[rows]
        seats = [self.seats[row] for row in rows.tolist()]
        thoughts: list[Thought | None] = [None] * len(rows)
        if self.record if explain is None else explain:
            # Copies: what a policy does to its arguments is its own affair.
            thoughts = think(self.policy, self.view, observations.copy(), masks.copy())
        uniforms = None
        if self.policy.stochastic:
            uniforms = np.array([uniform(seat.random) for seat in seats])
        numbers = np.array([seat.number for seat in seats], dtype=np.int64)
        begin = time.process_time()
        actions = ask(self.policy, observations, masks, uniforms, numbers)
        self.answer_seconds += time.process_time() - begin
        self.answers += len(rows)
        self._refuse_illegal(rows, actions)
        if self.expands:
            pairs = zip(rows.tolist(), actions.tolist(), strict=True)
            singles = [self.seen.expand(row, action) for row, action in pairs]
        else:
            singles = [[action] for action in actions.tolist()]
        return Decisions(rows, observations, masks, actions, singles, thoughts)

    def _refuse_illegal(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        inside = (actions >= 0) & (actions < self.view.num_actions)
        legal = inside & (self.seen.state.mask[rows, np.where(inside, actions, 0)] != 0)
        if not legal.all():
            k = int(legal.argmin())
            raise IllegalActionError(self.seen.explain_illegal(int(rows[k]), int(actions[k])))

    def expand(self, row: int, action: int) -> list[int]:
        """An action of the policy's set, in the position that it was last shown, as actions of the game
        itself.
        """
        self._refuse_illegal(np.array([row]), np.array([action]))
        return self.seen.expand(row, action) if self.expands else [action]

    def show(self, rows: npt.NDArray[np.int64]) -> None:
        """Show the policy the games as they are now."""
        if self.seen is not self.played and len(rows):
            self.seen.state.rows[rows] = self.played.state.rows[rows]
            self.seen.derive(rows)

    def carry_out(self, decisions: Decisions) -> None:
        """Play what was decided, single actions one after another until the game is over or cut off."""
        rows, played = decisions.rows, self.played
        self.rewards[rows] = 0.0
        going, nth = np.arange(len(rows)), 0
        while len(going):
            now = rows[going]
            if self.expands:
                self._actions[now] = [decisions.singles[k][nth] for k in going.tolist()]
            else:
                self._actions[now] = decisions.actions
            todo = np.zeros(played.size, dtype=np.int8)
            todo[now] = PLAY
            played.step(self._actions, todo)
            self.rewards[now] += played.rewards[now]
            if self.record:
                self._record(decisions, going, nth)
            self.cut[now] = played.truncated[now]
            nth += 1
            more = [k for k in going.tolist() if nth < len(decisions.singles[k]) and not self.cut[rows[k]]]
            going = np.array(more, dtype=np.int64)

    def _record(self, decisions: Decisions, which: npt.NDArray[np.int64], nth: int) -> None:
        """Keep the nth single action of some decisions."""
        for k in which.tolist():
            thought = None if nth else decisions.thoughts[k]
            self.seats[decisions.rows[k]].moves.append(Move(decisions.singles[k][nth], thought))

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
        if not self.seats:
            self._seat(1)
            self.seats = [_Seat(start, number, random_stream(start, self.seed))]
        self.played.place(0, position)
        self.seats[0] = _Seat(start, number, random_stream(start, self.seed, decision))


def new_game_number() -> int:
    """A number that no other game of this process has."""
    return next(_GAME_NUMBERS)


def think(
    policy: Policy, view: GameSpec, observations: Array, masks: npt.NDArray[np.int8]
) -> list[Thought | None]:
    """What a policy thinks of ``n`` positions of the game that it sees; None where it does not say."""
    if not policy.explains:
        return [None] * len(masks)
    probabilities, values = policy.explain(observations, masks)
    thoughts: list[Thought | None] = []
    for row in range(len(masks)):
        top: tuple[tuple[str, float], ...] = ()
        if probabilities is not None:
            of_row = np.asarray(probabilities[row], dtype=np.float64)
            likeliest = np.argsort(-of_row, kind="stable")[:TOP_ACTIONS]
            # 32-bit probabilities may sum to a little more than 1.
            top = tuple(
                (action_text(view.variant, int(a)), min(1.0, float(of_row[a])))
                for a in likeliest
                if of_row[a] > 0
            )
        value = None if values is None else float(values[row])
        thoughts.append(None if value is None and not top else Thought(value, top))
    return thoughts
