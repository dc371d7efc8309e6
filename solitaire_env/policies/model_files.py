"""Model folders: ``model.safetensors`` (weights) and ``model.json`` (the card: a description of the weights).

Reading one needs no torch and runs no code from it. A model for another observation or action layout is
refused.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from solitaire_env.core.layout import Information
from solitaire_env.core.spec import GameSpec, layout_hash
from solitaire_env.core.variant import rules_to_dict
from solitaire_env.move_features.columns import MOVE_NAMES, current_name, position_names
from solitaire_env.move_features.reader import DIG_OUT_ROUNDS
from solitaire_env.util.files import read_json
from solitaire_env.util.messages import one_line, say, shown

Tensors = dict[str, npt.NDArray[Any]]

WEIGHTS: Final = "model.safetensors"
VALUE: Final = "value_head."
"""Prefix of the names of the value head's weights, which are in the same file; they are optional."""
CARD: Final = "model.json"
CARD_KEYS: Final = (
    "format", "env", "moves", "network", "sizes", "layout", "layout_hash", "steps", "temperature",
)  # fmt: skip
MAX_SIZE: Final = 2**14
"""Maximum of each size of a network."""


@dataclass(frozen=True)
class Model:
    """The validated contents of a model folder."""

    folder: Path
    network: str
    """The kind of network."""
    sizes: dict[str, Any]
    """Positive sizes by name; no part of the network has more numbers than the weights."""
    temperature: float | None
    """Divides the scores of a network whose scores are values of moves; None if scores are logits."""
    safe_autoplay: bool
    """Whether safe autoplay is played first."""
    avoid_repeats: bool
    """Whether it rarely plays a move again from the same position of a game."""
    finish_games: bool
    """Whether a move after which ``greedy`` wins is played before all others."""
    spec: GameSpec
    """The game as the network sees it."""
    weights: Tensors
    """float32, finite; those of the value head have the prefix :data:`VALUE`."""

    def wrong_sizes(self, error: object) -> ValueError:
        """The error of invalid sizes."""
        return ValueError(
            f"{self.folder / CARD}: sizes {shown(self.sizes)} make no network {self.network!r} "
            f"({one_line(error)})"
        )

    def wrong_weights(self, error: object) -> ValueError:
        """The error of weights that do not fit the network."""
        return ValueError(f"{self.folder / WEIGHTS}: not weights of this network ({one_line(error)})")


