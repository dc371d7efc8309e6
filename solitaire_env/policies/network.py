"""Networks as policies, and the network of kind "moves" without torch: a compiled forward pass in float64.

``agents`` trains these networks; :mod:`solitaire_env.policies.model_files` reads them. Each row is computed
separately, in a fixed order of additions, so that games played in parallel do not change it.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import run_parts, split_evenly
from solitaire_env.core.native import Float64, Int64, inner, kernel
from solitaire_env.core.spec import GameSpec, layout_hash
from solitaire_env.move_features.autoplay import autoplay_safe_moves, keep_chosen
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.finishing import finishing_moves
from solitaire_env.move_features.reader import DIG_OUT_ROUNDS, SMALLEST_PART, MoveReader
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.model_files import CARD, VALUE, Model, hash_weights, read_model
from solitaire_env.policies.played_moves import PlayedMoves
from solitaire_env.policies.policy import Explanation, Policy
from solitaire_env.util.files import model_folder, read_json
from solitaire_env.util.messages import shown

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

KIND: Final = "moves"
"""The supported kind of network."""
LOOKAHEAD: Final = "habit"
"""Name in model files of the weights of the linear policy that the rollout lookahead follows."""
ROWS: Final = 128
"""Number of moves scored at a time: few enough that the hidden rows stay in the processor's cache."""
EPSILON: Final = 1e-5
"""Added to the variance by layer normalization, as in torch."""


class Sizes(NamedTuple):
    """The sizes in the card of a network: of its layers, and the arguments of its
    :class:`~solitaire_env.move_features.reader.MoveReader`.
    """

    hidden: list[int]
    """Sizes of the hidden layers for moves."""
    width: int = 64
    """Size of the two hidden layers for the value."""
    dig_out: int = DIG_OUT_ROUNDS
    rollout_lookahead: int = 0
    relaxed_reachability: int = 0
    family: int = 0
    hidden_cards: int = 0


class Layer(NamedTuple):
    """A linear layer; the weights of an input are consecutive."""

    weight: Floats
    """``[inputs, outputs]``."""
    bias: Floats
    """``[outputs]``."""


class Weights(NamedTuple):
    """The weights of a network in float64, in the layout of the kernels."""

    move: Layer
    """The part of the first hidden layer that reads a move, and the difference between the positions after
    and before it."""
    position: Floats
    """The part of the first hidden layer that reads the position before a move, ``[inputs, outputs]``: the
    sum of the weights for the positions before and after it. A move changes few features, so few products
    remain."""
    hidden: tuple[Layer, ...]
    """The other hidden layers."""
    norms: tuple[Floats, ...]
    """Scale and shift of the layer normalization of each hidden layer, ``[2, size]``."""
    head: Floats
    """Weights of the score for the last hidden layer, ``[size]``."""
    linear: Floats
    """Weights of the score for the features of the move itself, ``[NUM_MOVE]``."""
    value: tuple[Layer, Layer]
    """The hidden layers for the value."""
    value_head: Layer | None
    """The layer of the value; None if it was not kept."""
    lookahead: Floats
    """Weights of the linear policy that the rollout lookahead follows, ``[NUM_MOVE]``; unused without one."""


