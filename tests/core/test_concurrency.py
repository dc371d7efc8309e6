"""Concurrency: threads and forks.

Each test runs in its own process, so that a hang or a crash does not harm the others: the maximum number of
threads is fixed at the first call, and the test process must not start any.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from zlib import crc32

import gymnasium as gym
import numpy as np
import pytest

from solitaire_env.core import get_num_threads, max_threads, set_num_threads, threads
from solitaire_env.core.episodes import play_rows
from solitaire_env.core.position import position_faults
from solitaire_env.core.threads import GAMES_PER_THREAD, share
from solitaire_env.vector import SolitaireVectorEnv
from tests.games import COMPILED

TIMEOUT = 120
"""Seconds for each process, most of it for compilation if the cache is empty."""

GAMES = 4 * GAMES_PER_THREAD
TASKS = Path("/proc/self/task")
ID = "solitaire_env:Solitaire/BusyAces-v0"


compiled = pytest.mark.skipif(not COMPILED, reason="interpreted kernels run in one thread")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
counts = pytest.mark.skipif(not TASKS.exists(), reason="/proc has the number of threads")


def run(function: Callable[..., None], *args: Any, threads: int = 2, **environ: str) -> None:
    """Call a function of this file in a new process, with a number of threads."""
    call = f"from tests.core.test_concurrency import {function.__name__} as call; call(*{args!r})"
    environ = {"SOLITAIRE_ENV_THREADS": str(threads), **environ}
    with tempfile.TemporaryFile("w+") as output:
        # A new session, so that children that hang end too. They would keep a pipe open.
        process = subprocess.Popen(
            [sys.executable, "-c", call],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environ},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            code = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        said = output.read()
    if code != 0:
        ended = f"ended with {code}" if code is not None else f"had not ended after {TIMEOUT} s"
        pytest.fail(f"{function.__name__}{args} {ended}:\n{said[-4000:]}", pytrace=False)


def vector(num_envs: int = GAMES, seed: int = 0, observation: str = "cards") -> SolitaireVectorEnv:
    env = SolitaireVectorEnv("busy-aces", num_envs, observation=observation, max_episode_steps=30)
    env.reset(seed=seed)
    return env


def play(env: SolitaireVectorEnv, calls: int = 40) -> int:
    """Play random legal actions; return a checksum of everything that the steps return."""
    chance = np.random.default_rng(0)
    check = 0
    for _ in range(calls):
        mask = env.action_masks()
        actions = np.argmax(mask * chance.random(mask.shape, dtype=np.float32), axis=1)
        *arrays, infos = env.step(actions)
        for array in (*arrays, infos["action_mask"], infos["cards_home"]):
            check = crc32(np.ascontiguousarray(array).tobytes(), check)
    return check


def tasks() -> int:
    """Number of threads of this process, of any library; 0 if the system does not provide it."""
    return len(list(TASKS.iterdir())) if TASKS.exists() else 0


def equal(got: Any, expected: Any, where: str) -> None:
    """Like ``assert``, with a message outside of pytest."""
    if got != expected:
        raise AssertionError(f"{where}: {got}, expected {expected}")


def test_the_caller_does_not_wait_for_helpers_that_have_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the machine never ran them."""
    monkeypatch.setattr(threads, "_helpers", SimpleQueue)
    calls: list[int] = []
    share(lambda: calls.append(1), 2)
    assert calls == [1]


# ------------------------------------------------------------------------------ number of threads


def count_threads(count: int) -> None:
    equal(max_threads(), count, "SOLITAIRE_ENV_THREADS")
    before = tasks()
    for observation in ("cards", "features"):
        single = gym.make(ID, observation=observation)
        single.reset(seed=0)
        single.step(0)
        play(vector(2 * GAMES_PER_THREAD - 1, observation=observation), 2)
    equal(tasks(), before, "threads after single environments and small vector environments")
    check = play(vector())
    equal(tasks() > before, count > 1, f"a large vector environment starts threads when {count} may be")
    if count > 1:
        set_num_threads(1)
    equal(play(vector()), check, "in one thread")
    equal(get_num_threads(), 1, "the argument of set_num_threads, after steps")


@compiled
@counts
@pytest.mark.parametrize("threads", [1, 2])
def test_thread_count_follows_the_environment(threads: int) -> None:
    """No thread is started for few games."""
    run(count_threads, threads, threads=threads)


# ------------------------------------------------------------------------------------------ forks


def in_fork(function: Callable[[], None], deep: int = 1) -> None:
    """Call a function in a child, or in a child's child; its error is the child's exit code."""
    child = os.fork()
    if not child:
        code = 1
        try:
            if deep > 1:
                in_fork(function, deep - 1)
            else:
                function()
            code = 0
        except AssertionError as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, f"exit code of a child, {deep} deep")


