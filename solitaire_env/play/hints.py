"""What a policy would play in the game of a single environment, and why.

A policy is as :mod:`solitaire_env.evaluation` says.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import LayoutOf, ask, policy_layout, seen_by, think
from solitaire_env.play.session import Session
from solitaire_env.transcripts import Thought
from solitaire_env.util.messages import one_line, shown
from solitaire_env.variants import Variant


class Advice(NamedTuple):
    """What a policy would do."""

    text: str
    """Text of its action, in the policy's own action set."""
    words: str
    """What that does, in words."""
    actions: tuple[int, ...]
    """The actions of the environment that it comes to: several where a supermove is played card by card."""
    thought: Thought | None
    """How it came to that, from a policy that explains itself."""


class Adviser:
    """A policy that is asked about single games.

    Parameters
    ----------
    policy
        The policy.
    variant
        The game that is played, house rules included.
    """

    def __init__(self, policy: Any, variant: Variant) -> None:
        self.policy = policy
        self.variant = variant
        self.name = str(getattr(policy, "name", None) or type(policy).__name__)
        seen, wanted = seen_by(policy, variant)
        self.information = wanted.information
        self._seen = SolitaireEnv(
            seen, observation=wanted.observation, information=wanted.information, on_invalid="raise"
        )

    def advise(self, env: SolitaireEnv, likeliest: bool = False) -> Advice | None:
        """What the policy would do in the environment's position; None where no action is legal.

        Parameters
        ----------
        likeliest
            Its likeliest action, where it tells that, rather than one that it draws: for a hint.

        Raises
        ------
        IllegalActionError
            If the policy names an action that is not legal.
        """
        observation, info = self._seen.reset(options={"position": env.position()})
        if not self._seen.legal_actions():
            return None
        observations, masks = observation[None], info["action_mask"][None]
        thought = think(self.policy, self._seen.variant, observations.copy(), masks.copy())[0]
        if likeliest and thought is not None and thought.actions:
            action = self._seen.parse_action(thought.actions[0][0])
        else:
            action = int(ask(self.policy, observations, masks)[0])
        text, words = self._seen.action_text(action), self._seen.describe_action(action)
        same = self._seen.variant == self.variant
        actions = (action,) if same else tuple(self._seen.expand(action))
        return Advice(text, words, actions, thought)


def load_class(path: str) -> Callable[..., Any]:
    """The class, or function, of a ``module:Class`` text.

    Raises
    ------
    ValueError
        If there is no such thing.
    """
    module, _, attribute = path.partition(":")
    try:
        if not all(map(str.isidentifier, module.split("."))):
            raise ImportError(f"{module!r} is not the name of a module")
        made = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"policy {path!r} cannot be loaded: {error}") from None
    except Exception as error:
        raise _failed(path, "loaded", error) from error
    if not callable(made):
        raise ValueError(f"policy {path!r} is a {type(made).__name__}, allowed: a class or a function")
    return made  # type: ignore[no-any-return]


def load_policy(name: str, variant: Variant) -> Any:
    """A policy for a game by name.

    Parameters
    ----------
    name
        ``module:Class``, which is called with the game's layout as the policy wants to see it; or
        ``module:function@text``, a function that is called with the text and with another function, which
        gives the layout for a policy (:class:`~solitaire_env.evaluation.LayoutOf`):
        ``agents:policy@runs/busy-aces-1``.

    Raises
    ------
    ValueError
        If it cannot be loaded.
    """
    path, at, text = name.partition("@")
    if not re.fullmatch(r"[\w.]+:\w+", path):
        raise ValueError(
            f"unknown policy {shown(name)}, allowed: 'module:Class' or 'module:function@text', "
            "such as 'agents:policy@greedy'"
        )
    made = load_class(path)
    arguments = (text, LayoutOf(variant)) if at else (policy_layout(variant, made),)
    try:
        return made(*arguments)
    except Exception as error:
        raise _failed(name, "made", error) from error


def suggest(session: Session, adviser: Adviser | None = None) -> tuple[int, str] | None:
    """An action to play next and what to say of it, from the adviser or, without one, from the session's own
    hint; None where no move is legal.
    """
    env = session.env
    if adviser is None:
        hint = session.hint()
        return (
            None if hint is None else (hint, f"perhaps {env.action_text(hint):<8}{env.describe_action(hint)}")
        )
    advice = adviser.advise(env, likeliest=True)
    return None if advice is None else (advice.actions[0], f"{adviser.name}: {advice.text:<8}{advice.words}")


def _failed(name: str, what: str, error: Exception) -> ValueError:
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return ValueError(f"policy {shown(name)} cannot be {what}: {kind}{one_line(error, 300)}")
