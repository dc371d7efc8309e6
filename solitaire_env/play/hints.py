"""Hints: the action that a policy would play in a session, with its reasons."""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Variant
from solitaire_env.evaluation.runner import Decisions, Runner
from solitaire_env.loading import as_policy
from solitaire_env.notation import Move, action_text, describe_action, move_of
from solitaire_env.play.session import Session
from solitaire_env.registration import step_limit
from solitaire_env.transcripts import Thought


class Option(NamedTuple):
    """An action that a policy considers, in its own action set."""

    text: str
    move: Move
    """The cards and piles."""
    probability: float


class Advice(NamedTuple):
    """The action that a policy would play."""

    text: str
    """Text of its action, in the policy's own action set."""
    words: str
    """The action in words."""
    move: Move
    """The cards and piles."""
    actions: tuple[int, ...]
    """The actions of the environment, in order: several if a supermove is played card by card."""
    thought: Thought | None = None
    """The policy's thought, if it explains itself."""
    options: tuple[Option, ...] = ()
    """The actions in the thought, likeliest first."""


class Adviser:
    """Gives the decisions of a policy in single games; threads may share it.

    If every decision is played, the game is the one that the runner plays.

    Parameters
    ----------
    policy
        The policy, or any argument of :func:`solitaire_env.loading.as_policy`.
    variant
        The game, including house rules.
    seed
        Seed of a stochastic policy.
    """

    def __init__(self, policy: Any, variant: Variant, seed: int = 0) -> None:
        spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
        self.policy = as_policy(policy, spec)
        self.name = self.policy.name
        self.explains = self.policy.explains
        self.deterministic = self.policy.deterministic
        self.runner = Runner(self.policy, spec, num_envs=1, seed=seed)
        self.information = self.runner.view.settings.information
        self._last: tuple[tuple[int, str, int], Decisions] | None = None
        self._lock = Lock()

    def advise(
        self, session: Session, likeliest: bool = False, decisions: int | None = None
    ) -> Advice | None:
        """The policy's action in the current position of a session; None if no action is legal.

        Parameters
        ----------
        likeliest
            Whether to return the likeliest action, if the policy knows it, instead of a random one.
        decisions
            Number of decisions in the game up to now; by default those of the session.

        Raises
        ------
        IllegalActionError
            If the policy chooses an illegal action.
        """
        if not session.legal():
            return None
        with self._lock:
            chosen = self._decide(session, session.decisions if decisions is None else decisions)
            action, thought = int(chosen.actions[0]), chosen.thoughts[0]
            singles = chosen.singles_of(0)
            view = self.runner.view
            if likeliest and thought is not None and thought.actions:
                action = view.actions.parse(thought.actions[0][0])
                singles = self.runner.expand(0, action)
            options = tuple(
                Option(text, self._describe(view.actions.parse(text))[1], probability)
                for text, probability in (thought.actions if thought else ())
            )
            words, move = self._describe(action)
        return Advice(action_text(view.variant, action), words, move, tuple(singles), thought, options)

    def _describe(self, action: int) -> tuple[str, Move]:
        """A legal action of the policy's action set in words, and the cards that it moves."""
        state, variant = self.runner.view_batch.state, self.runner.view.variant
        return describe_action(variant, state, 0, action), move_of(variant, state, 0, action)

    def _decide(self, session: Session, number: int) -> Decisions:
        """The policy's decision. The policy is called once per position; repeated calls return the stored
        decision.
        """
        position = session.full_position()
        key = (session.number, session.env.position(), number)
        stock_seen = session.env.get_state()["stock_seen"]
        self.runner.set_game(position, stock_seen, session.start, number, session.number)
        if self._last is not None and self._last[0] == key:
            self.runner.show(np.zeros(1, dtype=np.int64))
            return self._last[1]
        decisions = self.runner.decide(np.zeros(1, dtype=np.int64), explain=True)
        self._last = key, decisions
        return decisions
