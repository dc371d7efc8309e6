"""A policy of one's own: a card home if one can go, else a random legal move.

``python examples/own_policy.py`` plays a hundred deals. Every command takes it as ``own_policy:HomeFirst`` if
this folder is on ``PYTHONPATH``.
"""

import argparse

import numpy as np

from solitaire_env import GameSpec, Policy, evaluate
from solitaire_env.evaluation import draw


class HomeFirst(Policy):
    """A card home if one can go, else a random legal move."""

    name = "home-first"
    stochastic = True  # it gets random numbers that depend on the deal alone

    def __init__(self, spec: GameSpec) -> None:
        self.weights = np.ones(spec.num_actions)
        self.weights[spec.actions.offsets["home"]] = 1e9

    def __call__(self, observations, masks, *, uniforms=None, games=None):
        return draw(masks * self.weights, uniforms)  # one call for all games


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Play deals with a policy of one's own.")
    parser.add_argument("--env", default="busy-aces", help="id or name of a game")
    parser.add_argument("--deals", type=int, default=100, help="number of deals")
    arguments = parser.parse_args()
    print(evaluate("__main__:HomeFirst", arguments.env, range(arguments.deals)).summary)
