"""Model folders: ``model.safetensors`` (weights) and ``model.json`` (what they are weights of).

Reading one runs no code from it. A model for another observation or action layout is refused.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from agents.files import read_json, write_json, write_whole
from agents.networks import NETWORKS
from solitaire_env.batch import layout_hash

Array = npt.NDArray[Any]

WEIGHTS = "model.safetensors"
CARD = "model.json"
CARD_KEYS = ("format", "env", "moves", "network", "sizes", "layout", "layout_hash", "steps")


class NetworkPlayer:
    """A network as a policy: a legal action, by the probabilities that training gave it.

    Always taking the likeliest would go round for ever between moves that undo each other.
    """

    def __init__(
        self, network: th.nn.Module, name: str, layout: dict[str, Any], moves: str | None, seed: int = 0
    ) -> None:
        self.network = network.eval()
        self.name = name
        self.moves = moves
        self.random = th.Generator().manual_seed(seed)
        self.observation = layout.get("observation")
        self.information = layout.get("information")

    @th.inference_mode()
    def __call__(self, observations: Array, masks: Array) -> Array:
        """Actions ``[n]``."""
        scores, _ = self.network(th.from_numpy(np.ascontiguousarray(observations)))
        # The highest of the scores with Gumbel noise is a draw from their softmax.
        scores -= th.empty_like(scores).exponential_(generator=self.random).clamp_(min=1e-30).log_()
        scores[th.from_numpy(masks) == 0] = -th.inf
        actions: Array = scores.argmax(1).numpy()
        return actions


def save_model(
    folder: Path, network: th.nn.Module, *, env: str, moves: str, kind: str, sizes: dict[str, Any],
    layout: dict[str, Any], steps: int,
) -> None:  # fmt: skip
    """Write a model folder."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    write_whole(folder / WEIGHTS, lambda part: save_file(weights, part))
    card = {
        "format": 1,
        "env": env,
        "moves": moves,
        "network": kind,
        "sizes": sizes,
        "layout": layout,
        "layout_hash": layout_hash(layout),
        "steps": steps,
    }
    write_json(folder / CARD, card)


def load_weights(path: Path) -> dict[str, th.Tensor]:
    """The tensors of a safetensors file; a cut-off or foreign file is an error that names it."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: not found") from None
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path}: not a whole safetensors file ({error})") from None


def load_model(
    folder: Path, layout_of: Callable[[Any], dict[str, Any]], name: str | None = None
) -> NetworkPlayer:
    """The policy of a model folder, for the game whose layout ``layout_of`` gives.

    Raises
    ------
    ValueError
        If a file is missing, damaged, or for another layout.
    """
    card = read_json(folder / CARD)
    missing = [key for key in CARD_KEYS if key not in card]
    if missing or card["format"] != 1 or card["network"] not in list(NETWORKS):
        raise ValueError(
            f"{folder / CARD}: not a model of format 1 (missing: {', '.join(missing) or 'nothing'})"
        )
    layout = card["layout"]
    if not isinstance(layout, dict) or layout_hash(layout) != card["layout_hash"]:
        raise ValueError(
            f"{folder / CARD}: damaged, its layout is not the one of layout_hash {card['layout_hash']!r}"
        )
    wants = NetworkPlayer(th.nn.Identity(), name or folder.name, layout, card["moves"])
    try:
        here = layout_of(wants)
    except ValueError as error:
        raise ValueError(f"{folder / CARD}: {error}") from None
    if layout_hash(here) != card["layout_hash"]:
        raise ValueError(
            f"{folder}: the model is for {card['env']} with moves={card['moves']!r}, observation size "
            f"{layout.get('size')} and {layout.get('actions')} actions; this game has "
            f"observation size {here['size']} and {here['actions']} actions "
            f"(layout {card['layout_hash']} and {layout_hash(here)})"
        )
    try:
        network = NETWORKS[card["network"]](layout, **card["sizes"])
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{folder / CARD}: sizes {card['sizes']!r:.80} make no network {card['network']!r} "
            f"({error!s:.200})"
        ) from None
    try:
        network.load_state_dict(load_weights(folder / WEIGHTS))
    except RuntimeError as error:
        raise ValueError(
            f"{folder / WEIGHTS}: not weights of this network ({str(error).splitlines()[-1].strip():.200})"
        ) from None
    wants.network = network.eval()
    return wants


class ZipPlayer:
    """A model that SB3 saved, as a policy."""

    def __init__(self, model: Any, name: str, observation: str, moves: str | None) -> None:
        self.model = model
        self.name = name
        self.observation = observation
        self.moves = moves

    def __call__(self, observations: Array, masks: Array) -> Array:
        """Actions ``[n]``."""
        actions, _ = self.model.predict(
            observations, action_masks=masks.astype(np.bool_), deterministic=False
        )
        return np.asarray(actions)


def load_zip(path: Path, layout_of: Callable[[Any], dict[str, Any]]) -> ZipPlayer:
    """The policy of a zip that sb3-contrib's MaskablePPO saved. Runs whatever code the file holds."""
    from sb3_contrib import MaskablePPO

    try:
        model = MaskablePPO.load(path, device="cpu")
    except Exception as error:
        raise ValueError(f"{path}: not a MaskablePPO zip ({' '.join(str(error).split())[:200]})") from None
    model.set_random_seed(0)
    shape, actions = model.observation_space.shape, int(getattr(model.action_space, "n", 0))
    for moves in (None, "supermove"):
        for observation in ("cards", "features"):
            player = ZipPlayer(model, path.stem, observation, moves)
            layout = layout_of(player)
            if (layout["size"],) == shape and layout["actions"] == actions:
                return player
    raise ValueError(
        f"{path}: the model has observations {shape} and {actions} actions, this game has others"
    )


def load_policy(path: Path, layout_of: Callable[[Any], dict[str, Any]], *, trust_model: bool = False) -> Any:
    """The policy of a run folder, a model folder or an SB3 zip."""
    if path.is_dir():
        inner = path / "model"
        return load_model(inner if inner.is_dir() else path, layout_of, path.name)
    if path.suffix != ".zip":
        raise ValueError(f"{path}: allowed is a run folder, a model folder or an SB3 zip")
    if not trust_model:
        raise ValueError(
            f"{path}: an SB3 zip can run code on loading; pass --trust-model if you made it yourself"
        )
    return load_zip(path, layout_of)
