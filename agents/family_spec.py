"""Several games as one network sees them in training.

Each game keeps its own observation and action numbers; an entry before the observation is the number of the
game. The features of an observation are the same in every game (:mod:`agents.networks.family_reader`), so a
network depends on the features, not on the games.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from solitaire_env.core.batch import Batch
from solitaire_env.core.deals import ANY_DEAL
from solitaire_env.core.family import FamilyLayout
from solitaire_env.core.layout import action_layout, observation_layout
from solitaire_env.core.spec import GameSpec, Settings, layout_hash
from solitaire_env.core.variant import Moves, Variant
from solitaire_env.registration import step_limit
from solitaire_env.util.lazy import cached_property

MAX_GAMES: Final = 127
"""Game numbers are int8."""
STEP_LIMIT_DIVISOR: Final = 4
"""Training truncates a game after a quarter of the registered step limit: as long as the longest wins. Lost
games with unlimited redeals do not end otherwise, and would fill the training."""


class NumberedLayout(FamilyLayout):
    """Observations that begin with the number of the game, followed by its own observation; actions keep the
    numbers of their game.
    """

    def number_actions(self) -> tuple[tuple[str, ...], list[npt.NDArray[np.int64]]]:
        """See :class:`FamilyLayout`."""
        sizes = [action_layout(variant).size for variant in self.variants]
        return tuple(map(str, range(max(sizes)))), [np.arange(size) for size in sizes]

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The slices of the game number and of the game's own observation."""
        return {"rules": slice(0, 1), "own": slice(1, 1 + max(map(len, self.places)))}

    @cached_property
    def places(self) -> list[npt.NDArray[np.int64]]:
        """See :class:`FamilyLayout`."""
        layouts = [observation_layout(variant, self.information) for variant in self.variants]
        return [1 + np.arange(max(part.stop for part in own.values())) for own in layouts]

    @cached_property
    def rules(self) -> npt.NDArray[np.int8]:
        """The number of each game, int8 ``[games, 1]``."""
        return np.arange(len(self.variants), dtype=np.int8)[:, None]


@dataclass(frozen=True)
class FamilySpec:
    """Several games as one network sees them, as :class:`GameSpec` describes one game.

    Parameters
    ----------
    variants
        The games, with the action sets that the network chooses from.
    settings
        Observation, reward and limits of an episode; the step limit is that of the training.
    moves
        ``"supermove"``: one-card games are played by supermoves, if they take them.
    """

    variants: tuple[Variant, ...]
    settings: Settings
    moves: Moves | None = None

    def __post_init__(self) -> None:
        if len(self.variants) > MAX_GAMES:
            raise ValueError(f"{len(self.variants)} games, allowed: at most {MAX_GAMES}")

    @cached_property
    def games(self) -> tuple[GameSpec, ...]:
        """Each game."""
        return tuple(
            GameSpec(variant, self.settings).with_settings(
                max_episode_steps=step_limit(variant) // STEP_LIMIT_DIVISOR
            )
            for variant in self.variants
        )

    @cached_property
    def layout(self) -> NumberedLayout:
        """The observations and actions of the training."""
        return NumberedLayout(self.variants, self.settings.information)

    @property
    def num_actions(self) -> int:
        """Number of actions of the game with the most."""
        return len(self.layout.texts)

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits, a hash of the games and their layouts."""
        return layout_hash({"games": [[game.variant.name, game.hash] for game in self.games]})

    @property
    def space(self) -> Box:
        """The observation space."""
        return Box(low=0, high=127, shape=(self.layout.size,), dtype=np.int8)

    def make_batch(self, size: int, chosen: npt.NDArray[np.int64] = ANY_DEAL) -> Batch:
        """A batch of ``size`` games, each of any variant, drawn from the chosen deals."""
        return Batch(self.games, size, self.layout, chosen)
