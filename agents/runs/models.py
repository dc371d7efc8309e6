"""Model folders: ``model.safetensors`` (weights) and ``model.json`` (what they are weights of).

Reading one runs no code from it. A model for another observation or action layout is refused.
"""

import hashlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.utils.hooks import RemovableHandle

from agents.config import DEEPEST, FURTHEST
from agents.networks.networks import NETWORKS, MovesNetwork, Network
from solitaire_env.core.spec import layout_hash
from solitaire_env.move_features.moves import keep_sure_homes, moves_of
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.policy import Policy
from solitaire_env.util.files import model_folder, read_json, write_json, write_whole
from solitaire_env.util.messages import one_line, shown

Array = npt.NDArray[Any]

WEIGHTS = "model.safetensors"
VALUE = "value_head."
"""Before the names of the value's weights, which stand in the same file; a model may lack them."""
CARD = "model.json"
CARD_KEYS = ("format", "env", "moves", "network", "sizes", "layout", "layout_hash", "steps", "temperature")


class NetworkPlayer(Policy):
    """A network as a policy: a legal action, by the probabilities that training gave it.

    Always taking the likeliest would go round for ever between moves that undo each other.

    Parameters
    ----------
    network
        Is made to count in 64 bits. In 32, how a sum is rounded hangs on how many games are looked at
        together and on the machine, and now and then another action would be drawn.
    seed
        Of the draws where it is not told what chance says.
    value
        Gives the value, ``[n, 1]``, from the network's value features; None where it was not kept.
    temperature
        Of a network whose scores are what the moves are worth: they are divided by it, and the value is the
        highest of them. None where scores are logits.
    sure_home
        Whether what is sure to go home (:func:`solitaire_env.move_features.moves.sure_homes`) goes home, and the network is asked
        only where nothing is.
    """

    stochastic = True

    def __init__(
        self, network: Network, name: str, layout: dict[str, Any], moves: str | None, seed: int = 0,
        value: th.nn.Module | None = None, temperature: float | None = None, sure_home: bool = False,
    ) -> None:  # fmt: skip
        self.table = moves_of(layout) if sure_home else None
        self._widening: list[RemovableHandle] = []
        self.network = self._in_64_bits(network.eval())
        self.value = value and self._in_64_bits(value)
        self.temperature = temperature
        self.name = name
        self.moves = moves
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.observation = layout.get("observation")
        self.information = layout.get("information")
        self._looked: tuple[Array, Array, Array | None] | None = None

    def _in_64_bits(self, network: Any) -> Any:
        """The network itself, whose linear layers from now on count in 64 bits whatever they are given."""
        for part in network.double().modules():
            if isinstance(part, th.nn.Linear):
                self._widening.append(
                    part.register_forward_pre_hook(lambda layer, given: (given[0].to(layer.weight.dtype),))
                )
        return network

    def in_32_bits(self) -> "NetworkPlayer":
        """The player itself, which from now on counts in 32 bits: two thirds of the time."""
        for handle in self._widening:
            handle.remove()
        self.network.float()
        if self.value is not None:
            self.value.float()
        return self

    def choices(self, observations: Array, masks: Array) -> Array:
        """The masks of the moves that it chooses among: of what is sure to go home, that alone."""
        return masks if self.table is None else keep_sure_homes(observations, masks, self.table)

    @th.inference_mode()
    def explain(self, observations: Array, masks: Array) -> tuple[Array, Array | None]:
        """The probabilities by which it chooses, ``[n, actions]``, and the returns it expects, ``[n]``.

        They are made once for who asks twice of the same observations.
        """
        if self._looked is None or not np.array_equal(self._looked[0], observations):
            choices = self.choices(observations, masks)
            seen = self.network.score(th.from_numpy(np.ascontiguousarray(observations)), choices)
            scores = seen.dense(masks.shape[1])
            values = None if self.value is None else self.value(seen.features)[:, 0].numpy()
            if self.temperature is not None:
                values = scores.amax(1).numpy()
                scores = scores / self.temperature
            self._looked = observations.copy(), scores.softmax(1).numpy(), values
        return self._looked[1:]

    def __call__(
        self,
        observations: Array,
        masks: npt.NDArray[np.int8],
        *,
        uniforms: npt.NDArray[np.float64] | None = None,
        games: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        """Actions int64 ``[n]``."""
        probabilities, _ = self.explain(observations, masks)
        uniforms = self.random.random(len(masks)) if uniforms is None else uniforms
        return draw(probabilities, uniforms)

    @property
    def fingerprint(self) -> str:
        """That of the weights, in 32 bits as they are stored."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.float().cpu().numpy().tobytes())
        return digest.hexdigest()[:16]


def save_model(
    folder: Path, network: th.nn.Module, *, env: str, moves: str, kind: str, sizes: dict[str, Any],
    layout: dict[str, Any], steps: int, value: th.nn.Module | None = None, temperature: float | None = None,
    sure_home: bool = False,
) -> None:  # fmt: skip
    """Write a model folder, with the linear layer that gives the value where there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = network.state_dict()
    if value is not None:
        tensors |= {VALUE + name: tensor for name, tensor in value.state_dict().items()}
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
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
        "temperature": temperature,
        "sure_home": sure_home,
    }
    write_json(folder / CARD, card)


