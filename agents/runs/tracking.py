"""Training runs on Weights & Biases: copies of the TensorBoard logs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

from agents.config import ConfigError, TrainConfig
from solitaire_env.util.files import write_text
from solitaire_env.util.messages import one_line

ID = "wandb.txt"
"""File of a run folder with the id of the run there, which a resumed training continues."""


def check_wandb(config: TrainConfig) -> None:
    """Raise an error if a configuration needs Weights & Biases and it is not installed."""
    if config.wandb is not None and find_spec("wandb") is None:
        raise ImportError("the configuration's key wandb needs wandb: pip install -e '.[wandb]'")


@contextmanager
def tracked(config: TrainConfig, run: Path, *, quiet: bool) -> Iterator[None]:
    """Copy TensorBoard logs to Weights & Biases meanwhile, if the configuration names a project."""
    if config.wandb is None:
        yield
        return
    check_wandb(config)
    import wandb
    from wandb.integration import tensorboard

    path = run / ID
    if not path.exists():
        write_text(path, uuid4().hex[:8] + "\n")
    # It mistakes the package agents for one that uses language models, and advertises another product.
    os.environ.setdefault("WANDB_DISABLE_WEAVE", "true")
    tensorboard.patch(root_logdir=str(run / "logs"))
    try:
        with wandb.init(
            project=config.wandb, dir=run, id=path.read_text(encoding="utf-8").strip(), resume="allow",
            name=run.name, config=asdict(config), sync_tensorboard=True,
            settings=wandb.Settings(console="off", silent=quiet),  # the progress line is not a log
        ):  # fmt: skip
            yield
    except wandb.errors.Error as error:
        raise ConfigError(f"wandb: {one_line(error)}; with WANDB_MODE=offline nothing is sent") from None
    finally:
        tensorboard.unpatch()
