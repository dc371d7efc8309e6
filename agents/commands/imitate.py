"""Clone a player: ``python -m agents imitate configs/busy-aces.yaml games/``.

Transcripts of games are replayed, and the network of a configuration learns the player's moves and the
returns from their positions (:mod:`agents.learners.imitation`). The result is a run folder, from which PPO
can continue (``init_from``): configuration, versions, a summary of the data with the scores of each epoch
(``imitation.json``) and the model (``model/``).
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from agents.commands.options import ConfigArguments, next_commands, parse_options, trust_option
from agents.results.transcripts import positions_of, read_transcripts
from agents.runs.folders import new_run
from solitaire_env.util.arguments import check_count
from solitaire_env.util.command_line import run_command
from solitaire_env.util.files import write_json
from solitaire_env.util.progress import ProgressLine


@dataclass
class Arguments(ConfigArguments):
    """Clone a player from transcripts of its games."""

    transcripts: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="TRANSCRIPT...")
    ] = ()
    """Transcripts, and folders of them (*.txt)."""
    epochs: int = 20
    """Number of passes over the positions."""
    all_games: bool = False
    """Learn the moves of all games, not only those of games that were won."""


def imitate(a: Arguments) -> int:
    """Read, replay and learn; the exit status."""
    from agents.learners import imitation  # torch is loaded only for learning
    from agents.learners.initial_weights import initial_weights_of

    config = a.config
    check_count("epochs", a.epochs, 1)
    initial_weights_of(config)
    games = read_transcripts(a.transcripts, config)
    positions = positions_of(games, config, ProgressLine(a.quiet), all_games=a.all_games)
    players = Counter(game.policy for game in games.values())
    about = {
        "transcripts": [str(path) for path in a.transcripts],
        "players": dict(players.most_common()),
        "games": len(games),
        "won": sum(game.result == "won" for game in games.values()),
        "all_games": a.all_games,
        "positions": len(positions),
        "learned_positions": int(positions.learned.sum()),
        "validation_positions": int(positions.validation.sum()),
    }
    run = new_run(a.runs, config)
    print(
        f"{config.variant.title}: {len(games)} games, {about['won']} won, "
        f"played by {', '.join(list(players)[:3])}\n"
        f"{len(positions):,} positions, {about['learned_positions']:,} of them with a move to learn; "
        f"{about['validation_positions']:,} are for validation\nrun folder      {run}",
        flush=True,
    )
    scores = imitation.learn(config, positions, run / "model", epochs=a.epochs, quiet=a.quiet)
    write_json(run / "imitation.json", {**about, "epochs": [score._asdict() for score in scores]})
    best = min(scores)
    train = f"python -m agents.train {run}/config.yaml --init-from {run} --init-linear-temperature None"
    commands = [*next_commands(config, run, "0:1000"), train + trust_option(config)]
    print(
        f"validation deals: {100 * best.accuracy:.1f} % of moves, loss {best.loss:.3f}, "
        f"error of the value {best.value_error:.3f}\n\n"
        "next:", "\n      ".join(commands),
    )  # fmt: skip
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    return run_command(
        lambda: imitate(parse_options(args, Arguments, "python -m agents imitate CONFIG")),
        "Interrupted. The model in the run folder, if any, is that of the best epoch.",
    )
