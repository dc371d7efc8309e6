"""Several games as one network sees them in training.

Each game shows its own observation and has its own action numbers; an entry before the observation says which
game it is. What is read of it are the same features in every game (:mod:`agents.networks.family`). So a
network is bound to the features, not to the games.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from solitaire_env.core.family import FamilyBatch, FamilyLayout
from solitaire_env.core.layout import action_layout, observation_layout
from solitaire_env.core.spec import GameSpec, Settings, layout_hash
from solitaire_env.core.variant import Moves, Variant
from solitaire_env.registration import step_limit

MOST_GAMES: Final = 127
"""The number of a game is an int8."""
SHORTER: Final = 4
"""A game of the training is cut off after a quarter of the registered steps: as long as the longest wins. In
games with redeals without limit nothing else ends those that are lost, and they would fill the training."""


class NumberedLayout(FamilyLayout):
    """Observations that begin with the number of the game, then hold its own one; actions have the numbers of
    the game.
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        self.variants = tuple(variants)
        self.information = "player"
        sizes = [action_layout(variant).size for variant in self.variants]
        self.texts = tuple(map(str, range(max(sizes))))
        self.numbers = {text: number for number, text in enumerate(self.texts)}
        self.actions = [np.arange(size) for size in sizes]
        every = np.arange(max(sizes))
        self.own_actions = np.where(every < np.array(sizes)[:, None], every, -1)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The number of the game, and its own observation."""
        return {"rules": slice(0, 1), "own": slice(1, 1 + max(map(len, self.places)))}

    @cached_property
    def places(self) -> list[npt.NDArray[np.int64]]:
        """See :class:`FamilyLayout`."""
        layouts = [observation_layout(variant, "player") for variant in self.variants]
        return [1 + np.arange(max(part.stop for part in own.values())) for own in layouts]

    @cached_property
    def rules(self) -> npt.NDArray[np.int8]:
        """The number of each game, int8 ``[games, 1]``."""
        return np.arange(len(self.variants), dtype=np.int8)[:, None]


@dataclass(frozen=True)
class FamilySpec:
    """Several games as one network sees them: what :class:`GameSpec` is of one game.

    Parameters
    ----------
    variants
        The games, with the action sets that the network chooses from.
    settings
        What is observed and paid, and when an episode ends; the step limit is that of the training.
    moves
        ``"supermove"`` where games of single cards are played by supermoves, if they take them.
    """

    variants: tuple[Variant, ...]
    settings: Settings
    moves: Moves | None = None

    def __post_init__(self) -> None:
        if len(self.variants) > MOST_GAMES:
            raise ValueError(f"{len(self.variants)} games, allowed: at most {MOST_GAMES}")

    @cached_property
    def games(self) -> tuple[GameSpec, ...]:
        """Each game."""
        return tuple(
            GameSpec(variant, self.settings).with_settings(max_episode_steps=step_limit(variant) // SHORTER)
            for variant in self.variants
        )

    @cached_property
    def layout(self) -> NumberedLayout:
        """The observations and actions of the training."""
        return NumberedLayout(self.variants)

    @property
    def num_actions(self) -> int:
        """Number of actions of the game that has most."""
        return len(self.layout.texts)

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that differ where the games or their layouts do."""
        return layout_hash({"games": [[game.variant.name, game.hash] for game in self.games]})

    @property
    def space(self) -> Box:
        """The space of the observations."""
        return Box(low=0, high=127, shape=(self.layout.size,), dtype=np.int8)

    def make_batch(self, size: int) -> FamilyBatch:
        """``size`` games, each of any variant."""
        return FamilyBatch(self.games, size, self.layout)
