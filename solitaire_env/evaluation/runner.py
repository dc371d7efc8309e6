"""The runner plays many games in parallel with a policy. All code that lets a policy play uses it.

The same deal, policy and seed give the same game, whichever games are played in parallel and whichever code
asks: evaluation, watching, hints and autoplay in the browser, the solver's check of its lines, tuning, data
sets.

A policy sees the game with its own action set and observation; its actions are played in the game itself. The
two differ when it plays a one-card game with supermoves: each is expanded and played as single cards.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch, IllegalActionError, Start
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.position import Position
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.supermoves import expand_rows
from solitaire_env.evaluation.repeats import Repeats
from solitaire_env.notation import action_text, format_position
from solitaire_env.policies.policy import Policy, ask, view_of
from solitaire_env.transcripts import Thought
from solitaire_env.util.arguments import check_count

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
NUM_ENVS: Final = 1024
"""Default number of games in parallel. A round of decisions has a fixed cost, which more games share; a game
takes some kilobytes of memory."""
TOP_ACTIONS: Final = 5
"""Maximum number of actions in a thought."""
_GAME_NUMBERS: Final = count()
"""Game numbers, unique in a process."""


class Decisions(NamedTuple):
    """Decisions of a policy in some games, in the order of ``rows``."""

    rows: Rows
    """int64 ``[n]``: rows of the games."""
    observations: Array
    """``[n, size]``, as the policy saw them."""
    masks: npt.NDArray[np.int8]
    """int8 ``[n, actions]``, of the policy's action set."""
    actions: npt.NDArray[np.int64]
    """int64 ``[n]``, in the policy's action set."""
    singles: npt.NDArray[np.int64]
    """int64 ``[n, most]``: the actions of the game itself, several if a supermove is played card by card.
    """
    counts: npt.NDArray[np.int64]
    """int64 ``[n]``: the number of these actions; further entries of a row are undefined."""
    thoughts: list[Thought | None]
    """Thoughts of the policy; None if it does not explain itself."""

    def singles_of(self, place: int) -> list[int]:
        """The actions of the game itself for the decision at a place."""
        return [int(single) for single in self.singles[place, : self.counts[place]]]


class Move(NamedTuple):
    """An action that was played, in the game's own action set."""

    action: int
    thought: Thought | None
    """The policy's thought before it; None for the second and further cards of a supermove."""


class Finished(NamedTuple):
    """A finished game."""

    start: Start
    number: int
    """The game's number, as stateful policies get it."""
    won: bool
    cards_home: int
    steps: int
    """Number of actions of the game itself; the step limit if the policy repeated itself."""
    truncated: bool
    repeated: int
    """Number of positions before a decision that had occurred before in the game."""
    position: str
    """Position text of the start if the moves are recorded, else empty."""
    moves: list[Move]
    """The moves, if they are recorded."""


