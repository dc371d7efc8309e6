"""Transcripts as a dataset of positions, to learn moves and returns from."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.config import TrainConfig
from agents.results.stored import FINAL_TEST, STANDARD
from solitaire_env import Variant, env_id
from solitaire_env.core import Batch, GameSpec, Settings
from solitaire_env.core.deals import check_deal
from solitaire_env.core.layout import action_layout
from solitaire_env.notation import format_position, parse_position
from solitaire_env.transcripts import Transcript, parse_transcript
from solitaire_env.util.files import read_text
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]

VALIDATION_DIVISOR: Final = 10
"""One of this many deals is not learned from: its positions measure what was learned."""


# ----------------------------------------------------------------------------- reading transcripts


def read_transcripts(paths: Sequence[Path], config: TrainConfig) -> dict[Path, Transcript]:
    """The transcripts among some paths, and in the folders among them.

    Raises
    ------
    ValueError
        If a file is no transcript, or is of another game, of a deal reserved for evaluation, or of a player
        that may have seen more than the configuration allows. The message names the file.
    """
    files = [file for path in paths for file in (sorted(path.rglob("*.txt")) if path.is_dir() else [path])]
    games = {}
    chosen = {*config.chosen_deals.tolist()}
    for path in files:
        try:
            games[path] = parse_transcript(read_text(path))
            _check_game(games[path], config, chosen)
        except ValueError as error:
            raise ValueError(f"{path}: {one_line(error, 300)}") from None
    if not games:
        given = ", ".join(map(str, paths)) or "nothing"
        raise ValueError(f"{given}: has no transcripts, allowed: files, and folders with *.txt files")
    return games


def _check_game(game: Transcript, config: TrainConfig, chosen: set[int]) -> None:
    ours = config.variant
    if game.variant not in (ours, _single_moves(ours)):
        raise ValueError(
            f"its game is {_rules(game.variant)}, allowed: that of the configuration, {_rules(ours)}"
        )
    if chosen and game.deal not in chosen:
        raise ValueError(f"deal {game.deal} is not among the chosen ones, allowed: deals {config.deals}")
    if not chosen and (game.deal in STANDARD or game.deal in FINAL_TEST):
        raise ValueError(
            f"deal {game.deal} is reserved for evaluation, as are 0-999 and 100000-100999, "
            "allowed: other deals"
        )
    allowed = ("player", config.information)
    if ours.stock and config.information != "thoughtful" and game.information not in allowed:
        raise ValueError(
            f"its information is {game.information!r}, so its player may have seen the stock, "
            "allowed: 'player', or a configuration with information 'thoughtful'"
        )


def _single_moves(variant: Variant) -> Variant:
    """The game whose transcripts a game with supermoves can be learned from."""
    return variant.with_rules(moves="one card") if variant.moves == "supermove" else variant


def _rules(variant: Variant) -> str:
    return f"{env_id(variant)} ({variant.build}, {variant.spaces}, {variant.moves})"


# --------------------------------------------------------------------------------------- positions


class Positions(NamedTuple):
    """Positions and the moves made in them, one per row."""

    observations: Array
    """As the configured network sees them, ``[n, size]``."""
    masks: Array
    """uint8 ``[n, actions / 8]``, packed bits."""
    actions: Array
    """int64 ``[n]``."""
    returns: Array
    """float32 ``[n]``: returns from here in the configured reward, with one discount per decision."""
    learned: Array
    """bool ``[n]``: whether the move is learned, or only the return."""
    validation: Array
    """bool ``[n]``: whether the deal is one of validation, which nothing is learned from."""

    def __len__(self) -> int:
        return len(self.actions)


def positions_of(
    games: dict[Path, Transcript], config: TrainConfig, line: ProgressLine, *, all_games: bool
) -> Positions:
    """Replay games. A tenth of the deals are kept for validation.

    Parameters
    ----------
    all_games
        Learn the moves of all games, not only those of games that were won.

    Raises
    ------
    ValueError
        If a game cannot be replayed, or does not end as its transcript says. The message names the file.
    """
    taught = sorted({game.start for game in games.values() if all_games or game.result == "won"})
    if len(taught) < 2:
        raise ValueError(
            f"{len(games)} games, but moves to learn from {len(taught)} deals, allowed: at least 2; only won "
            "games count unless --all-games is given"
        )
    others = sorted({game.start for game in games.values()} - {*taught})
    random = np.random.default_rng(config.seed)
    validation: set[str] = set()
    for starts in (taught, others):
        validation.update(random.permutation(starts)[: -(-len(starts) // VALIDATION_DIVISOR)])
    batch = Batch(
        GameSpec(config.variant, Settings(config.observation, config.information, config.reward)), 1
    )
    parts = []
    for done, (path, game) in enumerate(games.items(), 1):
        try:
            steps = list(_replay(game, batch))
        except ValueError as error:
            raise ValueError(f"{path}: {one_line(error)}") from None
        line.count(done, len(games), f"replaying: {done} of {len(games)} games")
        if steps:
            observations, masks, actions, rewards = (np.array(part) for part in zip(*steps, strict=True))
            after, returns = 0.0, np.empty(len(steps), dtype=np.float32)
            for t in reversed(range(len(steps))):
                returns[t] = after = rewards[t] + config.gamma * after
            learned = np.full(len(steps), all_games or game.result == "won")
            validates = np.full(len(steps), game.start in validation)
            parts.append((observations, masks, actions, returns, learned, validates))
    line.close()
    return Positions(*map(np.concatenate, zip(*parts, strict=True)))


def _replay(game: Transcript, batch: Batch) -> Iterator[tuple[Array, Array, int, float]]:
    """Play a transcript in a batch of one game: observation, mask, action and reward of each decision."""
    variant, row = batch.variant, np.zeros(1, dtype=np.int64)
    start = parse_position(game.start, variant) if game.deal is None else check_deal(variant, game.deal)
    batch.begin(row, [start])
    if format_position(batch.position(0)) != game.start:
        raise ValueError(f"deal {game.deal} starts from another position")
    left = list(game.actions)
    while left:
        if batch.state.status[0] != 0:
            raise ValueError(f"step {len(game.actions) - len(left) + 1}: the game has ended before")
        action, count = _join(batch, left) if game.variant != variant else (batch.parse_action(left[0]), 1)
        seen = batch.observations()[0].copy(), np.packbits(batch.state.mask[0])
        try:
            batch.play(row, np.array([action]))
        except ValueError as error:
            raise ValueError(f"step {len(game.actions) - len(left) + 1}: {error}") from None
        yield *seen, action, float(batch.rewards[0])
        del left[:count]
    result = {0: "truncated", 1: "won"}.get(int(batch.state.status[0]), "stuck")
    if (result, batch.state.home[0]) != (game.result, game.cards_home):
        raise ValueError(
            f"its result is {game.result} with {game.cards_home} cards home, but the replayed game is "
            f"{result if result != 'truncated' else 'not over'} with {batch.state.home[0]} cards home"
        )


def _join(batch: Batch, singles: list[str]) -> tuple[int, int]:
    """The longest supermove that the next single moves of a game form, and their number."""
    layout, single_layout = action_layout(batch.variant), action_layout(_single_moves(batch.variant))
    first = batch.parse_action(singles[0])
    best, most = first, 1
    # A supermove begins with its last card, which moves to a cell or space.
    if layout.decode(first).kind in ("cell", "space"):
        for action in np.flatnonzero(batch.state.mask[0]).tolist():
            move = layout.decode(action)
            if move.kind in ("tableau", "space") and move.source == layout.decode(first).source:
                cards = [single_layout.text(number) for number in batch.expand(0, action)]
                if len(cards) > most and cards == singles[: len(cards)]:
                    best, most = action, len(cards)
    return best, most
