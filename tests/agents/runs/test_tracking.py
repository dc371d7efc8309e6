"""Runs sent to Weights & Biases: real ones, stored on this machine by WANDB_MODE=offline."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.runs import tracking
from tests.agents.test_train import ROOT, config_file

SCRIPT = """
import sys, time
from pathlib import Path
from torch.utils.tensorboard import SummaryWriter
from agents.config import TrainConfig
from agents.runs.tracking import tracked
for name, more in (("first", ""), ("first", ""), ("second", "no more")):
    run = Path(sys.argv[1], name)
    run.mkdir(exist_ok=True)
    time.sleep(1)  # wandb names a run's folder by the second
    with tracked(TrainConfig(wandb="solitaire"), run, quiet=True):
        with SummaryWriter(str(run / "logs")) as writer:
            writer.add_scalar("train/loss", 1.0, global_step=1)
        if more:
            raise ValueError(more)
"""


def tracked(*args: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in another process: the service of a run lives as long as its process."""
    return subprocess.run(
        [sys.executable, "-W", "error", *map(str, args)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "WANDB_MODE": "offline", **environment},
    )  # fmt: skip


@pytest.mark.slow
def test_a_resumed_training_continues_its_wandb_run(tmp_path: Path) -> None:
    """Other trainings of the process, as ``agents tune`` starts them, are other runs."""
    done = tracked("-c", SCRIPT, tmp_path)
    assert done.stderr.strip().splitlines()[-1] == "ValueError: no more" and "wandb: " not in done.stderr
    numbers = set()
    for name, parts in (("first", 2), ("second", 1)):
        number = (tmp_path / name / tracking.ID).read_text().strip()
        files = list((tmp_path / name).glob(f"wandb/offline-run-*-{number}/*.wandb"))
        numbers.add(number)
        assert len(files) == parts
        for file in files:
            assert all(word in file.read_bytes() for word in (b"solitaire", b"train/loss", b"num_envs"))
    assert len(numbers) == 2


@pytest.mark.slow
def test_wandb_without_an_account_is_one_error_line(tmp_path: Path) -> None:
    """There is neither an API key nor a terminal to enter one."""
    home = {"HOME": str(tmp_path), "NETRC": str(tmp_path / "netrc"), "WANDB_MODE": "online"}
    more = ("--wandb", "solitaire", "--runs", tmp_path, "--quiet")
    done = tracked("-m", "agents.train", config_file(tmp_path), *more, **home)
    assert done.returncode == 2 and done.stderr.startswith("error: wandb: ") and "API key" in done.stderr
