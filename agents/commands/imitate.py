"""Clone a player: ``python -m agents imitate configs/busy-aces.yaml games/``.

Transcripts of games are replayed (:mod:`agents.learners.dataset`), and the network of a configuration learns
the player's moves and the returns from their positions. The result is a run folder, from which PPO can
continue (``init_from``): configuration, versions, a summary of the data (``imitation.json``), a row per epoch
(``imitation.csv``) and the model (``model/``).
"""

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from pydantic import ValidationError

from agents.commands.options import check_trust, run_command, value_of
from agents.config import TrainConfig, explain
from agents.learners.dataset import Positions, positions_of, read_games
from agents.learners.replays import Game
from agents.runs.config_files import load_config
from agents.runs.folders import new_run
from solitaire_env import env_id
from solitaire_env.util.files import write_json
from solitaire_env.util.progress import ProgressLine


@dataclass
class Arguments:
    """Clone a player from transcripts of its games."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    transcripts: tyro.conf.Positional[tuple[Path, ...]]
    """Transcripts, and folders of them (``*.txt``)."""
    runs: Path = Path("runs")
    """Folder in which run folders are made."""
    epochs: int | None = None
    """Learning ends after this many passes over the positions, or after the minutes of the configuration."""
    all_games: bool = False
    """Learn the moves of all games, not only those of games that were won."""
    imitation_kl_coef: float = 0.0
    """Weight of the KL penalty to the initial network. With 1, the target of a position is the mean of the
    initial probabilities and the player's move."""
    evaluation_deals: bool = False
    """Learn also from the deals reserved for evaluation, 0-999 and 100000-100999."""
    memory: int = 2000
    """Megabytes for positions; games beyond that are left out."""
    trust_model: bool = False
    """Import the module of a custom network that the configuration file names, which can run any code."""
    quiet: bool = False
    """Hide the progress line."""


def parse_arguments(args: list[str]) -> Arguments:
    """The command line: a configuration file, transcripts, and any key of the configuration as an option."""
    config = TrainConfig()
    rest = list(args)
    if rest and not rest[0].startswith("-"):
        config = load_config(Path(rest.pop(0)), value_of(rest, "--env"))
    try:
        options = tyro.cli(
            Arguments,
            args=rest,
            default=Arguments(config, ()),
            prog="python -m agents imitate CONFIG",
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
        )
    except ValidationError as error:
        raise explain(error, "command line") from None
    check_trust(options, rest)
    return options


def check(a: Arguments) -> None:
    """Check the options, before any file is read or written."""
    a.config.variant  # noqa: B018 - refuses many games
    for name in ("epochs", "memory"):
        value = getattr(a, name)
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}, allowed: at least 1")
    if not 0 <= a.imitation_kl_coef < float("inf"):
        raise ValueError(f"imitation_kl_coef is {a.imitation_kl_coef}, allowed: 0 and above")
    if a.config.minutes is None and a.epochs is None:
        raise ValueError("minutes is null and no epochs are given, allowed: at least one of them set")
    from agents.learners.initial_weights import initial_weights_of  # torch is loaded only for learning

    initial_weights_of(a.config)


def imitate(a: Arguments) -> tuple[Path, bool]:
    """Read, replay and learn: the run folder, and whether the learning was completed."""
    from agents.learners.imitation import learn

    check(a)
    config = a.config
    line = ProgressLine(a.quiet)
    games = read_games(a.transcripts, config, line, evaluation_deals=a.evaluation_deals)
    positions = positions_of(games, config, line, all_games=a.all_games, memory=a.memory)
    run = new_run(a.runs, config)
    about = about_of(a, games, positions)
    write_json(run / "imitation.json", about)
    print(
        f"{config.variant.title}: {len(games)} games, {about['won']} won, "
        f"played by {', '.join(list(about['players'])[:3])}\n"
        f"{len(positions):,} positions, {about['learned_positions']:,} of them with a move to learn; "
        f"{about['held_out']:,} are held out"
    )
    if any(game.single for game in games):
        print("single moves are combined into supermoves")
    score, ended = learn(config, positions, run, epochs=a.epochs, kl_coef=a.imitation_kl_coef, quiet=a.quiet)
    print(
        f"held-out deals: {100 * score.accuracy:.1f} % of moves, loss {score.loss:.3f}, "
        f"error of the value {score.value_error:.3f}\n\nrun folder      {run}"
    )
    if not ended:
        print(f"Interrupted. The model of the best epoch is in {run}.", file=sys.stderr)
    return run, ended


def about_of(a: Arguments, games: list[Game], positions: Positions) -> dict[str, Any]:
    """The contents of ``imitation.json``."""
    players = Counter(game.player for game in games)
    return {
        "transcripts": [str(path) for path in a.transcripts],
        "players": dict(players.most_common()),
        "games": len(games),
        "won": sum(game.result == "won" for game in games),
        "all_games": a.all_games,
        "positions": len(positions),
        "learned_positions": int(positions.learned.sum()),
        "held_out": int(positions.held_out.sum()),
    }


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""

    def run() -> int:
        a = parse_arguments(sys.argv[1:] if args is None else args)
        folder, ended = imitate(a)
        if not ended:
            return 130
        print(f"\nnext: python -m agents.evaluate --policy {folder} --env {env_id(a.config.variant)}")
        print(f"      python -m agents.train CONFIG --init-from {folder} --init-linear-temperature None")
        return 0

    return run_command(run)


if __name__ == "__main__":
    sys.exit(main())
