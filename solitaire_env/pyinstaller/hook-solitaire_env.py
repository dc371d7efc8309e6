"""What a program needs of the package besides the modules whose imports PyInstaller sees."""

from pathlib import Path

import solitaire_env

_PACKAGE = Path(solitaire_env.__file__).parent

datas = [
    (str(path), str(path.parent.relative_to(_PACKAGE.parent)))
    for path in sorted(_PACKAGE.rglob("*"))
    if path.is_file() and path.suffix not in (".py", ".pyc")
]
"""Files that are no modules, such as compiled kernels and weights, each with its folder in the program."""

hiddenimports = ["solitaire_env.env", "solitaire_env.vector"]
"""Modules that Gymnasium imports by their names."""