def hash_weights(weights: Tensors) -> str:
    """Sixteen hexadecimal digits, a hash of float32 weights without those of the value head: stored games of
    search know their network by it.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        if not name.startswith(VALUE):
            digest.update(name.encode() + tensor.tobytes())
    return digest.hexdigest()[:16]


def read_card(folder: Path, kinds: Collection[str]) -> dict[str, Any]:
    """The card of a model folder, validated as far as possible without the weights.

    Raises
    ------
    ValueError
        If it cannot be read, is damaged, or its network is not one of ``kinds``.
    """
    path = folder / CARD
    card = read_json(path)
    missing = [key for key in CARD_KEYS if key not in card]
    if missing or card["format"] != 1:
        raise ValueError(f"{path}: not a model of format 1 (missing: {', '.join(missing) or 'nothing'})")
    if card["network"] not in list(kinds):
        custom = ":" in str(card["network"])
        raise ValueError(
            f"{path}: network is {shown(card['network'])}, allowed in format 1: {', '.join(map(repr, kinds))}"
            + ("; import its module first, or pass --trust-model to the command" if custom else "")
        )
    layout = card["layout"]
    if not isinstance(layout, dict) or layout_hash(layout) != card["layout_hash"]:
        raise ValueError(
            f"{path}: damaged, its layout is not the one of layout_hash {shown(card['layout_hash'])}"
        )
    heat, safe = card["temperature"], card.setdefault("safe_autoplay", False)
    avoid, finish = card.setdefault("avoid_repeats", False), card.setdefault("finish_games", False)
    games = card.setdefault("games", None)
    rules = card.setdefault("rules", None)
    named = isinstance(games, list) and all(isinstance(name, str) for name in games)
    for key, ok, allowed in (
        ("temperature", heat is None or (type(heat) in (int, float) and 0 < heat < 1e6), "null, or above 0"),
        ("safe_autoplay", type(safe) is bool, "true and false"),
        ("avoid_repeats", type(avoid) is bool, "true and false"),
        ("finish_games", type(finish) is bool, "true and false"),
        ("games", games is None or named, "null, or a list of names"),
        ("rules", isinstance(rules, dict) or games is not None, "an object: a network is for one game"),
    ):
        if not ok:
            raise ValueError(f"{path}: {key} is {shown(card[key])}, allowed: {allowed}")
    return card


def family_layout(sizes: dict[str, Any], information: Information) -> dict[str, Any]:
    """What a model for many games needs to read any of them: the features, in order.

    ``sizes`` are those of the network; they define the features.
    """
    positions = position_names(
        sizes.get("dig_out", DIG_OUT_ROUNDS),
        sizes.get("relaxed_reachability", 0),
        family=bool(sizes.get("family", 0)),
        hidden_cards=bool(sizes.get("hidden_cards", 0)),
    )
    return {"observation": "cards", "information": information, "columns": [*MOVE_NAMES, *positions]}


def read_model(folder: Path, game: GameSpec, kinds: Collection[str], *, exact: bool = False) -> Model:
    """Read a model folder.

    Parameters
    ----------
    game
        The game to play; the model's own action set and observation replace those of the game. A model for
        many games plays any, one-card games with supermoves if it was trained so.
    kinds
        The kinds of networks that the caller supports.
    exact
        Whether the model must have exactly the action set and the observation of the given game. Then it may
        be for other rules, which a notice says: its weights are a start for learning.

    Raises
    ------
    ValueError
        If a file is missing or damaged, or the model is for another game.
    """
    card = read_card(folder, kinds)
    spec = _spec_of(folder, card, game, exact=exact)
    weights = read_tensors(folder / WEIGHTS)
    model = Model(
        folder, card["network"], card["sizes"], card["temperature"], card["safe_autoplay"],
        card["avoid_repeats"], card["finish_games"], spec, weights,
    )  # fmt: skip
    try:
        _check_sizes(model.sizes, sum(tensor.size for tensor in weights.values()))
    except (TypeError, ValueError) as error:
        raise model.wrong_sizes(error) from None
    information: Any = card["layout"].get("information")
    if card["games"] is not None and _present(card["layout"]) != family_layout(model.sizes, information):
        raise ValueError(f"{folder / CARD}: the model reads other features than this version has")
    for name, tensor in weights.items():
        if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
            raise model.wrong_weights(f"{name} contains other values than finite 32-bit floats")
    return model


def _present(layout: dict[str, Any]) -> dict[str, Any]:
    """The stored layout of a model for many games, with the present names of its features."""
    stored = layout.get("columns")
    columns = [current_name(str(name)) for name in stored] if isinstance(stored, list) else None
    return {**layout, "columns": columns}


def _spec_of(folder: Path, card: dict[str, Any], game: GameSpec, *, exact: bool) -> GameSpec:
    """The game as the network of a model folder sees it; see :func:`read_model`."""
    layout, moves = card["layout"], card["moves"]
    if card["games"] is not None:
        takes = game.variant.moves == "one card" and game.variant.takes_supermoves
        moves = "supermove" if moves == "supermove" and takes else None
    spec = game
    try:
        if not exact:
            seen = {key: layout.get(key) for key in ("observation", "information")}
            spec = game.view(moves=moves, **seen)
    except ValueError as error:
        raise ValueError(f"{folder / CARD}: {one_line(error, 300)}") from None
    if card["games"] is not None:
        return spec
    played, rules = rules_to_dict(spec.variant), card["rules"]
    same_layout = layout_hash(spec.layout) == card["layout_hash"]
    if same_layout and played == rules:
        return spec
    differ = [key for key in played if rules.get(key) != played[key]]
    differing = ", ".join(f"{key} {shown(rules.get(key), 40)} and {shown(played[key], 40)}" for key in differ)
    other = (
        f"{folder}: the model is for {one_line(card['env'], 80)}, this game is {spec.variant.title} "
        f"({one_line(differing, 200) or 'the same rules, but another layout'})"
    )
    if not exact or not same_layout:
        raise ValueError(other)
    say(f"{other}; its weights are only a start")
    return spec


def read_tensors(path: Path) -> Tensors:
    """The arrays of a safetensors file; errors of a truncated or foreign file name it."""
    try:
        path.open("rb").close()  # safetensors finds no file that it may not read
        with safe_open(path, framework="np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
    except (FileNotFoundError, PermissionError) as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    # The last two are for number types that NumPy lacks.
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a whole safetensors file ({one_line(error)})") from None


def _check_sizes(sizes: Any, numbers: int) -> None:
    """Raise an error for invalid sizes, and for a network with more numbers than its weights.

    Otherwise an absurdly large network would be built before the mismatch is found.
    """
    if not isinstance(sizes, dict):
        raise TypeError(f"a {type(sizes).__name__}, allowed: an object")
    for name, size in sizes.items():
        if name == "hidden" and not (isinstance(size, list) and size):
            raise ValueError(f"hidden is {shown(size)}, allowed: a list of sizes")
        least = 2 if name == "width" else 1
        if not all(type(n) is int and least <= n <= MAX_SIZE for n in (size if name == "hidden" else [size])):
            raise ValueError(
                f"{one_line(name, 40)} is {shown(size)}, allowed: whole numbers from {least} to {MAX_SIZE}"
            )
    width, hidden = sizes.get("width", 1), sizes.get("hidden", [])
    if width * width + sum(a * b for a, b in pairwise(hidden)) > numbers:
        raise ValueError(f"it would have more numbers than the weights, {numbers}")
