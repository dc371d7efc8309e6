"""NetworkPlayer: a trained network as a policy that plays."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th

from agents.networks import Network
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import autoplay_safe_moves, keep_safe_moves
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.model_files import hash_weights
from solitaire_env.policies.policy import Policy

Array = npt.NDArray[Any]


class NetworkPlayer(Policy):
    """A network as a policy: it draws a legal action from the network's probabilities.

    Always choosing the likeliest action would repeat moves that undo each other forever.

    Parameters
    ----------
    network
        It is changed to compute in float64. In float32 the rounding of a sum depends on the batch size and on
        the machine, and occasionally another action would be drawn.
    spec
        The game as the network sees it.
    name
        Name of the policy.
    seed
        Seed of the draws if the caller passes no random numbers.
    value
        Maps the network's value features to the value, ``[n, 1]``; None if the model has no value head.
    temperature
        Of a network whose scores are values of moves: they are divided by it, and the value is the highest
        of them. None if scores are logits.
    safe_autoplay
        Whether safe autoplay (:mod:`solitaire_env.move_features.autoplay`) is played first, so that the
        network chooses only where there is none.
    """

    stochastic = True

    def __init__(
        self, network: Network, spec: GameSpec, name: str, *, seed: int = 0,
        value: th.nn.Module | None = None, temperature: float | None = None, safe_autoplay: bool = False,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.name = name
        self.moves = spec.variant.moves
        self.observation = spec.settings.observation
        self.information = spec.settings.information
        self._rules = spec.rules
        self.safe_autoplay = safe_autoplay
        self.network = self._in_64_bits(network.eval())
        self.value = value and self._in_64_bits(value)
        self.temperature = temperature
        self.random = np.random.Generator(np.random.PCG64(seed))
        self._explained: tuple[Array, Array, Array | None] | None = None

    def _in_64_bits(self, network: Any) -> Any:
        """The network, with linear layers that compute in float64 from now on, for any input."""
        for part in network.double().modules():
            if isinstance(part, th.nn.Linear):
                part.register_forward_pre_hook(lambda layer, given: (given[0].to(layer.weight.dtype),))
        return network

    def choices(self, observations: Array, masks: Array) -> Array:
        """The masks of the moves to choose from: only safe autoplay where it is possible."""
        if not self.safe_autoplay:
            return masks
        return keep_safe_moves(masks, autoplay_safe_moves(self._rules, observations, masks))

    @th.inference_mode()
    def explain(self, observations: Array, masks: Array) -> tuple[Array, Array | None]:
        """The probabilities of the actions, ``[n, actions]``, and the expected returns, ``[n]`` or None.

        A second call with the same observations returns the stored result.
        """
        if self._explained is None or not np.array_equal(self._explained[0], observations):
            choices = self.choices(observations, masks)
            seen = self.network.score(th.tensor(observations), choices)
            scores = seen.dense(masks.shape[1])
            values = None if self.value is None else self.value(seen.features)[:, 0].numpy()
            if self.temperature is not None:
                values = scores.amax(1).numpy()
                scores = scores / self.temperature
            self._explained = observations.copy(), scores.softmax(1).numpy(), values
        return self._explained[1:]

    @th.inference_mode()
    def values(self, observations: Array) -> Array | None:
        """The expected returns of positions, ``[n]``; None without a value head, and if they are the highest
        value of a move.
        """
        if self.value is None:
            return None
        found: Array = self.value(self.network.value(th.from_numpy(observations)))[:, 0].numpy()
        return found

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
        return draw(probabilities, self.random.random(len(masks)) if uniforms is None else uniforms)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the weights, in float32 as they are stored."""
        state = self.network.state_dict()
        return hash_weights({name: tensor.float().cpu().numpy() for name, tensor in state.items()})
