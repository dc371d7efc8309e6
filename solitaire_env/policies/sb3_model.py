"""Models of Stable-Baselines3 and sb3-contrib as policies."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Moves
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.policy import Explanation, Policy, declare, digest, own_fingerprint, view_of
from solitaire_env.policies.rows import GameRows

Array = npt.NDArray[Any]


class SB3Policy(Policy):
    """A model of Stable-Baselines3 or sb3-contrib as a policy, or an object with the same ``predict``.

    If ``predict`` returns a state (``RecurrentPPO``), the policy remembers its games: the state of each game
    is given to the next ``predict``, with ``episode_start`` at the game's first decision. A state is an array
    or a tuple of arrays.

    Parameters
    ----------
    model
        An object with ``predict``. A model without ``action_masks`` is not masked: an illegal action is an
        error in evaluation. Observations are normalized by the ``VecNormalize`` of the model's environment.
        A loaded model has no environment unless ``load`` or ``set_env`` gets it.
    spec
        The game. Observation kind and action set are those whose sizes fit the two spaces of the model; it
        may have been trained on :class:`~solitaire_env.wrappers.MoveFeatures`.
    name
        Its name; by default that of the model's class.
    needs
        What a model without spaces does not declare itself, by name: ``observation="features"``.

    Raises
    ------
    ValueError
        If the model reads no observation of this game, or observations that a wrapper of its environment has
        changed in another way.
    """

    def __init__(self, model: Any, spec: GameSpec, name: str | None = None, **needs: Any) -> None:
        self.model = model
        self.name = name or type(model).__name__
        self._normalizer = _normalizer(model)
        self._reader: MoveReader | None = None
        if hasattr(model, "observation_space"):
            _check_observations(model)
            self._read_spaces(spec)
        else:
            declare(self, model, needs)
        self.masked = "action_masks" in inspect.signature(model.predict).parameters
        self._states = self._find_states(view_of(self, spec))
        self.stateful = self._states is not None
        distribution = getattr(getattr(model, "policy", None), "get_distribution", None)
        self.stochastic = distribution is not None and (
            not self.stateful or "lstm_states" in inspect.signature(distribution).parameters
        )
        self.deterministic = not (self.stochastic or self.stateful)

    def _find_states(self, view: GameSpec) -> "_GameStates | None":
        """Storage for the states of games; None if the model has none."""
        if "episode_start" not in inspect.signature(self.model.predict).parameters:
            return None
        shape, dtype = (view.observation_size,), np.int8 if self.observation == "cards" else np.float32
        if hasattr(self.model, "observation_space"):
            shape, dtype = self.model.observation_space.shape, self.model.observation_space.dtype
        two, three = (
            self._predict(
                np.zeros((n, *shape), dtype), np.ones((n, view.num_actions)), None, np.ones(n, np.bool_)
            )[1]
            for n in (2, 3)
        )
        return None if two is None else _GameStates(two, three)

    def _read_spaces(self, spec: GameSpec) -> None:
        """Read off the spaces of the model which observations and actions it has."""
        model = self.model
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
        seen = self._seen(observations)
        if not self.stochastic:
            return self._remember(games, partial(self._predict, seen, masks))
        probabilities = self._remember(games, partial(self._probabilities, seen, masks))
        if uniforms is None:
            uniforms = np.random.default_rng().random(len(masks))
        return draw(probabilities, uniforms)

    def _remember(self, games: Array | None, answer: Callable[..., tuple[Array, Any]]) -> Array:
        """What a model answers in some games, whose states it gets and changes if it has any."""
        return answer()[0] if self._states is None else self._states.pass_through(games, answer)

    def _predict(
        self, seen: Array, masks: Array, state: Any = None, episode_start: Array | None = None
    ) -> tuple[Array, Any]:
        """The most probable actions and the next state, from observations in the model's format."""
        given = {} if episode_start is None else {"state": state, "episode_start": episode_start}
        actions, state = self.model.predict(seen, deterministic=True, **given, **self._given(masks))
        return np.asarray(actions), state

    def _probabilities(
        self, seen: Array, masks: Array, state: Any = None, episode_start: Array | None = None
    ) -> tuple[Array, Any]:
        """The probabilities of actions and the next state, from observations in the model's format."""
        policy = self.model.policy
        tensor, _ = policy.obs_to_tensor(seen)
        if state is None:
            distribution = policy.get_distribution(tensor, **self._given(masks))
        else:
            floats = tensor.float()
            distribution, state = policy.get_distribution(
                tensor, tuple(map(floats.new_tensor, state)), floats.new_tensor(episode_start),
                **self._given(masks),
            )  # fmt: skip
            state = tuple(part.detach().cpu().numpy() for part in state)
        return distribution.distribution.probs.detach().cpu().numpy(), state

    def _given(self, masks: Array) -> dict[str, Array]:
        """The legal actions, if the model takes them."""
        return {"action_masks": masks.astype(np.bool_)} if self.masked else {}

    def explain(self, observations: Array, masks: Array) -> Explanation:
        """The model's probabilities and values, if it has them and no state of the game."""
        if not self.stochastic or self.stateful:
            return None, None
        seen = self._seen(observations)
        probabilities, _ = self._probabilities(seen, masks)
        policy = self.model.policy
        values = policy.predict_values(policy.obs_to_tensor(seen)[0])[:, 0].detach().cpu().numpy()
        if self._normalizer is not None:
            values = self._normalizer.unnormalize_reward(values)
        return probabilities, values

    def ended(self, games: Sequence[int]) -> None:
        """Forget the states of games that have ended."""
        if self._states is not None:
            self._states.rows.free(games)

    def _seen(self, observations: Array) -> Array:
        """The observations in the model's format."""
        seen = observations if self._reader is None else self._reader.read_table(observations)
        return seen if self._normalizer is None else self._normalizer.normalize_obs(seen)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its weights, and of the statistics that normalize its observations."""
        parts: list[Any] = [self.name]
        if hasattr(self.model, "policy"):
            state = self.model.policy.state_dict()
            parts += [(key, tensor.cpu().numpy()) for key, tensor in state.items()]
        else:
            parts.append(own_fingerprint(self.model))
        if self._normalizer is not None:
            known = self._normalizer
            parts += [known.obs_rms.mean, known.obs_rms.var, known.clip_obs, known.epsilon]
        return digest(parts)


class _GameStates:
    """The states of a recurrent model, stored by game.

    Parameters
    ----------
    two, three
        States of the model for two and for three games; the axis on which they differ is that of the games.

    Raises
    ------
    ValueError
        If they are not arrays, or a tuple of arrays, that differ on one axis.
    """

    def __init__(self, two: Any, three: Any) -> None:
        self.rows = GameRows()
        self._is_tuple = isinstance(two, tuple)
        self._axes: list[int] = []
        self._arrays: list[Array] = []
        """The parts of the state, ``[rows, ...]``."""
        for some, more in zip(self._parts(two), self._parts(three), strict=True):
            shapes = np.shape(some), np.shape(more)
            axes = [axis for axis, sizes in enumerate(zip(*shapes, strict=False)) if sizes == (2, 3)]
            if len(axes) != 1 or not isinstance(some, np.ndarray):
                raise ValueError(
                    f"the model's state for two and three games has the shapes {shapes[0]} and {shapes[1]}, "
                    "allowed: an array, or a tuple of arrays, with one axis for the games"
                )
            self._axes.append(axes[0])
            self._arrays.append(np.moveaxis(np.zeros_like(some), axes[0], 0)[:0])

    def _parts(self, state: Any) -> tuple[Any, ...]:
        return tuple(state) if self._is_tuple else (state,)

    def pass_through(self, games: Array | None, answer: Callable[[Any, Array], tuple[Array, Any]]) -> Array:
        """Call ``answer(state, episode_start)`` with the states of some games, and store the states that it
        returns; return its first result.
        """
        rows, new = self.rows.find(games)
        missing = int(rows.max(initial=-1)) + 1 - len(self._arrays[0])
        if missing > 0:
            self._arrays = [
                np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)])
                for array in self._arrays
            ]
        for array in self._arrays:
            array[rows[new]] = 0
        parts = tuple(
            np.moveaxis(array[rows], 0, axis) for array, axis in zip(self._arrays, self._axes, strict=True)
        )
        result, state = answer(parts if self._is_tuple else parts[0], new)
        for array, axis, part in zip(self._arrays, self._axes, self._parts(state), strict=True):
            array[rows] = np.moveaxis(part, axis, 0)
        return result


def _check_observations(model: Any) -> None:
    """Raise an error if a model of SB3 needs other observations than those of the game."""
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
    """Whether an object is a model of Stable-Baselines3, or one with the same ``predict``, judged by its
    attributes.
    """
    if isinstance(x, type) or not callable(getattr(x, "predict", None)):
        return False
    spaces = hasattr(x, "observation_space") and hasattr(x, "action_space")
    return spaces or "episode_start" in inspect.signature(x.predict).parameters
