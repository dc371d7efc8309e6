"""Games played by policies: the runner, statistics of the games, result files.

Policies are in :mod:`solitaire_env.policies`; ``agents/`` trains them.
"""

from solitaire_env.evaluation.evaluator import Evaluation, evaluate, game_rules
from solitaire_env.evaluation.result_files import Game, read_results
from solitaire_env.evaluation.runner import TOP_ACTIONS, Decisions, Finished, Runner, think
from solitaire_env.evaluation.statistics import (
    Summary,
    bootstrap_interval,
    mcnemar,
    summarize,
    wilson_interval,
)
from solitaire_env.policies.drawing import draw
from solitaire_env.policies.policy import Policy

__all__ = [
    "TOP_ACTIONS",
    "Decisions",
    "Evaluation",
    "Finished",
    "Game",
    "Policy",
    "Runner",
    "Summary",
    "bootstrap_interval",
    "draw",
    "evaluate",
    "game_rules",
    "mcnemar",
    "read_results",
    "summarize",
    "think",
    "wilson_interval",
]
