"""The parts of the benchmark, and the bars that they must reach."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from tyro.conf import FlagCreatePairsOff

from benchmarks import GAMES, ours, peers, startup, training
from benchmarks.rounds import Contestant, Speed, Speeds
from benchmarks.table import Row, limit_row, rate_row, ratio_row, slowdown_row
from solitaire_env import VARIANTS
from solitaire_env.core import get_num_threads, set_num_threads
from solitaire_env.registration import env_variant

SIZES: Final = (256, 1024, 4096, 16_384, 65_536)
"""Numbers of games in the part ``scaling``; the last exceeds a processor's caches."""
THREADED: Final = (1024, 16_384)
"""Numbers of games for the comparison of one and several threads."""
SCALING_CALLS: Final = 320
"""Vector steps in a pass there: the same part of the games for each number of them. A thread that slept
during the reset is slow in its first milliseconds: a shorter pass would measure that."""
PROCESSES: Final = 5
"""Number of new processes; the result is the median."""


@dataclass(frozen=True)
class Arguments:
    """Measure speed and size of the environments, and compare with other libraries in the same run."""

    parts: tuple[str, ...] = (
        "vector", "scaling", "single", "copy-rows", "resample", "memory", "training", "startup",
    )  # fmt: skip
    """Parts to run."""
    games: tuple[str, ...] = GAMES
    """Games of the part vector, "all" for every one; the part every has all, resample has Klondike, the
    others use the first."""
    num_envs: int = 1024
    """Number of games, and of environments of other libraries."""
    threads: int = min(2, get_num_threads())
    """Number of threads of each."""
    rounds: int = 5
    """Number of rounds; the result is the median."""
    calls: int = 1000
    """Vector steps in a pass."""
    seconds: float = 0.5
    """Minimum time of each contestant in a round."""
    peers: FlagCreatePairsOff[bool] = False
    """Measure other libraries too; they must be installed."""
    quiet: FlagCreatePairsOff[bool] = False
    """Hide the progress line."""
    out: Path | None = None
    """Folder for the table, table.md, and the chart, throughput.png."""


class Part(NamedTuple):
    """Contestants that alternate with those of the other parts, and the rows of their speeds."""

    contestants: list[Contestant]
    rows: Callable[[Speeds], list[Row]]
    charted: bool = False
    """Whether the chart shows the contestants."""


def vector(arguments: Arguments) -> Part:
    """The vector environment: observations not copied, copied, and as features; with the peers."""
    num_envs, threads, calls = arguments.num_envs, arguments.threads, arguments.calls
    variants = {game: env_variant(game) for game in arguments.games}
    titles = {game: variant.title for game, variant in variants.items()}
    kinds: dict[str, dict[str, Any]] = {
        "": {"copy": False},
        ", copy=True": {"copy": True},
        ", features": {"copy": False, "observation": "features"},
    }
    contestants = [
        ours.vector(f"{title}{kind}", game, num_envs, threads, calls, **settings)
        for kind, settings in kinds.items()
        for game, title in titles.items()
    ]
    if arguments.peers:
        contestants += peers.all_vector(num_envs, threads, calls)

    def rows(speeds: Speeds) -> list[Row]:
        names = [f"{title}{kind}" for kind in kinds for title in titles.values()]
        if not arguments.peers:
            return [rate_row(name, speeds[name], "steps/s") for name in names]
        envpool = _faster(speeds, peers.ENVPOOL)
        first = env_variant("forty-thieves").title
        many = {v.title for v in variants.values() if v.worrying_back or v.moves == "any group"}
        of_envpool = [
            ratio_row(
                f"{title}{kind} / EnvPool CartPole-v1",
                speeds[f"{title}{kind}"],
                envpool,
                _bar(kind, first=title == first, many=title in many),
            )
            for kind in kinds
            for title in titles.values()
        ]
        of_others = [
            ratio_row(f"{first} / {peer}", speeds[first], speeds[peer], at_least)
            for peer, at_least in OTHER_PEERS.items()
            if first in speeds
        ]
        if KLONDIKE in speeds:
            of_others.append(
                ratio_row(f"{KLONDIKE} / {peers.OPEN_SPIEL}", speeds[KLONDIKE], speeds[peers.OPEN_SPIEL], 300)
            )
        return [*of_envpool[:1], *of_others, *of_envpool[1:]]

    return Part(contestants, rows, charted=True)


