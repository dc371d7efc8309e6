"""Background jobs: win rates of policies, and whether a deal can be won."""

from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Final, Literal, Protocol

import numpy as np

from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.deals import Deal
from solitaire_env.core.position import Position
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Variant
from solitaire_env.evaluation import Game, evaluate, wilson_interval
from solitaire_env.evaluation.runner import Finished, Runner
from solitaire_env.notation import action_text
from solitaire_env.policies import load_policy
from solitaire_env.policies.load import load_class
from solitaire_env.registration import step_limit
from solitaire_env.transcripts import parse_transcript
from solitaire_env.util.messages import one_line, shown

SOLVER_SECONDS: Final = 20.0
"""Time limit of the solver for a deal."""


class Cancelled(Exception):
    """The job was cancelled."""


@dataclass(kw_only=True)
class Job:
    """A job and its progress."""

    variant: Variant
    state: Literal["waiting", "playing", "done", "cancelled", "failed"] = "waiting"
    error: str = ""
    cancel: Event = field(default_factory=Event)

    def report(self) -> dict[str, Any]:
        """State and results as plain data (JSON-able)."""
        return {"state": self.state, **({"error": self.error} if self.error else {})}

    def work(self) -> None:
        """Do the work of the job."""
        raise NotImplementedError

    def run(self) -> None:
        """Run the job unless it is cancelled; store any error."""
        try:
            self.stop_if_cancelled()
            self.state = "playing"
            self.work()
            self.state = "done"
        except Cancelled:
            self.state = "cancelled"
        except Exception as error:  # a custom policy may raise anything
            self.error = f"{self.what} failed: {type(error).__name__}, {one_line(error)}"
            self.state = "failed"

    @property
    def what(self) -> str:
        """The subject of an error message."""
        raise NotImplementedError

    def stop_if_cancelled(self, *_: object) -> None:
        """Raise :class:`Cancelled` if the job was cancelled."""
        if self.cancel.is_set():
            raise Cancelled


@dataclass(kw_only=True)
class WinRateJob(Job):
    """A policy's win rate on one deal or from one position, in the games played up to now."""

    name: str
    """Name of the policy."""
    start: Deal | Position
    """If it is a position, the hidden cards are shuffled for each game."""
    games: int
    done: list[Game | Finished] = field(default_factory=list)
    line: tuple[str, ...] = ()
    """The actions of the first won game."""

    @property
    def what(self) -> str:
        return f"policy {shown(self.name)}"

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = {**super().report(), "games": self.games, "played": len(self.done)}
        if done := list(self.done):
            wins = sum(game.won for game in done)
            report |= {
                "wins": wins,
                "win_rate": wins / len(done),
                "win_interval": wilson_interval(wins, len(done)),
                "cards_home": sum(game.cards_home for game in done) / len(done),
                "steps": sum(game.steps for game in done) / len(done),
            }
        return report | ({"line": self.line} if self.line else {})

    def work(self) -> None:
        """Play the games one after the other."""
        policy = load_policy(self.name, self.variant)
        for seed in range(self.games):
            if isinstance(self.start, Position):
                self.done += self._play_from(policy, shuffled(self.start, seed), seed)
                continue
            played = evaluate(
                policy,
                self.variant,
                [self.start],
                name=self.name,
                seed=seed,
                transcripts=not self.line,
                progress=self.stop_if_cancelled,
            )
            self.done += played.games
            if played.games[0].won and not self.line:
                self.line = parse_transcript(played.transcripts[self.start], self.variant).actions

    def _play_from(self, policy: Any, start: Position, seed: int) -> list[Finished]:
        spec = GameSpec(self.variant, Settings(max_episode_steps=step_limit(self.variant)))
        finished = []
        for ended in Runner(policy, spec, num_envs=1, seed=seed).play([start]):
            self.stop_if_cancelled()
            finished += ended
        return finished


def shuffled(position: Position, seed: int) -> Position:
    """The position with its hidden cards shuffled."""
    hidden = position.hidden()
    cards = iter(np.random.default_rng(seed).permutation(hidden.unseen()).tolist())
    tableau = tuple(
        tuple(DOWN | next(cards) if card == FACE_DOWN else card for card in pile) for pile in hidden.tableau
    )
    stock = tuple(next(cards) if card == FACE_DOWN else card for card in hidden.stock)
    return replace(position, tableau=tableau, stock=stock)


class Solution(Protocol):
    """The result of a solver."""

    result: Literal["winnable", "unwinnable", "unknown"]
    line: tuple[int, ...]
    """Actions that win the game."""


@dataclass(kw_only=True)
class SolverJob(Job):
    """Whether a deal can be won if all cards are known."""

    solver: str
    """``module:Class``; called with a variant, it returns an object with ``solve_deal(deal, seconds=)``."""
    deal: Deal
    result: str = "unknown"
    line: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        return f"solver {shown(self.solver)}"

    def report(self) -> dict[str, Any]:
        return {**super().report(), "result": self.result, "line": self.line}

    def work(self) -> None:
        """Solve the deal."""
        solution: Solution = load_class(self.solver)(self.variant).solve_deal(
            self.deal, seconds=SOLVER_SECONDS
        )
        self.result = solution.result
        if solution.result == "winnable":
            self.line = tuple(action_text(self.variant, action) for action in solution.line)