class NetworkPlayer(Policy):
    """A network as a policy: it draws a legal action from its probabilities.

    Always choosing the likeliest action would repeat moves that undo each other forever. A subclass computes
    the network (:meth:`compute`, :meth:`value_of`, :meth:`values`) and has a fingerprint.

    Parameters
    ----------
    spec
        The game as the network sees it.
    name
        Name of the policy.
    temperature
        Of a network whose scores are values of moves: they are divided by it, and the value of a position is
        the highest of them. None if scores are logits.
    safe_autoplay
        Whether safe autoplay (:mod:`solitaire_env.move_features.autoplay`) is played first, so that the
        network chooses only where there is none.
    avoid_repeats
        Whether it remembers its games, and rarely plays a move again from the same position
        (:mod:`solitaire_env.policies.played_moves`). Without the numbers of games, it does not.
    finish_games
        Whether the move that finishes a game (:mod:`solitaire_env.move_features.finishing`) is played before
        all others, so that the network chooses only where there is none.
    """

    stochastic = True

    def __init__(
        self,
        spec: GameSpec,
        name: str,
        *,
        temperature: float | None = None,
        safe_autoplay: bool = False,
        avoid_repeats: bool = False,
        finish_games: bool = False,
    ) -> None:
        self.spec = spec
        self.name = name
        self.moves = spec.variant.moves
        self.observation = spec.settings.observation
        self.information = spec.settings.information
        self.temperature = temperature
        self.safe_autoplay = safe_autoplay
        self.avoid_repeats = self.stateful = avoid_repeats
        self._played = PlayedMoves()
        self._rules = spec.rules
        self.finish_games = finish_games
        self._random = np.random.Generator(np.random.PCG64(0))
        self._explained: tuple[Array, Array, Explanation] | None = None

    @abstractmethod
    def compute(self, observations: Array, masks: Array) -> tuple[Floats, Floats, Floats]:
        """The probabilities of the actions ``[n, actions]``, the highest score of a move ``[n]``, and the
        features that the value is read from ``[n, features]``.
        """

    @abstractmethod
    def value_of(self, features: Floats) -> Floats | None:
        """The expected returns ``[n]`` from the value's features; None without a value head."""

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Actions int64 ``[n]``."""
        self._check_widths(observations, masks)
        probabilities = self._stored(observations, masks)[0]
        if probabilities is None:
            # If only one move is left to choose from, its features are not needed.
            kept = self._keep(observations, masks)
            [several] = np.nonzero(np.count_nonzero(kept, axis=1) > 1)
            probabilities = kept.astype(np.float64)
            probabilities[several], _, _ = self.compute(observations[several], kept[several])
        uniforms = self._random.random(len(masks)) if uniforms is None else uniforms
        if self.avoid_repeats and games is not None:
            return self._played.draw(probabilities, uniforms, observations, games)
        return draw(probabilities, uniforms)

    def ended(self, games: Sequence[int]) -> None:
        """Forget games that have ended."""
        self._played.forget(games)

    def explain(self, observations: Array, masks: Array) -> Explanation:
        """The probabilities of the actions, ``[n, actions]``, and the expected returns, ``[n]`` or None.

        A second call with the same positions returns the stored result.
        """
        self._check_widths(observations, masks)
        explanation = self._stored(observations, masks)
        if explanation[0] is None:
            probabilities, highest, features = self.compute(observations, self._keep(observations, masks))
            values = highest if self.temperature is not None else self.value_of(features)
            explanation = probabilities, values
            self._explained = observations.copy(), masks.copy(), explanation
        return explanation

    def _check_widths(self, observations: Array, masks: Array) -> None:
        """Raise an error for arrays of another game, or of another action set of this one."""
        given = observations.shape[-1], masks.shape[-1]
        allowed = self.spec.observation_size, self.spec.num_actions
        if given != allowed:
            raise ValueError(
                f"observations have {given[0]} entries and masks {given[1]} actions, allowed for "
                f"{self.spec.variant.name} as this policy sees it: {allowed[0]} and {allowed[1]}"
            )

    def _stored(self, observations: Array, masks: Array) -> Explanation:
        """The last explanation, if it was of these positions."""
        stored = self._explained  # read once: other threads may ask at the same time
        if stored is not None:
            seen, legal, explanation = stored
            if np.array_equal(seen, observations) and np.array_equal(legal, masks):
                return explanation
        return None, None

    def _keep(self, observations: Array, masks: Array) -> Array:
        """The masks of the moves that the network chooses from, int8 ``[n, actions]``."""
        kept = masks
        if self.safe_autoplay:
            kept = keep_chosen(kept, autoplay_safe_moves(self._rules, observations, masks))
        if self.finish_games:
            kept = keep_chosen(kept, finishing_moves(self._rules, observations, masks))
        return kept


class CompiledNetwork(NetworkPlayer):
    """A network of kind "moves" as a policy, without torch.

    Parameters
    ----------
    model
        From :func:`~solitaire_env.policies.model_files.read_model`.
    name
        Name of the policy.

    Raises
    ------
    ValueError
        If the weights do not fit a network "moves" with the model's sizes.
    """

    def __init__(self, model: Model, name: str) -> None:
        super().__init__(
            model.spec, name, temperature=model.temperature, safe_autoplay=model.safe_autoplay,
            avoid_repeats=model.avoid_repeats, finish_games=model.finish_games,
        )  # fmt: skip
        if unknown := [name for name in model.sizes if name not in Sizes._fields]:
            raise model.wrong_sizes(f"unknown {shown(unknown)}, allowed: {', '.join(Sizes._fields)}")
        sizes = Sizes(**{"hidden": [64, 32], **model.sizes})
        try:
            self.reader = MoveReader(
                model.spec, sizes.dig_out, sizes.relaxed_reachability, sizes.rollout_lookahead,
                bool(sizes.family), bool(sizes.hidden_cards),
            )  # fmt: skip
        except ValueError as error:
            raise model.wrong_sizes(error) from None
        self._weights = _lay_out(model, weight_shapes(sizes, *self.reader.sizes), len(sizes.hidden))
        self._fingerprint = _fingerprint(model)
        self.weights_fingerprint = hash_weights(model.weights)
        """A hash of the weights alone, see :func:`~solitaire_env.policies.model_files.hash_weights`."""

    @property
    def fingerprint(self) -> str:
        """A hash of the weights and of how they are used, sixteen hexadecimal digits."""
        return self._fingerprint

    def values(self, observations: Array) -> Array | None:
        """The expected returns ``[n]`` of positions, without probabilities; None if the head was not kept."""
        if self._weights.value_head is None:
            return None
        found = np.empty(len(observations))

        def read(part: slice) -> None:
            seen = self.reader.read_positions(observations[part], self._weights.lookahead)
            found[part] = self.value_of(seen.astype(np.float64))

        run_parts(read, list(split_evenly(len(found), SMALLEST_PART)))
        return found

    def compute(self, observations: Array, masks: Array) -> tuple[Floats, Floats, Floats]:
        """See :class:`NetworkPlayer`; computed in parts on several threads."""
        n = len(masks)
        probabilities, highest = np.zeros(masks.shape), np.full(n, -np.inf)
        positions = np.empty((n, self.reader.sizes[1]))

        def compute(part: slice) -> None:
            self._compute_part(
                observations[part], masks[part], probabilities[part], highest[part], positions[part]
            )

        run_parts(compute, list(split_evenly(n, SMALLEST_PART)))
        return probabilities, highest, positions

    def _compute_part(
        self, observations: Array, masks: Array, probabilities: Floats, highest: Floats, positions: Floats
    ) -> None:
        """Write the network's output for some games."""
        seen = self.reader.read(observations, masks, self._weights.lookahead)
        positions[:] = seen.positions
        of_position = np.zeros((len(masks), len(self._weights.move.bias)))
        _multiply(positions, self._weights.position, of_position)
        scores = np.empty(len(seen.games))
        for first in range(0, len(scores), ROWS):
            part = slice(first, first + ROWS)
            games, moves = seen.games[part], seen.moves[part].astype(np.float64)
            moves[:, NUM_MOVE:] -= positions[games]
            self._score(of_position[games], moves, scores[part])
        temperature = 1.0 if self.temperature is None else float(self.temperature)
        softmax(
            scores, seen.games, seen.actions, temperature, probabilities, highest, np.zeros(len(masks))
        )  # fmt: skip

    def _score(self, rows: Floats, moves: Floats, scores: Floats) -> None:
        """Write the scores of moves from their features and the changes in those of the positions; ``rows``
        are the inputs of the first layer from the positions before them, and are overwritten.
        """
        w = self._weights
        rows += w.move.bias
        _multiply(moves, w.move.weight, rows)
        normalize(rows, w.norms[0])
        for layer, norm in zip(w.hidden, w.norms[1:], strict=True):
            rows = _apply(layer, rows)
            normalize(rows, norm)
        weigh(rows, w.head, moves, w.linear, scores)

    def value_of(self, features: Floats) -> Floats | None:
        """The expected returns ``[n]`` from the positions' features; None if the head was not kept."""
        if self._weights.value_head is None:
            return None
        for layer in self._weights.value:
            features = np.maximum(_apply(layer, features), 0.0)
        return _apply(self._weights.value_head, features)[:, 0]


