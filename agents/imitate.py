"""Clone a player: ``python -m agents.imitate configs/busy-aces.yaml games/``.

Transcripts of games (:mod:`solitaire_env.transcripts`) are played again, and the network of a configuration
learns from their positions: which move the player made there, and what the game came to. What it learned is a
run folder, from which PPO can go on (``start``): configuration, versions, what was learned from
(``imitation.json``), a row an epoch (``imitation.csv``) and the model (``model/``).
"""

import csv
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
import tyro
from gymnasium.spaces import Discrete
from pydantic import ValidationError
from stable_baselines3.common.utils import get_device

from agents import results
from agents.command import run_command, value_of
from agents.config import TrainConfig, explain, load_config
from agents.files import write_json
from agents.learners import begin, start_of
from agents.models import save_model
from agents.moves import CELL, SPACE, TABLEAU, moves_of
from agents.networks import NetworkPolicy
from agents.runs import new_run
from solitaire_env import SolitaireEnv, Variant, env_id
from solitaire_env.batch import Batch, Settings, observation_space
from solitaire_env.evaluation import policy_layout
from solitaire_env.messages import one_line
from solitaire_env.progress import ProgressLine, clock
from solitaire_env.transcripts import parse_transcript

Array = npt.NDArray[Any]

EVALUATION_DEALS: Final = (results.STANDARD, results.HELD_OUT)
"""Policies are compared on these: who learned them would be asked what it was told."""
HELD_OUT: Final = 10
"""Of so many deals one is held out: what is learned is measured on it."""
TOGETHER: Final = 256
"""So many games are played again side by side."""
CURVE: Final = "imitation.csv"


@dataclass
class Arguments:
    """Clone a player from transcripts of its games."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    transcripts: tyro.conf.Positional[tuple[Path, ...]]
    """Transcripts, and folders of them (``*.txt``)."""
    runs: Path = Path("runs")
    """Folder in which run folders are made."""
    epochs: int | None = None
    """Learning stops after so many passes over the positions, or when its minutes are over."""
    all_games: bool = False
    """The moves of all games are learned, not of those alone that were won."""
    keep: float = 0.0
    """How much the network is held to what it began as, the weight of the Kullback-Leibler divergence from it
    (1: a position's aim lies half-way between its old probabilities and the player's move)."""
    evaluation_deals: bool = False
    """Learn also from the deals that are kept for evaluation, 0-999 and 100000-100999."""
    memory: int = 2000
    """Positions may take so many megabytes; games for which there is no room are left out."""
    quiet: bool = False
    """No progress line."""


# ----------------------------------------------------------------------------- reading transcripts


class Game(NamedTuple):
    """A transcript, its actions as numbers."""

    path: Path
    player: str
    deal: int | str | None
    start: str
    result: str
    cards_home: int
    single: bool
    """Whether its moves are single cards, which may have been supermoves of the configuration's game."""
    actions: Array
    """int16 ``[steps]``, in the configuration's action set."""


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files among paths, and the transcripts in the folders among them."""
    files = []
    for path in paths:
        files += sorted(path.rglob("*.txt")) if path.is_dir() else [path]
    if not files:
        given = ", ".join(map(str, paths)) or "nothing"
        raise ValueError(f"{given}: no transcripts, allowed: files, and folders with *.txt")
    return files


def read_game(path: Path, config: TrainConfig, *, evaluation_deals: bool = False) -> Game:
    """A transcript that may be learned from.

    Raises
    ------
    ValueError
        Naming the file, if it is none, is of another game, of a deal that is kept for evaluation, or of a
        player that may have seen more than the configuration's.
    """
    try:
        game = parse_transcript(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not text") from None
    except ValueError as error:
        raise ValueError(f"{path}: {one_line(error, 300)}") from None
    ours = config.variant
    single = game.variant != ours
    if single and (ours.moves != "supermove" or game.variant != ours.with_rules(moves="one card")):
        raise ValueError(f"{path}: a game of {_rules(game.variant)}; the configuration's is {_rules(ours)}")
    if not evaluation_deals and any(game.deal in deals for deals in EVALUATION_DEALS):
        raise ValueError(
            f"{path}: deal {game.deal} is kept for evaluation, as are all of 0-999 and 100000-100999; "
            "--evaluation-deals learns from it all the same"
        )
    if ours.stock and config.information == "player" and game.information != "player":
        saw = "saw the stock" if game.information else "may have seen the stock: it does not say"
        raise ValueError(
            f"{path}: its player {saw}; allowed where the stock is hidden: a transcript with "
            "'information: player', or a configuration with information 'thoughtful'"
        )
    numbers = _numbers(ours)
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


@cache
def _numbers(variant: Variant) -> dict[str, int]:
    """The number of each action, by its text. A single card's text is the same in both action sets."""
    env = SolitaireEnv(variant)
    return {env.action_text(n): n for n in range(policy_layout(variant)["actions"])}


