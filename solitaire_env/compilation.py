"""Ahead-of-time compilation: the jobs of the package, and the worker processes that run them.

A job is a function that makes the smallest real calls of some kernels, so that their compiled code is written
to the cache or found there. A file with new kernels needs a job here, or in :mod:`agents.commands.compile`; a
test runs the commands after ``compile`` and finds missing kernels.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import connection, get_context
from typing import Any, Final, NamedTuple

import numpy as np

from solitaire_env.util.cores import usable_cores
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine, clock
from solitaire_env.variants import VARIANTS, get_variant


class Job(NamedTuple):
    """Kernels that are compiled together."""

    name: str
    run: Callable[[], object]
    """A function of a module, which a worker process can import."""
    seconds: float
    """Estimated duration after its prerequisites; the longest chain of jobs starts first."""
    after: tuple[str, ...] = ()
    """Jobs that compile functions which this one calls. It waits for them, so that no two workers compile the
    same function."""


class Compiled(NamedTuple):
    """The result of compilation."""

    functions: int
    """Number of functions that were compiled; 0 if all were in the cache."""
    seconds: float
    """Wall-clock seconds."""
    cpu_seconds: float
    """Processor seconds of all workers."""
    folder: str
    """Folder with the compiled code of the engine."""


# ----------------------------------------------------------------------------------------- the jobs
#
# Each imports the modules it calls: only the workers load numba.

FEW: Final = 2
"""Games that are played to compile for one thread."""
MANY: Final = 512
"""Enough games for a second thread."""


def _batch(observation: Any = "cards", size: int = FEW) -> Any:
    from solitaire_env.core import Batch, GameSpec, Settings

    batch = Batch(GameSpec(VARIANTS[0], Settings(observation=observation)), size)
    batch.deal(np.arange(size), [0] * size)
    return batch


def _deal_games() -> None:
    """Numbered deals, deals of a stream, and games from a position."""
    from solitaire_env.core import deals

    batch = _batch()
    batch.deal_next(np.arange(FEW))
    deals.pick_deals(batch.streams, np.arange(FEW))
    batch.set_row(0, batch.state.rows[1].copy())


def _step_games() -> None:
    from solitaire_env.core import engine

    batch = _batch()
    batch.step(np.zeros(FEW, dtype=np.int64), batch.everyone)
    batch.copy_rows(np.array([0]), np.array([1]))
    action = int(np.flatnonzero(batch.state.mask[0])[0])
    engine.move_of(batch.rules, batch.state, 0, action)


def _step_many() -> None:
    """Steps on several threads, where kernels may use several."""
    batch = _batch(size=MANY)
    batch.step(np.zeros(MANY, dtype=np.int64), batch.everyone)


def _copy_many() -> None:
    half = np.arange(MANY)
    _batch(size=2 * MANY).copy_rows(half, half + MANY)


def _observe_features() -> None:
    for size in (FEW, MANY):
        _batch("features", size).observations()


def _count_paths() -> None:
    from solitaire_env.core import perft
    from solitaire_env.core.position import position_from_row

    batch = _batch()
    list(perft.divided(position_from_row(batch.variant, batch.state.rows[0]), 2))


def _read_positions(rollout: int = 0, family: bool = False) -> None:
    from solitaire_env.move_features.reader import MoveReader

    batch = _batch()
    reader = MoveReader(batch.spec, rollout_lookahead=rollout, family=family)
    reader.read(batch.observations(), batch.state.mask)


def _read_lookahead() -> None:
    _read_positions(rollout=1)


def _read_family() -> None:
    """The features of networks for many games."""
    _read_positions(family=True)


def _read_moves() -> None:
    """The features of moves only, which the linear policy uses."""
    from solitaire_env.move_features.columns import NUM_MOVE
    from solitaire_env.policies.linear import Linear

    batch = _batch()
    Linear(batch.spec, np.zeros(NUM_MOVE))(batch.observations(), batch.state.mask)


def _read_table() -> None:
    """The same for games in play, for the wrapper ``MoveFeatures``."""
    from solitaire_env.move_features.table import MoveTable

    MoveTable(_batch()).read()


def _autoplay_safely() -> None:
    from solitaire_env.move_features.autoplay import SafeAutoplay, autoplay_safe_moves

    batch = _batch()
    autoplay_safe_moves(batch.rules, batch.state)
    SafeAutoplay(batch.spec).keep(batch.observations(), batch.state.mask)


def _play_network() -> None:
    """The forward pass of a shipped network; another job compiles its reader."""
    from solitaire_env.core import Batch, GameSpec
    from solitaire_env.policies.shipped import load_shipped, shipped_games

    for game in shipped_games()[:1]:
        spec = GameSpec(get_variant(game))
        policy = load_shipped(spec)
        batch = Batch(spec.seen(moves=policy.moves), FEW)
        batch.deal(np.arange(FEW), [0] * FEW)
        policy.explain(batch.observations(), batch.state.mask)


def _evaluate_games() -> None:
    """An evaluation: its bookkeeping, random numbers, supermoves, and the policies that read only cards."""
    from solitaire_env.evaluation import evaluate
    from solitaire_env.policies.load import load_policy

    for name in ("random", "greedy"):
        policy = load_policy(name, VARIANTS[0], moves="supermove")
        evaluate(policy, VARIANTS[0], range(FEW), max_episode_steps=FEW)


JOBS: Final = (
    Job("deals", _deal_games, 7.0),
    Job("steps", _step_games, 7.5, ("deals",)),
    Job("steps on several threads", _step_many, 5.8, ("steps",)),
    Job("copies on several threads", _copy_many, 1.6, ("steps",)),
    Job("observation of features", _observe_features, 3.1, ("deals",)),
    Job("counting of paths", _count_paths, 1.2, ("steps",)),
    Job("move features", _read_moves, 4.0, ("steps",)),
    Job("table of move features", _read_table, 3.0, ("move features",)),
    Job("position features", _read_positions, 12.0, ("move features",)),
    Job("rollout lookahead", _read_lookahead, 8.0, ("position features",)),
    Job("features of many games", _read_family, 4.0, ("position features",)),
    Job("safe autoplay", _autoplay_safely, 1.4, ("steps",)),
    Job("network", _play_network, 2.2, ("rollout lookahead", "safe autoplay")),
    Job("evaluation", _evaluate_games, 4.0, ("steps",)),
)
"""The jobs of the package, enough for environments, evaluation, watching, the browser and all policies.

