"""Replayed transcripts: the decisions of their games, and the returns."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Batch, GameSpec, Settings, Variant
from solitaire_env.core.batch import Start
from solitaire_env.core.deals import check_deal
from solitaire_env.core.layout import action_layout
from solitaire_env.notation import format_position, parse_position
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
    batch = Batch(GameSpec(variant, settings), len(games))
    join = _Supermoves(variant) if any(game.single for game in games) else None
    batch.begin(np.arange(len(games)), [_start(game, variant) for game in games])
    for row, game in enumerate(games):
        if format_position(batch.position(row)) != game.start:
            raise ValueError(f"{game.path}: deal {game.deal} starts from another position")
    lengths = np.array([len(game.actions) for game in games])
    done = np.zeros(len(games), dtype=np.int64)
    actions = np.zeros(len(games), dtype=np.int64)
    rounds = []
    while (rows := np.flatnonzero(done < lengths)).size:
        observations, masks = batch.observations()[rows].copy(), batch.state.mask[rows].copy()
        for row, mask in zip(rows.tolist(), masks, strict=True):
            game, left = games[row], games[row].actions[done[row] :].tolist()
            step = f"{game.path}: step {done[row] + 1}"
            if batch.state.status[row] != 0:
                raise ValueError(f"{step}: the game has ended before")
            if not mask[left[0]]:
                raise ValueError(f"{step}: {one_line(batch.explain_illegal(row, left[0]))}")
            actions[row], count = join(batch, row, left) if join and game.single else (left[0], 1)
            done[row] += count
        batch.play(rows, actions[rows])
        packed = np.packbits(masks, axis=1)
        rounds.append((rows, observations, packed, actions[rows], batch.rewards[rows].copy()))
    for row, game in enumerate(games):
        _check_end(game, int(batch.state.status[row]), int(batch.state.home[row]))
    returns = np.zeros(len(games))
    of_rounds = []
    for rows, *_, rewards in reversed(rounds):
        returns[rows] = rewards + gamma * returns[rows]
        of_rounds.append(returns[rows])
    rows, seen, packed, taken, _ = (np.concatenate(part) for part in zip(*rounds, strict=True))
    return rows, seen, packed, taken, np.concatenate(of_rounds[::-1])


def _start(game: Game, variant: Variant) -> Start:
    """The deal of a transcript, or its first position."""
    if game.deal is None:
        return parse_position(game.start, variant)
    try:
        return check_deal(variant, game.deal)
    except ValueError as error:
        raise ValueError(f"{game.path}: {error}") from None


def _check_end(game: Game, status: int, home: int) -> None:
    """Raise an error if a transcript states another end than the replayed game has."""
    result = {0: "truncated", 1: "won"}.get(status, "stuck")
    if (result, home) != (game.result, game.cards_home):
        raise ValueError(
            f"{game.path}: its result is {game.result} with {game.cards_home} cards home, but the replayed "
            f"game is {result if result != 'truncated' else 'not over'} with {home} cards home"
        )


class _Supermoves:
    """Finds the supermoves among single moves: those that expand to them, card by card.

    If the single moves begin several supermoves, the longest is taken; all lead to positions of the game.
    """

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

    def __call__(self, batch: Batch, row: int, singles: list[int]) -> tuple[int, int]:
        """The action that a game's next single moves form, and their number."""
        best, most = singles[0], 1
        if not self.may_begin[best]:
            return best, most
        candidates = self.carries[best]
        for action in candidates[batch.state.mask[row, candidates] > 0].tolist():
            cards = self.ours[batch.expand(row, action)].tolist()
            if len(cards) > most and cards == singles[: len(cards)]:
                best, most = action, len(cards)
        return best, most
