"""Processes that train one network together: each plays a share of the games, and learns from them.

A minibatch is many short calls of torch, and Python runs one of them at a time: threads would wait for each
other. So there is a process for each core. All begin with the same weights; the gradients of each minibatch
are added up in shared memory, and all take the same step, so the weights stay equal without being sent. The
process that the user started is the leader: only it shows progress and writes files.
"""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing import connection, get_context, parent_process
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CHUNK: Final = 2**20
"""Numbers that are added up at a time."""


class Team:
    """A process's place in a team that trains one network.

    Parameters
    ----------
    rank
        0 for the process that leads.
    size
        Number of processes.
    memory
        Shared by all: float64 ``[2, size, CHUNK]``; None for a single process.
    arrivals
        A semaphore for each process: the others release it when they have written their numbers.
    errors
        Queue of the errors that ended the other processes.
    """

    def __init__(
        self, rank: int = 0, size: int = 1, memory: SharedMemory | None = None, arrivals: Sequence[Any] = (),
        errors: Any = None,
    ) -> None:  # fmt: skip
        self.rank = rank
        self.size = size
        self.share = 0.0
        """Completed share of the training, 0 to 1, as the leader sent it at the start of a rollout."""
        self._memory = memory
        self._arrivals = arrivals
        self._errors = errors
        self._calls = 0
        self._helpers: list[Any] = []
        self._ended = False
        if memory is not None:
            self._shared = np.ndarray((2, size, CHUNK), dtype=np.float64, buffer=memory.buf)

    def sum(self, numbers: npt.ArrayLike) -> Floats:
        """Add up ``[n]`` numbers of all processes; all get the same sums.

        Raises
        ------
        Exception
            In the leader, the first error of another process.
        ChildProcessError
            If another process has ended otherwise.
        """
        mine = np.asarray(numbers, dtype=np.float64)
        if self.size == 1:
            return mine
        sums = np.empty_like(mine)
        for first in range(0, len(mine), CHUNK):
            part = slice(first, first + CHUNK)
            # Two alternating buffers: when a process writes to one again, all have read it.
            self._calls += 1
            chunk = self._shared[self._calls % 2, :, : len(mine[part])]
            chunk[self.rank] = mine[part]
            self._wait_for_others()
            chunk.sum(0, out=sums[part])
        return sums

    def _wait_for_others(self) -> None:
        """Wait until all processes have called this equally often.

        In ``multiprocessing.Barrier`` a process also waits until the others have left. On a busy machine each
        wait takes several milliseconds.
        """
        mine = self._arrivals[self.rank]
        for arrival in self._arrivals:
            if arrival is not mine:
                arrival.release()
        for _ in range(self.size - 1):
            mine.acquire()
        if self._ended:
            if not self._errors.empty():
                raise self._errors.get()
            raise ChildProcessError("a process that trains has ended")

    def _watch(self) -> None:
        """When another process ends, let the leader wait no longer. The others end with the leader."""
        connection.wait([helper.sentinel for helper in self._helpers])
        self._ended = True
        for _ in range(self.size):
            self._arrivals[self.rank].release()

    def begin_rollout(self, share: float, value_only: bool) -> bool:
        """Get from the leader the completed share of the training, and whether only the value learns."""
        sent = self.sum([share, value_only] if self.rank == 0 else [0.0, 0.0])
        self.share = float(sent[0])
        return bool(sent[1])

    def part_of(self, games: int) -> int:
        """Number of ``games`` of this process."""
        return games // self.size + (self.rank < games % self.size)

    def first_of(self, games: int) -> int:
        """Number of ``games`` of the processes before this one."""
        return self.rank * (games // self.size) + min(self.rank, games % self.size)

    def end(self) -> None:
        """End the other processes, and free the memory."""
        for helper in self._helpers:
            helper.kill()
        for helper in self._helpers:
            helper.join()
        if self._memory is not None:
            del self._shared
            self._memory.close()
            self._memory.unlink()
            self._memory = None


def lead(size: int, help_: Callable[..., None], *arguments: Any) -> Team:
    """Start the other processes of a team: each calls ``help_(team, *arguments)``."""
    if size == 1:
        return Team()
    context = get_context("spawn")  # a forked process has no threads, and torch has started some
    memory = SharedMemory(create=True, size=2 * size * CHUNK * 8)
    arrivals = [context.Semaphore(0) for _ in range(size)]
    errors = context.SimpleQueue()
    team = Team(0, size, memory, arrivals, errors)
    for rank in range(1, size):
        given = (rank, size, memory.name, arrivals, errors, help_, arguments)
        helper = context.Process(target=_join, args=given, daemon=True)
        helper.start()
        team._helpers.append(helper)
    threading.Thread(target=team._watch, daemon=True).start()
    return team


def _join(
    rank: int, size: int, name: str, arrivals: Sequence[Any], errors: Any, help_: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:  # fmt: skip
    """Main function of the other processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader ends this one
    os.environ["SOLITAIRE_ENV_QUIET"] = "1"
    leader = parent_process()
    assert leader is not None

    def end_with_leader() -> None:
        connection.wait([leader.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_leader, daemon=True).start()
    try:
        help_(Team(rank, size, SharedMemory(name), arrivals, errors), *arguments)
    except (ValueError, OSError) as error:  # a user's mistake, which the leader reports
        errors.put(error)
