"""Run folders: what a training is made with, and what it started from."""

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch as th

from agents.config import ConfigError, TrainConfig, dump_config
from agents.files import model_folder, write_json
from agents.models import CARD
from solitaire_env import __version__
from solitaire_env.files import write_text
from solitaire_env.speed import processor

CHECKPOINT = "checkpoint.safetensors"
CURVE = "curve.csv"
CURVE_COLUMNS = ("steps", "minutes", "games", "win_rate", "cards_home", "episode_steps", "steps_per_second")
START = "start"
"""Folder of a run with the records of the network that it started from."""


def new_run(runs: Path, config: TrainConfig) -> Path:
    """Make a run folder, ``runs/busy-aces-1`` or the next number, with configuration and versions."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        numbers = (
            path.name.removeprefix(f"{config.variant.name}-")
            for path in runs.glob(f"{config.variant.name}-*")
        )
        number = max((int(n) for n in numbers if n.isdecimal()), default=0) + 1
        while True:
            run = runs / f"{config.variant.name}-{number}"
            try:
                run.mkdir()
                break
            except FileExistsError:  # another training has begun meanwhile
                number += 1
        write_text(run / "config.yaml", dump_config(config))
        write_json(run / "versions.json", versions(config))
        if config.start is not None:
            keep_start(Path(config.start), run / START)
    except OSError as error:
        raise ConfigError(f"{error.filename or runs}: cannot be written ({error.strerror})") from None
    return run


def keep_start(start: Path, folder: Path) -> None:
    """Keep how the network was made that a training starts from, as far as its folder tells."""
    records = [start / name for name in ("config.yaml", "versions.json", CURVE, "imitation.json")]
    records.append(model_folder(start) / CARD)
    for path in filter(Path.is_file, records):
        folder.mkdir(exist_ok=True)
        shutil.copyfile(path, folder / path.name)
    if (start / START).is_dir():
        shutil.copytree(start / START, folder / START)


def versions(config: TrainConfig) -> dict[str, Any]:
    """What a run is made with."""
    packages = ("gymnasium", "numpy", "numba", "torch", "stable-baselines3", "sb3-contrib")
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=40"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return {
        "solitaire-env": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "git": git.stdout.strip() or None,
        "machine": platform.machine(),
        "processor": processor(),
        "processors": os.cpu_count(),
        "threads": config.threads or os.cpu_count(),
        "gpu": th.cuda.get_device_name() if th.cuda.is_available() else None,
    }


def cut_curve(path: Path, steps: int) -> None:
    """Leave out what a curve tells of steps after the checkpoint: they are made again."""
    if path.exists():
        head, *rows = path.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
        kept = [row for row in rows if re.match("[0-9]{1,19},", row) and int(row.partition(",")[0]) <= steps]
        write_text(path, "\n".join([head, *kept]) + "\n")
