"""Language agents on the split llm-100: three baselines, and the place for your own model.

An agent reads the rules, as a system prompt, and the text of a position, and answers in text. Put the call of
your model into ``model``.

    python examples/language_agent.py --game klondike-draw-3
    python examples/language_agent.py --game klondike-draw-3 --agents model
"""

import re
from dataclasses import dataclass

import numpy as np
import tyro

from solitaire_env import load_policy
from solitaire_env.benchmark import score, split_deals
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import summarize
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.text import TextGame

SPLIT = "llm-100"
rng = np.random.default_rng(0)


def model(rules: str, text: str) -> str:
    """Your model: its answer to the system prompt ``rules`` and the user's message ``text``."""
    raise NotImplementedError("call your model here")


def listed(text: str) -> list[str]:
    """The legal moves that a text lists."""
    return [line.split(":")[0] for line in text.split("Legal moves:\n")[1].splitlines()]


def random_move(rules: str, text: str) -> str:
    """Answer with one of the listed moves."""
    return str(rng.choice(listed(text)))


def first_move(rules: str, text: str) -> str:
    """Answer with the first of the listed moves."""
    return listed(text)[0]


class Shipped:
    """The shipped policy of a game, which sees what is in the text."""

    def __init__(self, game: str) -> None:
        self.game = SolitaireEnv(game)
        policy = self.policy = load_policy("shipped", game)
        self.env = SolitaireEnv(
            game, moves=policy.moves, observation=policy.observation, information=policy.information
        )
        self.rest: list[str] = []
        """The rest of a sequence that moves card by card."""

    def __call__(self, rules: str, text: str) -> str:
        """Answer with the move of the policy."""
        if not self.rest or self.rest[0] not in listed(text):
            board, _, _ = text.partition("\n\n")
            board = re.sub(r"stock: (\d+) cards?", lambda match: "stock:" + int(match[1]) * " ??", board)
            position = f"variant: {self.env.variant.name}\n{board}"
            observation, info = self.env.reset(options={"position": position})
            masks = info["action_mask"][None]
            action = int(self.policy(observation[None], masks, uniforms=rng.random(1))[0])
            same = self.env.variant.moves == self.game.variant.moves
            actions = [action] if same else self.env.expand(action)
            self.rest = [self.game.action_text(action) for action in actions]
        return self.rest.pop(0)


@dataclass
class Args:
    """Play the deals of a split in words."""

    game: str = "klondike"
    """The game."""
    agents: tuple[str, ...] = ()
    """Agents: random, first, shipped, model. By default all baselines of the game."""
    memory: bool = False
    """Whether the text lists the stock after a redeal, which has been seen."""
    deals: int = 100
    """Deals 0 to this number are played; fewer than 100 have no score."""


def main(a: Args) -> None:
    """Play and print the results of each agent."""
    agents = {"random": random_move, "first": first_move, "model": model}
    if a.game in shipped_games():
        agents["shipped"] = Shipped(a.game)
    game = TextGame(a.game, memory=a.memory)
    rules = game.rules()
    for name in a.agents or [name for name in agents if name != "model"]:
        print(f"\n== {name}")
        games, calls, characters = [], 0, 0
        for deal in split_deals(SPLIT, a.game)[: a.deals]:
            text = game.reset(deal=deal)
            while not game.done:
                calls, characters = calls + 1, characters + len(rules) + len(text)
                text, _, _ = game.step(agents[name](rules, text))
            games.append(game.result(name))
        if len(games) == 100 and (scored := score(games, SPLIT).score) is not None:
            print(f"score {scored:.1f}", end=", ")
        print(f"{calls / len(games):.0f} calls a game, {characters / calls:.0f} characters a prompt")
        print(summarize(games))


if __name__ == "__main__":
    main(tyro.cli(Args))