Seconds are those of two virtual cores of an AMD EPYC.
"""


# -------------------------------------------------------------------------------------- the workers

MOST_WORKERS: Final = 4
"""Jobs wait for each other: more processes than these would be idle."""


def describe(done: Compiled) -> str:
    """A sentence about what was compiled."""
    if not done.functions:
        return f"Everything was compiled already; the code is in {done.folder}"
    return (
        f"Compiled {done.functions} functions in {done.seconds:.0f} s ({done.cpu_seconds:.0f} processor "
        f"seconds); the code of the engine is in {done.folder}"
    )


def compile_all(jobs: Sequence[Job], workers: int | None = None, quiet: bool = False) -> Compiled:
    """Compile the kernels of some jobs in worker processes, with progress on stderr.

    Parameters
    ----------
    jobs
        Jobs, each after its prerequisites.
    workers
        Number of processes; by default one for each core, at most :data:`MOST_WORKERS`.
    quiet
        No progress line.

    Raises
    ------
    ValueError
        If the number of workers is less than 1.
    OSError
        If compiled code cannot be written, a job fails, or a worker ends before its job does.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers is {workers}, allowed: at least 1")
    start = time.monotonic()
    number = min(workers or min(usable_cores(), MOST_WORKERS), len(jobs))
    processes = [_Worker() for _ in range(number)]
    schedule = _Schedule(jobs, number, quiet)
    try:
        while schedule.done < len(jobs):
            for worker in processes:
                if worker.ready and worker.job is None and (job := schedule.next_job()) is not None:
                    worker.begin(job)
            connection.wait([worker.pipe for worker in processes], timeout=0.5)
            for worker in processes:
                while worker.pipe.poll():
                    schedule.take(worker, worker.receive())
            schedule.show([worker for worker in processes if worker.job is not None])
        cpu_seconds = sum(worker.end() for worker in processes)
    finally:
        schedule.line.close()
        for worker in processes:
            worker.process.kill()
            worker.process.join()
    return Compiled(schedule.functions, time.monotonic() - start, cpu_seconds, schedule.folder)


