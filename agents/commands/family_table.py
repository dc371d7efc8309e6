"""How well a network plays every game: ``python -m agents family-table runs/family-1``.

The network, ``greedy`` and ``random`` play numbered deals of each game, ``shipped`` those of the games that
have their own network. Each game's row is stored in ``results/family/`` when it is finished; run the same
command to resume. Then ``docs/reference/family.md`` is written from the rows; ``--check`` plays nothing and
checks that the page is up to date.
"""

import os
import sys
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

from agents.commands.options import INTERRUPTED, run_command
from agents.reports import family, stored
from agents.reports.model_card import training_of
from solitaire_env.core.variant import Moves, Variant
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.policies.model_files import read_card
from solitaire_env.policies.network import KIND
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.util.files import model_folder, write_json, write_text
from solitaire_env.util.progress import ProgressLine
from solitaire_env.variants import VARIANTS


@dataclass
class Arguments:
    """Play every game with a network, greedy, random and shipped; store the results; write the page."""

    model: tyro.conf.Positional[Path | None] = None
    """Run or model folder of a network that was trained on many games; without it only the others play."""
    deals: str = "0:200"
    """Deals of each game: N, FIRST:END, or several with commas."""
    force: bool = False
    """Replace rows of other deals or of another network."""
    check: bool = False
    """Play and write nothing; the exit status is 1 if the page would change."""
    quiet: bool = False
    """Hide the progress line."""


def run(a: Arguments) -> int:
    """Play, store, and write the page."""
    if a.check:
        return _check()
    parse_deals(a.deals)
    if a.model is not None:
        _begin(a.model, force=a.force)
    line = ProgressLine(a.quiet)
    for name in (*family.POLICIES, family.SPECIALISTS):
        policy = str(a.model) if name == family.NETWORK else name
        games = _games(shipped_games()) if name == family.SPECIALISTS else _games()
        if name != family.NETWORK or a.model is not None:
            path = family.rows_file(name)
            family.play_games(policy, games, a.deals, path, line, name=name, force=a.force)
    write_text(family.PAGE, family.page())
    print(f"written: {os.path.relpath(family.PAGE)}")
    return 0


def _games(names: Collection[str] | None = None) -> list[tuple[Variant, Moves | None]]:
    """Every game, or those of the names, and the action set of policies that leave it open."""
    return [
        (variant, "supermove" if variant.moves == "one card" and variant.takes_supermoves else None)
        for variant in VARIANTS
        if names is None or variant.name in names
    ]


def _begin(model: Path, *, force: bool) -> None:
    """Store the description of the network; rows of another one are removed, or the network is refused."""
    folder = model_folder(model)
    card = read_card(folder, (KIND,))
    if card["games"] is None:
        raise ValueError(f"{model}: trained on a single game, allowed: a network trained on many")
    weights = stored.weights_hash(folder) or ""
    rows, path = family.rows_file(family.NETWORK), family.about_file()
    before = stored.read_stored(path, family.About) if path.is_file() else None
    if before is not None and before.weights != weights:
        before = None
    if (model / "versions.json").is_file():
        training = training_of(model)
    else:  # A model folder does not have the cost of its training.
        training = stored.Training(steps=card["steps"]) if before is None else before.training
    about = family.About(games=tuple(card["games"]), training=training, weights=weights)
    if rows.is_file() and before is None:
        if not force:
            raise ValueError(f"{rows}: another network played these games; --force plays all games again")
        rows.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, asdict(about))


def _check() -> int:
    """Check that the page is up to date; the exit status."""
    if family.PAGE.is_file() and family.PAGE.read_text(encoding="utf-8") == family.page():
        return 0
    why = "differs from the stored results; run: python -m agents family-table"
    print(f"{os.path.relpath(family.PAGE)}: {why}", file=sys.stderr)
    return 1


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = tyro.cli(
        Arguments, args=args, prog="python -m agents family-table", config=(tyro.conf.FlagCreatePairsOff,)
    )
    return run_command(lambda: run(a), INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
