"""A curriculum of numbered deals: train on those that the policy wins about half of the time.

A deal that is always won, or always lost, teaches little. Before each round but the first, the policy plays
every deal of a pool several times. The deals of the round are drawn in proportion to p * (1 - p), where p is
the share of games won, and ``deals=`` deals only these. A second training draws them uniformly, with the same
number of steps. Both play the same deals, which neither was trained on. McNemar's p compares these two
networks, not the two ways to train: trainings with other seeds differ more. The agent is that of
``cleanrl_ppo.py``.

    python examples/curriculum.py --env klondike
"""

from collections.abc import Iterable
from dataclasses import dataclass

import cleanrl_ppo
import numpy as np
import torch
import tyro

import solitaire_env
from solitaire_env.core import set_num_threads
from solitaire_env.evaluation import Game, draw, mcnemar, summarize

FIRST = 2_000_000
"""The first deal of the pool."""


@dataclass
class Args:
    """Train twice, and compare."""

    env: str = "klondike"
    """Name of the game."""
    rounds: int = 6
    steps: int = 50_000
    """Training steps of all games in a round."""
    pool: int = 400
    """Number of deals; a quarter of them is drawn for each round."""
    games: int = 4
    """Games of each deal of the pool that measure how often it is won."""
    deals: int = 1000
    """Deals 0 to this number are played at the end."""
    seed: int = 0


def play(agent: cleanrl_ppo.Agent, env: str, deals: Iterable[int], seed: int = 0) -> list[Game]:
    """Play deals by draws from the agent's probabilities."""

    @torch.no_grad()
    def policy(observations, masks, *, uniforms, games):
        choice, _ = agent(torch.from_numpy(observations), torch.from_numpy(masks).bool())
        return draw(choice.probs.numpy(), uniforms)

    policy.stochastic = True
    return solitaire_env.evaluate(policy, env, [*deals], seed=seed, max_episode_steps=300).games


def learn(args: Args, curriculum: bool) -> cleanrl_ppo.Agent:
    """An agent that was trained with or without the curriculum."""
    torch.manual_seed(args.seed)
    random, pool, rates = (
        np.random.default_rng(args.seed),
        FIRST + np.arange(args.pool),
        np.full(args.pool, 0.5),
    )
    agent = cleanrl_ppo.Agent(solitaire_env.GameSpec(solitaire_env.get_variant(args.env)))
    for number in range(args.rounds):
        if curriculum and number:
            played = [play(agent, args.env, pool.tolist(), seed) for seed in range(args.games)]
            won = np.array([[game.won for game in games] for games in played]).sum(0)
            rates = (won + 1) / (args.games + 2)  # never 0 or 1 after a few games
        weights = rates * (1 - rates)
        chosen = random.choice(pool, args.pool // 4, replace=False, p=weights / weights.sum())
        envs = solitaire_env.SolitaireVectorEnv(
            args.env, 32, autoreset_mode="SameStep", reward="progress+win", stall_limit=60, mask_dtype="bool",
            deals=chosen,
        )  # fmt: skip
        cleanrl_ppo.train(envs, agent, cleanrl_ppo.Args(steps=args.steps))
    return agent


if __name__ == "__main__":
    args = tyro.cli(Args)
    torch.set_num_threads(1)  # networks and batches are small: threads would wait for each other
    set_num_threads(1)
    results = {}
    for name in ("uniform", "curriculum"):
        results[name] = play(learn(args, name == "curriculum"), args.env, range(args.deals))
        print(f"{name}:\n{summarize(results[name])}", flush=True)
    only, others, p = mcnemar(results["curriculum"], results["uniform"])
    print(f"won only with the curriculum: {only}, only without: {others}; McNemar p = {p:.2g}")
