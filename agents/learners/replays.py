"""Transcripts replayed through the runner: the decisions of their games, and the returns."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Batch, GameSpec, Settings, Variant
from solitaire_env.core.batch import Start
from solitaire_env.core.layout import action_layout
from solitaire_env.evaluation import Decisions, Finished, Runner
from solitaire_env.notation import format_position, parse_position
from solitaire_env.policies.scripted import Scripted
from solitaire_env.util.messages import one_line

Array = npt.NDArray[Any]


class Game(NamedTuple):
    """A transcript with its actions as numbers."""

    path: Path
    player: str
    deal: int | str | None
    start: str
    result: str
    cards_home: int
    single: bool
    """Whether its moves are single cards, which may be parts of supermoves of the configured game."""
    actions: Array
    """int16 ``[steps]``, in the configured action set."""


@cache
def numbers_by_text(variant: Variant) -> dict[str, int]:
    """The number of each action, by its text. A single card's text is the same in both action sets."""
    layout = action_layout(variant)
    return {layout.text(number): number for number in range(layout.size)}


def replay(
    games: Sequence[Game], variant: Variant, settings: Settings, gamma: float
) -> tuple[Array, Array, Array, Array, Array]:
    """Replay some games.

    Returns
    -------
    For each decision: the game, int64 ``[n]``, the observation, ``[n, size]``, the mask as packed bits, the
    action, and the discounted return from there.
    """
    parts = []
    for single in (False, True):
        places = [place for place, game in enumerate(games) if game.single == single]
        if places:
            played = variant.with_rules(moves="one card") if single else variant
            rows, *rest = _replay([games[place] for place in places], variant, played, settings, gamma)
            parts.append((np.array(places)[rows], *rest))
    joined = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return joined[0], joined[1], joined[2], joined[3], joined[4]


def _replay(
    games: Sequence[Game], variant: Variant, played: Variant, settings: Settings, gamma: float
) -> tuple[Array, ...]:
    """Replay games of one action set."""
    policy = _Replayed(games, GameSpec(variant, settings), single=played != variant)
    observed: list[tuple[Array, ...]] = []

    def observe(decisions: Decisions, runner: Runner) -> None:
        places = policy.places_of(decisions.rows, runner)
        masks = np.packbits(decisions.masks, axis=1)
        observed.append(
            (places, decisions.observations, masks, decisions.actions, runner.rewards[decisions.rows].copy())
        )

    spec = GameSpec(played, Settings(reward=settings.reward))
    runner = Runner(policy, spec, num_envs=len(games), observe=observe)
    policy.runner = runner
    runner.begin(_starts(games, played))
    while runner.active.any():
        for end in runner.step():
            policy.check_end(end)
        policy.stop_exhausted()
    returns = np.zeros(len(games))
    returns_of_steps = []
    for places, *_, rewards in reversed(observed):
        returns[places] = rewards + gamma * returns[places]
        returns_of_steps.append(returns[places].copy())
    columns = [np.concatenate(part) for part in zip(*observed, strict=True)]
    return (*columns[:-1], np.concatenate(returns_of_steps[::-1]))


def _starts(games: Sequence[Game], variant: Variant) -> list[Start]:
    """The starts of the games; each deal is checked against the position at the start of the transcript."""
    batch = Batch(GameSpec(variant), 1)
    starts: list[Start] = []
    for game in games:
        if game.deal is None:
            starts.append(parse_position(game.start, variant))
            continue
        try:
            batch.deal(np.zeros(1, dtype=np.int64), [game.deal])
        except ValueError as error:
            raise ValueError(f"{game.path}: {error}") from None
        if format_position(batch.position(0)) != game.start:
            raise ValueError(
                f"{game.path}: deal {game.deal} starts from another position than the transcript"
            )
        starts.append(game.deal)
    return starts


