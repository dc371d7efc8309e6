"""Builds and runs the Dockerfile without Docker: in a folder as root, with this machine's system and Python.

``FROM`` becomes read-only mounts of this machine's system folders; everything else is done as the file says.
Needs root, and Debian's util-linux.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).parents[2]
SYSTEM = ("/bin", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/usr")
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
PATH = "/image/bin:/usr/bin:/bin"
"""The environment variable that ``FROM`` sets; ``python`` is in the first folder."""
PASSED_ON = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_CERT", "PIP_INDEX_URL", "SSL_CERT_FILE")
"""Environment variables for reaching a package index while the image is built."""


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile and their arguments."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = lines.replace("\\\n", " ").splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined if line)]


class Image:
    """The image of the project's Dockerfile, built in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"PATH": PATH}
        self.user = "0:0"
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self._make_folders()
        for instruction, rest in instructions((PROJECT / "Dockerfile").read_text(encoding="utf-8")):
            getattr(self, f"_do_{instruction.lower()}")(rest)

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command as the image's user; only /dev/shm is writable."""
        return self._start(command, self.environment, self.user, read_only=True)

    def run(self, command: Sequence[str]) -> tuple[str, str, int]:
        """Run a command in the same way; return its stdout and stderr, and its exit code."""
        process = self.start(command)
        output, errors = process.communicate(timeout=300)
        return output, errors, process.returncode

    def _make_folders(self) -> None:
        self.root.chmod(0o755)
        for folder in ("dev/shm", "image/bin", "tmp", *(place.lstrip("/") for place in self._mounted())):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / "tmp").chmod(0o1777)
        for device in DEVICES:
            (self.root / device.lstrip("/")).touch()
        (self.root / "image/bin/python").symlink_to(os.path.realpath(sys.executable))

    @staticmethod
    def _mounted() -> list[str]:
        """Folders of this machine that are also in the image."""
        return [place for place in (*SYSTEM, sys.base_prefix) if os.path.isdir(place)]

    def _start(
        self, command: Sequence[str], environment: dict[str, str], user: str, read_only: bool
    ) -> subprocess.Popen[str]:
        root = shlex.quote(str(self.root))
        lines = ["set -e", f"mount --bind {root} {root}"]
        for place in self._mounted():
            target = shlex.quote(f"{self.root}{place}")
            lines.append(f"mount --bind {shlex.quote(place)} {target}; mount -o remount,bind,ro {target}")
        lines += [f"mount --bind {device} {root}{device}" for device in DEVICES]
        lines.append(f"mount -t tmpfs tmpfs {root}/dev/shm")  # Docker has one too, with --read-only as well
        if read_only:
            lines.append(f"mount -o remount,bind,ro {root}")
        words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]
        lines.append(f"exec chroot --userspec={user} --groups= {root} {shlex.join(words)}")
        return subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", "\n".join(lines)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    # ------------------------------------------------------------------------- the instructions

    def _do_from(self, rest: str) -> None:
        assert rest.startswith("python:3.")

    def _do_env(self, rest: str) -> None:
        for word in shlex.split(rest):
            name, _, value = word.partition("=")
            self.environment[name] = value.replace(f"${name}", self.environment.get(name, ""))

    def _do_copy(self, rest: str) -> None:
        *sources, target = shlex.split(rest)
        kept = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        for source in sources:
            assert f"!{source}" in kept, f"{source} is left out by .dockerignore"
            place = self.root / target.lstrip("/")
            if (PROJECT / source).is_dir():
                shutil.copytree(PROJECT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(PROJECT / source, place)

    def _do_run(self, rest: str) -> None:
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        process = self._start(["sh", "-c", rest], self.environment | passed_on, self.user, read_only=False)
        output, errors = process.communicate(timeout=900)
        assert process.returncode == 0, f"{output}\n{errors}"

    def _do_user(self, rest: str) -> None:
        self.user = rest

    def _do_expose(self, rest: str) -> None:
        assert rest.isdigit()

    def _do_entrypoint(self, rest: str) -> None:
        self.entrypoint = json.loads(rest)

    def _do_cmd(self, rest: str) -> None:
        self.command = json.loads(rest)
