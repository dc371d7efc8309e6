"""What a policy would play in somebody's game, and why: hints, and playing on."""

from typing import Any, NamedTuple

import numpy as np

from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Variant
from solitaire_env.evaluation.runner import Decisions, Runner
from solitaire_env.notation import Move, action_text, describe_action, move_of
from solitaire_env.play.session import Session
from solitaire_env.policies import as_policy
from solitaire_env.registration import step_limit
from solitaire_env.transcripts import Thought


class Option(NamedTuple):
    """An action that a policy thinks of, in its own action set."""

    text: str
    words: str
    """What it does, in words."""
    move: Move
    """The cards and piles."""
    probability: float


class Advice(NamedTuple):
    """What a policy would do."""

    text: str
    """Text of its action, in the policy's own action set."""
    words: str
    """What that does, in words."""
    move: Move
    """The cards and piles."""
    actions: tuple[int, ...]
    """The actions of the environment that it stands for: several where a supermove is played card by card."""
    thought: Thought | None
    """What the policy thought, where it explains itself."""
    options: tuple[Option, ...]
    """The actions of the thought."""


class Adviser:
    """A policy that is asked about single games. Played straight through, a game is the one that the runner
    plays.

    Parameters
    ----------
    policy
        The policy, or what :func:`solitaire_env.policies.as_policy` takes.
    variant
        The game that is played, house rules included.
    seed
        Of a stochastic policy.
    """

    def __init__(self, policy: Any, variant: Variant, seed: int = 0) -> None:
        spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
        self.policy = as_policy(policy, spec)
        self.name = self.policy.name
        self.runner = Runner(self.policy, spec, num_envs=1, seed=seed)
        self.information = self.runner.view.settings.information
        self._last: tuple[tuple[int, str, int], Decisions] | None = None

    def advise(self, session: Session, likeliest: bool = False) -> Advice | None:
        """What the policy would do where the session's game stands; None where no action is legal.

        Parameters
        ----------
        likeliest
            Its likeliest action, where it knows that, rather than one that it draws: for a hint.

        Raises
        ------
        IllegalActionError
            If the policy names an action that is not legal.
        """
        if not session.legal():
            return None
        decisions = self._decide(session)
        action, thought = int(decisions.actions[0]), decisions.thoughts[0]
        singles = decisions.singles_of(0)
        view = self.runner.view
        if likeliest and thought is not None and thought.actions:
            action = view.actions.parse(thought.actions[0][0])
            singles = self.runner.expand(0, action)
        options = tuple(
            Option(text, *self._tell(view.actions.parse(text)), probability)
            for text, probability in (thought.actions if thought else ())
        )
        words, move = self._tell(action)
        return Advice(action_text(view.variant, action), words, move, tuple(singles), thought, options)

    def _tell(self, action: int) -> tuple[str, Move]:
        """What a legal action of the policy's action set does, in words, and what it moves."""
        seen, variant = self.runner.seen.state, self.runner.view.variant
        return describe_action(variant, seen, 0, action), move_of(variant, seen, 0, action)

    def _decide(self, session: Session) -> Decisions:
        """The policy's decision. It is asked once about a position, however often one looks."""
        position = session.full_position()
        asked = (session.number, session.env.position(), session.decisions)
        self.runner.take_up(position, session.start, session.decisions, session.number)
        if self._last is not None and self._last[0] == asked:
            self.runner.show(np.zeros(1, dtype=np.int64))
            return self._last[1]
        decisions = self.runner.decide(np.zeros(1, dtype=np.int64), explain=True)
        self._last = asked, decisions
        return decisions


def suggest(session: Session, adviser: Adviser | None = None) -> tuple[int, str] | None:
    """An action to play next and a sentence about it, from the adviser or, without one, from the session's
    own hint; None where no move is legal.
    """
    env = session.env
    if adviser is None:
        hint = session.hint()
        return (
            None if hint is None else (hint, f"perhaps {env.action_text(hint):<8}{env.describe_action(hint)}")
        )
    advice = adviser.advise(session, likeliest=True)
    return None if advice is None else (advice.actions[0], f"{adviser.name}: {advice.text:<8}{advice.words}")
