"""Number of processor cores for this process, from its affinity and the CPU quota of its container."""

import math
import os
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


def cpu_quota(system: Path = Path("/")) -> float:
    """CPU seconds that the control groups of this process may use in a second; infinite without a limit.

    Both versions of Linux's control groups are read, and the groups around that of the process.
    """
    lowest = math.inf
    for line in _read(system / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            mounts = ["", "unified"]  # version 2
        elif "cpu" in controllers.split(","):
            mounts = [controllers, "cpu"]
        else:
            continue
        path = PurePosixPath(group.lstrip("/"))
        for mount in mounts:
            for folder in (path, *path.parents):
                lowest = min(lowest, _quota_of(system / "sys/fs/cgroup" / mount / folder))
    return lowest


def _quota_of(folder: Path) -> float:
    """The quota in the files of one control group."""
    numbers = _read(folder / "cpu.max").split()
    if not numbers:
        numbers = [_read(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    # Without a limit: "max" in version 2, -1 in version 1.
    if len(numbers) == 2 and all(number.isdecimal() for number in numbers) and int(numbers[1]):
        return int(numbers[0]) / int(numbers[1])
    return math.inf


def _read(path: Path) -> str:
    """The text of a file, empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
