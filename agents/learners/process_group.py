"""Processes that train one network together: each plays a share of the games, and learns from them.

A minibatch is many short calls of torch, and Python runs one of them at a time: threads would wait for each
other. So there is a process for each core. All begin with the same weights; ``torch.distributed`` adds up the
gradients of each minibatch, and all take the same step, so the weights stay equal without being sent. The
process that the user started is the leader: only it shows progress and writes files.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from multiprocessing import get_context
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch as th
from torch import distributed
from torch.distributed import TCPStore  # type: ignore[attr-defined]

Floats = npt.NDArray[np.float64]

ARRIVED: Final = "arrived"
"""Key of the store: the number of other processes that have started."""
ENDED: Final = "a process that trains has ended"


class ProcessGroup:
    """A process's place in a group that trains one network.

    Parameters
    ----------
    rank
        0 for the process that leads.
    size
        Number of processes.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank = rank
        self.size = size
        self.share = 0.0
        """Completed share of the training, 0 to 1, as the leader sent it at the start of a rollout."""
        self.workers: list[Any] = []
        """The other processes, in the leader."""
        self.errors: Any = None
        """Queue of the errors that ended them."""

    def sum(self, numbers: npt.ArrayLike) -> Floats:
        """Add up ``[n]`` numbers of all processes; all get the same sums.

        Raises
        ------
        Exception
            In the leader, the first error of another process.
        ChildProcessError
            If another process has ended otherwise.
        """
        total: Floats = np.array(numbers, dtype=np.float64)
        if self.size > 1:
            try:
                distributed.all_reduce(th.from_numpy(total))
            except RuntimeError:
                if self.errors is not None and not self.errors.empty():
                    raise self.errors.get() from None
                raise ChildProcessError(ENDED) from None
        return total

    def begin_rollout(self, share: float, value_only: bool) -> bool:
        """Get from the leader the completed share of the training, and whether only the value learns."""
        sent = self.sum([share, value_only] if self.rank == 0 else [0.0, 0.0])
        self.share = float(sent[0])
        return bool(sent[1])

    def part_of(self, games: int) -> int:
        """Number of ``games`` of this process."""
        return games // self.size + (self.rank < games % self.size)

    def end(self) -> None:
        """End the other processes."""
        for worker in self.workers:
            worker.kill()
            worker.join()
        if self.size > 1:
            distributed.destroy_process_group()


def start_processes(size: int, work: Callable[..., None], *arguments: Any) -> ProcessGroup:
    """Start the other processes of a group: each calls ``work(group, *arguments)``."""
    group = ProcessGroup(0, size)
    if size > 1:
        context = get_context("spawn")  # a forked process has no threads, and torch has started some
        store = TCPStore("127.0.0.1", 0, size, is_master=True, wait_for_workers=False)
        group.errors = context.SimpleQueue()
        for rank in range(1, size):
            given = (rank, size, store.port, group.errors, work, arguments)
            group.workers.append(context.Process(target=_run_process, args=given, daemon=True))
            group.workers[-1].start()
        while store.add(ARRIVED, 0) < size - 1:
            if any(worker.exitcode is not None for worker in group.workers):
                raise ChildProcessError(ENDED)
            time.sleep(0.01)
        _connect(store, group)
    return group


def _connect(store: Any, group: ProcessGroup) -> None:
    """Wait until all processes of a group are connected."""
    if sys.platform in ("linux", "darwin"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
    # The other processes wait while the leader evaluates a network.
    forever = timedelta(days=1000)
    distributed.init_process_group(
        "gloo", store=store, rank=group.rank, world_size=group.size, timeout=forever
    )


def _run_process(
    rank: int, size: int, port: int, errors: Any, work: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """Main function of the other processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader ends this one
    os.environ["SOLITAIRE_ENV_QUIET"] = "1"
    group = ProcessGroup(rank, size)
    store = TCPStore("127.0.0.1", port, size)
    store.add(ARRIVED, 1)
    _connect(store, group)
    try:
        work(group, *arguments)
    except (ValueError, OSError) as error:  # a user's mistake, which the leader reports
        errors.put(error)
