"""Steps a second of the vector environment, and of other libraries' in the same run.

::

    python -m benchmarks.throughput              our games
    python -m benchmarks.throughput --peers      and EnvPool's CartPole, where envpool is installed

All take turns for some rounds, so that whatever else the machine does meets each of them alike. The ratio is
that of the median round to the median round of the faster EnvPool row.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Final, NamedTuple

import gymnasium
import numba
import numpy as np
import tyro

import solitaire_env
from solitaire_env.cli import TIMED, Recording, machine, print_table
from solitaire_env.registration import env_variant, step_limit
from solitaire_env.vector import SolitaireVectorEnv

PEER_ENV: Final = "CartPole-v1"
PEER_STEPS: Final = 1000
"""Calls of the peer's step in a pass."""


@dataclass(frozen=True)
class Arguments:
    """Steps a second of the vector environment, beside other libraries' in the same run."""

    games: tuple[str, ...] = tuple(variant.name for variant in solitaire_env.VARIANTS)
    """Games to measure."""
    num_envs: int = 1024
    """Number of games, and of the peers' environments."""
    threads: int = min(2, numba.get_num_threads())
    """Threads for each."""
    rounds: int = 5
    """Rounds; the median counts."""
    seconds: float = 1.0
    """Time of each in a round, at least."""
    peers: tyro.conf.FlagCreatePairsOff[bool] = False
    """Measure EnvPool too; it must be installed."""


class Contestant(NamedTuple):
    """Something to measure."""

    name: str
    steps: int
    """Environment steps in a pass."""
    run: Callable[[], float]
    """Run a pass; the seconds that it took."""
    peer: bool = False


def ours(game: str, num_envs: int, copy: bool) -> Contestant:
    """A game of ours, by random legal actions that were recorded beforehand."""
    variant = env_variant(game)
    env = SolitaireVectorEnv(num_envs, variant, max_episode_steps=step_limit(variant), copy=copy)
    recording = Recording(env)
    return Contestant(f"{variant.title}{', copied' if copy else ''}", recording.steps, recording.replay)


def envpool(num_envs: int, threads: int, waiting: bool) -> Contestant:
    """EnvPool's CartPole by given random actions: all at once, or half of the environments at a time."""
    try:
        library = import_module("envpool")
    except ImportError:
        raise ImportError("--peers needs EnvPool: pip install envpool==1.2.5") from None
    gymnasium.logger.min_level = gymnasium.logger.ERROR  # of its bounds' precision
    batch = num_envs if waiting else max(1, num_envs // 2)
    env = library.make_gymnasium(PEER_ENV, num_envs=num_envs, batch_size=batch, num_threads=threads, seed=0)
    choices = np.random.default_rng(0).integers(2, size=(PEER_STEPS, batch))

    def in_step() -> float:
        env.reset()
        start = time.perf_counter()
        for actions in choices:
            env.step(actions)
        return time.perf_counter() - start

    def by_halves() -> float:
        start = time.perf_counter()
        for actions in choices:
            *_, info = env.recv()
            env.send(actions, info["env_id"])
        return time.perf_counter() - start

    if not waiting:
        env.async_reset()
    name = f"EnvPool {version('envpool')} {PEER_ENV}, {'sync' if waiting else 'async'}"
    return Contestant(name, choices.size, in_step if waiting else by_halves, peer=True)


def measure(contestants: list[Contestant], rounds: int, seconds: float) -> list[list[float]]:
    """Steps a second of each contestant in each round."""
    rates: list[list[float]] = [[] for _ in contestants]
    for contestant in contestants:
        contestant.run()
    for _ in range(rounds):
        for contestant, of_contestant in zip(contestants, rates, strict=True):
            passes, spent = 0, 0.0
            while not passes or spent < seconds:
                spent += contestant.run()
                passes += 1
            of_contestant.append(passes * contestant.steps / spent)
    return rates


def main(args: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for and print the table; the exit code."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.throughput", args=args)
    num_envs = arguments.num_envs
    try:
        if arguments.rounds < 1:
            raise ValueError(f"--rounds is {arguments.rounds}, allowed: at least 1")
        numba.set_num_threads(arguments.threads)
        contestants = [ours(game, num_envs, copy=False) for game in arguments.games]
        contestants += [ours(game, num_envs, copy=True) for game in arguments.games[:1]]
        if arguments.peers:
            contestants += [envpool(num_envs, arguments.threads, waiting) for waiting in (True, False)]
    except (ValueError, ImportError, MemoryError) as error:
        print(f"python -m benchmarks.throughput: {error}", file=sys.stderr)
        return 2
    rates = [np.array(of_one) for of_one in measure(contestants, arguments.rounds, arguments.seconds)]
    medians = [float(np.median(of_one)) for of_one in rates]
    peer = max((rate for rate, one in zip(medians, contestants, strict=True) if one.peer), default=None)
    rows = []
    for one, of_one, median in zip(contestants, rates, medians, strict=True):
        figures = (f"{rate:,.0f}" for rate in (median, of_one.min(), of_one.max()))
        rows.append([one.name, *figures, None if peer is None else f"{median / peer:.2f}"])
    print_table(["", "steps/s", "slowest", "fastest", "ratio"], rows)
    print(f"\n{num_envs} environments; the median, slowest and fastest of {arguments.rounds} rounds.")
    print("ratio: of the median to that of the faster EnvPool row. copied: with copy=True.")
    print(f"{TIMED}\n{machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