def read_games(a: Arguments, line: ProgressLine) -> list[Game]:
    """The games of all transcripts, those without a move left out."""
    files = files_of(a.transcripts)
    games = []
    for done, path in enumerate(files, 1):
        games.append(read_game(path, a.config, evaluation_deals=a.evaluation_deals))
        line.count(done, len(files), f"reading: {done} of {len(files)} transcripts")
    line.close()
    return [game for game in games if len(game.actions)]


# --------------------------------------------------------------------------------------- positions


class Positions(NamedTuple):
    """What is learned: a position and what was done in it, a row each."""

    observations: Array
    """As the configuration's network sees them, ``[n, size]``."""
    masks: Array
    """uint8 ``[n, actions / 8]``, packed bits."""
    actions: Array
    """int16 ``[n]``."""
    returns: Array
    """float32 ``[n]``: what was still earned in the configuration's reward, discounted a decision."""
    teaches: Array
    """bool ``[n]``: whether the move is learned, or the return alone."""
    held: Array
    """bool ``[n]``: whether the deal is held out."""

    def __len__(self) -> int:
        return len(self.actions)


def hold_out(games: Sequence[Game], taught: Sequence[bool], seed: int) -> set[str]:
    """The starts of the deals that are held out: one of ten whose moves are learned, and of the others."""
    random = np.random.default_rng(seed)
    teaching = dict.fromkeys(game.start for game, teaches in zip(games, taught, strict=True) if teaches)
    others = dict.fromkeys(game.start for game in games if game.start not in teaching)
    if len(teaching) < 2:
        raise ValueError(
            f"{len(games)} games of {len({game.start for game in games})} deals, of which moves are learned "
            f"from {len(teaching)}, allowed: at least 2 deals, of won games or with --all-games"
        )
    held: set[str] = set()
    for starts, least in ((list(teaching), 1), (list(others), 0)):
        number = max(least, len(starts) // HELD_OUT)
        held.update(starts[k] for k in random.permutation(len(starts))[:number])
    return held


def positions_of(games: Sequence[Game], a: Arguments, line: ProgressLine) -> Positions:
    """Play games again, as far as there is memory for their positions.

    Raises
    ------
    ValueError
        Naming the file, if a game cannot be played, or ends otherwise than it says.
    """
    config = a.config
    settings = Settings(config.observation, config.information, config.reward)
    space = observation_space(config.variant, settings)
    assert space.shape is not None and space.dtype is not None
    number = policy_layout(config.variant, config)["actions"]
    games = [games[k] for k in np.random.default_rng(config.seed).permutation(len(games))]
    packed = -(-number // 8)
    room = a.memory * 10**6 // (space.shape[0] * space.dtype.itemsize + packed + 8)
    steps = np.cumsum([len(game.actions) for game in games])
    fitting = int(np.searchsorted(steps, room, "right"))
    if fitting < len(games):
        print(f"{fitting} of {len(games)} games fit into {a.memory} MB (--memory)", file=sys.stderr)
        games = games[:fitting]
    taught = [a.all_games or game.result == "won" for game in games]
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
    for first in range(0, len(games), TOGETHER):
        some = games[first : first + TOGETHER]
        line.count(done, size, f"playing again: {first} of {len(games)} games, {done:,} positions")
        rows, *decisions = replay(some, config.variant, settings, config.gamma)
        part = slice(done, done + len(rows))
        done = part.stop
        for array, values in zip(positions, decisions, strict=False):
            array[part] = values
        positions.teaches[part] = np.array(taught[first : first + TOGETHER])[rows]
        positions.held[part] = np.array([game.start in held for game in some])[rows]
    line.close()
    return Positions(*(array[:done] for array in positions))


def replay(
    games: Sequence[Game], variant: Variant, settings: Settings, gamma: float
) -> tuple[Array, Array, Array, Array, Array]:
    """Play some games again, side by side: what was decided in them.

    The game, int64 ``[n]``, then observations, masks, actions and returns, as :class:`Positions` has them.
    """
    batch = Batch(variant, settings, len(games))
    for row, game in enumerate(games):
        _start(batch, row, game)
    lengths = np.array([len(game.actions) for game in games])
    singles = np.zeros((len(games), lengths.max()), dtype=np.int64)
    for row, game in enumerate(games):
        singles[row, : lengths[row]] = game.actions
    join = Join(batch) if any(game.single for game in games) else None
    rest = np.zeros(len(games), dtype=np.int64)
    """So many moves of each game belong to the supermove that was begun."""
    over = np.zeros(len(games), dtype=np.bool_)
    rewards = np.zeros(singles.shape)
    decided = np.zeros(singles.shape, dtype=np.bool_)
    parts: list[tuple[Array, ...]] = []
    for step in range(singles.shape[1]):
        playing = step < lengths
        rows = np.flatnonzero(playing)
        actions = singles[rows, step]
        refused = rows[over[rows] | (batch.state.mask[rows, actions] == 0)]
        if len(refused):
            row = int(refused[0])
            why = "the game is over" if over[row] else batch.explain_illegal(row, int(singles[row, step]))
            raise ValueError(f"{games[row].path}: step {step + 1}: {one_line(why)}")
        rest[rows] -= 1
        free = rest[rows] < 0
        decided[rows[free], step] = True
        rest[rows[free]] = 0
        rows, actions = rows[free], actions[free]
        if join is not None:
            for k, row in enumerate(rows.tolist()):
                if games[row].single and join.may_begin[actions[k]]:
                    actions[k], rest[row] = join(row, singles[row, step : lengths[row]].tolist())
        masks = np.packbits(batch.state.mask[rows], axis=1)
        parts.append((rows, np.full(len(rows), step), batch.observations()[rows], masks, actions))
        batch.step(np.ascontiguousarray(singles[:, step]), playing.astype(np.int8))
        rewards[playing, step] = batch.rewards[playing]
        over |= playing & batch.terminated
    for row, game in enumerate(games):
        _check_end(batch, row, game, bool(over[row]))
    rows, steps, *rest_of_all = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, *rest_of_all, discounted(rewards, decided, gamma)[rows, steps]


def _start(batch: Batch, row: int, game: Game) -> None:
    if game.deal is None:
        batch.place(row, game.start)
        return
    try:
        batch.deal(np.array([row], dtype=np.int64), [game.deal])
    except ValueError as error:
        raise ValueError(f"{game.path}: {error}") from None
    if batch.position_text(row) != game.start:
        raise ValueError(f"{game.path}: deal {game.deal} starts from another position")


def _check_end(batch: Batch, row: int, game: Game, over: bool) -> None:
    home = int(batch.state.home[row])
    result = "truncated" if not over else "won" if home == batch.variant.cards else "stuck"
    if (result, home) != (game.result, game.cards_home):
        raise ValueError(
            f"{game.path}: it says {game.result}, {game.cards_home} cards home; played again the game is "
            f"{result if over else 'not over'}, {home} cards home"
        )


class Join:
    """Finds the supermoves among single moves: those that it expands to, card by card.

    Where the single moves begin several, the longest was meant; all lead where the game went.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        numbers = _numbers(batch.variant)
        single = batch.variant.with_rules(moves="one card")
        self.ours = np.array([numbers[text] for text in _numbers(single)])
        """The number of each action of the game of single cards in ours."""
        layout = policy_layout(batch.variant)
        kinds, sources, _, cards = moves_of(layout).table.T
        self.may_begin = ((kinds == CELL) | (kinds == SPACE)) & (cards == 1) & (sources < layout["piles"])
        """Actions by which a supermove may begin: its last card is put aside."""
        carries = (kinds == TABLEAU) | (kinds == SPACE)
        self.carries = [np.flatnonzero(carries & (sources == source)) for source in sources]
        """For each action those that carry a sequence from the same source."""

    def __call__(self, row: int, singles: list[int]) -> tuple[int, int]:
        """The action that a game's next single moves come to, and how many they are besides the first."""
        best, most = singles[0], 1
        candidates = self.carries[best]
        for action in candidates[self.batch.state.mask[row, candidates] > 0].tolist():
            cards = self.ours[self.batch.expand(row, action)].tolist()
            if len(cards) > most and cards == singles[: len(cards)]:
                best, most = action, len(cards)
        return best, most - 1


def discounted(rewards: Array, decided: Array, gamma: float) -> Array:
    """What was still earned from each decision on, float ``[games, steps]``.

    ``rewards`` ``[games, steps]`` are of each step, ``decided`` says which were decisions; the others belong
    to the decision before.
    """
    returns = np.zeros(rewards.shape)
    after = np.zeros(len(rewards))
    carried = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        carried += rewards[:, step]
        now = decided[:, step]
        returns[:, step] = after = np.where(now, carried + gamma * after, after)
        carried[now] = 0
    return returns


# --------------------------------------------------------------------------------------- learning


class Score(NamedTuple):
    """How well the held-out deals are known."""

    loss: float
    """Cross-entropy of the moves."""
    accuracy: float
    """Share of positions in which the player's move is the likeliest."""
    value_error: float
    """Root of the mean squared error of the returns."""


class Pupil:
    """A network that learns positions.

    Parameters
    ----------
    config
        The network, what it starts from, and how it learns.
    positions
        What it learns.
    keep
        How much it is held to what it starts from.
    """

    def __init__(self, config: TrainConfig, positions: Positions, keep: float = 0.0) -> None:
        th.manual_seed(config.seed)
        self.config = config
        self.keep = keep
        self.layout = policy_layout(config.variant, config)
        self.actions = self.layout["actions"]
        self.positions = positions
        settings = Settings(config.observation, config.information, config.reward)
        policy = NetworkPolicy(
            observation_space(config.variant, settings), Discrete(self.actions),
            lambda _: config.learning_rate,
            kind=config.network, layout=self.layout, sizes=config.network_sizes,
        )  # fmt: skip
        begin(config, policy)
        self.policy = policy.to(get_device(config.device))
        self.before = deepcopy(self.policy).requires_grad_(False) if keep else None

    def _batch(self, rows: Array) -> tuple[th.Tensor, Array, th.Tensor, th.Tensor, th.Tensor]:
        """Observations, masks, actions, returns and whether the moves teach."""
        p, device = self.positions, self.policy.device
        masks = np.unpackbits(p.masks[rows], axis=1, count=self.actions).view(np.int8)
        tensors = (p.observations[rows], p.actions[rows].astype(np.int64), p.returns[rows], p.teaches[rows])
        observations, actions, returns, teaches = (th.from_numpy(part).to(device) for part in tensors)
        return observations, masks, actions, returns, teaches

    def learn(self, rows: Array, rate: float) -> float:
        """One step of Adam on some positions; the loss of their moves."""
        observations, masks, actions, returns, teaches = self._batch(rows)
        optimizer = self.policy.optimizer
        for group in optimizer.param_groups:
            group["lr"] = rate
        seen, logs = self.policy.log_probabilities(observations, masks)
        loss = -(seen.of(actions, logs) * teaches).sum() / teaches.sum().clamp(min=1)
        error = (self.policy.value_net(seen.features)[:, 0] - returns).square().mean()
        total = loss + self.config.vf_coef * error
        if self.before is not None:
            _, before = self.before.log_probabilities(observations, masks)
            total = total + self.keep * (before.exp() * (before - logs)).sum() / len(rows)
        optimizer.zero_grad()
        total.backward()
        th.nn.utils.clip_grad_norm_(self.policy.parameters(), self.config.max_grad_norm)
        optimizer.step()
        return loss.item()

    @th.no_grad()
    def score(self, rows: Array) -> Score:
        """How well some positions are known."""
        taught, losses, hits, errors = 0, 0.0, 0, 0.0
        for first in range(0, len(rows), 4096):
            observations, masks, actions, returns, teaches = self._batch(rows[first : first + 4096])
            values, logs, _ = self.policy.evaluate_actions(observations, actions, masks)
            likeliest, *_ = self.policy(observations, deterministic=True, action_masks=masks)
            taught += int(teaches.sum())
            losses -= float(logs[teaches].sum())
            hits += int((likeliest == actions)[teaches].sum())
            errors += float((values[:, 0] - returns).square().sum())
        return Score(losses / taught, hits / taught, (errors / len(rows)) ** 0.5)

    def save(self, folder: Path, steps: int) -> None:
        """Write the model."""
        save_model(
            folder,
            self.policy.network,
            env=env_id(self.config.variant),
            moves=self.config.variant.moves,
            kind=self.config.network,
            sizes=self.config.network_sizes,
            layout=self.layout,
            steps=steps,
            value=self.policy.value_net,
            sure_home=self.config.sure_home,
        )


def learn(a: Arguments, positions: Positions, run: Path) -> tuple[Score, bool]:
    """Learn positions in a run folder: the best score, and whether learning came to its end.

    The model that is kept knew the moves of the held-out deals best. A first Ctrl-C ends learning after the
    step in hand.
    """
    config = a.config
    th.set_num_threads(config.threads or os.cpu_count() or 1)
    pupil = Pupil(config, positions, a.keep)
    taught, held = (np.flatnonzero(positions.held == kept) for kept in (False, True))
    random = np.random.default_rng(config.seed)
    line = ProgressLine(a.quiet)
    stopped = False

    def stop(*_: Any) -> None:
        nonlocal stopped
        stopped = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    start, seen = time.monotonic(), 0
    best: Score | None = None
    losses: list[float] = []

    def share() -> float:
        """How much of the learning is done, 0 to 1."""
        of_time = (time.monotonic() - start) / (60 * config.minutes) if config.minutes else 0.0
        of_epochs = seen / (a.epochs * len(taught)) if a.epochs else 0.0
        return min(1.0, max(of_time, of_epochs))

    try:
        while True:
            score = pupil.score(held)
            _write_row(run / CURVE, seen / len(taught), time.monotonic() - start, losses, score)
            if best is None or score.loss < best.loss:
                best = score
                pupil.save(run / "model", seen)
            if stopped or share() >= 1:
                return best, not stopped
            losses = []
            for rows in np.array_split(random.permutation(taught), -(-len(taught) // config.batch_size)):
                done = share()
                if stopped or done >= 1:
                    break
                losses.append(pupil.learn(rows, config.rate_at(done)))
                seen += len(rows)
                line.show(partial(_text, seen / len(taught), done, time.monotonic() - start, score))
    finally:
        signal.signal(signal.SIGINT, before)
        line.close()


def _text(epochs: float, share: float, seconds: float, score: Score) -> str:
    left = f"{clock(seconds * (1 - share) / share)} left" if share > 0.01 else "starting"
    return (
        f"learning: {epochs:.1f} epochs; on held-out deals {100 * score.accuracy:.1f} % of moves, "
        f"loss {score.loss:.3f}, {left}"
    )


def _write_row(path: Path, epochs: float, seconds: float, losses: list[float], score: Score) -> None:
    loss = f"{np.mean(losses):.5f}" if losses else ""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(("epochs", "minutes", "taught_loss", *Score._fields))
        writer.writerow((f"{epochs:.3f}", f"{seconds / 60:.4f}", loss, *(f"{x:.5f}" for x in score)))


# --------------------------------------------------------------------------------------- command


def parse_arguments(args: list[str]) -> Arguments:
    """The command line: a configuration file, transcripts, and any key of the configuration as an option."""
    config = TrainConfig()
    rest = list(args)
    if rest and not rest[0].startswith("-"):
        config = load_config(Path(rest.pop(0)), value_of(rest, "--env"))
    try:
        return tyro.cli(
            Arguments,
            args=rest,
            default=Arguments(config, ()),
            prog="python -m agents.imitate CONFIG",
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
        )
    except ValidationError as error:
        raise explain(error, "command line") from None


def check(a: Arguments) -> None:
    """Refuse what cannot be learned so, before anything is read or made."""
    for name in ("epochs", "memory"):
        value = getattr(a, name)
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}, allowed: at least 1")
    if not 0 <= a.keep < float("inf"):
        raise ValueError(f"keep is {a.keep}, allowed: 0 and above")
    if a.config.minutes is None and a.epochs is None:
        raise ValueError("minutes is null and no epochs are given, allowed: at least one of them set")
    start_of(a.config)


def imitate(a: Arguments) -> tuple[Path, bool]:
    """Read, play again and learn: the run folder, and whether learning came to its end."""
    check(a)
    config = a.config
    line = ProgressLine(a.quiet)
    games = read_games(a, line)
    positions = positions_of(games, a, line)
    run = new_run(a.runs, config)
    players = Counter(game.player for game in games)
    about = {
        "transcripts": [str(path) for path in a.transcripts],
        "players": dict(players.most_common()),
        "games": len(games),
        "won": sum(game.result == "won" for game in games),
        "all_games": a.all_games,
        "positions": len(positions),
        "whose_moves_are_learned": int(positions.teaches.sum()),
        "held_out": int(positions.held.sum()),
    }
    write_json(run / "imitation.json", about)
    print(
        f"{config.variant.title}: {len(games)} games, {about['won']} won, of {', '.join(list(players)[:3])}\n"
        f"{len(positions):,} positions, the moves of {about['whose_moves_are_learned']:,} are learned; "
        f"{about['held_out']:,} held out"
    )
    if any(game.single for game in games):
        print("supermoves are put together from single moves")
    score, ended = learn(a, positions, run)
    print(
        f"held-out deals: {100 * score.accuracy:.1f} % of moves, loss {score.loss:.3f}, "
        f"error of the value {score.value_error:.3f}\n\nrun folder      {run}"
    )
    if not ended:
        print(f"stopped; what was learned is in {run}", file=sys.stderr)
    return run, ended


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""

    def run() -> int:
        a = parse_arguments(sys.argv[1:] if args is None else args)
        folder, ended = imitate(a)
        if not ended:
            return 130
        print(f"\nnext: python -m agents.evaluate --policy {folder} --env {env_id(a.config.variant)}")
        print(f"      python -m agents.train CONFIG --start {folder} --linear-start None")
        return 0

    return run_command(run)


if __name__ == "__main__":
    sys.exit(main())
