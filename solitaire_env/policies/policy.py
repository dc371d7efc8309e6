"""The interface of policies: one class, one call signature, and its requirements as data."""

import contextlib
import copy
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Moves
from solitaire_env.policies.rows import GameRows

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
    """Whether it remembers games between moves. It gets the number of each game, and is called when games
    end."""
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
        return fingerprint_of(self)


class FunctionPolicy(Policy):
    """A plain function ``f(observations, masks) -> actions`` as a policy, or another callable object.

    What a policy declares (``moves``, ``observation``, ``stochastic``, ``explain``, ...) is read from the
    object. If it is ``stochastic`` or ``stateful``, it is called like :meth:`Policy.__call__`, otherwise with
    two arguments.

    An object with a method ``reset(rows)`` remembers games. It is called as ``f(observations, masks,
    rows=rows)``, where ``rows``, int64 ``[n]``, has the row of each game: numbers from 0 to below the number
    of games that are played in parallel. A game keeps its row. ``reset(rows)`` is called before the first
    decision of new games. If the object is ``stochastic``, it also gets ``uniforms``.

    Parameters
    ----------
    function
        The function or object.
    needs
        What the function does not declare itself, by name: ``observation="features"``.
    """

    def __init__(self, function: Callable[..., Any], **needs: Any) -> None:
        self.function, self._needs = function, needs
        self.name = str(
            getattr(function, "name", None) or getattr(function, "__name__", None) or type(function).__name__
        )
        declare(self, function, needs)
        self._reset: Callable[[npt.NDArray[np.int64]], object] | None = getattr(function, "reset", None)
        self._rows = GameRows()
        self.stateful = self.stateful or self._reset is not None

    def __call__(
        self, observations: Array, masks: Array, *, uniforms: Array | None = None, games: Array | None = None
    ) -> Array:
        """Call the function."""
        if self._reset is not None:
            rows, new = self._rows.find(games)
            if new.any():
                self._reset(rows[new])
            given = {"uniforms": uniforms} if self.stochastic else {}
            actions: Any = self.function(observations, masks, rows=rows, **given)
        elif self.stochastic or self.stateful:
            actions = self.function(observations, masks, uniforms=uniforms, games=games)
        else:
            actions = self.function(observations, masks)
        return actions  # type: ignore[no-any-return]  # checked by ``ask``

    def ended(self, games: Sequence[int]) -> None:
        """Other games get the rows of games that have ended."""
        self._rows.free(games)
        if hasattr(self.function, "ended"):
            self.function.ended(games)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the function."""
        own = own_fingerprint(self.function)
        return digest([own, sorted(self._needs.items())]) if self._needs else own


_DECLARED: Final = (
    "observation", "information", "moves", "stochastic", "stateful", "deterministic", "explain",
)  # fmt: skip


def declare(policy: Policy, source: Any, needs: dict[str, Any]) -> None:
    """Set what an object declares, or else ``needs``, as attributes of a policy."""
    for attribute in _DECLARED:
        value = getattr(source, attribute, None)
        if value is None:
            value = needs.get(attribute)
        if value is not None:
            setattr(policy, attribute, value)


def own_fingerprint(x: Any) -> str:
    """The fingerprint that an object declares, or else :func:`fingerprint_of` it."""
    given = getattr(x, "fingerprint", None)
    return given if isinstance(given, str) else fingerprint_of(x)


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


def fingerprint_of(x: Any) -> str:
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
