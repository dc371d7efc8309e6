"""The dataset of imitation: replayed transcripts of games, as positions and the moves made in them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.config import TrainConfig
from agents.learners.replays import Game, numbers_by_text, replay
from solitaire_env import Variant, env_id
from solitaire_env.core.spec import Settings
from solitaire_env.env import observation_space
from solitaire_env.evaluation import deals
from solitaire_env.transcripts import parse_transcript
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]

EVALUATION_DEALS: Final = (deals.STANDARD, deals.HELD_OUT)
"""Deals of the evaluation. A policy that learned from them could not be compared on them."""
HELD_OUT: Final = 10
"""One of this many deals is held out, to measure what was learned."""
GAMES_PER_BATCH: Final = 256
"""Number of games that are replayed in parallel."""


# ----------------------------------------------------------------------------- reading transcripts


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files among paths, and the transcripts in the folders among them."""
    files = []
    for path in paths:
        files += sorted(path.rglob("*.txt")) if path.is_dir() else [path]
    if not files:
        given = ", ".join(map(str, paths)) or "nothing"
        raise ValueError(f"{given}: has no transcripts, allowed: files, and folders with *.txt files")
    return files


def read_game(path: Path, config: TrainConfig, *, evaluation_deals: bool = False) -> Game:
    """A transcript to learn from.

    Raises
    ------
    ValueError
        If the file is no transcript, or is of another game, of a deal reserved for evaluation, or of a player
        that may have seen more than the configuration allows. The message names the file.
    """
    try:
        game = parse_transcript(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    except ValueError as error:
        raise ValueError(f"{path}: {one_line(error, 300)}") from None
    ours = config.variant
    single = game.variant != ours
    if single and (ours.moves != "supermove" or game.variant != ours.with_rules(moves="one card")):
        raise ValueError(
            f"{path}: its game is {_rules(game.variant)}, allowed: that of the configuration, {_rules(ours)}"
        )
    if not evaluation_deals and any(game.deal in kept for kept in EVALUATION_DEALS):
        raise ValueError(
            f"{path}: deal {game.deal} is reserved for evaluation, as are 0-999 and 100000-100999, "
            "allowed: other deals; or pass --evaluation-deals to learn from it"
        )
    if ours.stock and config.information == "player" and game.information != "player":
        raise ValueError(
            f"{path}: its information is {game.information!r}, so its player may have seen the stock, "
            "allowed: 'player', or a configuration with information 'thoughtful'"
        )
    numbers = numbers_by_text(ours)
    return Game(
        path,
        game.policy,
        game.deal,
        game.start,
        game.result,
        game.cards_home,
        single,
        np.array([numbers[action] for action in game.actions], dtype=np.int16),
    )


def _rules(variant: Variant) -> str:
    return f"{env_id(variant)} ({variant.build}, {variant.spaces}, {variant.moves})"


def read_games(
    paths: Sequence[Path], config: TrainConfig, line: ProgressLine, *, evaluation_deals: bool = False
) -> list[Game]:
    """The games of all transcripts, without those that have no moves."""
    files = files_of(paths)
    games = []
    for done, path in enumerate(files, 1):
        games.append(read_game(path, config, evaluation_deals=evaluation_deals))
        line.count(done, len(files), f"reading: {done} of {len(files)} transcripts")
    line.close()
    return [game for game in games if len(game.actions)]


# --------------------------------------------------------------------------------------- positions


class Positions(NamedTuple):
    """Positions and the moves made in them, one per row."""

    observations: Array
    """As the configured network sees them, ``[n, size]``."""
    masks: Array
    """uint8 ``[n, actions / 8]``, packed bits."""
    actions: Array
    """int16 ``[n]``."""
    returns: Array
    """float32 ``[n]``: returns from here in the configured reward, with one discount per decision."""
    learned: Array
    """bool ``[n]``: whether the move is learned, or only the return."""
    held_out: Array
    """bool ``[n]``: whether the deal is held out."""

    def __len__(self) -> int:
        return len(self.actions)


def hold_out(games: Sequence[Game], taught: Sequence[bool], seed: int) -> set[str]:
    """The starts of the held-out deals: a tenth of the deals whose moves are learned, and of the others."""
    random = np.random.default_rng(seed)
    teaching = dict.fromkeys(game.start for game, teaches in zip(games, taught, strict=True) if teaches)
    others = dict.fromkeys(game.start for game in games if game.start not in teaching)
    if len(teaching) < 2:
        raise ValueError(
            f"{len(games)} games of {len({game.start for game in games})} deals, but moves to learn from "
            f"{len(teaching)}, allowed: at least 2 deals; only won games count unless --all-games is given"
        )
    held: set[str] = set()
    for starts, least in ((list(teaching), 1), (list(others), 0)):
        number = max(least, len(starts) // HELD_OUT)
        held.update(starts[k] for k in random.permutation(len(starts))[:number])
    return held


def positions_of(
    games: Sequence[Game], config: TrainConfig, line: ProgressLine, *, all_games: bool, memory: int
) -> Positions:
    """Replay games, as many as fit into memory.

    Parameters
    ----------
    all_games
        Learn the moves of all games, not only those of games that were won.
    memory
        Megabytes for positions; games beyond that are left out.

    Raises
    ------
    ValueError
        If a game cannot be replayed, or does not end as its transcript says. The message names the file.
    """
    settings = Settings(config.observation, config.information, config.reward)
    space = observation_space(config.game)
    assert space.shape is not None and space.dtype is not None
    number = config.game.num_actions
    games = [games[k] for k in np.random.default_rng(config.seed).permutation(len(games))]
    packed = -(-number // 8)
    room = memory * 10**6 // (space.shape[0] * space.dtype.itemsize + packed + 8)
    steps = np.cumsum([len(game.actions) for game in games])
    fitting = int(np.searchsorted(steps, room, "right"))
    if fitting < len(games):
        print(
            f"only {fitting} of {len(games)} games fit into --memory {memory} MB and are used",
            file=sys.stderr,
        )
        games = games[:fitting]
    taught = [all_games or game.result == "won" for game in games]
    held = hold_out(games, taught, config.seed)
    size = int(steps[fitting - 1])
    positions = Positions(
        np.empty((size, space.shape[0]), dtype=space.dtype),
        np.empty((size, packed), dtype=np.uint8),
        np.empty(size, dtype=np.int16),
        np.empty(size, dtype=np.float32),
        np.empty(size, dtype=np.bool_),
        np.empty(size, dtype=np.bool_),
    )
    done = 0
    for first in range(0, len(games), GAMES_PER_BATCH):
        some = games[first : first + GAMES_PER_BATCH]
        rows, *decisions = replay(some, config.variant, settings, config.gamma)
        line.count(done, size, f"replaying: {first} of {len(games)} games, {done:,} positions")
        part = slice(done, done + len(rows))
        done = part.stop
        for array, values in zip(positions, decisions, strict=False):
            array[part] = values
        positions.learned[part] = np.array(taught[first : first + GAMES_PER_BATCH])[rows]
        positions.held_out[part] = np.array([game.start in held for game in some])[rows]
    line.close()
    return Positions(*(array[:done] for array in positions))