class _Replayed(Scripted):
    """Plays the actions of transcripts. With ``single``, single cards are combined to supermoves.

    If the single cards begin several supermoves, the longest is taken; all lead to positions of the game.
    """

    name = "transcript"
    runner: Runner

    def __init__(self, games: Sequence[Game], spec: GameSpec, *, single: bool) -> None:
        super().__init__([game.actions.tolist() for game in games])
        self.games = games
        self.observation = spec.settings.observation
        self.information = spec.settings.information
        self.moves = spec.variant.moves
        self.single = single
        self._join = _Supermoves(spec.variant) if single else None

    def places_of(self, rows: npt.NDArray[np.int64], runner: Runner) -> npt.NDArray[np.int64]:
        """The transcript index of the games in some rows."""
        return np.array([self._places[number] for number in runner.numbers[rows].tolist()], dtype=np.int64)

    def __call__(
        self,
        observations: Array,
        masks: npt.NDArray[np.int8],
        *,
        uniforms: npt.NDArray[np.float64] | None = None,
        games: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        """The next decision of each game."""
        assert games is not None  # the runner passes it to stateful policies
        rows = {number: row for row, number in enumerate(self.runner.numbers.tolist())}
        pairs = zip(games.tolist(), masks, strict=True)
        return np.array([self._decide(game, rows[game], mask) for game, mask in pairs], dtype=np.int64)

    def _decide(self, game: int, row: int, mask: npt.NDArray[np.int8]) -> int:
        place, played = self._places[game], self._played[game]
        line = self.lines[place]
        action = int(line[played])
        if not mask[action]:
            why = one_line(self.runner.seen.explain_illegal(row, action))
            raise ValueError(f"{self.games[place].path}: step {played + 1}: {why}")
        count = 1
        if self._join is not None:
            action, count = self._join(self.runner, row, [int(single) for single in line[played:]])
        self._played[game] += count
        return action

    def stop_exhausted(self) -> None:
        """End the games whose transcripts have no more actions."""
        for row in np.flatnonzero(self.runner.active).tolist():
            number, state = int(self.runner.numbers[row]), self.runner.played.state
            place = self._places[number]
            if self._played[number] >= len(self.lines[place]):
                _check_end(self.games[place], "truncated", int(state.home[row]))
                self.runner.active[row] = False

    def check_end(self, end: Finished) -> None:
        """Raise an error if a transcript continues after its game's end, or states another end."""
        place = self._ended.pop(end.number)
        game, played = self.games[place[0]], place[1]
        if played < len(game.actions):
            raise ValueError(f"{game.path}: step {played + 1}: the game has ended before")
        _check_end(game, "won" if end.won else "stuck", end.cards_home)

    def begun(self, games: Sequence[int], starts: Sequence[Any]) -> None:
        """Take new games."""
        super().begun(games, starts)
        self._ended: dict[int, tuple[int, int]] = getattr(self, "_ended", {})

    def ended(self, games: Sequence[int]) -> None:
        """Keep how many actions of the ended games were played, for :meth:`check_end`."""
        for game in games:
            self._ended[game] = self._places[game], self._played[game]
        super().ended(games)


def _check_end(game: Game, result: str, home: int) -> None:
    if (result, home) != (game.result, game.cards_home):
        raise ValueError(
            f"{game.path}: its result is {game.result} with {game.cards_home} cards home, but the replayed "
            f"game is {result if result != 'truncated' else 'not over'} with {home} cards home"
        )


class _Supermoves:
    """Finds the supermoves among single moves: those that expand to them, card by card."""

    def __init__(self, variant: Variant) -> None:
        numbers = numbers_by_text(variant)
        singles = numbers_by_text(variant.with_rules(moves="one card"))
        self.ours = np.array([numbers[text] for text in singles])
        """The number of each action of the one-card game in ours."""
        layout = action_layout(variant)
        actions = [layout.decode(number) for number in range(layout.size)]
        self.may_begin = [
            action.kind in ("cell", "space") and action.cards == 1 and action.source < layout.rules.piles
            for action in actions
        ]
        """Actions by which a supermove may begin: its last card moves to a cell or space."""
        carries = [number for number, action in enumerate(actions) if action.kind in ("tableau", "space")]
        self.carries = [
            np.array([other for other in carries if actions[other].source == action.source], dtype=np.int64)
            for action in actions
        ]
        """For each action, the supermoves from the same source."""

    def __call__(self, runner: Runner, row: int, singles: list[int]) -> tuple[int, int]:
        """The action that a game's next single moves form, and their number."""
        best, most = singles[0], 1
        if not self.may_begin[best]:
            return best, most
        candidates = self.carries[best]
        for action in candidates[runner.seen.state.mask[row, candidates] > 0].tolist():
            cards = self.ours[runner.seen.expand(row, action)].tolist()
            if len(cards) > most and cards == singles[: len(cards)]:
                best, most = action, len(cards)
        return best, most
