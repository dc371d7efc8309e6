"""mctx: Gumbel MuZero for a game with hidden cards, with the environment as its model.

Each move is planned in some worlds: copies of the game in which the hidden cards are dealt again, consistent
with all that the player has seen (``resample``). Each world is an entry of mctx's batch and has its own tree.
Each node has its own row of a vector environment; mctx stores the number of the row as the node's embedding.
To expand a node, JAX calls ``Planner.expand``, which copies the parent's row to a free one (``copy_rows``)
and plays the action there. Prior and values come from the shipped network. The planner plays the action with
the highest mean probability in all worlds. Of deals 0 to 29 of Forty Bandits it wins 12, with 63.4 cards home
on average; the network alone wins 11, with 63.5.

    python examples/mctx_planner.py --worlds 8 --simulations 32 --deals 30
"""

from dataclasses import dataclass
from functools import partial

import jax
import mctx
import numpy as np
import tyro
from jax.experimental import io_callback

from solitaire_env import SolitaireEnv, SolitaireVectorEnv, load_policy

GAME = "forty-bandits"
NEVER = -1e9
"""Logit of an action with probability 0."""


@dataclass
class Args:
    """Plan and play deals."""

    deals: int = 30
    """Deals 0 to this number are played."""
    worlds: int = 8
    """Number of worlds in which each move is planned."""
    simulations: int = 32
    """Number of simulations in each world."""
    patience: int = 60
    """A game ends after this number of moves without progress."""


class Planner:
    """Chooses moves of a game by Gumbel MuZero in sampled worlds."""

    def __init__(self, worlds: int, simulations: int) -> None:
        self.worlds = self.free = np.arange(worlds, dtype=np.int32)
        self.network = load_policy("shipped", GAME)
        # The network was trained to predict the sum of these rewards.
        self.envs = SolitaireVectorEnv(GAME, (simulations + 1) * worlds, reward="progress+win")
        self.envs.reset(seed=0)
        # By default mctx rescales a node's values to 0 to 1, which makes much of moves that are almost equal.
        transform = partial(mctx.qtransform_completed_by_mix_value, value_scale=1.0, rescale_values=False)
        self.search = jax.jit(partial(
            mctx.gumbel_muzero_policy, None, recurrent_fn=self.recurrent, num_simulations=simulations,
            qtransform=transform, gumbel_scale=0.0,
        ))  # fmt: skip

    def choose(self, env: SolitaireEnv, observation: np.ndarray, mask: np.ndarray, seed: int) -> int:
        """The action with the highest mean probability in the worlds of a seed."""
        n = len(self.worlds)
        self.envs.set_state(0, env.get_state())  # also the true hidden cards, until they are dealt again
        self.envs.copy_rows([0] * n, self.worlds)
        self.envs.resample(self.worlds, seed)
        self.free = self.worlds + n
        logits, values = self.predict(np.tile(observation, (n, 1)), np.tile(mask, (n, 1)))
        root = mctx.RootFnOutput(prior_logits=logits, value=values, embedding=self.worlds)
        planned = self.search(jax.random.key(seed), root, invalid_actions=logits == NEVER)
        return int(planned.action_weights.mean(axis=0).argmax())

    def recurrent(self, params: None, key: jax.Array, actions: jax.Array, parents: jax.Array) -> tuple:
        """Make JAX call ``expand``, with arrays of the shapes and types that it returns."""
        floats = np.zeros(len(self.worlds), dtype=np.float32)
        logits = np.zeros((len(floats), self.envs.single_action_space.n), dtype=np.float32)
        step = mctx.RecurrentFnOutput(reward=floats, discount=floats, prior_logits=logits, value=floats)
        return io_callback(self.expand, (step, self.worlds), actions, parents)

    def expand(self, actions: jax.Array, parents: jax.Array) -> tuple[mctx.RecurrentFnOutput, np.ndarray]:
        """Play an action of each parent in a new row: what mctx stores of the new nodes, and their rows."""
        rows, self.free = self.free, self.free + len(self.worlds)
        self.envs.copy_rows(np.asarray(parents), rows)
        played = self.envs.action_masks().argmin(axis=1)  # illegal actions, which change no other row
        played[rows] = actions
        observations, rewards, terminated, truncated, infos = self.envs.step(played)
        logits, values = self.predict(observations[rows], infos["action_mask"][rows])
        playing = ~(terminated | truncated)  # an ended game's row starts another, which does not count
        return mctx.RecurrentFnOutput(
            reward=rewards[rows].astype(np.float32), discount=playing[rows].astype(np.float32),
            prior_logits=logits, value=values,
        ), rows  # fmt: skip

    def predict(self, observations: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits ``[n, actions]`` and values ``[n]`` of the network."""
        probabilities, values = self.network.explain(observations, masks)
        logits = np.log(probabilities, out=np.full(masks.shape, NEVER), where=probabilities > 0)
        return logits.astype(np.float32), values.astype(np.float32)


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
    planner, env = Planner(args.worlds, args.simulations), SolitaireEnv(GAME, stall_limit=args.patience)
    infos = [play(planner, env, deal) for deal in range(args.deals)]
    won, home = (sum(int(info[key]) for info in infos) for key in ("is_success", "cards_home"))
    print(f"won {won} of {args.deals}, on average {home / args.deals:.1f} cards home")
