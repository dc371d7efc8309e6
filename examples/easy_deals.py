"""Deals of a hard game that can be won: the linear policy plays many, the solver the best of them.

No policy of the leaderboard wins any of the first thousand deals of Eighty Thieves, nor does the solver.
Among twenty thousand others there are some that the solver wins in seconds. Each stage keeps the deals with
the most cards home for the next, which takes more time for each.

    python examples/easy_deals.py --env eighty-thieves --first 1000000
"""

from dataclasses import dataclass

import tyro

from solitaire_env import evaluate
from solitaire_env.registration import resolve_variant
from solitaire_env.solving import load_solver


@dataclass
class Args:
    """Find deals that can be won."""

    env: str = "eighty-thieves"
    """Gymnasium id, or name of a variant."""
    first: int = 1_000_000
    """First deal."""
    deals: int = 20_000
    """Number of deals that the linear policy plays."""
    tried: int = 240
    """Number of them that the solver tries for a quarter of a second."""
    kept: int = 8
    """Number of those that it solves within ten seconds."""


if __name__ == "__main__":
    args = tyro.cli(Args)
    variant = resolve_variant(args.env)
    games = evaluate("linear", variant, range(args.first, args.first + args.deals)).games
    home = {game.deal: game.cards_home for game in games}
    solver = load_solver(variant)
    for seconds, number in ((0.25, args.tried), (10, args.kept)):
        best = sorted(home, key=home.__getitem__, reverse=True)[:number]
        solutions = {deal: solver.solve_deal(deal, seconds=seconds) for deal in best}
        home = {deal: solution.cards_home for deal, solution in solutions.items()}
    won = [deal for deal, solution in solutions.items() if solution.status == "won"]
    print("deals that can be won:", ",".join(map(str, sorted(won))))
    print(f"won {len(won)} of {len(home)}, on average {sum(home.values()) / len(home):.1f} cards home")
