"""Clone a player: ``python -m agents imitate configs/busy-aces.yaml games/``.

Transcripts of games are played again (:mod:`agents.learners.dataset`), and the network of a configuration
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
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
import tyro
from gymnasium.spaces import Discrete
from pydantic import ValidationError
from stable_baselines3.common.utils import get_device

from agents.commands.options import run_command, value_of
from agents.config import TrainConfig, explain
from agents.learners.dataset import Positions, positions_of, read_games
from agents.learners.ppo import begin, start_of
from agents.networks.sb3_policy import NetworkPolicy
from agents.runs.config_files import load_config
from agents.runs.folders import new_run
from agents.runs.models import save_model
from solitaire_env import env_id
from solitaire_env.env import observation_space
from solitaire_env.util.files import write_json
from solitaire_env.util.progress import ProgressLine, clock

Array = npt.NDArray[Any]

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
        self.game = config.game
        self.actions = self.game.num_actions
        self.positions = positions
        policy = NetworkPolicy(
            observation_space(self.game), Discrete(self.actions), lambda _: config.learning_rate,
            kind=config.network, spec=self.game, sizes=config.network_sizes,
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
            self.game,
            kind=self.config.network,
            sizes=self.config.network_sizes,
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
            prog="python -m agents imitate CONFIG",
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
    games = read_games(a.transcripts, config, line, evaluation_deals=a.evaluation_deals)
    positions = positions_of(games, config, line, all_games=a.all_games, memory=a.memory)
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
