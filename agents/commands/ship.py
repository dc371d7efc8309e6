"""Ship a trained policy: ``python -m agents ship runs/busy-aces-1`` makes it ``shipped``.

Its network, configuration, versions and curve are copied to ``solitaire_env/policies/weights/<game>/``. It
plays the deals of the leaderboard, and its model card is written.
"""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import tyro

from agents.commands import leaderboard
from agents.config import TrainConfig
from agents.results.plots import read_curve
from agents.runs.config_files import dump_config, load_config
from agents.runs.folders import HISTORY, history_of, init_records
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies import shipped
from solitaire_env.policies.model_files import CARD, WEIGHTS
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.files import read_json, write_json, write_text
from solitaire_env.util.messages import shown


@dataclass
class Arguments:
    """Make a finished run the shipped policy of its game."""

    run: tyro.conf.Positional[Path]
    """Run folder of agents.train."""
    deals: str = "0:1000"
    """Deals to play: the standard ones, or 0:1000,100000:101000 for the final test too."""
    force: bool = False
    """Replace the policy that is shipped now."""
    quiet: bool = False
    """Hide the progress line."""


def read_run(folder: Path) -> TrainConfig:
    """The configuration of a run. Raises an error if it is not finished or cannot be shipped."""
    config = load_config(folder / "config.yaml")
    if not (folder / "evaluation").is_dir() or not read_curve(folder):
        raise ValueError(
            f"{folder}: not a finished run, it has no curve or no evaluation; to finish it, run "
            f"python -m agents.train --resume {folder}"
        )
    records = [load_config(record / "config.yaml") for record in history_of(folder)]
    starts = [start for record in records for start in record.init_folders]
    if len(records) < len(config.init_folders) or any(start.parent.name != HISTORY for start in starts):
        raise ValueError(f"{folder}: init_from is {shown(config.init_from)}, whose training is not recorded")
    variant = config.variant
    published = get_variant(variant.name)
    supermove = published.with_rules(moves="supermove") if published.moves == "one card" else published
    if variant not in (published, supermove) or config.information == "thoughtful":
        raise ValueError(
            f"{folder}: trained for {variant.build}, {variant.spaces}, {variant.moves}, information "
            f"{config.information!r}, allowed: the published game, with supermoves or without, information "
            "'player' or 'memory'"
        )
    from agents.runs.models import load_model  # torch is loaded only for shipping

    load_model(folder / "model", GameSpec(published))
    return config


def ship(run: Path, *, force: bool = False) -> str:
    """Write the folder of a shipped policy, atomically; it has no model card yet. Returns the game."""
    config = read_run(run)
    folder = shipped.SHIPPED / config.variant.name
    if folder.exists() and not force:
        raise ValueError(f"{folder}: exists; --force replaces it")
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        _copy(run / "model", part, WEIGHTS, CARD)
        records = init_records(run, config)
        names = [record.relative_to(run).as_posix() for record in records]
        _ship_records(run, part, ",".join(names) or None)  # without paths of this machine
        for record in history_of(run):
            _ship_earlier(record, part / record.relative_to(run))
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    print(f"shipped: {folder}", flush=True)
    return config.variant.name


def _ship_records(source: Path, target: Path, init_from: str | None) -> None:
    """Write the record of a training: configuration, versions, curve."""
    config = load_config(source / "config.yaml")
    write_text(target / "config.yaml", dump_config(replace(config, init_from=init_from)))
    _copy(source, target, "versions.json", "imitation.json", "curve.csv")


def _ship_earlier(source: Path, target: Path) -> None:
    """Write what the model card needs of an earlier training: configuration, steps and minutes."""
    target.mkdir(parents=True)
    write_json(target / CARD, {"steps": read_json(source / CARD)["steps"]})
    _copy(source, target, "config.yaml", "curve.csv")


def _copy(source: Path, target: Path, *names: str) -> None:
    """Copy those files that exist."""
    for name in names:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents ship")

    def run() -> int:
        game = ship(a.run, force=a.force)
        play = ["add", "leaderboard", f"{game}/shipped", "--deals", a.deals, "--force"]
        return leaderboard.main([*play, *(["--quiet"] if a.quiet else [])]) or leaderboard.main(["write"])

    return run_command(run)
