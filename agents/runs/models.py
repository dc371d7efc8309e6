"""Model folders of torch networks: written here, read by :mod:`solitaire_env.policies.model_files`."""

from pathlib import Path
from typing import Any

import torch as th
from safetensors.torch import save

from agents.config import TrainConfig
from agents.family_spec import FamilySpec
from agents.networks import NETWORKS, Network
from agents.networks.player import TorchPlayer
from solitaire_env import env_id
from solitaire_env.core.spec import GameSpec, layout_hash
from solitaire_env.core.variant import rules_to_dict
from solitaire_env.policies.model_files import (
    CARD,
    VALUE,
    WEIGHTS,
    Model,
    family_layout,
    read_card,
    read_model,
    read_tensors,
)
from solitaire_env.registration import FAMILY_ID
from solitaire_env.util.files import model_folder, write_bytes, write_json
from solitaire_env.util.messages import one_line, shown

# ------------------------------------------------------------------------------------------ writing


def save_model(
    folder: Path, network: th.nn.Module, config: TrainConfig, *, steps: int,
    value: th.nn.Module | None = None, temperature: float | None = None,
) -> None:  # fmt: skip
    """Write a model folder of the network of a configuration, with its value head if any."""
    spec, sizes = config.spec, config.network_sizes
    folder.mkdir(parents=True, exist_ok=True)
    tensors = network.state_dict()
    if value is not None:
        tensors |= {VALUE + name: tensor for name, tensor in value.state_dict().items()}
    check_finite(tensors)
    write_bytes(folder / WEIGHTS, save(own_tensors(tensors)))
    card = {
        "format": 1,
        **(_about_family(spec, sizes) if isinstance(spec, FamilySpec) else _about_game(spec)),
        "network": config.network,
        "sizes": sizes,
        "steps": steps,
        "temperature": temperature,
        "safe_autoplay": config.safe_autoplay,
        "avoid_repeats": config.avoid_repeats,
        "finish_games": config.finish_games,
    }
    write_json(folder / CARD, card)


def own_tensors(tensors: dict[str, th.Tensor]) -> dict[str, th.Tensor]:
    """Copies of tensors on the CPU, each with memory of its own, as safetensors requires: weights may have
    several names, and buffers may be views of weights.
    """
    return {
        name: tensor.detach().cpu().clone(memory_format=th.contiguous_format)
        for name, tensor in tensors.items()
    }


def check_storable(kind: str, network: th.nn.Module) -> None:
    """Raise a ValueError if a model folder of a network could not be read."""
    tensors = own_tensors(network.state_dict())
    for name, tensor in tensors.items():
        if tensor.dtype != th.float32:
            raise ValueError(
                f"network {shown(kind)}: its tensor {name} is {tensor.dtype}, allowed: {th.float32}; "
                "a buffer with persistent=False is not stored"
            )
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        why = one_line(str(error).splitlines()[-1], 350)
        raise ValueError(
            f"network {shown(kind)}: its tensors cannot be loaded ({why}), allowed: those that "
            "load_state_dict takes back"
        ) from None


def check_finite(tensors: dict[str, th.Tensor]) -> None:
    """Raise a ValueError if weights are infinite or no numbers."""
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise ValueError(
            "the network has diverged: its weights are no longer finite; use a lower learning_rate"
        )


def _about_game(spec: GameSpec) -> dict[str, Any]:
    """Entries of a model card about the game of its network."""
    return {
        "env": env_id(spec.variant),
        "moves": spec.variant.moves,
        "layout": spec.layout,
        "layout_hash": layout_hash(spec.layout),
        "rules": rules_to_dict(spec.variant),
    }


def _about_family(spec: FamilySpec, sizes: dict[str, Any]) -> dict[str, Any]:
    """Entries of a model card about the games of its network: ``games`` are those that it was trained on."""
    layout = family_layout(sizes, spec.settings.information)
    return {
        "env": FAMILY_ID,
        "games": [variant.name for variant in spec.variants],
        "moves": spec.moves,
        "layout": layout,
        "layout_hash": layout_hash(layout),
    }


