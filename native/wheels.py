"""``python -m native.wheels``: the sdist and all wheels, built on one machine into ``dist``.

The kernels are translated once. Needs build, hatchling and ziglang (``make wheels``). Zig refuses to link a
library that needs what its platform may not have.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from native.platforms import PLATFORMS
from solitaire_env.core.library import WEB


def main() -> None:
    """Build the sdist and the wheels."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        every = [WEB, *(target for platform in PLATFORMS.values() for target in platform.targets)]
        targets = ",".join(every)
        command = [sys.executable, "-m", "native", "solitaire_env", targets, folder, "--portable"]
        subprocess.run(command, cwd=root, check=True)
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", root / "dist"]
        subprocess.run([*build, "--sdist"], cwd=root, check=True, stdout=subprocess.DEVNULL)
        for name in PLATFORMS:
            names = {"SOLITAIRE_ENV_PLATFORM": name, "SOLITAIRE_ENV_LIBRARIES": folder}
            environ = {**os.environ, **names}
            subprocess.run([*build, "--wheel"], cwd=root, check=True, stdout=subprocess.DEVNULL, env=environ)
            check(root / "dist", name)


def check(dist: Path, platform: str) -> None:
    """Raise an error if a wheel does not have the libraries of its platform."""
    tag, targets = PLATFORMS[platform]
    (wheel,) = dist.glob(f"*-py3-none-{tag}.whl")
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if name.startswith("solitaire_env/compiled/")]
    if sorted(Path(name).name.partition(".")[0] for name in libraries) != sorted((*targets, WEB)):
        raise ValueError(f"{wheel.name} has {libraries}, allowed: libraries for {[*targets, WEB]}")
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
