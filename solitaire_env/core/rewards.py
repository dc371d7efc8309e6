"""Reward schemes by name; :mod:`solitaire_env.core.batch` computes the reward of a step."""

from typing import Final, Literal, NamedTuple

from solitaire_env.util.arguments import check_choice

RewardName = Literal["progress", "win", "progress+win"]
"""Names of the schemes."""


class Reward(NamedTuple):
    """Weights of the rewards of a step."""

    progress: float
    """For all cards home; a step earns this times the cards that went home in it / all cards."""
    win: float
    """For the win."""


REWARDS: Final[dict[RewardName, Reward]] = {
    "progress": Reward(progress=1.0, win=0.0),
    "win": Reward(progress=0.0, win=1.0),
    "progress+win": Reward(progress=1.0, win=1.0),
}
"""The schemes. With ``progress`` the rewards of a won game sum to 1."""


def get_reward(name: RewardName) -> Reward:
    """The scheme with that name."""
    return REWARDS[check_choice("reward", name, REWARDS)]
