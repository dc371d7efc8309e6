"""Checkpoints of a training: one safetensors file.

A resumed training has the same weights, optimizer and counts, but plays other deals than it would have.
"""

import json
from pathlib import Path
from typing import Any

import torch as th
from safetensors import safe_open
from safetensors.torch import save

from agents.config import ConfigError
from agents.networks.sb3_policy import AnyPolicy
from agents.runs.models import check_finite, load_weights, own_tensors
from solitaire_env.util.files import write_bytes
from solitaire_env.util.messages import one_line


def save_checkpoint(path: Path, policy: AnyPolicy, progress: dict[str, Any]) -> None:
    """Write weights, Adam's moments and progress to one safetensors file, atomically."""
    check_finite(policy.state_dict())
    tensors = {f"policy/{name}": tensor for name, tensor in policy.state_dict().items()}
    for index, moments in policy.optimizer.state_dict()["state"].items():
        tensors |= {f"adam/{index}/{name}": th.as_tensor(value) for name, value in moments.items()}
    metadata = {"progress": json.dumps(progress), "layout": policy.spec.hash}
    write_bytes(path, save(own_tensors(tensors), metadata))


def load_checkpoint(path: Path, policy: AnyPolicy) -> dict[str, Any]:
    """Load a checkpoint into a policy of the same configuration; return the progress of the training."""
    tensors = load_weights(path)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
    weights = {name.removeprefix("policy/"): t for name, t in tensors.items() if name.startswith("policy/")}
    optimizer = policy.optimizer.state_dict()
    parameters = [p for group in policy.optimizer.param_groups for p in group["params"]]
    try:
        for name, tensor in tensors.items():
            if name.startswith("adam/"):
                _, index, moment = name.split("/")
                if tensor.shape != (() if moment == "step" else parameters[int(index)].shape):
                    raise ValueError(f"size mismatch for {name}")
                optimizer["state"].setdefault(int(index), {})[moment] = tensor
        stored = json.loads(metadata["progress"])
        kinds = {"steps": int, "seconds": float, "games": int}
        progress = {key: kind(stored[key]) for key, kind in kinds.items()}
        # Some networks have the same tensors for all games.
        if metadata["layout"] != policy.spec.hash:
            raise ValueError("it is for a game with another layout")
        policy.load_state_dict(weights)
        policy.optimizer.load_state_dict(optimizer)
    except (LookupError, TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"{path}: not a checkpoint of this configuration ({one_line(str(error).splitlines()[-1])})"
        ) from None
    return progress