def every(arguments: Arguments) -> Part:
    """Every game, observations not copied; with EnvPool."""
    num_envs, threads, calls = arguments.num_envs, arguments.threads, arguments.calls
    contestants = [
        ours.vector(variant.title, variant.name, num_envs, threads, calls, copy=False) for variant in VARIANTS
    ]
    if arguments.peers:
        contestants += [peers.envpool(name, num_envs, threads, calls) for name in peers.ENVPOOL]

    def rows(speeds: Speeds) -> list[Row]:
        titles = sorted((variant.title for variant in VARIANTS), key=lambda title: -speeds[title].median)
        if not arguments.peers:
            return [rate_row(title, speeds[title], "steps/s") for title in titles]
        envpool = _faster(speeds, peers.ENVPOOL)
        return [ratio_row(f"{title} / EnvPool CartPole-v1", speeds[title], envpool, 8) for title in titles]

    return Part(contestants, rows)


def _faster(speeds: Speeds, names: Sequence[str]) -> Speed:
    """The speed of the fastest of some contestants."""
    return max((speeds[name] for name in names), key=lambda speed: speed.median)


def _bar(kind: str, *, first: bool, many: bool) -> float | None:
    """The required ratio to EnvPool of a game, lower if it has many actions; None if there is none."""
    if many:
        return 8 if kind == "" else None
    return 15 if first and kind == "" else {"": 10, ", copy=True": 8, ", features": 5}[kind]


KLONDIKE: Final = env_variant("klondike-draw-3").title
"""The game of OpenSpiel's ``solitaire``."""
OTHER_PEERS: Final = {
    peers.PGX: 15.0,
    peers.JUMANJI: None,
    peers.OPEN_SPIEL: 400.0,
    peers.OPEN_SPIEL_NUMPY: None,
}
"""Peers of Forty Thieves and the required ratios, if there is a bar."""


def scaling(arguments: Arguments) -> Part:
    """One and several threads, by the number of games; few games always run on one thread."""
    game, threads = arguments.games[0], arguments.threads
    title = env_variant(game).title

    def name(num_envs: int, threads: int) -> str:
        return f"{title}, {num_envs:,} envs, {threads} thread{'s' if threads > 1 else ''}"

    cases = [(size, 1) for size in SIZES]
    if threads > 1:
        cases += [(size, threads) for size in THREADED]
    contestants = [ours.vector(name(*case), game, *case, SCALING_CALLS, copy=False) for case in cases]

    def rows(speeds: Speeds) -> list[Row]:
        of_threads = [
            ratio_row(
                f"{title}, {size:,} envs: {threads} threads / 1",
                speeds[name(size, threads)],
                speeds[name(size, 1)],
                1.7 if threads == 2 else None,
            )
            for size in THREADED
            if threads > 1
        ]
        times = [1e9 / speeds[name(size, 1)].median for size in SIZES]
        cached, shortest = times[:-1], min(times[:-1])
        span = f"{SIZES[0]:,} to {SIZES[-2]:,} envs"
        return [
            *of_threads,
            slowdown_row(f"{title}, 1 thread, {span}: slowest / fastest", max(cached), shortest, 1.25),
            slowdown_row(f"{title}, 1 thread, {SIZES[-1]:,} envs / those", times[-1], shortest, 1.6),
        ]

    return Part(contestants, rows)


