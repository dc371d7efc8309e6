"""Model folders: ``model.safetensors`` (weights) and ``model.json`` (what they are weights of).

Reading one runs no code from it. A model for another observation or action layout is refused.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch as th
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from agents.config import DEEPEST, FURTHEST
from agents.networks import NETWORKS, MovesNetwork, Network
from agents.networks.player import NetworkPlayer
from solitaire_env import env_id
from solitaire_env.core.spec import GameSpec, layout_hash
from solitaire_env.util.files import model_folder, read_json, write_json, write_whole
from solitaire_env.util.messages import one_line, shown

Array = npt.NDArray[Any]

WEIGHTS = "model.safetensors"
VALUE = "value_head."
"""Prefix of the names of the value head's weights, which are in the same file; a model may lack them."""
CARD = "model.json"
CARD_KEYS = ("format", "env", "moves", "network", "sizes", "layout", "layout_hash", "steps", "temperature")


# ------------------------------------------------------------------------------------------ writing


def save_model(
    folder: Path, network: th.nn.Module, spec: GameSpec, *, kind: str, sizes: dict[str, Any], steps: int,
    value: th.nn.Module | None = None, temperature: float | None = None, sure_home: bool = False,
) -> None:  # fmt: skip
    """Write a model folder, with the value head if any; ``spec`` is the game as the network sees it."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = network.state_dict()
    if value is not None:
        tensors |= {VALUE + name: tensor for name, tensor in value.state_dict().items()}
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(folder / WEIGHTS, lambda part: save_file(weights, part))
    card = {
        "format": 1,
        "env": env_id(spec.variant),
        "moves": spec.variant.moves,
        "network": kind,
        "sizes": sizes,
        "layout": spec.layout,
        "layout_hash": spec.hash,
        "steps": steps,
        "temperature": temperature,
        "sure_home": sure_home,
    }
    write_json(folder / CARD, card)


# ------------------------------------------------------------------------------------------ reading


def load_model(folder: Path, game: GameSpec, name: str | None = None) -> NetworkPlayer:
    """The policy of a model folder.

    Parameters
    ----------
    game
        The game that is to be played; the model's own action set and observation replace those of the game.
    name
        Of the policy; the folder's name by default.

    Raises
    ------
    ValueError
        If a file is missing, damaged, or for another layout.
    """
    card = _read_card(folder)
    wanted = {key: card["layout"].get(key) for key in ("observation", "information")}
    try:
        seen = game.seen(moves=card["moves"], **wanted)
    except ValueError as error:
        raise ValueError(f"{folder / CARD}: {one_line(error, 300)}") from None
    return _load(folder, card, seen, name or folder.name)


def _read_card(folder: Path) -> dict[str, Any]:
    """What ``model.json`` of a folder says, checked as far as that is possible without the weights."""
    path = folder / CARD
    card = read_json(path)
    missing = [key for key in CARD_KEYS if key not in card]
    if missing or card["format"] != 1 or card["network"] not in list(NETWORKS):
        raise ValueError(f"{path}: not a model of format 1 (missing: {', '.join(missing) or 'nothing'})")
    layout = card["layout"]
    if not isinstance(layout, dict) or layout_hash(layout) != card["layout_hash"]:
        raise ValueError(
            f"{path}: damaged, its layout is not the one of layout_hash {shown(card['layout_hash'])}"
        )
    temperature = card["temperature"]
    if temperature is not None and not (type(temperature) in (int, float) and 0 < temperature < 1e6):
        raise ValueError(f"{path}: temperature is {shown(temperature)}, allowed: null, or above 0")
    if type(card.setdefault("sure_home", False)) is not bool:
        raise ValueError(f"{path}: sure_home is {shown(card['sure_home'])}, allowed: true and false")
    return card


def _load(folder: Path, card: dict[str, Any], spec: GameSpec, name: str) -> NetworkPlayer:
    """The policy of a model folder with this card, for exactly this game as seen."""
    layout = card["layout"]
    if spec.hash != card["layout_hash"]:
        raise ValueError(
            f"{folder}: the model is for {one_line(card['env'], 80)} with moves={shown(card['moves'])}, "
            f"observation size {shown(layout.get('size'))} and {shown(layout.get('actions'))} actions; "
            f"this game has observation size {spec.observation_size} and {spec.num_actions} actions "
            f"(layout {card['layout_hash']} and {spec.hash})"
        )
    weights = load_weights(folder / WEIGHTS)
    network = _make_network(folder / CARD, card, spec, sum(tensor.numel() for tensor in weights.values()))
    value = _fill(folder / WEIGHTS, network, weights)
    return NetworkPlayer(
        network, spec, name, value=value, temperature=card["temperature"], sure_home=card["sure_home"]
    )


def load_weights(path: Path) -> dict[str, th.Tensor]:
    """The tensors of a safetensors file; a truncated or foreign file is an error that names it."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: not found") from None
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path}: not a whole safetensors file ({one_line(error)})") from None