def load_network(folder: Path, spec: GameSpec, name: str | None = None) -> CompiledNetwork:
    """The policy of a model folder, or of a run folder with one.

    Parameters
    ----------
    spec
        The game to play; the model's own action set and observation replace those of the game.
    name
        Name of the policy; the folder's name by default.

    Raises
    ------
    ValueError
        If a file is missing, damaged, for another layout, or for a kind of network that needs torch.
    """
    return CompiledNetwork(read_model(model_folder(folder), spec, (KIND,)), name or folder.name)


def network_kind(folder: Path) -> str:
    """The kind of network in a model or run folder; :data:`KIND` if its card cannot be read, which is an
    error that :func:`load_network` explains.
    """
    try:
        return str(read_json(model_folder(folder) / CARD).get("network", KIND))
    except ValueError:
        return KIND


def _apply(layer: Layer, rows: Floats) -> Floats:
    """The outputs of a linear layer, ``[n, outputs]``."""
    out = np.empty((len(rows), len(layer.bias)))
    out[:] = layer.bias
    _multiply(rows, layer.weight, out)
    return out


def _multiply(rows: Floats, weight: Floats, out: Floats) -> None:
    """Add ``rows @ weight`` to ``out``."""
    add_product(rows, weight, np.empty(rows.shape[1] + 1, dtype=np.int64), out)


