"""Ship a trained policy: ``python -m agents ship runs/busy-aces-1`` makes it ``shipped``.

Its network, configuration, versions and curve are copied to ``solitaire_env/policies/weights/<game>/``. It
plays the deals of the leaderboard, and its model card and the leaderboard are updated. Further runs with
other seeds show the variance between seeds: their curves and games are copied too.
"""

import csv
import io
import shutil
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import tyro

from agents.commands import leaderboard
from agents.config import TrainConfig
from agents.reports.plots import read_curve
from agents.runs.config_files import dump_config, load_config
from agents.runs.folders import BASELINES, HISTORY, history_of, init_records
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies import shipped
from solitaire_env.policies.model_files import CARD, WEIGHTS
from solitaire_env.util.files import read_json, write_json, write_text
from solitaire_env.util.messages import shown

MAX_BYTES: Final = 2_000_000
"""Maximum size of a shipped file."""
CURVE_ROWS: Final = 300
"""Maximum number of rows of a shipped curve."""
FREE: Final = ("seed", "threads", "eval_deals", "checkpoint_minutes")
"""Keys in which the configurations of several seeds may differ."""


@dataclass
class Arguments:
    """Make a finished run the shipped policy of its game."""

    run: tyro.conf.Positional[Path]
    """Run folder of agents.train."""
    others: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Runs of the same configuration with other seeds, whose curves and games are shipped too."""
    deals: str = "0:1000"
    """Deals to play: the standard ones, or 0:1000,100000:101000 for the final test too."""
    force: bool = False
    """Replace the policy that is shipped now."""
    quiet: bool = False
    """Hide the progress line."""


@dataclass
class Run:
    """A finished run folder."""

    folder: Path
    config: TrainConfig = field(init=False)
    games: Path = field(init=False)
    """The games that its policy played at the end."""

    def __post_init__(self) -> None:
        """Read the folder. Raises an error if the run is not finished or cannot be shipped."""
        self.config = load_config(self.folder / "config.yaml")
        played = [path for path in self.folder.glob("evaluation/*.jsonl") if path.stem not in BASELINES]
        if len(played) != 1 or not read_curve(self.folder):
            raise ValueError(
                f"{self.folder}: not a finished run, it has no curve or no evaluation; to finish it, run "
                f"python -m agents.train --resume {self.folder}"
            )
        self.games = played[0]
        read_json(self.folder / "versions.json")
        if not self._recorded():
            raise ValueError(
                f"{self.folder}: init_from is {shown(self.config.init_from)}, whose training is not recorded"
            )
        variant = self.config.variant
        published = get_variant(variant.name)
        supermove = published.with_rules(moves="supermove") if published.moves == "one card" else published
        if variant not in (published, supermove) or self.config.information != "player":
            raise ValueError(
                f"{self.folder}: trained for {variant.build}, {variant.spaces}, {variant.moves}, "
                f"information {self.config.information!r}, allowed: the published game, with supermoves or "
                "without, information 'player'"
            )
        from agents.runs.models import load_model  # torch is loaded only for shipping

        load_model(self.folder / "model", GameSpec(published))

    def _recorded(self) -> bool:
        """Whether the trainings of all networks that its own descends from are recorded."""
        history = history_of(self.folder)
        if len(history) < len(self.config.init_folders):
            return False
        paths = [record / "config.yaml" for record in history]
        return all(path.is_file() for path in paths) and all(
            folder.parent.name == HISTORY for path in paths for folder in load_config(path).init_folders
        )


def thinned(curve: Path) -> str:
    """A learning curve with at most :data:`CURVE_ROWS` evenly spaced rows, including the first and last."""
    with curve.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    kept = np.unique(np.linspace(0, len(rows) - 1, min(CURVE_ROWS, len(rows))).round().astype(int))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *(rows[k] for k in kept)])
    return out.getvalue()


def ship(run: Run, others: list[Run], *, force: bool = False) -> Path:
    """Write the folder of a shipped policy, atomically; it has no model card yet."""
    folder = shipped.SHIPPED / run.config.variant.name
    if folder.exists() and not force:
        raise ValueError(f"{folder}: exists; --force replaces it")
    seeds = [of.config.seed for of in (run, *others)]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"the seeds of the runs are {shown(seeds)}, allowed: different ones")
    mine = _learned(run.config)
    for other in others:
        differ = [key for key, value in _learned(other.config).items() if value != mine[key]]
        if differ:
            raise ValueError(
                f"{other.folder}: its {', '.join(differ)} differs from {run.folder}, "
                "allowed: another seed only"
            )
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        shutil.copyfile(run.folder / "model" / WEIGHTS, part / WEIGHTS)
        write_json(part / CARD, read_json(run.folder / "model" / CARD))
        records = init_records(run.folder, run.config)
        names = [record.relative_to(run.folder).as_posix() for record in records]
        _ship_records(run.folder, part, ",".join(names) or None)  # without paths of this machine
        for record in history_of(run.folder):
            init_from = load_config(record / "config.yaml").init_from
            _ship_records(record, part / record.relative_to(run.folder), init_from)
        for other in others:
            seed = other.config.seed
            write_text(part / f"curve-seed-{seed}.csv", thinned(other.folder / "curve.csv"))
            shutil.copyfile(other.games, part / f"games-seed-{seed}.jsonl")
        for path in part.rglob("*.*"):
            if path.stat().st_size > MAX_BYTES:
                raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes, allowed: {MAX_BYTES:,}")
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _ship_records(source: Path, target: Path, init_from: str | None) -> None:
    """Write the record of a training: configuration, versions, curve."""
    target.mkdir(parents=True, exist_ok=True)
    config = load_config(source / "config.yaml")
    write_text(target / "config.yaml", dump_config(replace(config, init_from=init_from)))
    for name in ("versions.json", "imitation.json"):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
    if (source / CARD).is_file():
        write_json(target / CARD, read_json(source / CARD))
    if (source / "curve.csv").is_file():
        write_text(target / "curve.csv", thinned(source / "curve.csv"))


def _learned(config: TrainConfig) -> dict[str, Any]:
    """The configuration keys that affect a network, except its seed."""
    return {key: value for key, value in asdict(config).items() if key not in FREE}


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = tyro.cli(Arguments, args=args, prog="python -m agents ship", config=(tyro.conf.FlagCreatePairsOff,))
    try:
        run = Run(a.run)
        folder = ship(run, [Run(other) for other in a.others], force=a.force)
        print(f"shipped: {folder}", flush=True)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    play = ["add", "--policy", "shipped", "--env", run.config.variant.name, "--deals", a.deals, "--force"]
    status = leaderboard.main([*play, *(["--quiet"] if a.quiet else [])])
    return status or leaderboard.main(["write"])


if __name__ == "__main__":
    sys.exit(main())
