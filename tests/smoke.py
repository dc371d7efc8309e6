"""Whether an installed package works; run with the Python of its environment:

``python -I tests/smoke.py``
"""

import gymnasium as gym

from solitaire_env import evaluate, load_policy
from solitaire_env.benchmark import score

CARDS_HOME = [104, 104, 104, 104, 53, 104, 104, 104, 104, 104]


def main() -> None:
    """Play with each public face."""
    env = gym.make("solitaire_env:Solitaire/FortyThieves-v0", render_mode="ansi")
    _, info = env.reset(seed=0)
    ended = False
    while not ended:
        _, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
        ended = terminated or truncated
    print(env.render(), info["cards_home"])
    envs = gym.make_vec("solitaire_env:Solitaire/BusyAces-v0", num_envs=1024)
    _, infos = envs.reset(seed=0)
    envs.step(infos["action_mask"].argmax(1))
    played = evaluate(load_policy("shipped", "busy-aces"), "busy-aces", range(10))
    home = [game.cards_home for game in played.games]
    assert home == CARDS_HOME, f"cards home of the shipped policy are {home}, allowed: {CARDS_HOME}"
    print(played.summary, score(played.games).score)


if __name__ == "__main__":
    main()
