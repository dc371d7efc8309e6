"""Selects the network of a training that wins most on the selection deals.

The last network of a training is not always the best one. In the second half of the training, networks are
evaluated on the same deals, which no report uses.
"""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Final

from agents.config import TrainConfig
from agents.policies import make_policy
from solitaire_env.core import get_num_threads, max_threads, set_num_threads
from solitaire_env.evaluation import evaluate
from solitaire_env.splits import parse_deals
from solitaire_env.util.files import write_text

SHARES: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the training after which the network is evaluated."""
CURVE: Final = "selection.csv"
"""File of a run folder, one row per evaluation: steps, deals won, mean cards home, over all games."""
BEST: Final = "best"
"""Folder of a run with the best network until now."""


def _due_at(share: float) -> float:
    """The last share at which a network is evaluated; 0 before the first."""
    return max((point for point in SHARES if point <= share), default=0.0)


class Selection:
    """Evaluates the networks of a training.

    Parameters
    ----------
    config
        Defines the deals.
    run
        The run folder; evaluations of an earlier part of the training in it count.
    save
        Writes the current network as a model folder.
    """

    def __init__(self, config: TrainConfig, run: Path, save: Callable[[Path], None]) -> None:
        self.config = config
        self.run = run
        self.save = save
        self.deals = parse_deals(config.selection_deals) if config.selection_deals else []
        self.best: tuple[int, float] | None = None
        """Wins and cards home of the best network until now."""
        self.last_share = 0.0
        if (run / CURVE).exists() and (run / BEST).is_dir():
            with (run / CURVE).open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            self.best = max((int(row["won"]), float(row["cards_home"])) for row in rows)

    def begin(self, share: float) -> None:
        """Set the share of the training that was completed before."""
        self.last_share = _due_at(share)

    def evaluate_at(self, share: float, steps: int) -> None:
        """Evaluate the current network, if the next of :data:`SHARES` is reached."""
        due = _due_at(share)
        if self.deals and due > self.last_share:
            self.last_share = due
            self._evaluate(steps)

    def _evaluate(self, steps: int) -> None:
        folder = self.run / "candidate"
        self.save(folder)
        score = self._play(folder)
        path = self.run / CURVE
        old = path.read_text(encoding="utf-8") if path.exists() else "steps,won,cards_home\n"
        if self.best is None or score > self.best:
            self.best = score
            shutil.rmtree(self.run / BEST, ignore_errors=True)
            folder.rename(self.run / BEST)
        else:
            shutil.rmtree(folder)
        write_text(path, f"{old}{steps},{score[0]},{score[1]:.3f}\n")

    def _play(self, folder: Path) -> tuple[int, float]:
        """Play the selection deals of each game with a network, on all cores, while other training processes
        wait. Returns games won, and mean cards home.
        """
        threads = get_num_threads()
        set_num_threads(max_threads())
        try:
            played = [
                evaluate(make_policy(str(folder), spec, moves=moves), spec.variant, self.deals).summary
                for spec, moves in self.config.played_games
            ]
        finally:
            set_num_threads(threads)
        return sum(summary.wins for summary in played), fmean(summary.cards_home for summary in played)

    def restore_best(self, model: Path) -> None:
        """Replace the last network with the best one."""
        if self.best is not None:
            shutil.rmtree(model, ignore_errors=True)
            shutil.copytree(self.run / BEST, model)
