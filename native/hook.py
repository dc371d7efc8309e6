"""Called when a wheel is built: puts the compiled kernels into it.

``pip install .`` builds for this machine. :mod:`native.wheels` builds the wheels of a release and sets two
environment variables: ``SOLITAIRE_ENV_PLATFORM``, and ``SOLITAIRE_ENV_LIBRARIES``, a folder of libraries.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """The hook, for hatchling."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Zig links where there is no C compiler, or no linker for WebAssembly."""
        return [] if shutil.which("cc") and shutil.which("wasm-ld") else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the libraries, unless the package stays where its source is: that builds its own."""
        if version == "editable" or self.target_name != "wheel":
            return
        sys.path.insert(0, self.root)
        from native.platforms import platform_of
        from solitaire_env.core.library import WEB, this_platform

        named = os.environ.get("SOLITAIRE_ENV_PLATFORM")
        platform = platform_of(named or this_platform())
        targets = (*platform.targets, WEB)
        tag = platform.tag if named else re.sub(r"[-.]", "_", sysconfig.get_platform())
        libraries = os.environ.get("SOLITAIRE_ENV_LIBRARIES")
        if not libraries:
            libraries = self.made = tempfile.mkdtemp()
            subprocess.run(
                [sys.executable, "-m", "native", "solitaire_env", ",".join(targets), libraries],
                cwd=self.root, check=True,
            )  # fmt: skip
        for target in targets:
            (path,) = Path(libraries).glob(f"{target}.*")
            build_data["force_include"][str(path)] = f"solitaire_env/compiled/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"

    made = ""

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel has now."""
        if self.made:
            shutil.rmtree(self.made)