class Runner:
    """Plays games with a policy.

    Parameters
    ----------
    policy
        The policy that plays.
    spec
        The game. Of its settings, ``reward``, ``stall_limit`` and ``max_episode_steps`` apply: a game is
        truncated at either limit.
    num_envs
        Number of games in parallel; results do not depend on it.
    seed
        Seed of the random numbers of a stochastic policy.
    record
        Whether to keep the moves of each game, with the thoughts of a policy that explains itself.
    observe
        Called with each round of decisions, after they have been played.
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
        self.num_envs = check_count("num_envs", num_envs, 1)
        self.seed = seed
        self.record = record
        self.observe = observe
        self.spec = spec.with_settings(observation="cards", information="player", on_invalid="raise")
        self.answers = 0
        """Number of actions that the policy chose."""
        self.answer_seconds = 0.0
        """Processor time of its choices."""
        self._waiting: Iterator[Start] = iter(())
        self._rows = 0
        self.active = np.zeros(0, dtype=np.bool_)
        """Games that have not ended, bool ``[rows]``."""

    def _allocate(self, rows: int) -> None:
        """Allocate games."""
        self._rows = rows
        self.active = np.zeros(rows, dtype=np.bool_)
        self.rewards = np.zeros(rows, dtype=np.float64)
        """Reward of the last decision of each game."""
        self.truncated = np.zeros(rows, dtype=np.bool_)
        """Games that have reached a limit."""
        self.numbers = np.zeros(rows, dtype=np.int64)
        """The number of each row's game, as stateful policies get it, int64 ``[rows]``."""
        self._starts: list[Start] = [0] * rows
        self._positions = [""] * rows
        self._moves: list[list[Move]] = [[] for _ in range(rows)]
        self._streams: dict[int, np.random.Generator] = {}
        self._repeats = Repeats(self.spec.rules, rows)
        self._cycling = np.zeros(rows, dtype=np.bool_)
        """Games of a deterministic policy that have repeated a position."""
        self._outdated = np.ones(rows, dtype=np.bool_)
        """Games whose view for the policy is outdated."""
        self.batch = self.view_batch = Batch(self.spec, rows)
        """The games; and the same games as the policy sees them, which :meth:`show` updates."""
        if self.expands or self.view.settings != GameSpec(self.view.variant).settings:
            self.view_batch = Batch(self.view, rows)
        if not self.expands:
            # The same cards and moves; only the observation may differ.
            self.view_batch.share_positions(self.batch)

    # ------------------------------------------------------------------------------- many games

    def play(self, starts: Iterable[Start]) -> Iterator[list[Finished]]:
        """Play games from their starts to their ends; yield finished games after each round of decisions."""
        self.begin(starts)
        while self.active.any():
            yield self.step()

    def begin(self, starts: Iterable[Start]) -> None:
        """Start games: as many as there are rows; the others follow as games end."""
        starts = list(starts)
        self._allocate(max(1, min(self.num_envs, len(starts))))
        self._waiting = iter(starts)
        self._start_next(np.arange(self._rows))

    def _start_next(self, rows: Rows) -> None:
        """Start the next games in some rows, if any are left."""
        starts = list(islice(self._waiting, len(rows)))
        self.active[rows] = False
        rows = rows[: len(starts)]
        if not starts:
            return
        self.batch.begin(rows, starts)
        self.active[rows], self.truncated[rows] = True, False
        self._cycling[rows], self._outdated[rows] = False, True
        self._repeats.clear(rows)
        for row, start in zip(rows.tolist(), starts, strict=True):
            self._starts[row], self.numbers[row] = start, next(_GAME_NUMBERS)
            if self.policy.stochastic:
                self._streams[row] = random_stream(start, self.seed)
            if self.record:
                self._positions[row], self._moves[row] = format_position(self.batch.position(row)), []

    def step(self) -> list[Finished]:
        """Make one decision in every active game; return the games that ended."""
        rows, state = np.flatnonzero(self.active), self.batch.state
        # From a repeated position, a deterministic policy would cycle.
        search = self.policy.deterministic
        self._cycling[rows] = self._repeats.add(state.rows, rows, search)
        deciding = rows[state.status[rows] == PLAYING]
        if len(deciding):
            decisions = self.decide(deciding)
            self.play_decisions(decisions)
            if self.observe is not None:
                self.observe(decisions, self)
        over = (state.status[rows] != PLAYING) | self.truncated[rows] | self._cycling[rows]
        return self._finish(rows[over]) if over.any() else []

    def _finish(self, rows: Rows) -> list[Finished]:
        """Finish the games in some rows, and start others there."""
        finished = [self._finished(row) for row in rows.tolist()]
        if self.policy.stateful:
            self.policy.ended([end.number for end in finished])
        self._start_next(rows)
        return finished

    def _finished(self, row: int) -> Finished:
        state = self.batch.state
        over = int(state.status[row]) != PLAYING
        steps = int(self.batch.steps[row])
        if self._cycling[row] and not over:
            steps = self.spec.settings.max_episode_steps or steps
        return Finished(
            self._starts[row], int(self.numbers[row]), int(state.status[row]) == WON, int(state.home[row]),
            steps, not over, self._repeats.count(row), self._positions[row], self._moves[row],
        )  # fmt: skip

    # ------------------------------------------------------------------------------- decisions

    def decide(self, rows: Rows, *, explain: bool | None = None) -> Decisions:
        """The policy's decisions in some games (int64 ``[n]``); nothing is played.

        Parameters
        ----------
        explain
            Whether to get its thoughts; by default if moves are recorded.

        Raises
        ------
        IllegalActionError
            If the policy chooses an illegal action.
        """
        self.show(rows)
        observations = self.view_batch.observations()[rows]
        masks = self.view_batch.state.mask.take(rows, axis=0)
        thoughts: list[Thought | None] = [None] * len(rows)
        if self.record if explain is None else explain:
            # Copies, because a policy may change its arguments.
            thoughts = think(self.policy, self.view, observations.copy(), masks.copy())
        uniforms = None
        if self.policy.stochastic:
            streams = self._streams
            uniforms = np.array([streams[row].random() for row in rows.tolist()])
        begin = time.process_time()
        actions = ask(self.policy, observations, masks, uniforms, self.numbers[rows])
        self.answer_seconds += time.process_time() - begin
        self.answers += len(rows)
        self._refuse_illegal(rows, actions)
        if self.expands:
            singles, counts = expand_rows(self.view.variant, self.view_batch.state, rows, actions)
        else:
            singles, counts = actions[:, None], np.ones(len(rows), dtype=np.int64)
        return Decisions(rows, observations, masks, actions, singles, counts, thoughts)

    def _refuse_illegal(self, rows: Rows, actions: npt.NDArray[np.int64]) -> None:
        k = self.view_batch.find_illegal(rows, actions)
        if k >= 0:
            raise IllegalActionError(self.view_batch.explain_illegal(int(rows[k]), int(actions[k])))

    def expand(self, row: int, action: int) -> list[int]:
        """An action of the policy, in the last position it was shown, as actions of the game itself."""
        self._refuse_illegal(np.array([row], dtype=np.int64), np.array([action], dtype=np.int64))
        return self.view_batch.expand(row, action) if self.expands else [action]

    def show(self, rows: Rows) -> None:
        """Update the policy's view of the games."""
        if not self.expands:
            return
        rows = rows[self._outdated[rows]]
        if len(rows):
            self.view_batch.state.rows[rows] = self.batch.state.rows[rows]
            self.view_batch.stock_seen[rows] = self.batch.stock_seen[rows]
            self.view_batch.derive(rows)
            self._outdated[rows] = False

    def play_decisions(self, decisions: Decisions) -> None:
        """Play decisions, one single action after another until the game ends or is truncated."""
        self.rewards[decisions.rows] = 0.0
        self._play_nth(decisions, 0, np.arange(len(decisions.rows)))
        if not self.expands:
            return
        rows, counts = decisions.rows, decisions.counts
        going = np.flatnonzero(counts > 1)
        self._outdated[rows[going]] = True
        for nth in range(1, decisions.singles.shape[1]):
            going = going[(counts[going] > nth) & ~self.truncated[rows[going]]]
            self._play_nth(decisions, nth, going)
        # A decision of one action is played in both batches; after several, the view is derived again.
        single = counts == 1
        self.view_batch.play(rows[single], decisions.actions[single])

    def _play_nth(self, decisions: Decisions, nth: int, which: Rows) -> None:
        """Play the nth single action of some decisions."""
        rows, played = decisions.rows[which], self.batch
        played.play(rows, decisions.singles[which, nth])
        self.rewards[rows] += played.rewards[rows]
        self.truncated[rows] = played.truncated[rows]
        if self.record:
            self._record(decisions, which, nth)

    def _record(self, decisions: Decisions, which: Rows, nth: int) -> None:
        """Record the nth single action of some decisions."""
        for k in which.tolist():
            thought = None if nth else decisions.thoughts[k]
            self._moves[decisions.rows[k]].append(Move(int(decisions.singles[k, nth]), thought))

    # -------------------------------------------------------------------------- decisions in one game

    def set_game(
        self, position: Position, stock_seen: bool, start: Start, decision: int, number: int
    ) -> None:
        """Set the only game to one that is played elsewhere, to ask for a decision in it.

        Parameters
        ----------
        position
            The current position, in full.
        stock_seen
            Whether the player has seen the stock.
        start
            The start of the game, which its random numbers depend on.
        decision
            Number of decisions that have been made in it.
        number
            The game's number, for a stateful policy.
        """
        if not self._rows:
            self._allocate(1)
        self.batch.place(0, position)
        self.batch.stock_seen[0] = stock_seen
        self._outdated[0] = True
        self.numbers[0] = number
        if self.policy.stochastic:
            self._streams[0] = random_stream(start, self.seed, decision)


def new_game_number() -> int:
    """A number that no other game of this process has."""
    return next(_GAME_NUMBERS)


def random_stream(start: Start, seed: int, decision: int = 0) -> np.random.Generator:
    """The random numbers of a game from a given decision. They depend on nothing else."""
    key = format_position(start) if isinstance(start, Position) else str(start)
    stream = np.random.PCG64([seed, *key.encode()])
    return np.random.Generator(stream.advance(decision) if decision else stream)


def think(
    policy: Policy, view: GameSpec, observations: Array, masks: npt.NDArray[np.int8]
) -> list[Thought | None]:
    """The policy's thoughts about ``n`` positions of the game that it sees; None if it has none."""
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
