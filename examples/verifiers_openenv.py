"""Evaluate a model with verifiers, whose built-in taskset ``openenv`` plays on the OpenEnv server.

Any endpoint with OpenAI's interface serves the model; its key is in OPENAI_API_KEY. verifiers starts its chat
program with uv.

    pip install openenv verifiers uv
    PYTHONPATH=examples python -m solitaire_openenv.server.app
    python examples/verifiers_openenv.py --model my-model --endpoint http://localhost:9000/v1
"""

import asyncio
from dataclasses import dataclass

import tyro
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.clients import EvalClientConfig
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.episode import Episode


@dataclass
class Args:
    """Play tasks of the split llm-100."""

    model: str
    """Name of the model."""
    endpoint: str
    """Address of the model."""
    server: str = "http://127.0.0.1:8000"
    """Address of the OpenEnv server."""
    game: str = "busy-aces"
    """The game."""
    tasks: int = 100
    """Tasks 0 to this number are played."""
    turns: int = 500
    """Maximum number of answers in a game."""
    output: str = "runs/verifiers"
    """Folder of the results."""


def main(a: Args) -> list[Episode]:
    """Play, and print the mean reward: the share of the cards that went home."""
    resets = [{"game": a.game, "split": "llm-100", "index": index} for index in range(a.tasks)]
    config = EvalConfig(
        env={
            "taskset": {"id": "openenv", "base_url": a.server, "resets": resets},
            "player": {
                "harness": {"id": "null"},
                "runtime": {"type": "subprocess"},
                "max_turns": a.turns,
            },
        },
        model=a.model,
        client=EvalClientConfig(base_url=a.endpoint, api_key_var="OPENAI_API_KEY"),
        output_dir=a.output,
        serve=None,
        rich=None,
    )
    episodes = asyncio.run(run_eval(config))
    rewards = [trace.reward for episode in episodes for trace in episode.traces]
    print(f"{len(rewards)} games, mean reward {sum(rewards) / len(rewards):.3f}")
    return episodes


if __name__ == "__main__":
    main(tyro.cli(Args))
