"""Run folders: versions of a training, and the records of the trainings before it."""

import csv
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from agents.config import ConfigError, TrainConfig
from agents.runs.config_files import dump_config, load_config
from solitaire_env import __version__
from solitaire_env.policies.model_files import CARD
from solitaire_env.util.cores import processor, usable_cores
from solitaire_env.util.files import model_folder, naming, write_json, write_text

CHECKPOINT = "checkpoint.safetensors"
CURVE = "curve.csv"
CURVE_COLUMNS = ("steps", "minutes", "games", "win_rate", "cards_home", "episode_steps", "steps_per_second")
BASELINES: Final = ("random", "greedy", "linear")
"""Policies that every run is compared with; their games are in ``evaluation/`` too."""
HISTORY = "history"
"""Folder of a run with the records of earlier trainings: ``history/1``, the first, and so on. The last
records are those of the initial networks."""


def new_run(runs: Path, config: TrainConfig) -> Path:
    """Make a run folder, ``runs/busy-aces-1`` or the next number, with configuration and versions."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        numbers = (path.name.removeprefix(f"{config.name}-") for path in runs.glob(f"{config.name}-*"))
        number = max((int(n) for n in numbers if n.isdecimal()), default=0) + 1
        while True:
            run = runs / f"{config.name}-{number}"
            try:
                run.mkdir()
                break
            except FileExistsError:  # another training has begun meanwhile
                number += 1
        write_text(run / "config.yaml", dump_config(config))
        write_json(run / "versions.json", versions(config))
        copy_history(config.init_folders, run)
    except OSError as error:
        reason = f"{error.filename or runs}: cannot be written ({error.strerror})"
        raise ConfigError(reason if error.strerror else str(error)) from None
    return run


def policy_name(run: Path) -> str:
    """The policy name in the results of a run: the folder's name, unless a baseline has that name."""
    return run.name if run.name not in BASELINES else f"run-{run.name}"


def history_of(folder: Path) -> list[Path]:
    """The records of the trainings before that of a folder, the first one first."""
    return sorted((folder / HISTORY).glob("[0-9]*"), key=lambda path: int(path.name))


def init_records(folder: Path, config: TrainConfig) -> list[Path]:
    """The records of the initial networks of a folder's training, which are stored last."""
    return history_of(folder)[-len(config.init_folders) :] if config.init_folders else []


def copy_history(init_folders: Sequence[Path], run: Path) -> None:
    """Copy the records of the trainings of the initial networks, where their folders have them.

    ``init_from`` in a copied configuration names the records of that training's initial networks. A training
    that several of the networks descend from is copied once.
    """
    copied: dict[bytes, str] = {}
    new_names: list[dict[str, str]] = []
    for folder in init_folders:
        new_names.append({})
        for record in history_of(folder):
            identity = b"".join(path.read_bytes() for path in _record_files(record))
            if identity not in copied:
                copied[identity] = _copy_record(record, run, new_names[-1])
            new_names[-1][f"{HISTORY}/{record.name}"] = copied[identity]
    for folder, renamed in zip(init_folders, new_names, strict=True):
        _copy_record(folder, run, renamed)


def _record_files(folder: Path) -> list[Path]:
    """The record files of a training, without its configuration, which contains numbers of records."""
    files = [
        *(folder / name for name in ("versions.json", CURVE, "imitation.json")),
        model_folder(folder) / CARD,
    ]
    return [path for path in files if path.is_file()]


def _copy_record(source: Path, run: Path, renamed: dict[str, str]) -> str:
    """Copy the record of a training, with the new names of the records before it; return its name."""
    name = f"{HISTORY}/{len(history_of(run)) + 1}"
    (run / name).mkdir(parents=True)
    for path in _record_files(source):
        shutil.copyfile(path, run / name / path.name)
    if (source / "config.yaml").is_file():
        config = load_config(source / "config.yaml")
        records = [record.relative_to(source) for record in init_records(source, config)]
        names = [path.as_posix() for path in records] or list(map(str, config.init_folders))
        init_from = ",".join(renamed.get(of, of) for of in names)
        write_text(run / name / "config.yaml", dump_config(replace(config, init_from=init_from or None)))
    return name


def versions(config: TrainConfig) -> dict[str, Any]:
    """Versions of packages and machine of a training."""
    from torch import cuda  # only training waits for it

    packages = ("gymnasium", "numpy", "torch", "stable-baselines3", "sb3-contrib")
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
        "threads": config.threads or usable_cores(),
        "gpu": cuda.get_device_name() if cuda.is_available() else None,
    }


def write_row(path: Path, row: Sequence[object]) -> None:
    """Append a row of :data:`CURVE_COLUMNS` to a learning curve."""
    new = not path.exists()
    with naming(path), path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(CURVE_COLUMNS)
        writer.writerow(row)


def cut_curve(path: Path, steps: int) -> None:
    """Remove the rows of a curve after the checkpoint: they will be written again."""
    if path.exists():
        head, *rows = path.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
        kept = [row for row in rows if re.match("[0-9]{1,19},", row) and int(row.partition(",")[0]) <= steps]
        write_text(path, "\n".join([head, *kept]) + "\n")
