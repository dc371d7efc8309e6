"""The processor, and the number of its cores for this process, by affinity and the container's CPU quota."""

import contextlib
import math
import os
import platform
import re
from pathlib import Path, PurePosixPath


def usable_cores(system: Path = Path("/")) -> int:
    """Number of cores that this process may use, at least 1.

    A quota counts as its whole cores: with one more thread, the kernel would stop all threads part of the
    time.

    Parameters
    ----------
    system
        Root of the file system with the quota.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # pragma: no branch  # not on macOS and Windows
        cores = len(os.sched_getaffinity(0))
    return int(max(1, min(cores, cpu_quota(system))))


def processor() -> str:
    """The name of the processor, if the system provides it."""
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def cpu_quota(system: Path = Path("/")) -> float:
    """CPU seconds that the control groups of this process (version 2) may use in a second; infinite without a
    limit.
    """
    lowest = math.inf
    for line in _read(system / "proc/self/cgroup").splitlines():
        if line.startswith("0::/"):
            path = PurePosixPath(line.removeprefix("0::/"))
            for group in (path, *path.parents):
                numbers = _read(system / "sys/fs/cgroup" / group / "cpu.max").split()
                # Without a limit, the first is "max".
                if len(numbers) == 2 and all(map(str.isdecimal, numbers)) and int(numbers[1]):
                    lowest = min(lowest, int(numbers[0]) / int(numbers[1]))
    return lowest


def _read(path: Path) -> str:
    """The text of a file, empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