def _make_network(path: Path, card: dict[str, Any], spec: GameSpec, numbers: int) -> Network:
    """The network that a card describes, not yet with its weights, of which there are ``numbers``."""
    sizes = card["sizes"]
    try:
        _check_sizes(sizes, numbers)
        return NETWORKS[card["network"]](spec, **sizes)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{path}: sizes {shown(sizes)} make no network {card['network']!r} ({one_line(error)})"
        ) from None


def _check_sizes(sizes: Any, numbers: int) -> None:
    """Refuse what is no size, and a network with more numbers than its weights have.

    Without this check an absurdly large network would be built before its weights are seen not to fit.
    """
    if not isinstance(sizes, dict):
        raise TypeError(f"a {type(sizes).__name__}, allowed: an object")
    for name, size in sizes.items():
        least = {"width": 2, "depth": 0}.get(name, 1)
        if not all(type(n) is int and n >= least for n in (size if isinstance(size, list) else [size])):
            raise ValueError(f"{one_line(name, 40)} is {shown(size)}, allowed: whole numbers from {least} on")
    for name, most in (("onward", FURTHEST), ("reach", DEEPEST)):
        if sizes.get(name, 1) > most:
            raise ValueError(f"{name} is {sizes[name]}, allowed: 1 to {most}")
    width, embedding, rounds, digs = (sizes.get(name, 1) for name in ("width", "embedding", "rounds", "digs"))
    hidden = sizes.get("hidden", [])
    layers = sum(a * b for a, b in pairwise([digs, *hidden]))
    if width * (embedding + rounds * width) + sum(hidden) + layers > numbers:
        raise ValueError(f"it would have more numbers than the weights, {numbers}")


def _fill(path: Path, network: Network, weights: dict[str, th.Tensor]) -> th.nn.Linear | None:
    """Put weights into a network; the value head, where there is one."""
    try:
        for name, tensor in weights.items():
            if tensor.dtype != th.float32 or not tensor.isfinite().all():
                raise RuntimeError(f"{name} holds others than finite numbers of 32 bits")
        head = {key.removeprefix(VALUE): weights.pop(key) for key in list(weights) if key.startswith(VALUE)}
        network.load_state_dict(weights)
        value = th.nn.Linear(network.width, 1) if head else None
        if value is not None:
            value.load_state_dict(head)
    except RuntimeError as error:
        raise ValueError(
            f"{path}: not weights of this network ({one_line(str(error).splitlines()[-1])})"
        ) from None
    return value


Start = tuple[dict[str, th.Tensor], dict[str, th.Tensor] | None]
"""Weights of a network, and of its value head where it was kept."""


def load_start(
    path: Path, kind: str, sizes: dict[str, Any], spec: GameSpec, *, values: bool = False
) -> Start:
    """The weights of a run or model folder, for a network of that kind, with those sizes, to start from.

    ``values`` says whether its scores are to be values of moves, or logits. Values become logits when they
    are divided by the model's temperature: the policy is unchanged.

    Raises
    ------
    ValueError
        If it is no model, or one for another layout, of another kind, with other sizes, or its scores are
        logits where values are needed.
    """
    folder = model_folder(path)
    card = _read_card(folder)
    player = _load(folder, card, spec, folder.name)
    if (card["network"], card["sizes"]) != (kind, sizes):
        raise ValueError(
            f"{folder}: the model is a network {card['network']!r} with {shown(card['sizes'])}, "
            f"the configuration's is {kind!r} with {shown(sizes)}"
        )
    network = player.network
    if values and player.temperature is None:
        raise ValueError(f"{folder}: its scores are logits, the learner wants values (pqn)")
    if not values and player.temperature is not None:
        if not isinstance(network, MovesNetwork):
            raise ValueError(
                f"{folder}: its scores are values, of which only a network 'moves' makes the logits of ppo"
            )
        network.divide_scores(player.temperature)
    return network.state_dict(), None if player.value is None else player.value.state_dict()
