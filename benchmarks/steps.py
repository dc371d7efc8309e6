"""Steps per second of the environments, compared with another commit in the same run.

::

    python -m benchmarks.steps --against ../before
    python -m benchmarks.steps --against ../before --busy 4    beside four processes that only compute

``../before`` is a clone of another commit with its own environment (``make env`` there). A process of each
checkout plays, one after the other. The next actions, random legal ones, are chosen between the steps, as a
learner does it, but only the steps are timed. The row ``gym.make`` steps a single environment.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.busy import busy_processes
from benchmarks.speed import machine
from benchmarks.table import markdown
from solitaire_env.registration import env_id, env_variant
from solitaire_env.util.command_line import parse
from solitaire_env.util.progress import ProgressLine

PROG: Final = "python -m benchmarks.steps"
ROOT: Final = Path(__file__).parents[1]
GAMES: Final = ("forty-thieves", "eighty-thieves", "eights-down", "forty-bandits", "busy-aces")
SIZES: Final = ((0, 1), (16, 1), (1024, 1), (1024, 2), (16384, 2))
"""Numbers of games and of threads; 0 games for ``gym.make``."""
PLAYER: Final = """
import sys, time
import gymnasium, numpy, solitaire_env
from solitaire_env.core import set_num_threads

def single(name):
    env = gymnasium.make(name)
    def step(action):
        _, _, terminated, truncated, info = env.step(action)
        return env.reset()[1] if terminated or truncated else info
    return lambda: env.reset(seed=0)[1], lambda info: env.action_space.sample(info["action_mask"]), step

def vector(name, games):
    envs = gymnasium.make_vec(name, num_envs=games, copy=False)
    keys = numpy.random.default_rng(0).integers(1, 127, (8, envs.single_action_space.n), dtype=numpy.int8)
    turns = iter(range(2**60))
    def choose(info):
        return (info["action_mask"] * keys[next(turns) % 8]).argmax(1)
    return lambda: envs.reset(seed=0)[1], choose, lambda actions: envs.step(actions)[4]

made = {}
for line in sys.stdin:
    name, games, threads, seconds = line.split()
    set_num_threads(int(threads))
    if (name, games) not in made:
        made[name, games] = vector(name, int(games)) if int(games) else single(name)
    reset, choose, step = made[name, games]
    info, spent, steps, begun = reset(), 0.0, 0, time.perf_counter()
    while spent < float(seconds) and time.perf_counter() - begun < 4 * float(seconds):
        actions = choose(info)
        start = time.perf_counter()
        info = step(actions)
        spent += time.perf_counter() - start
        steps += int(games) or 1
    print(steps / spent, flush=True)
"""
"""Answers each line, an id, numbers of games and threads, and seconds, with the steps per second."""


@dataclass
class Arguments:
    """Compare the steps per second of the environments with another commit."""

    against: Path
    """Clone of the other commit, with its environment in ``.venv``."""
    games: tuple[str, ...] = GAMES
    """Names of the games."""
    busy: int = 0
    """Number of processes that compute meanwhile."""
    rounds: int = 7
    """Number of rounds, in which the two alternate; the result is the median."""
    seconds: float = 0.3
    """Seconds of each turn."""


class Player:
    """A process of a checkout that plays. Between its turns it is stopped, with all its threads."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [".venv/bin/python", "-c", PLAYER],
            cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def speed(self, game: str, games: int, threads: int, seconds: float) -> float:
        """Steps per second of the steps that take ``seconds``."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        print(env_id(env_variant(game)), games, threads, seconds, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        self.process.send_signal(signal.SIGSTOP)
        if not answer:
            raise ValueError(f"the process that plays {game} ended with status {self.process.wait()}")
        return float(answer)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def measure(arguments: Arguments, before: Player, now: Player) -> Iterator[list[str]]:
    """The rows of the table."""
    line = ProgressLine(quiet=False)
    for game in arguments.games:
        one = 0.0
        for games, threads in SIZES:
            line.show(f"{game}, {games} games")
            for player in (before, now):
                player.speed(game, games, threads, 0.05)
            speeds = [
                [player.speed(game, games, threads, arguments.seconds) for player in (before, now)]
                for _ in range(arguments.rounds)
            ]
            old, new = (median(turns) for turns in zip(*speeds, strict=True))
            ratio = median(after / earlier for earlier, after in speeds)
            one = new if threads == 1 else one
            gain = f"{new / one:.2f}" if threads > 1 and games == 1024 else ""
            what = f"{games:,} games" if games else "gym.make"
            yield [game, what, str(threads), f"{old:,.0f}", f"{new:,.0f}", f"{ratio:.2f}", gain]
    line.close()


def main(args: Sequence[str] | None = None) -> int:
    """Measure and print the table; the exit status."""
    arguments = parse(Arguments, args, PROG)
    try:
        with (
            busy_processes(arguments.busy),
            closing(Player(arguments.against)) as before,
            closing(Player(ROOT)) as now,
        ):
            rows = list(measure(arguments, before, now))
    except (OSError, ValueError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 2
    head = ("game", "environments", "threads", "before, steps/s", "now, steps/s", "ratio", "two/one")
    print(markdown(head, rows))
    print(f"\n{arguments.rounds} rounds of {arguments.seconds} s, {arguments.busy} busy processes.")
    print(machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
