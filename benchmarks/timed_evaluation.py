"""One timed evaluation with the code in the current folder.

A script for :mod:`benchmarks.evaluation`. Its arguments are a policy, a game and deals; it prints seconds,
seconds of processor time, and a digest of the ends of the games. The functions of ``python -m
agents.evaluate`` had the same arguments in other commits, in modules of other names.
"""

import hashlib
import json
import sys
import time
from importlib import import_module
from typing import Any, Final

WARM_UP: Final = "1000:1004"
"""Deals that are played before timing."""


def main(policy: str, env: str, deals: str) -> None:
    """Play the deals and print the results."""
    try:
        play_policy = import_module("agents.reports.compare").play_policy
        progress = import_module("solitaire_env.util.progress")
    except ImportError:
        play_policy = import_module("agents.compare").play_policy
        progress = import_module("solitaire_env.progress")
    make_config = import_module("agents.config").make_config
    line = progress.ProgressLine(True)

    def play(which: str) -> Any:
        return play_policy(policy, make_config({"env": env, "eval_deals": which}, "benchmark"), None, line)

    play(WARM_UP)
    start, processor = time.perf_counter(), time.process_time()
    games = play(deals).games
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    ends = [(g.deal, g.won, g.cards_home, g.steps, g.truncated, g.repeated) for g in games]
    print(json.dumps([seconds, processor, hashlib.sha256(repr(ends).encode()).hexdigest()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
