"""Compile all kernels of the package and ``agents`` on several cores: ``python -m agents compile``.

The jobs are those of :mod:`solitaire_env.compilation` and, for the kernels of ``agents``, those here.
"""

import sys
from dataclasses import dataclass
from typing import Final

import numpy as np
import tyro

from agents.commands.options import run_command
from solitaire_env import compilation
from solitaire_env.compilation import Job, compile_all, describe
from solitaire_env.variants import VARIANTS


@dataclass
class Arguments:
    """Compile all kernels of environments, policies, training and search, and store the code on disk."""

    workers: int | None = None
    """Number of processes; by default one for each core, at most 4."""
    quiet: bool = False
    """Hide the progress line."""


# ----------------------------------------------------------------------------------------- the jobs
#
# Each imports the modules it calls: only the workers load numba, and only one of them torch.


def _finish_playouts() -> None:
    from agents.search.rollouts import play_to_end
    from agents.search.solver import PATIENCE, Solver

    solver = Solver(VARIANTS[0])
    batch = solver.batch
    batch.deal(np.arange(1), [0])
    play_to_end(
        batch.rules, batch.state, batch.events, np.arange(1), solver.weights, PATIENCE, solver.autoplay,
        solver.lines[0], solver.room,
    )  # fmt: skip


def _nest_rollouts() -> None:
    from agents.search.solver import Solver

    Solver(VARIANTS[0]).solve_deal(0, nodes=1)


def _key_positions() -> None:
    """The keys of positions, and the first steps of an exhaustive search, which need the same kernels."""
    from agents.search.exhaustive import begin, make_store
    from agents.search.positions import SALT, keys_of
    from agents.search.solver import Solver

    solver = Solver(VARIANTS[0])
    batch = solver.batch
    keys_of(batch.rules, batch.state, 1, SALT, np.zeros(1, dtype=np.uint64))
    store = make_store(batch.rules, 1)
    begin(batch.rules, batch.state, batch.events, solver.autoplay, solver.trail, store)


def _explore() -> None:
    from agents.search.exhaustive import explore, make_store
    from agents.search.solver import Solver

    solver = Solver(VARIANTS[0])
    batch = solver.batch
    store = make_store(batch.rules, 1)
    explore(
        batch.rules, batch.state, batch.events, solver.weights, solver.autoplay, 1, solver.trail, store,
        solver.room,
    )  # fmt: skip


def _search_beam() -> None:
    from agents.search.solver import Solver

    solver = Solver(min(VARIANTS, key=lambda variant: variant.cards), megabytes=1)
    solver.batch.deal(np.arange(1), [0])
    solver.beam.search(solver.batch.state.rows[0].copy(), 1, np.random.default_rng(0))


def _sample_stocks() -> None:
    from agents.search.stocks import unseen
    from solitaire_env.core import Batch, GameSpec

    batch = Batch(GameSpec(VARIANTS[0]), 1)
    batch.deal(np.arange(1), [0])
    unseen(batch.rules, batch.observations()[0])


def _train_network() -> None:
    """The network kernels of training, forward and backward."""
    import torch

    from agents.learners.training_env import find_only_moves
    from agents.networks import layers
    from agents.networks.adam import BETAS
    from agents.networks.feature_cache import FeatureCache
    from agents.networks.kernels import adam_step
    from solitaire_env.move_features.columns import NUM_MOVE
    from solitaire_env.move_features.reader import MoveFeatures

    # Without a reader, which another job compiles: this job need not wait, and imports torch meanwhile.
    rows = np.arange(2)
    moves = np.ones((2, NUM_MOVE + 1), dtype=np.float32)
    features = MoveFeatures(rows, rows, moves, np.ones((2, 1), dtype=np.float32))
    cache = FeatureCache(lambda *_: features, (NUM_MOVE + 1, 1))
    cache.add_features(features)
    cache.unpack(rows)
    ends = cache.ends(rows)
    weight = torch.ones(NUM_MOVE + 1, 4, requires_grad=True)
    own = torch.ones(NUM_MOVE, requires_grad=True)
    hidden = layers.read_moves(weight, torch.ones(2, 4), cache, rows, ends)
    hidden = layers.normalize_relu(hidden, torch.nn.LayerNorm(4))
    scores = hidden.sum(1) + layers.weigh_moves(own, cache, rows, ends)
    only, ended = np.empty(2, dtype=np.int64), np.zeros(2, dtype=np.bool_)
    find_only_moves(np.ones((2, 1), dtype=np.int8), ended, only)
    numbers = np.ones((4, 2), dtype=np.float32)
    adam_step(*numbers, BETAS, 0.1, 0.1, 0.1)
    layers.log_softmax(scores, ends).sum().backward()  # type: ignore[no-untyped-call]


JOBS: Final = (
    *compilation.JOBS,
    Job("playouts", _finish_playouts, 4.5, ("move features", "safe autoplay")),
    Job("nested rollouts", _nest_rollouts, 6.8, ("playouts",)),
    Job("keys of positions", _key_positions, 2.8, ("playouts",)),
    Job("exhaustive search", _explore, 5.0, ("keys of positions",)),
    Job("beams", _search_beam, 6.0, ("keys of positions",)),
    Job("sampled stocks", _sample_stocks, 1.0, ("position features",)),
    Job("network training", _train_network, 6.0),
)


def run(a: Arguments) -> int:
    """Compile and report what was done."""
    print(describe(compile_all(JOBS, a.workers, a.quiet)))
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = tyro.cli(
        Arguments, args=args, prog="python -m agents compile", config=(tyro.conf.FlagCreatePairsOff,)
    )
    return run_command(lambda: run(a), "Interrupted. Run the same command to resume.")


if __name__ == "__main__":
    sys.exit(main())