def load_weights(path: Path) -> dict[str, th.Tensor]:
    """The tensors of a safetensors file; a cut-off or foreign file is an error that names it."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: not found") from None
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path}: not a whole safetensors file ({one_line(error)})") from None


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
            f"{folder / CARD}: damaged, its layout is not the one of layout_hash {shown(card['layout_hash'])}"
        )
    wanted = {name: layout.get(name) for name in ("observation", "information")}
    try:
        here = layout_of(SimpleNamespace(**wanted, moves=card["moves"]))
    except ValueError as error:
        raise ValueError(f"{folder / CARD}: {one_line(error, 300)}") from None
    if layout_hash(here) != card["layout_hash"]:
        raise ValueError(
            f"{folder}: the model is for {one_line(card['env'], 80)} with moves={shown(card['moves'])}, "
            f"observation size {shown(layout.get('size'))} and {shown(layout.get('actions'))} actions; "
            f"this game has observation size {here['size']} and {here['actions']} actions "
            f"(layout {card['layout_hash']} and {layout_hash(here)})"
        )
    weights = load_weights(folder / WEIGHTS)
    kind, sizes = NETWORKS[card["network"]], card["sizes"]
    try:
        _check_sizes(sizes, sum(tensor.numel() for tensor in weights.values()))
        network = kind(layout, **sizes)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{folder / CARD}: sizes {shown(sizes)} make no network {card['network']!r} ({one_line(error)})"
        ) from None
    try:
        for tensor_name, tensor in weights.items():
            if tensor.dtype != th.float32 or not tensor.isfinite().all():
                raise RuntimeError(f"{tensor_name} holds others than finite numbers of 32 bits")
        head = {key.removeprefix(VALUE): weights.pop(key) for key in list(weights) if key.startswith(VALUE)}
        network.load_state_dict(weights)
        value = th.nn.Linear(network.width, 1) if head else None
        if value is not None:
            value.load_state_dict(head)
    except RuntimeError as error:
        raise ValueError(
            f"{folder / WEIGHTS}: not weights of this network ({one_line(str(error).splitlines()[-1])})"
        ) from None
    temperature = card["temperature"]
    if temperature is not None and not (type(temperature) in (int, float) and 0 < temperature < 1e6):
        raise ValueError(f"{folder / CARD}: temperature is {shown(temperature)}, allowed: null, or above 0")
    name = name or folder.name
    sure_home = card.get("sure_home", False)
    if type(sure_home) is not bool:
        raise ValueError(f"{folder / CARD}: sure_home is {shown(sure_home)}, allowed: true and false")
    return NetworkPlayer(
        network, name, layout, card["moves"], value=value, temperature=temperature, sure_home=sure_home
    )


Start = tuple[dict[str, th.Tensor], dict[str, th.Tensor] | None]
"""Weights of a network, and of its value where it was kept."""


def load_start(
    path: Path, kind: str, sizes: dict[str, Any], layout: dict[str, Any], *, values: bool = False
) -> Start:
    """The weights of a run or model folder, for a network of that kind, with those sizes, to start from.

    ``values`` says whether its scores are to be what moves are worth, or logits. What moves are worth becomes
    logits divided by the model's temperature: it plays as before.

    Raises
    ------
    ValueError
        If it is no model, or one for another layout, of another kind, with other sizes, or its scores are
        logits that were to be values.
    """
    folder = model_folder(path)
    player = load_model(folder, lambda _: layout)
    card = read_json(folder / CARD)
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


def _check_sizes(sizes: Any, numbers: int) -> None:
    """Refuse what is no size, and a network that has more numbers than its file.

    It would be made before its weights are seen not to fit, however large it is.
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
