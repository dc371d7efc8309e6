"""Imitation: supervised learning of the moves and returns of a player, from transcripts of its games."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Discrete
from stable_baselines3.common.utils import get_device

from agents.config import TrainConfig
from agents.learners.initial_weights import initialize
from agents.learners.parallel import MAX_GRAD_NORM
from agents.networks.sb3_policy import NetworkPolicy
from agents.runs.models import save_model
from solitaire_env import Variant, env_id, splits
from solitaire_env.core import Batch, GameSpec, Settings
from solitaire_env.core.deals import check_deal
from solitaire_env.core.layout import action_layout
from solitaire_env.env import observation_space
from solitaire_env.notation import format_position, parse_position
from solitaire_env.transcripts import Transcript, parse_transcript
from solitaire_env.util.cores import usable_cores
from solitaire_env.util.files import read_text
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]

HELD_OUT: Final = 10
"""One of this many deals is held out, to measure what was learned."""


# ----------------------------------------------------------------------------- reading transcripts


def read_games(paths: Sequence[Path], config: TrainConfig) -> dict[Path, Transcript]:
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
    if not chosen and (game.deal in splits.STANDARD or game.deal in splits.HELD_OUT):
        raise ValueError(
            f"deal {game.deal} is reserved for evaluation, as are 0-999 and 100000-100999, "
            "allowed: other deals"
        )
    if ours.stock and config.information == "player" and game.information != "player":
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
    held_out: Array
    """bool ``[n]``: whether the deal is held out."""

    def __len__(self) -> int:
        return len(self.actions)


def positions_of(
    games: dict[Path, Transcript], config: TrainConfig, line: ProgressLine, *, all_games: bool
) -> Positions:
    """Replay games. A tenth of the deals is held out.

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
    held: set[str] = set()
    for starts in (taught, others):
        held.update(random.permutation(starts)[: -(-len(starts) // HELD_OUT)])
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
            is_held = np.full(len(steps), game.start in held)
            parts.append((observations, masks, actions, returns, learned, is_held))
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


# ---------------------------------------------------------------------------------------- learning


class Score(NamedTuple):
    """How well the held-out deals are predicted."""

    loss: float
    """Cross-entropy of the moves."""
    accuracy: float
    """Share of positions in which the player's move is the most probable."""
    value_error: float
    """Root of the mean squared error of the returns."""


class Student:
    """A network that learns the moves and returns of positions."""

    def __init__(self, config: TrainConfig, positions: Positions) -> None:
        th.manual_seed(config.seed)
        self.config, self.positions = config, positions
        self.actions = config.game.num_actions
        policy = NetworkPolicy(
            observation_space(config.game), Discrete(self.actions), lambda _: config.learning_rate,
            kind=config.network, spec=config.game, sizes=config.network_sizes,
        )  # fmt: skip
        initialize(config, policy)
        self.policy = policy.to(get_device(config.device))

    def _batch(self, rows: Array) -> tuple[th.Tensor, Array, th.Tensor, th.Tensor, th.Tensor]:
        """Observations, masks, actions, returns, and whether the moves are learned."""
        p = self.positions
        masks = np.unpackbits(p.masks[rows], axis=1, count=self.actions).view(np.int8)
        observations, actions, returns, learned = (
            th.from_numpy(part[rows]).to(self.policy.device)
            for part in (p.observations, p.actions, p.returns, p.learned)
        )
        return observations, masks, actions, returns, learned

    def learn(self, rows: Array, rate: float) -> None:
        """Take one step of Adam on some positions."""
        observations, masks, actions, returns, learned = self._batch(rows)
        optimizer = self.policy.optimizer
        optimizer.param_groups[0]["lr"] = rate
        seen, logs = self.policy.log_probabilities(observations, masks)
        loss = -(seen.of(actions, logs) * learned).sum() / learned.sum().clamp(min=1)
        error = (self.policy.value_net(seen.features)[:, 0] - returns).square().mean()
        optimizer.zero_grad()
        (loss + error).backward()
        th.nn.utils.clip_grad_norm_(self.policy.parameters(), MAX_GRAD_NORM)
        optimizer.step()

    @th.no_grad()
    def score(self, rows: Array) -> Score:
        """The score on some positions."""
        taught, losses, hits, errors = 0, 0.0, 0, 0.0
        for first in range(0, len(rows), 4096):
            observations, masks, actions, returns, learned = self._batch(rows[first : first + 4096])
            values, logs, _ = self.policy.evaluate_actions(observations, actions, masks)
            likeliest, *_ = self.policy(observations, deterministic=True, action_masks=masks)
            taught += int(learned.sum())
            losses -= float(logs[learned].sum())
            hits += int((likeliest == actions)[learned].sum())
            errors += float((values[:, 0] - returns).square().sum())
        return Score(losses / taught, hits / taught, (errors / len(rows)) ** 0.5)

    def save(self, folder: Path, steps: int) -> None:
        """Write the model."""
        config = self.config
        save_model(
            folder, self.policy.network, config.game, kind=config.network, sizes=config.network_sizes,
            steps=steps, value=self.policy.value_net, safe_autoplay=config.safe_autoplay,
        )  # fmt: skip


def learn(
    config: TrainConfig, positions: Positions, folder: Path, *, epochs: int, quiet: bool
) -> list[Score]:
    """Take some passes over positions; return the score after each. The model of the lowest loss is kept."""
    th.set_num_threads(config.threads or usable_cores())
    student = Student(config, positions)
    taught, held = (np.flatnonzero(positions.held_out == kept) for kept in (False, True))
    batches = -(-len(taught) // config.batch_size)
    random = np.random.default_rng(config.seed)
    line = ProgressLine(quiet)
    scores: list[Score] = []
    for epoch in range(epochs):
        for k, rows in enumerate(np.array_split(random.permutation(taught), batches)):
            student.learn(rows, config.rate_at((epoch + k / batches) / epochs))
            line.count(k, batches, f"learning: epoch {epoch + 1} of {epochs}, minibatch {k} of {batches}")
        scores.append(student.score(held))
        if scores[-1] == min(scores):
            student.save(folder, (epoch + 1) * len(taught))
    line.close()
    return scores