def single(arguments: Arguments) -> Part:
    """One environment through ``gym.make``, with Gymnasium's own CartPole."""
    name = f"{env_variant(arguments.games[0]).title}, gym.make"

    def rows(speeds: Speeds) -> list[Row]:
        return [ratio_row(f"{name} / {peers.GYMNASIUM}", speeds[name], speeds[peers.GYMNASIUM], 1)]

    return Part([ours.gym_make(name, arguments.games[0]), peers.gymnasium_cartpole()], rows, charted=True)


def copy_rows(arguments: Arguments) -> Part:
    """Rows copied inside the batch."""
    game = arguments.games[0]
    name = f"{env_variant(game).title}, copy_rows"
    contestant = ours.copy_rows(name, game, arguments.num_envs, arguments.threads, arguments.calls)
    return Part([contestant], lambda speeds: [rate_row(name, speeds[name], "rows/s", 5e6)])


def resample(arguments: Arguments) -> Part:
    """Hidden cards dealt again, in Klondike."""
    game = "klondike"
    name = f"{env_variant(game).title}, resample"
    contestant = ours.resample(name, game, arguments.num_envs, arguments.calls)
    return Part([contestant], lambda speeds: [rate_row(name, speeds[name], "worlds/s", 1e6)])


def memory(arguments: Arguments) -> Part:
    """Bytes of the arrays of one environment."""
    game, num_envs = arguments.games[0], arguments.num_envs

    def rows(_: Speeds) -> list[Row]:
        kilobytes = ours.bytes_per_env(game, num_envs) / 1000
        return [limit_row(f"{env_variant(game).title}: memory an environment", kilobytes, "KB", 1.5)]

    return Part([], rows)


def train(arguments: Arguments) -> Part:
    """MaskablePPO over the native VecEnv, and over DummyVecEnv."""
    game = arguments.games[0]
    training.require()

    def rows(_: Speeds) -> list[Row]:
        result = training.measure_training(game, arguments.rounds)
        what = f"{env_variant(game).title}, MaskablePPO, {training.NUM_ENVS} envs"
        return [
            ratio_row(f"{what}: collection / DummyVecEnv", result.native, result.dummy, 3),
            limit_row(f"{what}: share of the environment", 100 * result.share, "%", 5),
        ]

    return Part([], rows)


def start(arguments: Arguments) -> Part:
    """Import, first step and first games in a new process."""
    game = arguments.games[0]

    def rows(_: Speeds) -> list[Row]:
        found = [limit_row("import solitaire_env", startup.import_time(PROCESSES), "s", 0.3)]
        for what in startup.FIRST:
            start = startup.time_first(what, game, arguments.num_envs, PROCESSES)
            said = f", {start.lines} lines on stderr"
            bar = 0.5 if what in startup.STEPS else 1.0
            found.append(limit_row(what, start.seconds, "s", bar, said, start.lines == 0))
        return found

    return Part([], rows)


PARTS: Final[dict[str, Callable[[Arguments], Part]]] = {
    "vector": vector,
    "every": every,
    "scaling": scaling,
    "single": single,
    "copy-rows": copy_rows,
    "resample": resample,
    "memory": memory,
    "training": train,
    "startup": start,
}


def make_parts(arguments: Arguments) -> list[Part]:
    """The parts that the command line selects, ready to run.

    Raises
    ------
    ValueError
        If an argument is not allowed.
    ImportError
        If a needed library is not installed.
    """
    if not arguments.games:
        raise ValueError("--games is empty, allowed: one game or more")
    if arguments.games == ("all",):
        arguments = replace(arguments, games=tuple(variant.name for variant in VARIANTS))
    for name in ("rounds", "calls"):
        if getattr(arguments, name) < 1:
            raise ValueError(f"--{name} is {getattr(arguments, name)}, allowed: at least 1")
    unknown = [name for name in arguments.parts if name not in PARTS]
    if unknown:
        raise ValueError(f"--parts has {unknown[0]!r}, allowed: {', '.join(PARTS)}")
    set_num_threads(arguments.threads)
    return [PARTS[name](arguments) for name in arguments.parts]
