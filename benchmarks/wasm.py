"""Steps per second of the kernels as WebAssembly, under Node, compared with the native library.

::

    python -m benchmarks.wasm

Both play the same recorded legal actions on one thread, and must end in the same positions. The observations,
rewards and limits around the kernels are not measured.
"""

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.speed import machine
from benchmarks.table import markdown
from solitaire_env.core import make_events, make_state, set_num_threads
from solitaire_env.core.deals import shuffled
from solitaire_env.core.layout import PLAY, PLAYING, make_rules
from solitaire_env.core.rules.deal import deal_rows
from solitaire_env.core.rules.step import step_rows
from solitaire_env.core.shuffle import make_deals
from solitaire_env.play.page_data import described, games_data
from solitaire_env.play.site import write_site
from solitaire_env.variants import get_variant

GAMES: Final = ("forty-thieves", "busy-aces", "eights-down", "freecell", "klondike", "yukon")
NUM_GAMES: Final = 1024
CALLS: Final = 200
ROUNDS: Final = 5


class Native:
    """Games of one variant in the native library."""

    def __init__(self, name: str) -> None:
        variant = get_variant(name)
        rules = self.rules = make_rules(variant)
        deals = make_deals(rules, variant.tableau, NUM_GAMES, variant.face_down_rows or ())
        deals.orders[:] = shuffled(variant, range(NUM_GAMES))
        self.state, events = make_state(rules, NUM_GAMES), make_events(NUM_GAMES)
        arrays = {"deals": deals, "state": self.state, "events": events}
        self.arrays = {name: described(each) for name, each in arrays.items()}
        self.actions = np.zeros(NUM_GAMES, dtype=np.int64)
        self.steps = 0
        """Steps of the recorded games."""
        todo = np.full(NUM_GAMES, PLAY, dtype=np.int8)
        self.deal = deal_rows.bind(rules, deals, self.state, np.arange(NUM_GAMES))
        self.step = step_rows.bind(rules, deals, self.state, events, self.actions, todo)

    def record(self) -> npt.NDArray[np.int64]:
        """Random legal actions, int64 ``[CALLS, NUM_GAMES]``; 0 in games that are over."""
        random, recorded = np.random.default_rng(0), np.zeros((CALLS, NUM_GAMES), dtype=np.int64)
        self.deal()
        for actions in recorded:
            playing = self.state.status == PLAYING
            self.steps += int(playing.sum())
            actions[:] = (self.state.mask * random.random(self.state.mask.shape)).argmax(1) * playing
            self.actions[:] = actions
            self.step()
        return recorded

    def play(self, recorded: npt.NDArray[np.int64]) -> float:
        """Play recorded actions; the seconds that the steps took."""
        self.deal()
        begun = time.perf_counter()
        for actions in recorded:
            self.actions[:] = actions
            self.step()
        return time.perf_counter() - begun


def main() -> None:
    """Print the table."""
    node = shutil.which("node")
    if node is None:
        sys.exit("python -m benchmarks.wasm: needs node")
    set_num_threads(1)
    games = {name: Native(name) for name in GAMES}
    recorded = {name: game.record() for name, game in games.items()}
    played: list[dict[str, Any]] = [
        {
            "rules": game.rules._asdict(),
            "arrays": game.arrays,
            "actions": base64.b64encode(recorded[name].tobytes()).decode(),
            "calls": CALLS,
        }
        for name, game in games.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        write_site(Path(folder, "site"))
        Path(folder, "record.json").write_text(json.dumps({"data": games_data(), "played": played}))
        command = [node, str(Path(__file__).with_suffix(".mjs")), f"{folder}/site", f"{folder}/record.json"]
        done = subprocess.run([*command, str(ROUNDS)], capture_output=True, text=True, check=True)
    rows = []
    for (name, game), line in zip(games.items(), done.stdout.splitlines(), strict=True):
        native = median(game.play(recorded[name]) for _ in range(ROUNDS))
        answer = json.loads(line)
        if base64.b64decode(answer["rows"]) != game.state.rows.tobytes():
            raise AssertionError(f"{name}: the positions after {CALLS} steps differ")
        wasm = median(answer["seconds"])
        speeds = [f"{game.steps / seconds / 1e6:.1f} M" for seconds in (native, wasm)]
        rows.append([get_variant(name).title, *speeds, f"{native / wasm:.2f}"])
    print(markdown(("game", "native, steps/s", "WebAssembly, steps/s", "ratio"), rows))
    print(f"\n{NUM_GAMES:,} games, one thread; Node {_version(node)}. {machine()}")


def _version(node: str) -> str:
    return subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
