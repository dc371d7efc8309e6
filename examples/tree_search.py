"""Tree search with ``copy_rows``: no training, a beam over positions.

In Eights Down nothing is hidden, so a game can be planned. The positions of a level are rows of a vector
environment. ``copy_rows`` copies each position once for each of its legal moves, one ``step`` plays them all,
and the most promising positions are the next level. A winning line is kept and played.

    python examples/tree_search.py --width 200 --deals 200
"""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import tyro

import solitaire_env

GAME = "Solitaire/EightsDown-v0"


@dataclass
class Args:
    """Plan and play deals."""

    deals: int = 200
    """Deals 0 to this number are played."""
    width: int = 200
    """Number of positions that are kept of each level."""
    depth: int = 250
    """Maximum number of moves of a line."""


class TreeSearch:
    """A policy, ``f(observations, masks) -> actions``, that plans a game at its first position."""

    deterministic = True  # evaluation ends a game that repeats a position: it would cycle

    def __init__(self, width: int, depth: int) -> None:
        self.width, self.depth = width, depth
        self.env = gym.make(GAME).unwrapped
        self.envs = gym.make_vec(GAME, num_envs=16 * width)
        self.envs.reset(seed=0)
        layout = self.env.observation_layout
        self.cells, self.foundations = layout["cells"], layout["foundations"]
        self.weights = np.random.default_rng(0).integers(2**64, size=32, dtype=np.uint64) | np.uint64(1)
        self.plan: dict[bytes, int] = {}
        """The next move, by position."""

    def __call__(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Actions, int64 [n]."""
        actions = masks.argmax(1)
        for row, observation in enumerate(observations):
            if observation.tobytes() not in self.plan:
                self.search(observation, int(actions[row]))
            actions[row] = self.plan[observation.tobytes()]
        return actions

    def search(self, root: np.ndarray, first_legal: int) -> None:
        """Plan from a position: a winning line, or the line that got furthest."""
        n = self.envs.num_envs
        only_first = np.arange(n) == 0
        position = self.env.decode_observation(root)
        observations, infos = self.envs.reset(options={"position": position, "reset_mask": only_first})
        self.plan[root.tobytes()] = first_legal
        beam, levels, seen = np.zeros(1, dtype=np.int64), [], set()
        best = (-np.inf, 0, 0)  # score, level, row
        for _ in range(self.depth):
            parents, actions = infos["action_mask"][beam].nonzero()
            parents, actions = beam[parents[:n]], actions[:n]
            levels.append((observations, parents, actions))
            self.envs.copy_rows(parents, np.arange(len(parents)))
            observations, _, terminated, _, infos = self.envs.step(np.resize(actions, n))
            scores = self.score(observations[: len(parents)])
            won = infos["is_success"][: len(parents)]
            scores[won] = np.inf
            if scores.max() > best[0]:
                best = (scores.max(), len(levels), scores.argmax())
            if won.any():
                break
            keys = self.keys(observations[: len(parents)])
            fresh = [row for row in np.unique(keys, return_index=True)[1] if keys[row] not in seen]
            fresh = np.array([row for row in fresh if not terminated[row]], dtype=np.int64)
            if not len(fresh):
                break
            beam = fresh[np.argsort(-scores[fresh])[: self.width]]
            seen.update(keys[beam].tolist())
        _, depth, row = best
        for before, parents, actions in reversed(levels[:depth]):
            self.plan[before[parents[row]].tobytes()] = int(actions[row])
            row = parents[row]

    def score(self, observations: np.ndarray) -> np.ndarray:
        """Scores of positions, [n]: cards home, full cells, cards over a lower one, sequences."""
        piles = observations[:, : self.cells.start].reshape(len(observations), self.env.variant.piles, -1)
        rank, filled = piles >> 2, piles > 0
        lowest = np.minimum.accumulate(np.where(filled, rank, 14), axis=2)
        over_lower = (filled[:, :, 1:] & (rank[:, :, 1:] > lowest[:, :, :-1])).sum((1, 2))
        in_sequence = (filled[:, :, 1:] & (piles[:, :, :-1] - piles[:, :, 1:] == 4)).sum((1, 2))
        home = observations[:, self.foundations].sum(1)
        full_cells = (observations[:, self.cells] > 0).sum(1)
        return home - over_lower - 0.5 * full_cells + 0.5 * in_sequence

    def keys(self, observations: np.ndarray) -> np.ndarray:
        """A number for each position, [n], the same if only piles or cells change places."""
        piles = observations[:, : self.cells.start].reshape(len(observations), self.env.variant.piles, -1)
        cells = np.sort(observations[:, self.cells], axis=1)
        hashes = piles.astype(np.uint64) @ self.weights[: piles.shape[2]]
        hashes = (hashes ^ (hashes >> np.uint64(31))) * self.weights[0]
        return hashes.sum(1) + cells.astype(np.uint64) @ self.weights[: cells.shape[1]]


if __name__ == "__main__":
    args = tyro.cli(Args)
    policy = TreeSearch(args.width, args.depth)
    print(solitaire_env.evaluate(policy, GAME, range(args.deals)).summary)
