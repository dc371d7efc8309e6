"""Model folders with random weights, made without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from solitaire_env.core import Batch, GameSpec
from solitaire_env.core.spec import layout_hash
from solitaire_env.core.variant import rules_to_dict
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies.model_files import CARD, WEIGHTS
from solitaire_env.policies.network import Sizes, weight_shapes
from solitaire_env.variants import get_variant

SIZES: dict[str, Any] = {
    "hidden": [8, 4],
    "width": 8,
    "dig_out": 3,
    "rollout_lookahead": 4,
    "relaxed_reachability": 2,
}


def spec_of(game: str, moves: Any = None) -> GameSpec:
    return GameSpec(get_variant(game)).view(moves=moves)


def write_model(
    folder: Path,
    spec: GameSpec,
    sizes: dict[str, Any] = SIZES,
    *,
    seed: int = 0,
    **card: Any,
) -> Path:
    """A model folder for a game as the network sees it; ``card`` replaces what its card says."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    reads = ("dig_out", "relaxed_reachability", "rollout_lookahead")
    reader = MoveReader(spec, *(sizes.get(name, 0) for name in reads))
    tensors = {
        name: random.standard_normal(shape).astype(np.float32)
        for name, shape in weight_shapes(Sizes(**sizes), *reader.sizes).items()
    }
    save_file(tensors, folder / WEIGHTS)
    about = {
        "format": 1, "env": "Solitaire/BusyAces-v0", "moves": spec.variant.moves, "network": "moves",
        "sizes": sizes, "layout": spec.layout, "layout_hash": layout_hash(spec.layout),
        "rules": rules_to_dict(spec.variant), "steps": 7, "temperature": None, "safe_autoplay": False,
    }  # fmt: skip
    (folder / CARD).write_text(json.dumps(about | card))
    return folder


def edit_card(folder: Path, **values: Any) -> None:
    """Replace values of a card; ``"gone"`` removes a key."""
    card = json.loads((folder / CARD).read_text()) | values
    (folder / CARD).write_text(json.dumps({key: value for key, value in card.items() if value != "gone"}))


def edit_weights(folder: Path, **tensors: Any) -> None:
    """Replace weights, with ``__`` for the dots in their names; None removes one."""
    found = load_file(folder / WEIGHTS)
    for name, tensor in tensors.items():
        found.pop(name.replace("__", "."), None)
        if tensor is not None:
            found[name.replace("__", ".")] = tensor
    save_file(found, folder / WEIGHTS)


def played(spec: GameSpec, steps: int, size: int, deal: int = 0) -> Batch:
    """Games after some random moves, the finished ones among them."""
    batch = Batch(spec, size)
    batch.deal(np.arange(size), range(deal, deal + size))
    random = np.random.default_rng(0)
    for _ in range(steps):
        mask = batch.state.mask
        batch.step((mask * (1 - random.random(mask.shape))).argmax(1), batch.everyone)
    return batch
