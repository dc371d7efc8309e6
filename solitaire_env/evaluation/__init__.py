"""Games played by policies: the runner, statistics of the games, result files.

Which policies there are is in :mod:`solitaire_env.policies`; trained ones are made in ``agents/``.
"""

from solitaire_env.evaluation.runner import (
    TOP_ACTIONS,
    Evaluation,
    Game,
    LayoutOf,
    Policy,
    Summary,
    ask,
    bootstrap_interval,
    draw,
    evaluate,
    game_rules,
    mcnemar,
    policy_layout,
    read_games,
    seen_by,
    summarize,
    think,
    transcript_name,
    wilson_interval,
)

__all__ = [
    "TOP_ACTIONS",
    "Evaluation",
    "Game",
    "LayoutOf",
    "Policy",
    "Summary",
    "ask",
    "bootstrap_interval",
    "draw",
    "evaluate",
    "game_rules",
    "mcnemar",
    "policy_layout",
    "read_games",
    "seen_by",
    "summarize",
    "think",
    "transcript_name",
    "wilson_interval",
]
