"""``python -m native FOLDER TARGETS OUT``: build the kernels of a package, a library for each platform."""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from native import back, front
from solitaire_env.core.library import file_name
from solitaire_env.util.files import write_whole


def main() -> None:
    """Build the libraries."""
    parser = argparse.ArgumentParser(prog="python -m native", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the package")
    parser.add_argument("targets", help=f"platforms, with commas between them: {', '.join(back.TARGETS)}")
    parser.add_argument("out", type=Path, help="folder for the libraries")
    parser.add_argument("--checked", action="store_true", help="check each array index")
    parser.add_argument(
        "--portable", action="store_true", help="link for any machine of these kinds, with Zig"
    )
    args = parser.parse_args()
    targets = args.targets.split(",")
    unknown = [name for name in targets if name not in back.TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]!r}, allowed: {', '.join(back.TARGETS)}")
    # Temporary files are removed then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    text, entry_points = front.translate(args.folder.absolute(), args.checked)
    for name in targets:
        target = back.TARGETS[name]
        library = back.link(back.emit(text, entry_points, target), target, args.portable)
        path = args.out / file_name(name, library, target.suffix)
        write_whole(path, lambda part, library=library: _write(part, library))


def _write(path: Path, library: bytes) -> None:
    """Write a file, also to the disk: after a power failure it is whole, or there is none."""
    with path.open("wb") as file:
        file.write(library)
        file.flush()
        os.fsync(file.fileno())


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of numba's sets must not change the code: the same source gives the same bytes.
        command = [sys.executable, "-m", "native", *sys.argv[1:]]
        sys.exit(subprocess.call(command, env={**os.environ, "PYTHONHASHSEED": "0"}))
    main()
