"""``.ci/run`` installs system packages in CI, or where nobody sits at a terminal."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "run"
PACKAGES = {"fc-solve": "freecell-solver-bin", "valgrind": "valgrind", "chromium": "chromium"}


def run(
    folder: Path, commands: list[str], *, terminal: bool = True, **environment: str
) -> tuple[int, str, str]:
    """Exit status, calls of apt-get and make, and stderr, with some of the commands that it needs.

    apt-get and make only note their arguments, and make fails, so that nothing is installed or run.
    """
    for name in ("apt-get", "make", *commands):
        status = 3 if name == "make" else 0
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >>"{folder}/calls"\nexit {status}\n')
        (folder / name).chmod(0o755)
    (folder / "id").write_text("#!/bin/sh\necho 0\n")  # root needs no sudo
    (folder / "id").chmod(0o755)
    for name in ("dirname", "env", "sh"):
        (folder / name).symlink_to(str(shutil.which(name)))
    ends = pty.openpty()
    done = subprocess.run(
        [str(shutil.which("bash")), str(SCRIPT)], env={"PATH": str(folder), **environment},
        stdin=ends[1] if terminal else subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    for end in ends:
        os.close(end)
    calls = folder / "calls"
    return done.returncode, calls.read_text() if calls.exists() else "", done.stderr


@pytest.mark.parametrize("missing", [["fc-solve"], ["valgrind", "chromium"], [*PACKAGES]])
def test_missing_packages_are_installed_unless_a_person_can_be_asked(
    missing: list[str], tmp_path: Path
) -> None:
    here = [name for name in PACKAGES if name not in missing]
    names = " ".join(PACKAGES[command] for command in missing)
    for name, terminal, environment in (
        ("unset", True, {}),
        ("empty", True, {"CI": ""}),
        ("ci", True, {"CI": "true"}),
        ("no terminal", False, {}),
    ):
        folder = tmp_path / name
        folder.mkdir()
        status, calls, error = run(folder, here, terminal=terminal, **environment)
        if name in ("ci", "no terminal"):
            assert status == 3 and "apt-get install" in calls and f" {names}\n" in calls
            assert "make" in calls and not error
        else:
            assert status == 1 and not calls
            assert f"apt-get install {names} " in error and "CI" in error and len(error.splitlines()) == 1


def test_nothing_is_installed_if_all_commands_are_there(tmp_path: Path) -> None:
    status, calls, _ = run(tmp_path, [*PACKAGES], CI="true")
    assert status == 3 and calls.startswith("make") and "apt-get" not in calls
