"""The interface of policies: one class, one call signature, and its requirements as data."""

import contextlib
import copy
import hashlib
import inspect
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from types import NoneType
from typing import Any, Final, get_args

import numpy as np
import numpy.typing as npt

from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Moves
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies.drawing import draw

Array = npt.NDArray[Any]
Explanation = tuple[Array | None, Array | None]
"""Probabilities float ``[n, actions]`` (0 for illegal actions) and expected returns float ``[n]``; None if
unknown.
"""


class Policy:
    """Chooses an action in each of ``n`` games. Subclasses override :meth:`__call__` and what they need.

    The runner (:mod:`solitaire_env.evaluation.runner`) reads the class attributes and provides what they
    need.
    """

    name: str = "policy"
    """Its name in results and transcripts."""
    observation: Observation = "cards"
    """The kind of observation that it reads."""
    information: Information = "player"
    """Whether it sees the order of the stock (``"thoughtful"``), or that of one that the player has seen
    (``"memory"``)."""
    moves: Moves | None = None
    """The action set that it chooses from; None: that of the game. In a one-card game ``"supermove"`` is
    expanded and played as single cards."""
    stochastic: bool = False
    """Whether it needs random numbers. They depend only on the deal, the seed and the number of the
    decision, so games in parallel do not affect each other."""
    stateful: bool = False
    """Whether it remembers games between moves. It gets the number of each row's game, and is called when one
    ends.
    """
    deterministic: bool = False
    """Whether equal observations get equal actions. If such a policy repeats a position, it would cycle, and
    its game is truncated."""

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Choose an action in each game.

        Parameters
        ----------
        observations
            ``[n, size]``, of the declared kind.
        masks
            int8 ``[n, actions]``, 1 where an action is legal.
        uniforms
            float64 ``[n]`` in [0, 1), a random number for each game; None unless the policy is stochastic.
        games
            int64 ``[n]``, the number of each game, unique in this process.

        Returns
        -------
        Actions int64 ``[n]``.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        """The name and the declared attributes."""
        moves = f", moves={self.moves!r}" if self.moves else ""
        return f"<{type(self).__name__} {self.name!r}{moves}>"

    def begun(self, games: Sequence[int], starts: Sequence[Any]) -> None:
        """New games begin, each from a deal or a position. Only called for stateful policies."""

    def ended(self, games: Sequence[int]) -> None:
        """Games have ended: forget them. Only called for stateful policies."""

    def explain(self, observations: Array, masks: Array) -> Explanation:
        """The probabilities of its actions, and its expected returns, if known."""
        return None, None

    def values(self, observations: Array) -> Array | None:
        """The expected returns of positions float ``[n]``, if known without their legal actions."""
        return None

    @property
    def explains(self) -> bool:
        """Whether :meth:`explain` is overridden."""
        return getattr(self.explain, "__func__", None) is not Policy.explain

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits, a hash of the policy's source code and of its public attributes that
        are plain values or arrays. A result file refuses rows of a policy with another fingerprint.
        """
        return _fingerprint(self)


class FunctionPolicy(Policy):
    """A plain function ``f(observations, masks) -> actions`` as a policy, or another callable object.

    What a policy declares (``moves``, ``observation``, ``stochastic``, ``explain``, ...) is read from the
    object. If it is ``stochastic`` or ``stateful``, it is called like :meth:`Policy.__call__`, otherwise with
    two arguments.

    Parameters
    ----------
    function
        The function.
    needs
        What the function does not declare itself, by name: ``observation="features"``.
    """

    def __init__(self, function: Callable[..., Any], **needs: Any) -> None:
        self.function, self._needs = function, needs
        self.name = str(
            getattr(function, "name", None) or getattr(function, "__name__", None) or type(function).__name__
        )
        for attribute in _DECLARED:
            value = getattr(function, attribute, None)
            if value is None:
                value = needs.get(attribute)
            if value is not None:
                setattr(self, attribute, value)

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Call the function."""
        if self.stochastic or self.stateful:
            actions: Any = self.function(observations, masks, uniforms=uniforms, games=games)
        else:
            actions = self.function(observations, masks)
        return actions  # type: ignore[no-any-return]  # checked by ``ask``

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the function."""
        given = getattr(self.function, "fingerprint", None)
        own = given if isinstance(given, str) else _fingerprint(self.function)
        return digest([own, sorted(self._needs.items())]) if self._needs else own


_DECLARED: Final = (
    "observation", "information", "moves", "stochastic", "stateful", "deterministic", "begun", "ended",
    "explain",
)  # fmt: skip


class SB3Policy(Policy):
    """A model of Stable-Baselines3 or sb3-contrib as a policy.

    Parameters
    ----------
    model
        An object with ``predict`` and the two spaces. A model without ``action_masks`` is not masked: an
        illegal action is an error in evaluation. Observations are normalized by the ``VecNormalize`` of the
        model's environment. A loaded model has no environment unless ``load`` or ``set_env`` gets it.
    spec
        The game. Observation kind and action set are those whose sizes fit the model; it may have been
        trained on :class:`~solitaire_env.wrappers.MoveFeatures`.

    Raises
    ------
    ValueError
        If the model reads no observation of this game, or observations that a wrapper of its environment has
        changed in another way, or has a memory of the game (``RecurrentPPO``).
    """

    def __init__(self, model: Any, spec: GameSpec, name: str | None = None) -> None:
        _check_model(model)
        self.model = model
        self.name = name or type(model).__name__
        self._normalizer = _normalizer(model)
        self.masked = "action_masks" in inspect.signature(model.predict).parameters
        self.stochastic = hasattr(model.policy, "get_distribution")
        self.deterministic = not self.stochastic
        self._reader: MoveReader | None = None
        shape, actions = model.observation_space.shape, int(getattr(model.action_space, "n", 0))
        action_sets: list[Moves | None] = [None, "supermove"] if spec.variant.moves == "one card" else [None]
        views = product(action_sets, get_args(Information), get_args(Observation))
        for action_set, information, observation in views:
            seen = spec.view(moves=action_set, observation=observation, information=information)
            reads_moves = seen.settings.observation == "cards" and shape == (seen.num_actions, NUM_MOVE)
            if (reads_moves or shape == (seen.observation_size,)) and seen.num_actions == actions:
                self.observation = seen.settings.observation
                self.information = seen.settings.information
                self.moves = seen.variant.moves
                self._reader = MoveReader(seen) if reads_moves else None
                return
        raise ValueError(
            f"the model has observations {shape} and {actions} actions; {spec.variant.name} has "
            f"observations of {spec.observation_size} entries and {spec.num_actions} actions with {NUM_MOVE} "
            "move features each"
        )

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Actions drawn from the model's probabilities; a model without any, such as DQN, predicts
        them.
        """
        if self.stochastic:
            probabilities, _ = self.explain(observations, masks)
            assert probabilities is not None
            if uniforms is None:
                uniforms = np.random.default_rng().random(len(masks))
            return draw(probabilities, uniforms)
        actions, _ = self.model.predict(self._seen(observations), deterministic=True)
        return np.asarray(actions)

    def explain(self, observations: Array, masks: Array) -> Explanation:
        """The model's probabilities and values, if it has them."""
        if not self.stochastic:
            return None, None
        policy = self.model.policy
        given = {"action_masks": masks.astype(np.bool_)} if self.masked else {}
        seen, _ = policy.obs_to_tensor(self._seen(observations))
        distribution = policy.get_distribution(seen, **given).distribution
        probabilities = distribution.probs.detach().cpu().numpy()
        values = policy.predict_values(seen)[:, 0].detach().cpu().numpy()
        if self._normalizer is not None:
            values = self._normalizer.unnormalize_reward(values)
        return probabilities, values

    def _seen(self, observations: Array) -> Array:
        """The observations in the model's format."""
        seen = observations if self._reader is None else self._reader.read_table(observations)
        return seen if self._normalizer is None else self._normalizer.normalize_obs(seen)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its weights, and of the statistics that normalize its observations."""
        state = self.model.policy.state_dict()
        parts = [self.name, *((key, tensor.cpu().numpy()) for key, tensor in state.items())]
        if self._normalizer is not None:
            known = self._normalizer
            parts += [known.obs_rms.mean, known.obs_rms.var, known.clip_obs, known.epsilon]
        return digest(parts)


def _check_model(model: Any) -> None:
    """Raise an error if a model of SB3 needs more than observations of the game as they are."""
    kind = type(model).__name__
    distribution = getattr(model.policy, "get_distribution", None)
    if distribution is not None and "lstm_states" in inspect.signature(distribution).parameters:
        raise ValueError(
            f"the model is a {kind}, which remembers earlier moves, allowed: models without memory"
        )
    if np.min(getattr(model.observation_space, "low", 0)) < 0:
        raise ValueError(
            f"the model reads observations from {np.min(model.observation_space.low):g}: a wrapper of its "
            "environment changed those of the game, which are at least 0; allowed: a function "
            "f(observations, masks) that does the same and asks the model"
        )


def _normalizer(model: Any) -> Any:
    """The ``VecNormalize`` that normalizes the observations of a model; None without one."""
    found = model.get_vec_normalize_env() if hasattr(model, "get_vec_normalize_env") else None
    # Below a wrapper, it may normalize observations that the model does not see.
    if found is None or not found.norm_obs or found.observation_space.shape != model.observation_space.shape:
        return None
    if np.issubdtype(model.observation_space.dtype, np.integer):
        warnings.warn(
            f"the model was trained on normalized observations that Stable-Baselines3 rounds to "
            f"{model.observation_space.dtype}, the type of its observation space; make the environment with "
            'SolitaireVecEnv(..., observation="features")',
            stacklevel=2,
        )
    return found


def is_sb3_model(x: Any) -> bool:
    """Whether an object is a model of Stable-Baselines3, judged by its attributes."""
    return all(hasattr(x, name) for name in ("predict", "policy", "observation_space", "action_space"))


def with_moves(policy: Policy, moves: Moves | None) -> Policy:
    """The policy with an action set, if it leaves that open; the original object is unchanged."""
    if moves is None or policy.moves is not None:
        return policy
    policy = copy.copy(policy)
    policy.moves = moves
    return policy


def view_of(policy: Policy, spec: GameSpec) -> GameSpec:
    """A game as a policy sees it: with its action set, observation and information.

    Raises
    ------
    ValueError
        If the game has other moves, and those of the policy cannot be expanded to them.
    """
    return spec.view(
        moves=policy.moves or None, observation=policy.observation, information=policy.information
    )


def ask(
    policy: Policy,
    observations: Array,
    masks: npt.NDArray[np.int8],
    uniforms: npt.NDArray[np.float64] | None,
    games: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """The validated actions of a policy, int64 ``[n]``.

    Raises
    ------
    ValueError
        If they are not one whole number for each game.
    """
    n = len(masks)
    chosen = np.asarray(policy(observations, masks, uniforms=uniforms, games=games))
    if chosen.shape != (n,) or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(
            f"the policy returned shape {chosen.shape} of {chosen.dtype}, allowed: ({n},) whole numbers"
        )
    return chosen.astype(np.int64)


# ------------------------------------------------------------------------------- fingerprints


def _fingerprint(x: Any) -> str:
    """A hash of an object's source code, and of the plain values that it holds."""
    held: list[Any] = []
    if isinstance(x, partial):
        x, held = x.func, [x.args, sorted(x.keywords.items())]
    kind = x if inspect.isroutine(x) or inspect.isclass(x) else type(x)
    source = ""
    with contextlib.suppress(OSError, TypeError):
        source = textwrap.dedent(inspect.getsource(kind))
    if inspect.isfunction(x):
        # Several lambdas may be on a line.
        code, cells = x.__code__, x.__closure__ or ()
        held += [code.co_code, code.co_consts, x.__defaults__, [cell.cell_contents for cell in cells]]
    held.append(sorted(getattr(x, "__dict__", {}).items()))
    return digest([kind.__module__, kind.__qualname__, source, held])


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of a hash of plain values, arrays, and lists of them."""
    return hashlib.sha256(repr(_plain(value)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """A value whose text depends on nothing else; of other objects, the name of their type."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
        return str(value.dtype), value.shape, value.tobytes()
    return value if isinstance(value, (bool, int, float, str, bytes, NoneType)) else type(value).__name__
