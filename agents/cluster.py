"""Distribute a list of items, such as deals, over the workers of a Ray cluster.

The driver hands out chunks of items. If a worker or its machine is lost, its chunk is handed out again: in
the end each item has one result.

Ray is imported only by :func:`connect`.
"""

import hashlib
import logging
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import solitaire_env
from solitaire_env.core import set_num_threads
from solitaire_env.util.messages import one_line, shown

Item = TypeVar("Item")
Result = TypeVar("Result")
Job = TypeVar("Job")
Work = Callable[[list[Item]], Iterator[list[tuple[int, Result]]]]
"""Works on a chunk: yields results as they are computed, each with the index of its item in the chunk."""

PACKAGES: Final = Path(solitaire_env.__file__).parent, Path(__file__).parent
"""The folders of ``solitaire_env`` and ``agents``."""
FIRST_SHARE: Final = 2 / 3
"""Size of a chunk, as a share of a worker's part of the remaining items. With a smaller share, more chunks
end with a few items that leave a worker half idle; with a larger one, workers end at different times."""
MAX_LOSSES: Final = 5
"""Maximum number of times that a chunk is handed out again."""
NO_RAY: Final = (
    "--ray needs Ray, which is not installed: pip install -e '.[train,ray]', in a virtual environment of its "
    "own, because Ray pins the version of Gymnasium"
)


class Cluster:
    """A Ray cluster that this process is connected to; see :func:`connect`. Each worker has one CPU."""

    def count_workers(self) -> int:
        """Number of workers that the machines have CPUs for at present, at least 1."""
        import ray

        machines = (node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
        return max(1, sum(int(cpus) for cpus in machines))

    def spread(
        self, prepare: Callable[[Job], Work[Item, Result]], job: Job, items: Sequence[Item], *, min_size: int,
        max_size: int,
    ) -> Iterator[list[tuple[Item, Result]]]:  # fmt: skip
        """Process items on workers; yield the results of each chunk as it ends, one for each item.

        Parameters
        ----------
        prepare
            A function of a module. Each worker calls it once with ``job``; it returns the function that works
            on a chunk.
        job
            Data of the work; must be picklable.
        items
            Must be picklable.
        min_size, max_size
            Number of items in a chunk. Later chunks are smaller, so that all workers end at about the same
            time.

        Raises
        ------
        OSError
            If workers are lost repeatedly with the same chunk.
        Exception
            The first error that a worker raises.
        """
        import ray
        from ray import exceptions as errors

        run = ray.remote(_run_chunk).options(num_cpus=1, max_retries=MAX_LOSSES, name=prepare.__module__)
        given = ray.put((prepare, job, stamp_of(PACKAGES)))
        name = uuid4().hex
        waiting = deque(items)
        running: dict[Any, list[Item]] = {}
        try:
            while waiting or running:
                workers = self.count_workers()
                # Some chunks wait, so that no worker is idle and a cluster that can grow sees them.
                while waiting and len(running) < 2 * workers + 1:
                    size = max(min_size, min(max_size, int(FIRST_SHARE * len(waiting) / workers)))
                    chunk = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                    running[run.remote(name, given, chunk)] = chunk
                ready, _ = ray.wait(list(running), timeout=1.0)
                for task in ready:
                    chunk = running.pop(task)
                    try:
                        results = ray.get(task)
                    except errors.RayTaskError as error:
                        raise error.cause from None
                    except errors.RayError as error:
                        raise OSError(
                            f"{MAX_LOSSES + 1} workers in a row were lost while they worked on "
                            f"{shown(chunk)}; the last: {one_line(error)}"
                        ) from None
                    yield [(chunk[place], result) for place, result in results]
        finally:
            for task in running:
                ray.cancel(task)


@cache
def stamp_of(packages: tuple[Path, ...]) -> str:
    """A hash of all source files in some folders, as they were at the first call."""
    stamp = hashlib.sha256()
    for package in packages:
        # A link of an editor to its lock file is no file.
        for path in sorted(path for path in package.rglob("*.py") if path.is_file()):
            stamp.update(path.relative_to(package).as_posix().encode() + b"\0")
            stamp.update(hashlib.sha256(path.read_bytes()).digest())
    return stamp.hexdigest()[:16]


def require_ray() -> None:
    """Raise an ImportError with the packages to install, if Ray is not installed."""
    try:
        import ray  # noqa: F401
    except ImportError:
        raise ImportError(NO_RAY) from None


def for_workers(name: str) -> str:
    """A policy or network name for workers: with an absolute path, as their current folder may differ."""
    return str(Path(name).absolute()) if Path(name).exists() else name


def _check_address(address: str) -> None:
    """Raise an error if no cluster answers at the address; Ray would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster at {address}: {error}") from None


@contextmanager
def connect(address: str | None, *, quiet: bool = False) -> Iterator[Cluster | None]:
    """Connect to a Ray cluster, and disconnect at the end.

    Parameters
    ----------
    address
        ``"HOST:PORT"``; ``"auto"``: the cluster that runs here; ``"local"``: a new one on this machine, which
        ends with this process; ``""``: the cluster of the environment variable ``RAY_ADDRESS`` or the one
        that runs here, a new one if there is none; None: no cluster, and Ray is not imported.
    quiet
        Do not report the size of the cluster.

    Raises
    ------
    ImportError
        If Ray is not installed.
    ConnectionError
        If there is no cluster at the address.
    """
    if address is None:
        yield None
        return
    cluster = Cluster()
    # Ray's usage statistics, and a notice about GPUs in its next version.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    require_ray()
    import ray

    _check_address(address)
    try:
        ray.init(
            address or None, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR,
            configure_logging=False,
        )  # fmt: skip
    except RuntimeError as error:  # the cluster has another version of Ray or Python
        raise ConnectionError(one_line(error)) from None
    try:
        if not quiet:
            machines = sum(node["Alive"] for node in ray.nodes())
            workers = cluster.count_workers()
            print(f"Ray: {machines} machine{'s' * (machines > 1)}, {workers} workers", file=sys.stderr)
        yield cluster
    finally:
        ray.shutdown()


# ------------------------------------------------------------------------------------- in a worker

_prepared: dict[str, Any] = {}
"""The prepared function of this process, by the id of the call to :meth:`Cluster.spread`."""


def _run_chunk(name: str, given: tuple[Any, Any, str], items: list[Any]) -> list[Any]:
    """Work on a chunk in a worker process."""
    work = _prepared.get(name)
    if work is None:
        _prepared.clear()  # the function of an earlier call
        work = _prepared[name] = _prepare(*given)
    return [result for some in work(items) for result in some]


def _prepare(prepare: Callable[[Any], Any], job: Any, stamp: str) -> Any:
    """Call the ``prepare`` function of :meth:`Cluster.spread` in this process."""
    import ray

    if stamp != stamp_of(PACKAGES):
        raise OSError(
            f"the code of solitaire_env and agents on the machine {ray.util.get_node_ip_address()} differs "
            "from that of the driver, allowed: the same commit on all machines"
        )
    set_num_threads(1)
    work = prepare(job)
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
    return work