# ------------------------------------------------------------------------------------------ reading


def load_model(folder: Path, game: GameSpec, name: str | None = None) -> TorchPlayer:
    """The policy of a model folder, in torch; see :func:`solitaire_env.policies.network.load_network`."""
    model = read_model(folder, game, NETWORKS)
    network, value = _make_network(model, model.spec)
    return TorchPlayer(
        network, model.spec, name or folder.name, value=value, temperature=model.temperature,
        safe_autoplay=model.safe_autoplay, avoid_repeats=model.avoid_repeats, finish_games=model.finish_games,
    )  # fmt: skip


def load_weights(path: Path) -> dict[str, th.Tensor]:
    """The tensors of a safetensors file; a truncated or foreign file is an error that names it."""
    return {name: th.from_numpy(tensor) for name, tensor in read_tensors(path).items()}


def _make_network(model: Model, spec: GameSpec | FamilySpec) -> tuple[Network, th.nn.Linear | None]:
    """The network in a model folder, and its value head."""
    network: Network
    try:
        network = NETWORKS[model.network](spec, **model.sizes)
    except (TypeError, ValueError, RuntimeError) as error:
        raise model.wrong_sizes(error) from None
    weights = {name: th.from_numpy(tensor) for name, tensor in model.weights.items()}
    try:
        head = {key.removeprefix(VALUE): weights.pop(key) for key in list(weights) if key.startswith(VALUE)}
        network.load_state_dict(weights)
        value = th.nn.Linear(network.width, 1) if head else None
        if value is not None:
            value.load_state_dict(head)
    except RuntimeError as error:
        raise model.wrong_weights(str(error).splitlines()[-1]) from None
    return network, value


InitialWeights = tuple[dict[str, th.Tensor], dict[str, th.Tensor] | None]
"""Weights of a network, and of its value head if the model has one."""


def load_initial_weights(path: Path, config: TrainConfig) -> InitialWeights:
    """The weights of a run or model folder, as initial weights of the network of a configuration.

    Raises
    ------
    ValueError
        If it is no model, or one of another layout, kind or size, or its scores are values of moves where
        logits are needed, or the reverse.
    """
    folder, spec = model_folder(path), config.spec
    game = spec.games[0] if isinstance(spec, FamilySpec) else spec
    if isinstance(spec, FamilySpec) and read_card(folder, NETWORKS)["games"] is None:
        raise ValueError(f"{folder}: the model is for a single game, allowed: a model for many games")
    model = read_model(folder, game, NETWORKS, exact=True)
    kind, sizes = config.network, config.network_sizes
    # The features of hidden cards come last.
    wider = {**model.sizes, "hidden_cards": sizes.get("hidden_cards", 0)} == sizes
    if model.network != kind or not (model.sizes == sizes or wider):
        raise ValueError(
            f"{folder}: the model is a network {model.network!r} with {shown(model.sizes)}, allowed: that of "
            f"the configuration, {kind!r} with {shown(sizes)}"
        )
    if (model.temperature is not None) != (config.learner == "pqn"):
        scores = "logits" if model.temperature is None else "values of moves, which only pqn learns"
        raise ValueError(f"{folder}: its scores are {scores}, allowed: those of learner {config.learner!r}")
    network, value = _make_network(model, spec)
    weights = network.state_dict()
    if model.sizes != sizes:
        # The network reads further features, after the others, and ignores them.
        columns = {name: part.shape[-1] for name, part in NETWORKS[kind](spec, **sizes).state_dict().items()}
        weights = {
            name: th.nn.functional.pad(tensor, (0, columns[name] - tensor.shape[-1]))
            for name, tensor in weights.items()
        }
    return weights, None if value is None else value.state_dict()
