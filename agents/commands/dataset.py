"""Make a Minari dataset of whole games: ``python -m agents dataset busy-aces/expert``.

First the games are played and stored compactly (:mod:`agents.playing.recording`), then they are converted
(:mod:`agents.results.datasets`). Who has the file of games makes the same dataset without playing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from agents.playing.recording import SOURCES, record
from agents.results.datasets import check_dataset, convert, load, save, what
from solitaire_env.core.deals import MAX_DEAL, RESERVED_DEALS
from solitaire_env.registration import import_module_of, resolve_variant
from solitaire_env.util.arguments import check_choice, check_count
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine


@dataclass
class Arguments:
    """Play games and make a Minari dataset of them."""

    dataset: tyro.conf.Positional[str]
    """GAME/SOURCE, such as busy-aces/expert. Sources: random, greedy, linear, expert (the shipped network),
    mixed (equal parts of random, linear or greedy, and expert), solver (winning lines, with the stock known).
    """
    games: Annotated[int, tyro.conf.arg(metavar="N")] = 10_000
    """Number of deals. Deals that the solver does not win, and games without a move, are left out."""
    first_deal: int = RESERVED_DEALS
    """The first deal. Lower ones are for evaluation."""
    file: Path | None = None
    """File of the games. If it exists, its games are converted instead of playing. By default a file in
    runs/datasets."""
    quiet: bool = False
    """Hide the progress line."""


def run(a: Arguments) -> Any:
    """Make the dataset that the options describe; return it."""
    game, _, source = a.dataset.rpartition("/")
    if not game:
        raise ValueError(f"dataset is {a.dataset!r}, allowed: GAME/SOURCE, such as busy-aces/expert")
    import_module_of(game)
    variant = resolve_variant(game)
    check_choice("source", source, SOURCES)
    check_count("games", a.games, 1)
    check_count("first_deal", a.first_deal, 0, MAX_DEAL - a.games)
    dataset_id = f"solitaire/{variant.name}/{source}-v0"
    check_dataset(dataset_id)
    line = ProgressLine(a.quiet)
    deals = range(a.first_deal, a.first_deal + a.games)
    path = a.file or Path("runs", "datasets", f"{variant.name}-{source}-{deals.start}-{len(deals)}.npz")
    if path.exists():
        recording = load(path, what(variant, source, deals))
        print(f"the games are those of {path}")
    else:
        recording = record(variant, source, deals, line)
        save(recording, path)
        print(f"{len(recording.deals)} games, {recording.won.sum()} won: {path}")
    try:
        dataset = convert(variant, recording, dataset_id, line)
    except ValueError as error:
        raise ValueError(f"{path}: {one_line(error)}") from None
    size = dataset.storage.metadata["dataset_size"]
    print(f"{dataset_id}: {dataset.total_steps:,} steps, {size:,.0f} MB in {dataset.storage.data_path}")
    print(f"\nnext: minari.load_dataset({dataset_id!r})")
    return dataset


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents dataset")
    return run_command(lambda: run(a) is None)
