"""Floating-point operations of training, compared with what the processor can do.

``benchmarks.learning`` prints the result beside the steps per second.
"""

import time
from pathlib import Path
from typing import Final

import numpy as np
import torch as th
from torch.utils.flop_counter import FlopCounterMode

from agents.networks import network_class
from agents.networks.feature_cache import FeatureCache
from agents.networks.moves import MovesNetwork
from agents.runs.config_files import load_config
from solitaire_env.policies.load import load_policy
from solitaire_env.vector import SolitaireVectorEnv

GAMES: Final = 256
PLAYED: Final = 60
"""Moves of the linear policy in each environment before the positions that are counted."""
SIZE: Final = 1024
"""Rows and columns of the matrices whose product shows the peak."""


def step_flops(path: Path) -> float:
    """Floating-point operations of a step: the network plays it once, and learns from it in each pass.

    The first layer reads only the features of a move that differ from the position before it. The
    environment, the features, normalization and Adam are not counted; forced moves, which the network does
    not see, count as if it played them.
    """
    config = load_config(path)
    policy = load_policy("linear", config.variant)
    env = SolitaireVectorEnv(GAMES, config.variant, autoreset_mode="SameStep")
    observations, info = env.reset(seed=0)
    for _ in range(PLAYED):
        observations, _, _, _, info = env.step(policy(observations, info["action_mask"]))
    network = network_class(config.network)(config.game, **config.network_sizes)
    assert isinstance(network, MovesNetwork)
    cache = network.make_cache()
    cache.add(observations, info["action_mask"])
    played, _ = _count(network, cache)
    if config.learner == "pqn":  # learns from the moves that were played
        cache = cache.choose(policy(observations, info["action_mask"]))
    return (played + config.n_epochs * sum(_count(network, cache))) / GAMES


def _count(network: MovesNetwork, cache: FeatureCache) -> tuple[int, int]:
    """Operations of a pass over the cached positions: forward and backward."""
    rows = np.arange(cache.size)
    with FlopCounterMode(display=False) as forward:
        scores = network.score_cached(cache, rows)
    with FlopCounterMode(display=False) as backward:
        (scores.scores.sum() + scores.features.sum()).backward()  # type: ignore[no-untyped-call]
    entries = int(cache.packed.entry_ends[cache.ends(rows)[-1]])
    first_layer = 2 * entries * len(network.read_move.bias)  # kernels of ours, which torch does not count
    return forward.get_total_flops() + first_layer, backward.get_total_flops() + first_layer


def peak_flops(threads: int, seconds: float = 2.0) -> float:
    """Floating-point operations per second of torch's float32 matrix product."""
    before = th.get_num_threads()
    th.set_num_threads(threads)
    a = th.rand(SIZE, SIZE)
    products, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < seconds:
        a @ a
        products += 1
    th.set_num_threads(before)
    return 2 * SIZE**3 * products / spent
