"""The pages to play, as files: ``python -m solitaire_env site DIR`` writes them, ``serve`` serves them.

Besides the sources in ``web/`` these are:

``engine.wasm``
    The kernels.
``games.bin``
    All games, see :mod:`solitaire_env.play.page_data`.
``levels.bin``
    The deals of each level.
``weights/``
    The shipped networks. The page loads one when a player asks for it.
``offline.js``
    The service worker, with the names of the files that it keeps.
``replay.html``
    The page that shows a game which was just played.
"""

import json
from pathlib import Path
from typing import Any

from solitaire_env.core.library import web_library
from solitaire_env.play.page_data import games_data, levels_data, packed
from solitaire_env.play.piles import WEB_FOLDER
from solitaire_env.play.replay_page import fill_page
from solitaire_env.policies.model_files import WEIGHTS
from solitaire_env.policies.shipped import FAMILY, SHIPPED, shipped_games
from solitaire_env.util.files import write_bytes


def site_files(server: dict[str, Any] | None = None) -> dict[str, bytes]:
    """The contents of all files by their paths; ``server``: what a server offers besides.

    Raises
    ------
    ImportError
        If there are no kernels for web pages, and they cannot be built.
    """
    files = {
        str(path.relative_to(WEB_FOLDER).as_posix()): path.read_bytes()
        for path in sorted(WEB_FOLDER.rglob("*.*"))
        if not path.name.startswith("replay.")
    }
    files["replay.html"] = fill_page(title="{{title}}", data="{{data}}").encode()
    files["engine.wasm"] = web_library("solitaire_env").read_bytes()
    files["games.bin"] = packed(games_data(server))
    files["levels.bin"] = packed(levels_data())
    for name in (*shipped_games(), FAMILY):
        files[f"weights/{name}.safetensors"] = (SHIPPED / name / WEIGHTS).read_bytes()
    needed = ["./", *(name for name in files if not name.startswith("weights/") or FAMILY in name)]
    files["offline.js"] = files["offline.js"].replace(b'["{{files}}"]', json.dumps(needed).encode())
    return files


def write_site(folder: Path) -> int:
    """Write the pages and all that they need to a folder; the number of bytes.

    Raises
    ------
    ValueError
        If the folder cannot be written.
    ImportError
        If there are no kernels for web pages, and they cannot be built.
    """
    files = site_files()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    return sum(map(len, files.values()))
