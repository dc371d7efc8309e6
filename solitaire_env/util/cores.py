"""The processor, and the number of its cores for this process."""

import contextlib
import os
import platform
import re
from pathlib import Path


def usable_cores(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Number of cores that this process may use, at least 1: of its affinity, and of its container's quota.

    A quota counts as its whole cores: with one more thread, the kernel would stop all threads part of the
    time. ``limit`` is the file with the quota.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # pragma: no branch  # not on macOS and Windows
        cores = len(os.sched_getaffinity(0))
    try:
        quota, period = map(int, limit.read_text(encoding="utf-8").split())
        return max(1, min(cores, quota // period))
    except (OSError, ValueError):  # no such group, or no limit, which is "max"
        return cores


def processor() -> str:
    """The name of the processor, if the system provides it."""
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        if found:
            return found[1]
    return platform.processor() or platform.machine()