class _Worker:
    """A process that runs one job after another, as seen by its parent process."""

    def __init__(self) -> None:
        context = get_context("spawn")  # a forked process has no threads, which some kernels need
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.ready = False
        self.job: Job | None = None
        self.began = 0.0

    def begin(self, job: Job) -> None:
        self.job, self.began = job, time.monotonic()
        self.pipe.send(job.run)

    def receive(self) -> tuple[str, Any]:
        """The next message: what happened, and its subject; an OSError if the process has ended."""
        try:
            message: tuple[str, Any] = self.pipe.recv()
        except EOFError:
            self.process.join()
            doing = "as it started" if self.job is None else f"while it compiled {self.job.name!r}"
            raise ChildProcessError(f"a worker ended {doing}, exit code {self.process.exitcode}") from None
        return message

    def end(self) -> float:
        """End the process; return its processor seconds."""
        self.pipe.send(None)
        return float(self.receive()[1])


class _Schedule:
    """Finished jobs, jobs that may start, and the displayed progress."""

    def __init__(self, jobs: Sequence[Job], workers: int, quiet: bool) -> None:
        self.left = list(jobs)
        self.finished: set[str] = set()
        self.total = len(jobs)
        self.workers = workers
        self.chains = _chains(jobs)
        self.seconds = {job.name: job.seconds for job in jobs}
        self.line = ProgressLine(quiet)
        self.quiet = quiet
        self.functions = 0
        self.folder = ""
        self.start = time.monotonic()
        self.least_left = float("inf")

    @property
    def done(self) -> int:
        return len(self.finished)

    def next_job(self) -> Job | None:
        """The next job to start: the one with the longest chain after it, among jobs that need not wait."""
        free = [job for job in self.left if self.finished.issuperset(job.after)]
        if not free:
            return None
        job = max(free, key=lambda job: self.chains[job.name])
        self.left.remove(job)
        return job

    def take(self, worker: _Worker, message: tuple[str, Any]) -> None:
        """Process a worker's message."""
        what, about = message
        if what == "ready":
            worker.ready, self.folder = True, about
        elif what == "refused":
            raise OSError(about)
        elif what == "compiled":
            self.functions += 1
            if self.functions == 1:
                self.announce()
        else:
            assert worker.job is not None
            if what == "failed":
                raise ChildProcessError(f"compiling {worker.job.name!r} failed: {about}")
            self.finished.add(worker.job.name)
            worker.job = None

    def announce(self) -> None:
        """Report progress in lines of its own, if there is no live line."""
        if not self.quiet and not self.line.live:
            parts = "1 part" if self.total == 1 else f"{self.total} parts"
            cores = "1 core" if self.workers == 1 else f"{self.workers} cores"
            print(
                f"compiling {parts} on {cores}, about a minute; the code is kept in {self.folder}",
                file=sys.stderr, flush=True,
            )  # fmt: skip

    def show(self, busy: Sequence[_Worker]) -> None:
        """Update the live line, once something is compiled."""
        if self.functions:
            self.line.show(lambda: self.text(busy))

    def text(self, busy: Sequence[_Worker]) -> str:
        """The progress, what is compiled now, and the remaining time, which never grows."""
        now = time.monotonic()
        all_seconds = sum(self.seconds.values())
        done = sum(self.seconds[name] for name in self.finished)
        for worker in busy:
            assert worker.job is not None
            done += min(now - worker.began, 0.9 * worker.job.seconds)
        names = ", ".join(worker.job.name for worker in busy if worker.job is not None)
        text = f"compiling: {self.done} of {self.total} parts ({names})"
        if done < 0.1 * all_seconds:
            return text
        self.least_left = min(self.least_left, (now - self.start) * (all_seconds - done) / done)
        return f"{text}, {clock(self.least_left)} left"


def _chains(jobs: Sequence[Job]) -> dict[str, float]:
    """Seconds of each job plus those of the longest chain of jobs that wait for it."""
    chains: dict[str, float] = {}
    for job in reversed(jobs):
        waiting = [chains[other.name] for other in jobs if job.name in other.after]
        chains[job.name] = job.seconds + max(waiting, default=0.0)
    return chains


def _work(pipe: "connection.Connection") -> None:
    """Main function of a worker process: run the jobs that it receives, until it receives None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    os.environ["SOLITAIRE_ENV_QUIET"] = "1"
    from solitaire_env.core import code_folder, on_compiled

    try:
        folder = code_folder()
    except OSError as error:
        pipe.send(("refused", str(error)))
        return
    on_compiled(lambda: pipe.send(("compiled", None)))
    pipe.send(("ready", str(folder)))
    while (run := pipe.recv()) is not None:
        try:
            run()
        except Exception as error:
            pipe.send(("failed", f"{type(error).__name__}: {one_line(error)}"))
        else:
            pipe.send(("done", None))
    pipe.send(("ended", time.process_time()))
