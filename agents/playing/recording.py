"""Plays or solves the games of a dataset, and records their actions."""

from collections import defaultdict
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.results.datasets import Recording, what
from solitaire_env import Variant, __version__, load_policy
from solitaire_env.core import GameSpec, Settings
from solitaire_env.evaluation import Runner
from solitaire_env.evaluation.runner import Decisions
from solitaire_env.policies.linear import has_weights
from solitaire_env.policies.policy import Policy
from solitaire_env.registration import step_limit
from solitaire_env.solving import load_solver
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]

SOURCES: Final = ("random", "greedy", "linear", "expert", "mixed", "solver")
"""Players: a policy; ``expert``, the shipped network; ``mixed``, equal parts of ``random``, ``linear`` (in
games without weights ``greedy``) and ``expert``; ``solver``, winning lines with the stock known."""


class RecordedGame(NamedTuple):
    """A finished game of a dataset."""

    deal: int
    player: int
    won: bool
    actions: Array


def players_of(source: str, variant: Variant) -> tuple[str, ...]:
    """The policies that play the games of a source; game ``k`` is played by number ``k % len(players)``."""
    if source == "mixed":
        return ("random", "linear" if has_weights(GameSpec(variant)) else "greedy", "shipped")
    return ("shipped",) if source == "expert" else (source,)


def play(
    policy: Policy, player: int, variant: Variant, deals: list[int], line: ProgressLine
) -> list[RecordedGame]:
    """Play games with a policy, in the registered environment of a game."""
    actions: defaultdict[int, list[int]] = defaultdict(list)

    def observe(decisions: Decisions, runner: Runner) -> None:
        for place, number in enumerate(runner.numbers[decisions.rows].tolist()):
            actions[number] += decisions.singles_of(place)

    games: list[RecordedGame] = []
    spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
    for ended in Runner(policy, spec, observe=observe).play(deals):
        for end in ended:
            # The step limit may cut a supermove.
            played = np.array(actions.pop(end.number, [])[: end.steps], dtype=np.uint16)
            games.append(RecordedGame(end.start, player, end.won, played))  # type: ignore[arg-type]  # from a deal
        line.count(len(games), len(deals), f"playing {policy.name}: {len(games)} of {len(deals)} games")
    line.close()
    return games


def solve(variant: Variant, deals: list[int], line: ProgressLine) -> list[RecordedGame]:
    """Win deals whose stock is known; deals that are not won within the step limit are left out."""
    solver = load_solver(variant)
    games: list[RecordedGame] = []
    for done, deal in enumerate(deals):
        solution = solver.solve_deal(deal)
        if solution.status == "won" and len(solution.line) <= step_limit(variant):
            games.append(RecordedGame(deal, 0, True, np.array(solution.line, dtype=np.uint16)))
        line.count(done, len(deals), f"solving: {done} of {len(deals)} deals, {len(games)} won")
    line.close()
    return games


def record(variant: Variant, source: str, deals: range, line: ProgressLine) -> Recording:
    """Play the games of a source.

    Raises
    ------
    ValueError
        If the game has no such policy, or no game has a move.
    """
    players: dict[str, str | None] = {}
    games: list[RecordedGame] = []
    if source == "solver":
        players["solver"] = None
        games = solve(variant, list(deals), line)
    else:
        names = players_of(source, variant)
        policies = [load_policy(name, variant) for name in names]
        for player, policy in enumerate(policies):
            players[names[player]] = policy.fingerprint
            games += play(policy, player, variant, list(deals[player :: len(names)]), line)
    games = sorted(game for game in games if len(game.actions))
    if not games:
        raise ValueError(f"{source} has no game with a move on deals {deals.start} to {deals.stop - 1}")
    about = {**what(variant, source, deals), "solitaire_env": __version__, "players": players}
    return Recording(
        about,
        np.array([game.deal for game in games], dtype=np.int64),
        np.array([game.player for game in games], dtype=np.uint8),
        np.array([game.won for game in games], dtype=np.bool_),
        np.array([len(game.actions) for game in games], dtype=np.int64),
        np.concatenate([game.actions for game in games]),
    )
