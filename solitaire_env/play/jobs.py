"""Background jobs: win rates of policies, and whether a deal can be won."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Final, Literal

import numpy as np

from solitaire_env.core.batch import Start
from solitaire_env.core.cards import DOWN, FACE_DOWN
from solitaire_env.core.deals import Deal
from solitaire_env.core.position import Position
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Variant
from solitaire_env.evaluation import wilson_interval
from solitaire_env.evaluation.runner import Finished, Runner
from solitaire_env.loading import load_policy
from solitaire_env.notation import action_text
from solitaire_env.registration import step_limit
from solitaire_env.solving import solve
from solitaire_env.util.messages import one_line

SOLVER_SECONDS: Final = 20.0
"""Time limit of the solver for a deal."""
SOLVER_MEMORY: Final = 250
"""Memory of the solver, in megabytes."""


class Cancelled(Exception):
    """The job was cancelled."""


@dataclass
class Job:
    """A job and its progress."""

    what: str
    """The policy or the solver, for error messages."""
    work: Callable[["Job"], None]
    """Does the work, and updates ``results``."""
    results: dict[str, Any] = field(default_factory=dict)
    """Plain data (JSON-able)."""
    state: Literal["waiting", "playing", "done", "cancelled", "failed"] = "waiting"
    cancelled: Event = field(default_factory=Event)

    def report(self) -> dict[str, Any]:
        """State and results as plain data (JSON-able)."""
        return {"state": self.state, **self.results}

    def run(self) -> None:
        """Run the job unless it is cancelled; store any error."""
        try:
            self.stop_if_cancelled()
            self.state = "playing"
            self.work(self)
            self.state = "done"
        except Cancelled:
            self.state = "cancelled"
        except Exception as error:  # a custom policy may raise anything
            self.results["error"] = f"{self.what} failed: {type(error).__name__}, {one_line(error)}"
            self.state = "failed"

    def stop_if_cancelled(self) -> None:
        """Raise :class:`Cancelled` if the job was cancelled."""
        if self.cancelled.is_set():
            raise Cancelled

    def cancel(self) -> None:
        """Stop the job soon."""
        self.cancelled.set()
        if self.state == "waiting":
            self.state = "cancelled"


def measure_win_rate(job: Job, name: str, variant: Variant, start: Start, games: int) -> None:
    """Let a policy play a deal, or a position with its hidden cards shuffled, several times.

    The results are those of the games played up to now; ``line`` is the line of a game that won the deal.
    """
    job.results |= {"games": games, "played": 0}
    policy = load_policy(name, variant)
    spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
    done: list[Finished] = []
    for seed in range(games):
        first = shuffled(start, seed) if isinstance(start, Position) else start
        for ended in Runner(policy, spec, num_envs=1, seed=seed, record=True).play([first]):
            job.stop_if_cancelled()
            done += ended
        wins = sum(game.won for game in done)
        job.results |= {
            "played": len(done),
            "wins": wins,
            "win_rate": wins / len(done),
            "win_interval": wilson_interval(wins, len(done)),
            "cards_home": sum(game.cards_home for game in done) / len(done),
            "steps": sum(game.steps for game in done) / len(done),
        }
        if done[-1].won and not isinstance(start, Position):
            line = [action_text(variant, move.action) for move in done[-1].moves]
            job.results.setdefault("line", line)


def shuffled(position: Position, seed: int) -> Position:
    """The position with its hidden cards shuffled."""
    hidden = position.hidden()
    cards = iter(np.random.default_rng(seed).permutation(hidden.unseen()).tolist())
    tableau = tuple(
        tuple(DOWN | next(cards) if card == FACE_DOWN else card for card in pile) for pile in hidden.tableau
    )
    stock = tuple(next(cards) if card == FACE_DOWN else card for card in hidden.stock)
    return replace(position, tableau=tableau, stock=stock)


def solve_deal(job: Job, variant: Variant, deal: Deal) -> None:
    """Find out whether a deal can be won if all cards are known."""
    solution = solve(
        variant, deal, seconds=SOLVER_SECONDS, memory=SOLVER_MEMORY,
        progress=lambda *_: job.stop_if_cancelled(),
    )  # fmt: skip
    job.results |= {"result": solution.status, "line": solution.texts if solution.status == "won" else ()}
