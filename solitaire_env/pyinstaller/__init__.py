"""For PyInstaller, which makes programs that need no Python: its hook, which an entry point names.

No code of the package itself.
"""

from pathlib import Path


def hook_folders() -> list[str]:
    """The folder of ``hook-solitaire_env.py``."""
    return [str(Path(__file__).parent)]