def fork_after_threads(observation: str) -> None:
    inherited, reference = (vector(observation=observation) for _ in range(2))
    first = play(inherited)
    equal(play(reference), first, "the same games")
    goes_on = play(reference)

    def child() -> None:
        equal(play(vector(observation=observation)), first, "a child's own games")
        equal(play(inherited), goes_on, "games that a child inherited")

    for deep in (1, 2):
        in_fork(child, deep)
    equal(play(inherited), goes_on, "the parent's games continue")
    equal(play(vector(observation=observation)), first, "the parent's threads work on")


def fork_while_kernels_are_bound() -> None:
    """Fork while another Python thread computes an attribute that is computed once."""
    expected = play(vector(1), 1)
    began, go_on = threading.Event(), threading.Event()
    bind = type(play_rows).bind

    def wait_and_bind(kernel: Any, *arguments: Any) -> Any:
        if threading.current_thread() is other:
            began.set()
            go_on.wait(TIMEOUT)
        return bind(kernel, *arguments)

    other = threading.Thread(target=lambda: play(vector(1), 1))
    type(play_rows).bind = wait_and_bind  # type: ignore[method-assign]
    other.start()
    began.wait(TIMEOUT)
    in_fork(lambda: equal(play(vector(1), 1), expected, "a child's game"))
    go_on.set()
    other.join()


@forks
def test_forking_while_kernels_are_bound_does_not_hang() -> None:
    run(fork_while_kernels_are_bound)


@compiled
@forks
@pytest.mark.parametrize("observation", ["cards", "features"])
def test_a_forked_child_steps_games(observation: str) -> None:
    """It steps its own games and those that it inherited; a child's child does too."""
    run(fork_after_threads, observation)


# ---------------------------------------------------------------------------- several Python threads


def step_in_python_threads(rounds: int) -> None:
    """Step large and small vector environments in parallel; kernels release the interpreter lock."""
    kinds = [(GAMES, 1, "cards"), (GAMES, 2, "features"), (3, 3, "features"), (GAMES, 4, "cards")]
    expected = [play(vector(*kind)) for kind in kinds]
    start = threading.Barrier(len(kinds))

    def together(kind: tuple[int, int, str]) -> int:
        env = vector(*kind)
        start.wait(TIMEOUT)
        return play(env)

    with ThreadPoolExecutor(len(kinds)) as pool:
        for number in range(rounds):
            equal(
                list(pool.map(together, kinds)), expected, f"games of several Python threads, round {number}"
            )
    equal([play(vector(*kind)) for kind in kinds], expected, "games afterwards")


@compiled
@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_python_threads_step_in_parallel(rounds: int) -> None:
    run(step_in_python_threads, rounds)


def share_one_environment(kind: str) -> None:
    """Step and reset one environment in several Python threads until each of them was refused."""
    env: Any = {
        "vector": lambda: vector(256),
        "views": lambda: SolitaireVectorEnv("yukon", 256, copy=False),
        "family": lambda: SolitaireVectorEnv(["freecell", "klondike", "yukon"], 64),
    }[kind]()
    env.reset(seed=0)
    actions = env.action_space.sample()
    refused: set[int] = set()
    until = time.monotonic() + 20

    def play_on() -> None:
        this = threading.get_ident()
        while len(refused) < 3 and time.monotonic() < until:
            try:
                env.step(actions)
                env.reset()
            except RuntimeError as error:
                equal("one at a time" in str(error), True, str(error))
                refused.add(this)

    players = [threading.Thread(target=play_on) for _ in range(3)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    equal(len(refused), 3, "threads that were refused")
    rows = range(env.unwrapped.batch.size)
    faults = [fault for row in rows for fault in position_faults(env.unwrapped.batch.position(row))]
    equal(faults, [], "faults of the positions")
    env.step(actions)


@compiled
@pytest.mark.parametrize("kind", ["vector", "views", "family"])
def test_a_second_thread_in_one_environment_is_refused(kind: str) -> None:
    run(share_one_environment, kind)


# ---------------------------------------------------------------------------------------- Ctrl-C


def interrupt_threads(times: int) -> None:
    """Interrupt threads at random moments: in steps, and between calls that are short."""
    chance = random.Random(0)
    env = vector()
    actions = np.zeros(GAMES, dtype=np.int64)
    for work in (lambda: env.step(actions), lambda: share(lambda: None, 2)):
        interrupts = 0
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        while interrupts < times:
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 2e-3))
                while True:
                    work()
            except KeyboardInterrupt:
                interrupts += 1
    env.reset(seed=0)
    equal(play(env), play(vector()), "the interrupted games, dealt again")
    meeting = threading.Barrier(2, timeout=TIMEOUT)
    share(meeting.wait, 2)


@compiled
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer here")
@pytest.mark.parametrize("times", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_threads_that_ctrl_c_interrupts_work_on(times: int) -> None:
    run(interrupt_threads, times)
