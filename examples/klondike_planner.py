"""A planner for Klondike: sample the hidden cards, play on, and choose the move that brings most cards home.

Each move is planned in some worlds: copies of the game in which the hidden cards are dealt again, consistent
with all that the player has seen (``resample``). Each legal move is tried in each world, and the policy
``greedy`` plays on. A move that is not better than its own is not played. Of deals 0 to 29 it wins 16,
``greedy`` alone 18.

    python examples/klondike_planner.py --worlds 8 --deals 30
"""

from dataclasses import dataclass

import numpy as np
import tyro

from solitaire_env import SolitaireEnv, SolitaireVectorEnv, load_policy

GAME = "klondike"
MOST = 40
"""Number of legal moves that are tried; hardly a position has more."""


@dataclass
class Args:
    """Plan and play deals."""

    deals: int = 30
    """Deals 0 to this number are played."""
    worlds: int = 8
    """Number of worlds in which each move is tried."""
    depth: int = 100
    """Number of moves of each playout."""
    patience: int = 60
    """A game ends after this number of moves without progress."""


class Planner:
    """Chooses moves of a game by playouts in sampled worlds."""

    def __init__(self, worlds: int, depth: int) -> None:
        self.worlds, self.depth = np.arange(worlds), depth
        self.policy = load_policy("greedy", GAME)
        self.envs = SolitaireVectorEnv(GAME, MOST * worlds)
        self.envs.reset(seed=0)

    def choose(self, env: SolitaireEnv, observation: np.ndarray, mask: np.ndarray, seed: int) -> int:
        """The legal action with the highest mean return in the worlds of a seed."""
        envs, n = self.envs, len(self.worlds)
        preferred = int(self.policy(observation[None], mask[None])[0])
        others = [action for action in mask.nonzero()[0] if action != preferred]
        legal = np.array([preferred, *others])[:MOST]
        rows = np.arange(n * len(legal))

        envs.set_state(0, env.get_state())  # also the true hidden cards, until they are dealt again
        envs.copy_rows(np.zeros(n, dtype=np.int64), self.worlds)
        envs.resample(self.worlds, seed)
        envs.copy_rows(np.tile(self.worlds, len(legal)), rows)  # the same worlds for each action

        actions = np.zeros(envs.num_envs, dtype=np.int64)
        actions[rows] = legal.repeat(n)
        returns, playing = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
        for _ in range(self.depth):
            observations, rewards, terminated, truncated, infos = envs.step(actions)
            returns += rewards * playing
            playing &= ~(terminated | truncated)
            actions = self.policy(observations, infos["action_mask"])
        return int(legal[returns[rows].reshape(len(legal), n).mean(axis=1).argmax()])


def play(planner: Planner, env: SolitaireEnv, deal: int) -> dict:
    """Play a deal; the last info."""
    observation, info = env.reset(options={"deal": deal})
    ended, seed = False, 0
    while not ended:
        action = planner.choose(env, observation, info["action_mask"], seed)
        observation, _, terminated, truncated, info = env.step(action)
        ended, seed = terminated or truncated, seed + len(planner.worlds)
    return info


if __name__ == "__main__":
    args = tyro.cli(Args)
    planner, env = Planner(args.worlds, args.depth), SolitaireEnv(GAME, stall_limit=args.patience)
    infos = [play(planner, env, deal) for deal in range(args.deals)]
    won, home = (sum(int(info[key]) for info in infos) for key in ("is_success", "cards_home"))
    print(f"won {won} of {args.deals}, on average {home / args.deals:.1f} cards home")
