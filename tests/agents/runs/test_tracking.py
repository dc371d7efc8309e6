"""Runs sent to Weights & Biases: real ones, stored on this machine by WANDB_MODE=offline."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from wandb.proto.wandb_internal_pb2 import Record

from agents.runs import tracking
from tests.agents.test_train import ROOT, Outcome, assert_refused, command, config_file, progress

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "WANDB_MODE": "offline"}


def trained(*args: str | Path, **environment: str) -> Outcome:
    """Run the command in another process: a run's service lives as long as its process."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "agents.train", *map(str, args)],
        capture_output=True, text=True, check=False, env={**ENVIRONMENT, **environment},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


def read_records(path: Path) -> Iterator[Record]:
    """The records of W&B's file: LevelDB's log format, in blocks of 32 KiB, after seven bytes."""
    data, place, record = path.read_bytes(), 7, b""
    assert data.startswith(b":W&B")
    while place < len(data):
        left = 2**15 - place % 2**15
        if left < 7:  # too short for a header
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, place)
        record += data[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # a whole record, or its last part
            yield Record.FromString(record)
            record = b""


def sent(run: Path) -> list[list[Record]]:
    """The records of each time that the run was started or resumed."""
    return [list(read_records(path)) for path in sorted(run.glob("wandb/offline-run-*/*.wandb"))]


def told(records: list[Record]) -> set[str]:
    """Names of the recorded numbers."""
    return {"/".join(item.nested_key) or item.key for record in records for item in record.history.item}


def exit_codes(records: list[Record]) -> list[int]:
    return [record.exit.exit_code for record in records if record.HasField("exit")]


@pytest.mark.slow
def test_a_resumed_training_continues_its_wandb_run(tmp_path: Path) -> None:
    """Ctrl-C finishes the W&B run and writes the checkpoint; ``--resume`` continues both."""
    forever = ["--total-steps", str(10**9), "--runs", str(tmp_path), "--wandb", "solitaire"]
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.train", str(config_file(tmp_path)), *forever],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True,
    )  # fmt: skip
    run = tmp_path / "busy-aces-1"
    try:
        end = time.monotonic() + 120
        while not (run / "curve.csv").exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # to all of its processes, as a terminal does
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130 and f"--resume {run}" in err and "Traceback" not in err
    assert "wandb: Run data is saved locally" in err and "WARNING" not in err
    more = ("--total-steps", str(progress(run)["steps"] + 1024), "--eval-deals", "0", "--quiet")
    outcome = trained("--resume", run, *more)
    assert outcome.status == 0 and not outcome.err
    parts = sent(run)
    assert len(parts) == 2
    for records in parts:
        began = next(record.run for record in records if record.HasField("run"))
        number = (run / tracking.ID).read_text().strip()
        assert (began.project, began.run_id, began.display_name) == ("solitaire", number, "busy-aces-1")
        config = {item.key: item.value_json for item in began.config.update}
        assert config["env"] == '"Solitaire/BusyAces-v0"' and config["num_envs"] == "8"
        assert exit_codes(records) == [0]
    wanted = {"global_step", "rollout/success_rate", "rollout/cards_home", "train/value_loss"}
    assert wanted <= told(parts[1])


def test_two_trainings_are_two_wandb_runs(tmp_path: Path) -> None:
    """As ``agents tune`` starts them. A training that raises an error is marked as failed."""
    script = """if True:
        import sys
        from pathlib import Path
        from torch.utils.tensorboard import SummaryWriter
        from agents.config import TrainConfig
        from agents.runs.tracking import tracked
        for name in ("first", "second"):
            run = Path(sys.argv[1], name)
            run.mkdir()
            with tracked(TrainConfig(wandb="solitaire"), run, quiet=True):
                with SummaryWriter(str(run / "logs")) as writer:
                    writer.add_scalar("train/loss", 1.0, global_step=1)
                if name == "second":
                    raise ValueError("no more")
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path)],
        capture_output=True, text=True, check=False, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.stderr.strip().splitlines()[-1] == "ValueError: no more" and "wandb: " not in done.stderr
    for name, code in (("first", 0), ("second", 1)):
        (records,) = sent(tmp_path / name)
        assert exit_codes(records) == [code] and "train/loss" in told(records)


@pytest.mark.slow
def test_wandb_without_an_account_is_one_error_line(tmp_path: Path) -> None:
    """There is neither an API key nor a terminal to enter one."""
    home = {"HOME": str(tmp_path), "NETRC": str(tmp_path / "netrc"), "WANDB_MODE": "online"}
    more = ("--wandb", "solitaire", "--runs", tmp_path, "--quiet")
    outcome = trained(config_file(tmp_path), *more, **home)
    assert_refused(outcome, "wandb: ", "API key", "WANDB_MODE=offline")


def test_wandb_not_installed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    outcome = command(config_file(tmp_path), "--runs", tmp_path, "--wandb", "solitaire")
    assert_refused(outcome, "needs wandb: pip install -e '.[wandb]'")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]
