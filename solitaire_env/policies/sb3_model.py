"""Models of Stable-Baselines3 and sb3-contrib as policies."""

import inspect
import warnings
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
from solitaire_env.policies.policy import Explanation, Policy, digest

Array = npt.NDArray[Any]


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