# --------------------------------------------------------------------------------------- weights


def weight_shapes(sizes: Sizes, move: int, position: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights by their names in torch; ``move`` and ``position`` are the numbers of
    features.
    """
    hidden, width = sizes.hidden, sizes.width
    shapes: dict[str, tuple[int, ...]] = {
        "read_move.weight": (hidden[0], move),
        "read_move.bias": (hidden[0],),
        "read_position.weight": (hidden[0], position),
        "head.weight": (1, hidden[-1]),
        "linear.weight": (1, NUM_MOVE),
        "to_value.0.weight": (width, position),
        "to_value.0.bias": (width,),
        "to_value.2.weight": (width, width),
        "to_value.2.bias": (width,),
        f"{VALUE}weight": (1, width),
        f"{VALUE}bias": (1,),
    }
    for n, (inputs, outputs) in enumerate(pairwise(hidden)):
        shapes |= {f"body.{n}.weight": (outputs, inputs), f"body.{n}.bias": (outputs,)}
    for n, size in enumerate(hidden):
        shapes |= {f"norms.{n}.weight": (size,), f"norms.{n}.bias": (size,)}
    if sizes.rollout_lookahead:
        shapes[LOOKAHEAD] = (NUM_MOVE,)
    return shapes


def _check_shapes(model: Model, shapes: dict[str, tuple[int, ...]]) -> None:
    """Check for missing or unknown weights, and wrong shapes; both of the value head may be missing."""
    present = {name: tensor.shape for name, tensor in model.weights.items()}
    if not any(name.startswith(VALUE) for name in present):
        shapes = {name: shape for name, shape in shapes.items() if not name.startswith(VALUE)}
    for name in sorted(present.keys() | shapes.keys()):
        if present.get(name) != shapes.get(name):
            raise model.wrong_weights(
                f"{name} has shape {present.get(name)}, allowed: {shapes.get(name)}; None: without it"
            )


def _lay_out(model: Model, shapes: dict[str, tuple[int, ...]], layers: int) -> Weights:
    """The weights of a model, which must have these shapes, in the layout of the kernels; ``layers`` is the
    number of hidden layers for moves.
    """
    _check_shapes(model, shapes)
    wide = {name: tensor.astype(np.float64) for name, tensor in model.weights.items()}

    def layer(name: str) -> Layer:
        return Layer(np.ascontiguousarray(wide[f"{name}.weight"].T), wide[f"{name}.bias"])

    move = layer("read_move")
    return Weights(
        move=move,
        position=wide["read_position.weight"].T + move.weight[NUM_MOVE:],
        hidden=tuple(layer(f"body.{n}") for n in range(layers - 1)),
        norms=tuple(np.stack((wide[f"norms.{n}.weight"], wide[f"norms.{n}.bias"])) for n in range(layers)),
        head=wide["head.weight"][0],
        linear=wide["linear.weight"][0],
        value=(layer("to_value.0"), layer("to_value.2")),
        value_head=layer(VALUE.rstrip(".")) if f"{VALUE}bias" in wide else None,
        lookahead=wide.get(LOOKAHEAD, np.zeros(NUM_MOVE)),
    )


def _fingerprint(model: Model) -> str:
    about = [model.network, model.temperature, model.safe_autoplay, layout_hash(model.spec.layout)]
    about += ["avoid repeats"] if model.avoid_repeats else []
    about += ["finish games"] if model.finish_games else []
    digest = hashlib.sha256(" ".join(map(str, about)).encode())
    for name, tensor in sorted(model.weights.items()):
        digest.update(f"{name} {tensor.shape}".encode() + tensor.tobytes())
    return digest.hexdigest()[:16]


# --------------------------------------------------------------------------------------- kernels


@kernel
def add_product(
    rows: Annotated[Float64, "n inputs"],
    weight: Annotated[Float64, "inputs outputs"],
    used: Annotated[Int64, "inputs+1"],
    out: Annotated[Float64, "n outputs"],
) -> None:
    """Add ``rows @ weight`` to ``out``: float64 ``[n, inputs]``, ``[inputs, outputs]``, ``[n, outputs]``.

    Most of the inputs are 0 and are skipped. The others are added four at a time, in their order, so the
    inner loop runs along the outputs and the sum of a row depends only on this row.
    """
    for n in range(rows.shape[0]):
        count = 0
        for k in range(rows.shape[1]):
            used[count] = k
            count += rows[n, k] != 0.0
        sums = out[n]
        last = count - count % 4
        for at in range(0, last, 4):
            k0, k1, k2, k3 = used[at], used[at + 1], used[at + 2], used[at + 3]
            x0, x1, x2, x3 = rows[n, k0], rows[n, k1], rows[n, k2], rows[n, k3]
            w0, w1, w2, w3 = weight[k0], weight[k1], weight[k2], weight[k3]
            for j in range(sums.shape[0]):
                sums[j] += (x0 * w0[j] + x1 * w1[j]) + (x2 * w2[j] + x3 * w3[j])
        for at in range(last, count):
            x0 = rows[n, used[at]]
            w0 = weight[used[at]]
            for j in range(sums.shape[0]):
                sums[j] += x0 * w0[j]


@kernel
def normalize(rows: Annotated[Float64, "n size"], norm: Annotated[Float64, "2 size"]) -> None:
    """Layer normalization and ReLU in place: rows float64 ``[n, size]``, scale and shift ``[2, size]``."""
    size = rows.shape[1]
    for n in range(rows.shape[0]):
        mean = _sum(rows[n], False) / size
        for j in range(size):
            rows[n, j] -= mean
        variance = _sum(rows[n], True) / size
        factor = 1.0 / np.sqrt(variance + EPSILON)
        for j in range(size):
            rows[n, j] = max(rows[n, j] * factor * norm[0, j] + norm[1, j], 0.0)


@inner
def _sum(row, squared):
    """The sum of a row or of its squares, by four sums that the processor computes in parallel."""
    a = b = c = d = 0.0
    last = row.shape[0] - row.shape[0] % 4
    for j in range(0, last, 4):
        a += row[j] * (row[j] if squared else 1.0)
        b += row[j + 1] * (row[j + 1] if squared else 1.0)
        c += row[j + 2] * (row[j + 2] if squared else 1.0)
        d += row[j + 3] * (row[j + 3] if squared else 1.0)
    for j in range(last, row.shape[0]):
        a += row[j] * (row[j] if squared else 1.0)
    return (a + b) + (c + d)


@kernel
def weigh(
    rows: Annotated[Float64, "moves hidden"],
    head: Annotated[Float64, "hidden"],
    moves: Annotated[Float64, "moves features"],
    linear: Annotated[Float64, "own"],
    scores: Annotated[Float64, "moves"],
) -> None:
    """Write scores ``[n]``: linear in the last hidden layer, and in the features of the move itself."""
    for k in range(rows.shape[0]):
        score = 0.0
        for j in range(head.shape[0]):
            score += rows[k, j] * head[j]
        of_move = 0.0
        for j in range(linear.shape[0]):
            of_move += moves[k, j] * linear[j]
        scores[k] = score + of_move


@kernel
def softmax(
    scores: Annotated[Float64, "moves"],
    games: Annotated[Int64, "moves"],
    actions: Annotated[Int64, "moves"],
    temperature: float,
    probabilities: Annotated[Float64, "n rules.actions"],
    highest: Annotated[Float64, "n"],
    total: Annotated[Float64, "n"],
) -> None:
    """Write the probabilities of each game's moves ``[n, actions]``, and its highest score ``[n]``."""
    for k in range(scores.shape[0]):
        highest[games[k]] = max(highest[games[k]], scores[k])
    for k in range(scores.shape[0]):
        weight = np.exp((scores[k] - highest[games[k]]) / temperature)
        probabilities[games[k], actions[k]] = weight
        total[games[k]] += weight
    for k in range(scores.shape[0]):
        probabilities[games[k], actions[k]] /= total[games[k]]
