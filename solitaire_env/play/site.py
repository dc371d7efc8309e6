"""The table in the browser without a server: ``python -m solitaire_env site DIR``.

The pages are those of the server. Here their requests are answered by the kernels as WebAssembly, and by data
that this module writes:

``engine.wasm``
    The kernels.
``games.bin``
    All games as compressed JSON: rules as the kernels take them, shapes of arrays, texts of actions, weights
    of the linear policy.
``weights/``
    The shipped networks. The page loads one when a player asks for it.
``replay.html``
    The page that shows a game which was just played.
"""

import base64
import gzip
import json
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from solitaire_env.core import make_events, make_state
from solitaire_env.core.layout import action_layout, make_rules
from solitaire_env.core.library import web_library
from solitaire_env.core.position_sums import make_sum_weights
from solitaire_env.core.shuffle import make_deals
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.family import family_rules
from solitaire_env.move_features.lookahead import MOST_PASSED
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.move_features.positions import ROWS, make_notes
from solitaire_env.play.games import MAX_GAMES, catalog, rules_text
from solitaire_env.play.piles import WEB_FOLDER
from solitaire_env.play.replay_page import fill_page
from solitaire_env.policies.linear import load_linear
from solitaire_env.policies.model_files import WEIGHTS
from solitaire_env.policies.network import CompiledNetwork
from solitaire_env.policies.shipped import SHIPPED, load_shipped, shipped_games
from solitaire_env.registration import env_id, step_limit
from solitaire_env.util.files import write_bytes
from solitaire_env.variants import known_variants

MAKER: Final = 'export { ask, file } from "./engine/engine.js";\n'
"""Instead of the module that sends requests to a server."""


def write_site(folder: Path) -> int:
    """Write the pages and all that they need to a folder; the number of bytes.

    Raises
    ------
    ValueError
        If the folder cannot be written.
    ImportError
        If there are no kernels for web pages, and they cannot be built.
    """
    files: dict[str, bytes] = {
        str(path.relative_to(WEB_FOLDER)): path.read_bytes()
        for path in sorted(WEB_FOLDER.rglob("*.*"))
        if path.suffix in (".html", ".css", ".js") and not path.name.startswith("replay.")
    }
    files["maker.js"] = MAKER.encode()
    files["replay.html"] = fill_page(title="{{title}}", data="{{data}}").encode()
    files["engine.wasm"] = web_library("solitaire_env").read_bytes()
    data = json.dumps(games_data(), separators=(",", ":")).encode()
    files["games.bin"] = gzip.compress(data, mtime=0)
    for name in shipped_games():
        files[f"weights/{name}.safetensors"] = (SHIPPED / name / WEIGHTS).read_bytes()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    return sum(map(len, files.values()))


def games_data() -> dict[str, Any]:
    """All games as plain data (JSON-able)."""
    variants = known_variants()
    widest = max(variants, key=lambda v: make_rules(v).row_stock)
    return {
        **catalog(solver=False),
        "rules": {},  # house rules need the engine of Python
        "max_games": MAX_GAMES,
        "sums": _array(make_sum_weights(make_rules(widest))),
        "most_passed": MOST_PASSED,
        "rows": ROWS,
        "own_features": NUM_MOVE,
        "details": {variant.name: _game(variant) for variant in variants},
    }


def _array(array: npt.NDArray[Any]) -> list[Any]:
    """An array: its type and shape, and its contents in base64 if they are not zeros."""
    content = [base64.b64encode(array.tobytes()).decode()] if array.any() else []
    return [array.dtype.name, list(array.shape), *content]


def described(arrays: tuple[Any, ...]) -> list[Any]:
    """A tuple of arrays, as the engine in the page makes them."""
    return [_array(array) for array in arrays]


def _game(variant: Variant) -> dict[str, Any]:
    """A game: all that the page needs to play it."""
    rules = make_rules(variant)
    policies, views = _policies(variant)
    return {
        "env": env_id(variant),
        "passes": variant.passes,
        "base": variant.base,
        "cells": variant.cells,
        "tableau": variant.tableau,
        "pysol_order": variant.pysol_order,
        "limit": step_limit(variant),
        "describe": rules_text(variant),
        "deals": described(make_deals(rules, variant.tableau, 1, variant.face_down_rows or ())),
        "views": views,
        "policies": policies,
    }


def _view(variant: Variant) -> dict[str, Any]:
    """A game with one of its sets of actions."""
    rules, layout = make_rules(variant), action_layout(variant)
    return {
        "rules": rules._asdict(),
        "actions": " ".join(layout.text(action) for action in range(layout.size)),
        "state": described(make_state(rules, 1)),
        "events": described(make_events(1)),
        "scratch": described(make_move_scratch(rules)),
        "notes": described(make_notes(rules)),
    }


def _policies(variant: Variant) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The policies of a game, the one that the page selects last; and its sets of actions: its own, then that
    of the policies if it differs.
    """
    spec = GameSpec(variant)
    own = [variant]

    def view_of(moves: Any) -> int:
        seen = variant.with_rules(moves=moves)
        if seen not in own:
            own.append(seen)
        return own.index(seen)

    linear = load_linear(spec)
    listed: list[dict[str, Any]] = [
        {"id": "linear", "view": view_of(linear.moves), "weights": _array(linear.weights)},
        {"id": "greedy", "view": 0},
    ]
    if variant.name in shipped_games():
        network = load_shipped(spec)
        assert isinstance(network, CompiledNetwork)
        seen = GameSpec(variant.with_rules(moves=network.moves))
        reader = network.reader
        listed.append(
            {
                "id": "shipped",
                "view": view_of(network.moves),
                "file": f"weights/{variant.name}.safetensors",
                "temperature": network.temperature,
                "safe_autoplay": network.safe_autoplay,
                "plans": list(reader.plans),
                "numbers": reader.groups[:5],
                "family": _array(family_rules(seen.rules)),
                "sizes": reader.sizes,
            }
        )
    views = [_view(seen) for seen in own]
    return listed, views
